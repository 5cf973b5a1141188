/**
 * Samples long lists of test cases. The short run tests an eighth of a list, chosen by the seed of the day, and all
 * cases with changed sources. `TILESCRIPT_TESTS=full` tests everything, except for the most expensive lists and files,
 * which it spreads over several days; `TILESCRIPT_DAYS=1` tests them completely. `TILESCRIPT_TESTS=rest` tests the
 * cases that a short run skipped. `TILESCRIPT_SEED=20261122` selects the sample of that day.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { beforeEach, expect, TestRunner, type RunnerTask, type RunnerTestCase } from "vitest";
import { root, writeSkipped } from "./run-records.js";

/** The short run samples one case in this many, those with the lowest ranks. */
const SAMPLE_DIVISOR = 8;

/** Read lazily: `global-setup.ts` sets the seed of a run before any test file is loaded. */
export const seedOfRun = (): number => Number(process.env["TILESCRIPT_SEED"] ?? dayOf(new Date()));
export const isFullRun = (): boolean => process.env["TILESCRIPT_TESTS"] === "full" || isRemainderRun();
export const isRemainderRun = (): boolean => process.env["TILESCRIPT_TESTS"] === "rest";

/** 20261122 on November 22, 2026. */
function dayOf(date: Date): number {
  return Number(date.toISOString().slice(0, 10).replaceAll("-", ""));
}

interface Options<T> {
  /** The name of a case. Its sampling depends only on this key and the seed. */
  readonly key: (testCase: T) => string;
  /** Files, relative to the root of the repository. If one of them changed, the case is always tested. */
  readonly sources?: (testCase: T) => readonly string[];
  /** Keys of cases that failed in an earlier sample, which are always tested. */
  readonly always?: readonly string[];
  /** The minimum number of cases to test. */
  readonly minimum?: number;
  /** The maximum number of cases to sample, in addition to those with changed sources. */
  readonly maximum?: number;
  /** For an expensive list: the maximum per day of a full run, in addition to those with changed sources. */
  readonly perDay?: number | undefined;
  /** True if each case is a separate test, and no other test uses the list. */
  readonly hasOwnTests?: boolean;
}

/** The cases of a list that this run tests, in their order. `label` is plural: "op compilations". */
export function sampleCases<T>(label: string, all: readonly T[], options: Options<T>): readonly T[] {
  const {
    key,
    sources = () => [],
    always = [],
    minimum = 1,
    maximum = Infinity,
    perDay = Infinity,
    hasOwnTests = false,
  } = options;
  const isChanged = (each: T): boolean => sources(each).some((file) => changedFiles().has(file));
  if (isFullRun()) {
    const days = daysFor(all.length, perDay);
    const today = all.filter(
      (each, i) => isSelectedToday(i, days, dayIndexOfFile()) || always.includes(key(each)) || isChanged(each),
    );
    recordSkipped(label, today.length, all.length, hasOwnTests);
    return today;
  }
  const ranks = all.map((each) => rankOf(key(each)));
  // Nearly the same number each day, so that all days take similar time. A list with one case is tested every few days.
  const sampleSize = Math.floor(all.length / SAMPLE_DIVISOR + rankOf(label));
  const count = Math.min(Math.max(sampleSize, minimum), maximum, all.length);
  const bound = ranks.toSorted((a, b) => a - b)[count - 1] ?? -1;
  const tested = all.filter((each, i) => ranks[i]! <= bound || always.includes(key(each)) || isChanged(each));
  recordSkipped(label, tested.length, all.length, hasOwnTests);
  return tested;
}

/** The number of days in which full runs test a whole list; 1 for a list that is not expensive. */
export const daysFor = (count: number, perDay: number): number => Math.max(1, Math.ceil(count / perDay));

/**
 * The number of repetitions in this run, of `count` equal trials such as the runs of a property. A full run makes half
 * of them. Their seeds depend on the seed of the run, so each day has others.
 */
export function drawnCount(label: string, count: number, minimum = 1): number {
  const divisor = isFullRun() ? Number(process.env["TILESCRIPT_DAYS"] ?? 2) : SAMPLE_DIVISOR;
  const tested = Math.min(count, Math.max(minimum, Math.ceil(count / divisor)));
  recordSkipped(label, tested, count);
  return tested;
}

/**
 * Samples the tests of a file in which each test takes seconds, such as tests that start processes. The short run tests
 * one in 16, and a full run every second one, alternating between days. Both test all if the test file or a file in
 * `folders`, relative to the root, changed. Call it at the top of the file.
 */
export function sampledTests(label: string, ...folders: readonly string[]): void {
  drawOneIn(16, 2, label, folders);
}

/**
 * Samples the tests of a file in which each test takes more than half a minute: none in the short run, every third in a
 * full run.
 */
export function drawCostlyTests(label: string, ...folders: readonly string[]): void {
  drawOneIn(Infinity, 3, label, folders);
}

/** The number of days in which full runs test all tests of a file. */
const daysOfFiles = new Map<string, number>();

function drawOneIn(divisor: number, days: number, label: string, folders: readonly string[]): void {
  const file = testFile();
  daysOfFiles.set(file, days);
  const isRelevant = (each: string): boolean =>
    each === file || folders.some((folder) => each.startsWith(`${folder}/`));
  const isComplete = [...changedFiles()].some(isRelevant);
  beforeEach(({ task, skip }) => {
    // Adjacent tests run on different days, so that the days take similar time.
    const index = testsIn(task.file.tasks).indexOf(task);
    const isDrawn = (index + digestOf(`${seedOfRun()} ${file}`)) % divisor === 0;
    const isTested = isComplete || (isFullRun() ? isSelectedToday(digestOf(file) + index, days, seedOfRun()) : isDrawn);
    recordSkipped(label, isTested ? 1 : 0, 1);
    skip(!isTested, isFullRun() ? "the full run of another day tests it" : "the seed did not draw it");
  });
}

export const testsIn = (tasks: readonly RunnerTask[]): readonly RunnerTestCase[] =>
  tasks.flatMap((task) => (task.type === "suite" ? testsIn(task.tasks) : [task]));

/** True if the full run of this day tests case `i` of a list that is spread over `days` days. */
export const isSelectedToday = (i: number, days: number, day: number): boolean =>
  (i + day) % Number(process.env["TILESCRIPT_DAYS"] ?? days) === 0;

/** The index of this day among the days on which the tests of this file run. */
const dayIndexOfFile = (): number => dayIndexOf(seedOfRun(), daysOfFiles.get(testFile()) ?? 1);
export const dayIndexOf = (day: number, days: number): number => Math.floor(day / days);

/** A number in [0, 1), determined by the seed and the key. */
function rankOf(key: string): number {
  return digestOf(`${seedOfRun()} ${key}`) / 2 ** 32;
}

/** A number from 0 to 2³² − 1, determined by the text. */
const digestOf = (text: string): number => createHash("sha256").update(text).digest().readUInt32BE();

const testFile = (): string => expect.getState().testPath!.slice(root.length + 1);
const nameOfTest = (): string | undefined => TestRunner.getCurrentTest()?.fullTestName;

function recordSkipped(label: string, tested: number, total: number, hasOwnTests = false): void {
  const skippedCases = { file: testFile(), label, tested, total, seed: seedOfRun(), test: nameOfTest() };
  writeSkipped({ ...skippedCases, ...(hasOwnTests && { hasOwnTests }) });
}

let changedFilesCache: ReadonlySet<string> | undefined;

/** The files that the last commit or the working tree changed; empty without a git history. */
export function changedFiles(): ReadonlySet<string> {
  return (changedFilesCache ??= new Set([
    ...git("diff", "--name-only", "HEAD~1"),
    ...git("ls-files", "-o", "--exclude-standard"),
  ]));
}

function git(...args: readonly string[]): readonly string[] {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).split("\n");
  } catch {
    return [];
  }
}
