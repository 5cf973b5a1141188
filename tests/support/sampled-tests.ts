/**
 * The short run: of long lists it tests an eighth, drawn by the seed of the day, and all cases whose source changed.
 * `TILESCRIPT_TESTS=full` tests everything, but for the costliest lists and files, of which it tests so many cases on
 * each day; `TILESCRIPT_DAYS=1` tests them whole. `TILESCRIPT_TESTS=rest` tests what a short run left of the full one.
 * `TILESCRIPT_SEED=20261122` draws what was drawn that day.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { beforeEach, expect, TestRunner, type RunnerTask, type RunnerTestCase } from "vitest";
import { root, writeLeftOut } from "./run-records.js";

/** One case of a list in so many is drawn, by the lowest ranks. */
const PART = 8;

/** Read when it is asked for: `global-setup.ts` decides the seed of a run before any test file is loaded. */
export const seedOfRun = (): number => Number(process.env["TILESCRIPT_SEED"] ?? dayOf(new Date()));
export const isFullRun = (): boolean => process.env["TILESCRIPT_TESTS"] === "full" || isRest();
export const isRest = (): boolean => process.env["TILESCRIPT_TESTS"] === "rest";

/** 20261122 on November 22, 2026. */
function dayOf(date: Date): number {
  return Number(date.toISOString().slice(0, 10).replaceAll("-", ""));
}

interface Options<T> {
  /** What a case is called; its draw depends on this and the seed alone. */
  readonly key: (testCase: T) => string;
  /** Files, from the root of the repository. Where one changed, the case is tested on any day. */
  readonly sources?: (testCase: T) => readonly string[];
  /** Cases that a past draw has failed: tested on any day. */
  readonly always?: readonly string[];
  /** The least number of cases to test. */
  readonly least?: number;
  /** The greatest number of cases to draw, besides those whose source changed. */
  readonly most?: number;
  /** Of a costly list: the most that a full run tests on one day, besides those whose source changed. */
  readonly aDay?: number | undefined;
  /** Each case is a test of its own, and no other test uses the list. */
  readonly isOfTests?: boolean;
}

/** The cases of a list that this run tests, in their order. `what` is plural: "op compilations". */
export function sampleCases<T>(what: string, all: readonly T[], options: Options<T>): readonly T[] {
  const {
    key,
    sources = () => [],
    always = [],
    least = 1,
    most = Infinity,
    aDay = Infinity,
    isOfTests = false,
  } = options;
  const isChanged = (each: T): boolean => sources(each).some((file) => changedFiles().has(file));
  if (isFullRun()) {
    const days = daysFor(all.length, aDay);
    const today = all.filter(
      (each, i) => isSelectedToday(i, days, turnOfFile()) || always.includes(key(each)) || isChanged(each),
    );
    leaveOut(what, today.length, all.length, isOfTests);
    return today;
  }
  const ranks = all.map((each) => rankOf(key(each)));
  // As many on each day, so that none takes much longer; of a list of one case, one in so many days.
  const part = Math.floor(all.length / PART + rankOf(what));
  const count = Math.min(Math.max(part, least), most, all.length);
  const bound = ranks.toSorted((a, b) => a - b)[count - 1] ?? -1;
  const tested = all.filter((each, i) => ranks[i]! <= bound || always.includes(key(each)) || isChanged(each));
  leaveOut(what, tested.length, all.length, isOfTests);
  return tested;
}

/** In how many days a list is tested whole: a list that is not costly on each. */
export const daysFor = (count: number, aDay: number): number => Math.max(1, Math.ceil(count / aDay));

/**
 * How many of `count` like trials this run makes, such as the runs of a property: a full run makes half of them. Their
 * seeds follow from that of the run, so each day makes others.
 */
export function drawnCount(what: string, count: number, least = 1): number {
  const part = isFullRun() ? Number(process.env["TILESCRIPT_DAYS"] ?? 2) : PART;
  const tested = Math.min(count, Math.max(least, Math.ceil(count / part)));
  leaveOut(what, tested, count);
  return tested;
}

/**
 * For files whose tests each cost seconds, such as those that start processes: the short run makes one in 16, a full run
 * every second one, the others on the next day, and both all where the test file or a file of `folders`, from the root,
 * changed. Called at the top.
 */
export function sampledTests(what: string, ...folders: readonly string[]): void {
  drawOneIn(16, 2, what, folders);
}

/** The same for files whose tests each cost more than half a minute: the short run makes none, a full run every third. */
export function drawCostlyTests(what: string, ...folders: readonly string[]): void {
  drawOneIn(Infinity, 3, what, folders);
}

/** In how many days full runs make all tests of a file. */
const daysOfFiles = new Map<string, number>();

function drawOneIn(part: number, days: number, what: string, folders: readonly string[]): void {
  const file = testFile();
  daysOfFiles.set(file, days);
  const isConcerned = (each: string): boolean =>
    each === file || folders.some((folder) => each.startsWith(`${folder}/`));
  const all = [...changedFiles()].some(isConcerned);
  beforeEach(({ task, skip }) => {
    // Neighbors take turns, so that no day has much more to do than another.
    const place = testsIn(task.file.tasks).indexOf(task);
    const isDrawn = (place + digestOf(`${seedOfRun()} ${file}`)) % part === 0;
    const isTested = all || (isFullRun() ? isSelectedToday(digestOf(file) + place, days, seedOfRun()) : isDrawn);
    leaveOut(what, isTested ? 1 : 0, 1);
    skip(!isTested, isFullRun() ? "the full run of another day tests it" : "the seed did not draw it");
  });
}

export const testsIn = (tasks: readonly RunnerTask[]): readonly RunnerTestCase[] =>
  tasks.flatMap((task) => (task.type === "suite" ? testsIn(task.tasks) : [task]));

/** Whether the day's full run tests the case at place `i` of a list that it tests in so many days. */
export const isSelectedToday = (i: number, days: number, day: number): boolean =>
  (i + day) % Number(process.env["TILESCRIPT_DAYS"] ?? days) === 0;

/** Days as a list of this file counts them: where its tests are made on some days only, each of those is the next. */
const turnOfFile = (): number => dayIndexOf(seedOfRun(), daysOfFiles.get(testFile()) ?? 1);
export const dayIndexOf = (day: number, days: number): number => Math.floor(day / days);

/** From 0 to 1, the same for one seed and one key. */
function rankOf(key: string): number {
  return digestOf(`${seedOfRun()} ${key}`) / 2 ** 32;
}

/** From 0 to 2³² − 1, the same for one text on any day. */
const digestOf = (text: string): number => createHash("sha256").update(text).digest().readUInt32BE();

const testFile = (): string => expect.getState().testPath!.slice(root.length + 1);
const nameOfTest = (): string | undefined => TestRunner.getCurrentTest()?.fullTestName;

function leaveOut(what: string, tested: number, of: number, isOfTests = false): void {
  const left = { file: testFile(), what, tested, of, seed: seedOfRun(), test: nameOfTest() };
  writeLeftOut({ ...left, ...(isOfTests && { isOfTests }) });
}

let changed: ReadonlySet<string> | undefined;

/** The files that the last commit or the working tree changed; none where there is no history. */
export function changedFiles(): ReadonlySet<string> {
  return (changed ??= new Set([
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
