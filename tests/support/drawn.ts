/**
 * The short run: of long lists it tests an eighth, drawn by the seed of the day, and all cases whose source changed.
 * `TILESCRIPT_TESTS=full` tests everything, but for the costliest lists and files, of which it tests a part on each day;
 * `TILESCRIPT_DAYS=1` tests them whole. `TILESCRIPT_TESTS=rest` tests what a short run left of the full one.
 * `TILESCRIPT_SEED=20261122` draws what was drawn that day.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect } from "vitest";

/** One case of a list in so many is drawn. */
const PART = 8;

const root = join(import.meta.dirname, "../..");

/** Where test files say what they left out; the end of the run reads it. */
export const leftOutFile = join(root, "node_modules/.cache/tilescript-tests/left-out.jsonl");

/** What the short run left out, where `TILESCRIPT_TESTS=rest`. */
export const restFile = join(root, "node_modules/.cache/tilescript-tests/rest.jsonl");

/** What a test file left out of a list. */
export interface LeftOut {
  /** The test file, from the root of the repository. */
  readonly file: string;
  readonly what: string;
  readonly tested: number;
  readonly of: number;
  readonly seed: number;
  /** The test within which it drew; undefined for a list of tests. */
  readonly test: string | undefined;
}

/** Read when it is asked for: `global-setup.ts` decides the seed of a run before any test file is loaded. */
export const seedOfRun = (): number => Number(process.env["TILESCRIPT_SEED"] ?? dayOf(new Date()));
export const isFullRun = (): boolean => process.env["TILESCRIPT_TESTS"] === "full" || isRest();
const isRest = (): boolean => process.env["TILESCRIPT_TESTS"] === "rest";

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
  /** In how many days full runs test all: of a costly list. */
  readonly days?: number | undefined;
}

/** The cases of a list that this run tests, in their order. `what` is plural: "op compilations". */
export function drawn<T>(what: string, all: readonly T[], options: Options<T>): readonly T[] {
  const { key, sources = () => [], always = [], least = 1, most = Infinity, days = 1 } = options;
  const isChanged = (each: T): boolean => sources(each).some((file) => changedFiles().has(file));
  if (isFullRun()) {
    const today = all.filter((each, i) => isToday(i, days) || always.includes(key(each)) || isChanged(each));
    leaveOut(what, today.length, all.length);
    return today;
  }
  const ranks = all.map((each) => rankOf(key(each)));
  const sorted = ranks.toSorted((a, b) => a - b);
  const rankAt = (count: number, otherwise: number) => sorted[Math.min(count, all.length) - 1] ?? otherwise;
  const bound = Math.min(Math.max(1 / PART, rankAt(least, 0)), rankAt(most, 1));
  const tested = all.filter((each, i) => ranks[i]! <= bound || always.includes(key(each)) || isChanged(each));
  leaveOut(what, tested.length, all.length);
  return tested;
}

/** How many of `count` like trials this run makes, such as the runs of a property. */
export function drawnCount(what: string, count: number, least = 1): number {
  if (isFullRun()) return count;
  const tested = Math.min(count, Math.max(least, Math.ceil(count / PART)));
  leaveOut(what, tested, count);
  return tested;
}

/**
 * For files whose tests each cost seconds, such as those that start processes: the short run makes one in 16, and all
 * where the test file or a file of `folders`, from the root, changed. The others are skipped. Called at the top.
 */
export function drawTests(what: string, ...folders: readonly string[]): void {
  drawOneIn(16, 1, what, folders);
}

/**
 * The same for files whose tests each cost more than half a minute: the short run makes one in 32, and a full run those
 * of its day, so that each is made on one day in three.
 */
export function drawCostlyTests(what: string, ...folders: readonly string[]): void {
  drawOneIn(32, 3, what, folders);
}

function drawOneIn(part: number, days: number, what: string, folders: readonly string[]): void {
  if (isFullRun() && !isRest() && days === 1) return;
  const concerned = (file: string): boolean =>
    file === testFile() || folders.some((folder) => file.startsWith(`${folder}/`));
  const all = [...changedFiles()].some(concerned);
  beforeEach(({ task, skip }) => {
    const name = `${task.suite?.name} ${task.name}`;
    const isDrawn = rankOf(name) <= 1 / part;
    if (isFullRun()) {
      const isOfDay = all || isToday(digestOf(name), days);
      if (days > 1) leaveOut(what, isOfDay ? 1 : 0, 1);
      skip(!isOfDay, "the full run of another day tests it");
      return skip(isRest() && isDrawn && !hasLeftOut(), "the short run tested it");
    }
    const tested = all || isDrawn;
    leaveOut(what, tested ? 1 : 0, 1);
    skip(!tested, "the seed did not draw it");
  });
}

/** Whether the day's full run tests the case at place `i` of a list that it tests in so many days. */
export const isToday = (i: number, days: number): boolean =>
  (i + seedOfRun()) % Number(process.env["TILESCRIPT_DAYS"] ?? days) === 0;

/** Whether this test of the short run left out a part of what it has. */
const hasLeftOut = (): boolean =>
  readLeftOut(restFile).some(
    ({ file, test, tested, of }) => file === testFile() && test === nameOfTest() && tested < of,
  );

/** From 0 to 1, the same for one seed and one key. */
function rankOf(key: string): number {
  return digestOf(`${seedOfRun()} ${key}`) / 2 ** 32;
}

/** From 0 to 2³² − 1, the same for one text on any day. */
const digestOf = (text: string): number => createHash("sha256").update(text).digest().readUInt32BE();

const testFile = (): string => expect.getState().testPath!.slice(root.length + 1);
const nameOfTest = (): string | undefined => expect.getState().currentTestName;

function leaveOut(what: string, tested: number, of: number): void {
  const left = { file: testFile(), what, tested, of, seed: seedOfRun(), test: nameOfTest() } satisfies LeftOut;
  mkdirSync(dirname(leftOutFile), { recursive: true });
  appendFileSync(leftOutFile, `${JSON.stringify(left)}\n`);
}

/** What the test files of a run left out. */
export function readLeftOut(from: string): readonly LeftOut[] {
  try {
    const lines = readFileSync(from, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as LeftOut);
  } catch {
    return [];
  }
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
