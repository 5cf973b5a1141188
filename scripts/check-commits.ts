/**
 * Checks the messages of the commits after BASE: `npx tsx scripts/check-commits.ts [BASE]`. Without a base, or if git
 * does not know it, these are the commits since the branch left `main`; on `main` itself, the last commit.
 */
import { execFileSync } from "node:child_process";
import { messageFaults } from "./commit-subjects.js";

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

/** The commit at which HEAD branched from this one, if git knows it and it is another. */
function branchPoint(base: string): string | undefined {
  try {
    const point = git("merge-base", base, "HEAD");
    return point === git("rev-parse", "HEAD") ? undefined : point;
  } catch {
    return undefined;
  }
}

const baseArgument = process.argv[2] ?? "";
// A push that creates a branch has a base of zeros.
const candidates = [...(/^0*$/.test(baseArgument) ? [] : [baseArgument]), "origin/main", "main"];
const base = candidates.reduce<string | undefined>((branch, each) => branch ?? branchPoint(each), undefined);
const range = base === undefined ? ["-1", "HEAD"] : [`${base}..HEAD`];
const commits = git("log", "--no-merges", "--reverse", "--format=%h%x00%B%x01", ...range)
  .split("\u0001")
  .filter((text) => text.trim() !== "")
  .map((text) => text.trim().split("\0") as [hash: string, message: string]);

const lines = commits.flatMap(([hash, message]) =>
  messageFaults(message.trimEnd()).map((fault) => `${hash} ${message.split("\n")[0]}\n  ${fault}`),
);
if (lines.length > 0) {
  console.error(lines.join("\n"));
  process.exitCode = 1;
} else console.log(`commit messages checked: ${commits.length}`);
