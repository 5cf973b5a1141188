/** Records of test runs: the cases that each test skipped, and the tests that the last short run passed. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

const folder = join(root, "node_modules/.cache/tilescript-tests");

/** The file in which test files record skipped cases. The end of the run reads it. */
export const skippedFile = join(folder, "left-out.jsonl");

/** The records of the short run, for `TILESCRIPT_TESTS=rest`. */
export const remainderFile = join(folder, "rest.jsonl");

/** The tests that the last run passed, which `TILESCRIPT_TESTS=rest` does not repeat. */
export const passedFile = join(folder, "passed.jsonl");

/** Numbers of commits whose runs together test all of something. */
export interface Parts {
  readonly short: number;
  readonly full: number;
}

/** The cases of a list that a run tested and skipped. */
export interface SkippedCases {
  /** The test file, relative to the root of the repository. */
  readonly file: string;
  readonly label: string;
  readonly tested: number;
  readonly total: number;
  /** The number of cases that a full run tests and the short run does not. */
  readonly rest: number;
  readonly seed: number;
  /** The number of commits that together test the list, by the kind of run; `fileParts` has those of the file. */
  readonly parts?: Parts;
  readonly fileParts?: Parts | undefined;
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

export function writePassed(tests: readonly PassedTest[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(passedFile, tests.map((each) => JSON.stringify(each)).join("\n"));
}

export const readSkipped = (file: string): readonly SkippedCases[] => readLines(file);

export const readPassed = (): readonly PassedTest[] => readLines(passedFile);

function readLines<Line>(file: string): readonly Line[] {
  try {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Line);
  } catch {
    return [];
  }
}
