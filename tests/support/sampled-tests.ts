/**
 * Samples long lists of test cases, by the seed of the run. The seed is the number of commits up to HEAD, so that 16
 * consecutive commits test every case. `TILESCRIPT_TESTS` selects the run: `short` (the default) tests an eighth of a
 * list, `full` everything but the parts of expensive lists and files that belong to other commits, `rest` the difference
 * between them, and `all` everything. All test the cases with changed sources. `list` only records the lists, for
 * `bench/coverage.ts`. `TILESCRIPT_SEED=880` repeats a sample.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, TestRunner, type RunnerTask, type RunnerTestCase } from "vitest";
import { type Parts, root, type SkippedCases, writeSkipped } from "./run-records.js";

/** Full runs of this many consecutive commits test every case of every list. */
export const COMMITS = 16;

/** Short runs test one case in this many. */
const SHORT_PARTS = 8;

/** The seed without a git history. */
const DEFAULT_SEED = 0;

/** Read lazily: `global-setup.ts` sets the seed of a run before any test file is loaded. */
export const seedOfRun = (): number => Number(process.env["TILESCRIPT_SEED"] ?? seedOfCommit());
export const runMode = (): string => process.env["TILESCRIPT_TESTS"] ?? "short";
export const isFullRun = (): boolean => runMode() !== "short";

/** The number of commits up to HEAD. A shallow clone lacks them, so the hash of its commit determines the seed. */
export function seedOfCommit(cwd = root): number {
  const [hash] = git(cwd, "rev-parse", "--verify", "HEAD");
  if (hash === undefined) return DEFAULT_SEED;
  const [isShallow] = git(cwd, "rev-parse", "--is-shallow-repository");
  if (isShallow === "true") return Number.parseInt(hash.slice(0, 6), 16);
  return Number(git(cwd, "rev-list", "--count", "--first-parent", "HEAD")[0]);
}

interface Limits {
  /** The minimum number of cases that a short run tests. */
  readonly minimum?: number;
  /** The maximum number of cases that a short run samples, in addition to those with changed sources. */
  readonly maximum?: number;
  /** For an expensive list: the maximum of a full run, in addition to those with changed sources. */
  readonly perRun?: number | undefined;
}

interface Options<T> extends Limits {
  /** The name of a case. */
  readonly key: (testCase: T) => string;
  /** Files, relative to the root of the repository. If one of them changed, the case is always tested. */
  readonly sources?: (testCase: T) => readonly string[];
  /** Keys of cases that failed in an earlier sample, which are always tested. */
  readonly always?: readonly string[];
  /** True if each case is a separate test, and no other test uses the list. */
  readonly hasOwnTests?: boolean;
  /** True if the tests of a full run compare the cases with each other, so that a `rest` run needs all of them. */
  readonly isWhole?: boolean;
}

const ONE_PART: Parts = { short: 1, full: 1 };

/** The parts of a list of `count` cases in a file whose tests are sampled by `fileParts`. */
export function partsOf(
  count: number,
  { minimum = 1, maximum = Infinity, perRun = Infinity }: Limits,
  fileParts = ONE_PART,
): Parts {
  const full = Math.min(Math.max(1, Math.ceil(count / perRun)), Math.floor(COMMITS / fileParts.full));
  const fewest = Math.min(SHORT_PARTS, Math.max(1, Math.floor(count / minimum)));
  const short = Math.max(fewest, Math.ceil(count / maximum));
  // A multiple, so that the full run contains the short run.
  return { short: full * Math.ceil(short / full), full };
}

/**
 * True if the run with this seed tests case `i` of a list in `parts` parts. If the tests that use the list are sampled,
 * too, `fileParts` is the number of seeds between two runs of the same test.
 */
export const isSelected = (i: number, parts: number, seed: number, fileParts = 1): boolean =>
  (i + Math.floor(seed / fileParts)) % parts === 0;

/** The cases of a list that this run tests, in their order. `label` is plural: "op compilations". */
export function sampleCases<T>(label: string, all: readonly T[], options: Options<T>): readonly T[] {
  const { key, sources = () => [], always = [], hasOwnTests = false, isWhole = false } = options;
  const fileParts = partsOfFiles.get(testFile());
  const parts = partsOf(all.length, options, fileParts);
  const isFixed = (each: T): boolean =>
    always.includes(key(each)) || sources(each).some((file) => changedFiles().has(file));
  const casesOf = (run: keyof Parts): readonly T[] =>
    all.filter((each, i) => isSelected(i, parts[run], seedOfRun(), fileParts?.[run]) || isFixed(each));

  const full = runMode() === "all" ? all : casesOf("full");
  const short = new Set(casesOf("short"));
  const difference = full.filter((each) => !short.has(each));
  // In a file whose tests are sampled, the short run may not have used the list.
  const rest = difference.length > 0 && !isWhole && !fileParts ? difference : full;
  const tested = isFullRun() ? full.length : short.size;
  recordSkipped({ label, tested, total: all.length, rest: difference.length, parts, fileParts, hasOwnTests });
  if (runMode() === "list") return listOnly();
  if (!isFullRun()) return [...short];
  return runMode() === "rest" ? rest : full;
}

/** Ends a test that needs a list, because a `list` run tests no case. */
function listOnly(): readonly never[] {
  TestRunner.getCurrentTest()?.context.skip();
  return [];
}

/** True in a full run, for a test that every short run skips. */
export function isInFullRun(label: string): boolean {
  recordSkipped({ label, tested: isFullRun() ? 1 : 0, total: 1, rest: 1, hasOwnTests: true });
  return isFullRun();
}

/**
 * The number of repetitions in this run, of `count` equal trials such as the runs of a property. A full run makes a
 * quarter of them. Their seeds depend on the seed of the run, so each commit has others.
 */
export function drawnCount(label: string, count: number, minimum = 1): number {
  const [short, full] = [SHORT_PARTS, runMode() === "all" ? 1 : 4].map((divisor) =>
    Math.min(count, Math.max(minimum, Math.ceil(count / divisor))),
  ) as [number, number];
  const tested = isFullRun() ? full : short;
  recordSkipped({ label, tested, total: count, rest: full - short });
  return tested;
}

/**
 * Samples the tests of a file in which each test takes seconds, such as tests that start processes. The short run tests
 * one in 16, and a full run one in 4, each commit others. Both test all if the test file or a file in
 * `folders`, relative to the root, changed. Call it at the top of the file.
 */
export function sampledTests(label: string, ...folders: readonly string[]): void {
  sampleTestsOfFile({ short: COMMITS, full: 4 }, label, folders);
}

/**
 * Samples the tests of a file in which each test takes more than half a minute: none in the short run, one in 4 in a
 * full run.
 */
export function sampledCostlyTests(label: string, ...folders: readonly string[]): void {
  sampleTestsOfFile({ short: Infinity, full: 4 }, label, folders);
}

const partsOfFiles = new Map<string, Parts>();

function sampleTestsOfFile(parts: Parts, label: string, folders: readonly string[]): void {
  const file = testFile();
  partsOfFiles.set(file, parts);
  const isRelevant = (each: string): boolean =>
    each === file || folders.some((folder) => each.startsWith(`${folder}/`));
  const isComplete = [...changedFiles()].some(isRelevant);
  const hasLists = /^ .*\bsampleCases\(/m.test(readFileSync(join(root, file), "utf8"));
  beforeEach(({ task, skip }) => {
    // Files start at different tests, so that runs take similar time.
    const i = testsIn(task.file.tasks).indexOf(task) + offsetOf(file);
    const [isShort, isFull] = [parts.short, parts.full].map((each) => isComplete || isSelected(i, each, seedOfRun()));
    const isTested = runMode() === "all" || (runMode() === "list" ? hasLists : isFullRun() ? isFull : isShort)!;
    recordSkipped({ label, tested: isTested ? 1 : 0, total: 1, rest: isFull && !isShort ? 1 : 0, parts });
    skip(!isTested, isFullRun() ? "the full run of another commit tests it" : "the seed did not select it");
  });
}

/** A number from 0 to 65,535, determined by the file. */
export const offsetOf = (file: string): number => createHash("sha256").update(file).digest().readUInt16BE();

export const testsIn = (tasks: readonly RunnerTask[]): readonly RunnerTestCase[] =>
  tasks.flatMap((task) => (task.type === "suite" ? testsIn(task.tasks) : [task]));

const testFile = (): string => expect.getState().testPath!.slice(root.length + 1);

function recordSkipped(counts: Omit<SkippedCases, "file" | "test" | "seed">): void {
  writeSkipped({ file: testFile(), test: TestRunner.getCurrentTest()?.fullTestName, seed: seedOfRun(), ...counts });
}

let changedFilesCache: ReadonlySet<string> | undefined;

/** The files that the last commit or the working tree changed; empty without a git history. */
export function changedFiles(): ReadonlySet<string> {
  return (changedFilesCache ??= new Set([
    ...git(root, "diff", "--name-only", "HEAD~1"),
    ...git(root, "ls-files", "-o", "--exclude-standard"),
  ]));
}

/** The lines that git prints; empty if it fails. */
function git(cwd: string, ...args: readonly string[]): readonly string[] {
  try {
    return execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
      .trim()
      .split("\n");
  } catch {
    return [];
  }
}
