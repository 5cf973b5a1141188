/** Records of test runs: the cases that each test skipped, and the tests that the last short run passed. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

const folder = join(root, "node_modules/.cache/tilescript-tests");

/** The file in which test files record skipped cases. The end of the run reads it. */
export const skippedFile = join(folder, "left-out.jsonl");

/** The cases that the short run skipped, for `TILESCRIPT_TESTS=rest`. */
export const remainderFile = join(folder, "rest.jsonl");

/** The tests that the last run passed, which `TILESCRIPT_TESTS=rest` does not repeat. */
export const passedFile = join(folder, "passed.jsonl");

/** The skipped cases of a list. */
export interface SkippedCases {
  /** The test file, relative to the root of the repository. */
  readonly file: string;
  readonly label: string;
  readonly tested: number;
  readonly total: number;
  readonly seed: number;
  /** The test that sampled the list, or that was skipped; undefined if all tests of the file may use the list. */
  readonly test: string | undefined;
  /** True if each case is a separate test, and no other test uses the list. */
  readonly hasOwnTests?: boolean;
}

/** A test by its full name. */
export interface PassedTest {
  readonly file: string;
  readonly test: string;
}

export function writeSkipped(skippedCases: SkippedCases): void {
  mkdirSync(folder, { recursive: true });
  appendFileSync(skippedFile, `${JSON.stringify(skippedCases)}\n`);
}

export function writePassed(all: readonly PassedTest[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(passedFile, all.map((each) => JSON.stringify(each)).join("\n"));
}

export const readSkipped = (from: string): readonly SkippedCases[] => readLines(from);

export const readPassed = (): readonly PassedTest[] => readLines(passedFile);

function readLines<Line>(from: string): readonly Line[] {
  try {
    const lines = readFileSync(from, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Line);
  } catch {
    return [];
  }
}
