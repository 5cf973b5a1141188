/**
 * Seeded mistakes, in the examples and in small kernels: the evaluator finds each of them over shapes that are drawn, and
 * has nothing to say of the kernels as they are. The first finding of the first case that fails must be at the line to
 * blame; where only values tell, there is no line.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, type Case, type CompiledKernel } from "tilescript";
import { cases } from "tilescript/testing";
import { type Mutation, type Subject, subjects } from "./mutations.js";

const SEED = 1;
const RIGHT_CASES = 25;
const WRONG_CASES = 60;
/** Rows that are one row in memory would hide which line is to blame. */
const LAYOUTS = ["contiguous", "transposed", "sliced", "offset"] as const;

interface Caught {
  readonly by: string;
  readonly message: string;
  /** Undefined where only values tell. */
  readonly isRightLine?: boolean;
}

/** The part of a source that defines a kernel. */
function sectionOf(source: string, kernel: string): readonly [number, number] {
  const start = source.indexOf(`export const ${kernel} = `);
  const end = source.indexOf("\nexport const ", start + 1);
  if (start < 0) throw new Error(`there is no ${kernel}`);
  return [start, end < 0 ? source.length : end];
}

const lineAt = (source: string, position: number): number => source.slice(0, position).split("\n").length;

/** The source with the mistake, and the lines that may be blamed. */
function mutate(source: string, kernel: string, { what, from, to, at }: Mutation) {
  const [start, end] = sectionOf(source, kernel);
  const position = source.indexOf(from, start);
  if (position < 0 || position >= end) throw new Error(`${kernel}, ${what}: there is no ${from}`);
  const mutated = source.slice(0, position) + to + source.slice(position + from.length);
  const places = at?.map((words) => mutated.indexOf(words, start)) ?? [position];
  if (places.some((place) => place < 0)) throw new Error(`${kernel}, ${what}: there is no ${at?.join()}`);
  return { mutated, lines: places.map((place) => lineAt(mutated, place)) };
}

function drawn(compiled: CompiledKernel, { draw, scalars }: Subject, numRuns: number): Case[] {
  const all = fc.sample(cases(compiled, { ...draw, layouts: LAYOUTS }), { seed: SEED, numRuns });
  return scalars ? all.map((at) => ({ ...at, scalars })) : all;
}

const sourceOf = ({ file }: Subject): string => readFileSync(new URL(file, import.meta.url), "utf8");
const name = ({ kernel }: Subject, { what }: Mutation): string => `${kernel}: ${what}`;
const all = subjects.flatMap((subject) =>
  subject.mutations.map((mutation) => [name(subject, mutation), subject, mutation] as const),
);

describe("right kernels", () => {
  test.each(subjects.map((subject) => [subject.kernel, subject] as const))(
    "%s has no finding",
    async (kernel, subject) => {
      const module = (await import(new URL(subject.file, import.meta.url).href)) as Record<string, unknown>;
      const compiled = await build(module[kernel]);
      const special = subject.mutations.flatMap((mutation) => mutation.options ?? []);
      for (const [i, at] of drawn(compiled, subject, RIGHT_CASES).entries())
        for (const each of [{ order: i % 2 === 0 ? "sequential" : "shuffled" } as const, ...special]) {
          const { findings, comparison } = compiled.evaluate(at, each);
          expect({ at, findings, wrong: comparison?.wrong }).toEqual({ at, findings: [], wrong: 0 });
        }
    },
  );
});

describe("seeded mistakes", { timeout: 120_000 }, () => {
  // Inside the project, so that what the sources import is found.
  let folder: string;
  const caught = new Map<string, Caught | undefined>();
  beforeAll(() => void (folder = mkdtempSync(join(import.meta.dirname, ".mutated-"))));
  afterAll(() => {
    rmSync(folder, { recursive: true });
    const found = [...caught.values()].filter((each) => each !== undefined);
    const told = found.filter(({ isRightLine }) => isRightLine !== undefined);
    const right = told.filter(({ isRightLine }) => isRightLine);
    console.log(
      `${found.length} of ${caught.size} seeded mistakes found, ${right.length} at the right line; ` +
        `${found.length - told.length} by their values alone, which have no line (seed ${SEED})`,
    );
  });

  test.each(all)("%s", async (id, subject, mutation) => {
    caught.set(id, undefined);
    const { mutated, lines } = mutate(sourceOf(subject), subject.kernel, mutation);
    const file = join(folder, `${caught.size}-${basename(subject.file)}`);
    writeFileSync(file, mutated);
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    const compiled = await build(module[subject.kernel]);
    const result = firstCaught(compiled, subject, mutation, lines);
    caught.set(id, result);
    expect(result).toMatchObject({ by: mutation.by, ...(mutation.by !== "values" && { isRightLine: true }) });
  });
});

/** What the first case that goes wrong shows. */
function firstCaught(
  compiled: CompiledKernel,
  subject: Subject,
  { options }: Mutation,
  lines: readonly number[],
): Caught | undefined {
  for (const at of drawn(compiled, subject, WRONG_CASES)) {
    const { findings, comparison } = compiled.evaluate(at, options);
    const [first] = findings;
    if (first) {
      const isRightLine = first.at !== undefined && lines.includes(first.at.line);
      return {
        by: first.code,
        message: `${first.at?.line}: ${first.message} at ${JSON.stringify(at.sizes)}`,
        isRightLine,
      };
    }
    if (comparison && !comparison.correct) return { by: "values", message: `${comparison.wrong} are wrong` };
  }
  return undefined;
}
