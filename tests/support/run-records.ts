/** What runs of tests write down: what each left out of which list, and what the last short run passed. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The root of the repository. */
export const root = join(import.meta.dirname, "../..");

const folder = join(root, "node_modules/.cache/tilescript-tests");

/** Where test files say what they left out; the end of the run reads it. */
export const leftOutFile = join(folder, "left-out.jsonl");

/** What the short run left out, where `TILESCRIPT_TESTS=rest`. */
export const restFile = join(folder, "rest.jsonl");

/** The tests that the last run passed, which `TILESCRIPT_TESTS=rest` does not repeat. */
export const passedFile = join(folder, "passed.jsonl");

/** What a test file left out of a list. */
export interface SkippedCases {
  /** The test file, from the root of the repository. */
  readonly file: string;
  readonly what: string;
  readonly tested: number;
  readonly of: number;
  readonly seed: number;
  /** The test that drew, or that was not drawn; undefined for what all tests of the file may use. */
  readonly test: string | undefined;
  /** Its cases are tests of their own, and no other test uses the list. */
  readonly isOfTests?: boolean;
}

/** A test by its full name. */
export interface Passed {
  readonly file: string;
  readonly test: string;
}

export function writeLeftOut(left: SkippedCases): void {
  mkdirSync(folder, { recursive: true });
  appendFileSync(leftOutFile, `${JSON.stringify(left)}\n`);
}

export function writePassed(all: readonly Passed[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(passedFile, all.map((each) => JSON.stringify(each)).join("\n"));
}

export const readLeftOut = (from: string): readonly SkippedCases[] => readLines(from);

export const readPassed = (): readonly Passed[] => readLines(passedFile);

function readLines<Line>(from: string): readonly Line[] {
  try {
    const lines = readFileSync(from, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Line);
  } catch {
    return [];
  }
}
