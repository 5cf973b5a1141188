/** The supported versions: stated once, in each file that names them, and locked with hashes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { locks } from "../../scripts/lock.js";
import { withVersions } from "../../scripts/version-texts.js";
import { compareVersions, following, supportedVersions, versionsIn } from "../../src/compiled/versions.js";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

test("versions are compared by their numbers", () => {
  expect(["3.10", "3.9.1", "2.15.0+cu132", "3.6"].toSorted(compareVersions)).toEqual([
    "2.15.0+cu132",
    "3.6",
    "3.9.1",
    "3.10",
  ]);
  expect(compareVersions("3.9.1", "3.9")).toBe(0);
  expect(following("3.9")).toBe("3.10");
  expect(versionsIn({ oldest: "3.8", newest: "3.11" })).toEqual(["3.8", "3.9", "3.10", "3.11"]);
});

test.each(Object.keys(withVersions))("%s has the versions of src/compiled/versions.ts", (file) => {
  expect(withVersions[file]!(read(file))).toBe(read(file));
});

test("a file with another version, or without one, is found", () => {
  const write = withVersions[".ci/run"]!;
  expect(write('pip install "triton==2.1.0"')).toBe(`pip install "triton==${supportedVersions.triton.oldest}.0"`);
  expect(() => write("pip install triton")).toThrow(/\.ci\/run has no text like/);
});

/** The requirements of a lock: each package with its version, and the lines below it. */
function requirementsOf(file: string) {
  const [, ...entries] = read(file).split(/^(?=\w)/m);
  return entries.map((entry) => {
    const [head = "", ...hashes] = entry.trimEnd().split(" \\\n    ");
    const [name = "", version = ""] = head.split(" ; ")[0]!.split("==");
    return { name, version, hashes };
  });
}

describe.each(Object.values(locks).map(({ file }) => file))("%s", (file) => {
  test.each(requirementsOf(file))("$name $version has hashes", ({ name, version, hashes }) => {
    expect(name).toMatch(/^[a-z][\w-]*$/);
    expect(version).toMatch(/^\d[\w.]*$/);
    expect(hashes.length).toBeGreaterThan(0);
    for (const hash of hashes) expect(hash).toMatch(/^--hash=sha256:[0-9a-f]{64}$/);
  });
});

test.each(["torch", "triton"] as const)(
  "%s is locked to the newest tested version, and to tested ones only",
  (name) => {
    const locked = requirementsOf(locks.kernels.file).filter((each) => each.name === name);
    const { oldest, newest } = supportedVersions[name];
    expect(locked.some(({ version }) => compareVersions(version, newest) === 0)).toBe(true);
    for (const { version } of locked) {
      expect(compareVersions(version, oldest)).toBeGreaterThanOrEqual(0);
      expect(compareVersions(version, newest)).toBeLessThanOrEqual(0);
    }
  },
);

test("setup has a pip to install first", () => {
  expect(requirementsOf(locks.kernels.file).filter(({ name }) => name === "pip")).toHaveLength(1);
});
