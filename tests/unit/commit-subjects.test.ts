/** The form of commit messages, and which commits of a repository the script checks. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { messageFaults } from "../../scripts/commit-subjects.js";

const root = join(import.meta.dirname, "../..");

test.each([
  "prove: bound loop-carried variables by their invariant",
  "docs: state the rules for files and names as they are now",
  "src/dsl: feed branches in order",
  "codegen: process masks before loads\n\nTriton rejects the other order.",
  "deps: pass the lock file on",
  'Revert "ops: add log2"',
  "Merge branch 'main' into topic",
])("accepts %j", (message) => {
  expect(messageFaults(message)).toEqual([]);
});

test.each([
  ["ops: add log2, which is a logarithm to base 2, to the record, the samples and the page", /86 characters/],
  ["Wrapping integers have one home", /has no scope/],
  ["everything: add log2", /"everything" is no scope/],
  ["ops: Add log2", /does not start with a small letter/],
  ["ops: added log2", /no imperative/],
  ["ops: adds log2", /no imperative/],
  ["ops: adding log2", /no imperative/],
  ["ops: add log2.", /full stop/],
  ["ops: add log2\nbecause kernels need it", /second line/],
])("refuses %j", (message, fault) => {
  expect(messageFaults(message).join("\n")).toMatch(fault);
});

// ---- the script -----------------------------------------------------------------------------------------------------

let repository: string;
const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example.com", ...args], {
    cwd: repository,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
const commit = (message: string): string => {
  git("commit", "--allow-empty", "--no-verify", "-m", message);
  return git("rev-parse", "HEAD");
};

beforeAll(() => {
  repository = mkdtempSync(join(tmpdir(), "tilescript-commits-"));
  git("init", "--initial-branch=main");
});
afterAll(() => rmSync(repository, { recursive: true }));

function check(...args: readonly string[]) {
  const script = join(root, "scripts/check-commits.ts");
  const loader = join(root, "node_modules/tsx/dist/cli.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [loader, script, ...args], {
    cwd: repository,
    encoding: "utf8",
  });
  return { status, text: stdout + stderr };
}

test("the script checks the commits after a base, and leaves older ones alone", () => {
  const old = commit("An old sentence about what is true now");
  commit("ops: add log2");
  const right = commit("docs: name log2");
  expect(check(old)).toEqual({ status: 0, text: "commit messages checked: 2\n" });
  git("checkout", "-b", "topic");
  commit("Fixed it");
  expect(check(right)).toMatchObject({
    status: 1,
    text: expect.stringMatching(/Fixed it\n {2}the subject has no scope/),
  });
  // Without a known base, the commits of the branch; a push of a new branch has a base of zeros.
  for (const base of [[], ["0".repeat(40)], ["0123456789abcdef0123456789abcdef01234567"]])
    expect(check(...base)).toMatchObject({ status: 1, text: expect.not.stringContaining("An old sentence") });
});
