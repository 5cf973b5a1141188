/**
 * Seeded mistakes, in the examples and in small kernels: the evaluator finds each of them over shapes that are drawn, and
 * has nothing to say of the kernels as they are. The first finding of a case that fails must be at the line to blame;
 * where only values tell, there is no line.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestCase, CompiledKernel } from "tilescript";
import { cases } from "tilescript/testing";
import { type Mutation, type Subject, subjects } from "./mutations.js";
import { buildRight, Seeded } from "./seed.js";
import { sampledTests } from "../../support/sampled-tests.js";
import { fc } from "../../support/property.js";

sampledTests("seeded mistakes to evaluate", "tests/kernels/mutants", "src/eval");

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

function drawn(compiled: CompiledKernel, { draw, scalars }: Subject, numRuns: number): TestCase[] {
  const all = fc.sample(cases(compiled, { ...draw, layouts: LAYOUTS }), { seed: SEED, numRuns });
  return scalars ? all.map((at) => ({ ...at, scalars })) : all;
}

const name = ({ kernel }: Subject, { what }: Mutation): string => `${kernel}: ${what}`;
const all = subjects.flatMap((subject) =>
  subject.mutations.map((mutation) => [name(subject, mutation), subject, mutation] as const),
);

describe("right kernels", () => {
  test.each(subjects.map((subject) => [subject.kernel, subject] as const))("%s has no finding", async (_, subject) => {
    const compiled = await buildRight(subject);
    const special = subject.mutations.flatMap((mutation) => mutation.options ?? []);
    for (const [i, at] of drawn(compiled, subject, RIGHT_CASES).entries())
      for (const each of [{ order: i % 2 === 0 ? "sequential" : "shuffled" } as const, ...special]) {
        const { findings, comparison } = compiled.evaluate(at, each);
        expect({ at, findings, wrong: comparison?.wrong }).toEqual({ at, findings: [], wrong: 0 });
      }
  });
});

describe("seeded mistakes", { timeout: 120_000 }, () => {
  let seeded: Seeded;
  const caught = new Map<string, Caught | undefined>();
  beforeAll(() => void (seeded = new Seeded()));
  afterAll(() => {
    seeded.remove();
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
    const { compiled, lines } = await seeded.build(subject, mutation);
    const result = firstCaught(compiled, subject, mutation, lines);
    caught.set(id, result);
    expect(result).toMatchObject({ by: mutation.by, ...(mutation.by !== "values" && { isRightLine: true }) });
  });
});

/**
 * What the cases show that go wrong, up to the first that shows the mistake as it is named: sizes and layouts decide whether
 * lanes or programs meet first. The first finding of each of them has to be at the line to blame.
 */
function firstCaught(
  compiled: CompiledKernel,
  subject: Subject,
  { by, options }: Mutation,
  lines: readonly number[],
): Caught | undefined {
  let seen: Caught | undefined;
  for (const at of drawn(compiled, subject, WRONG_CASES)) {
    const { findings, comparison } = compiled.evaluate(at, options);
    const [first] = findings;
    if (!first && comparison?.correct !== false) continue;
    const isRightLine = first && first.at !== undefined && lines.includes(first.at.line);
    const here: Caught = first
      ? { by: first.code, message: `${first.at?.line}: ${first.message} at ${JSON.stringify(at.sizes)}` }
      : { by: "values", message: `${comparison!.wrong} are wrong` };
    const right = [seen?.isRightLine, isRightLine].filter((each) => each !== undefined);
    const isRight = right.length > 0 ? { isRightLine: right.every(Boolean) } : {};
    if (here.by === by) return { ...here, ...isRight };
    seen = { ...(seen ?? here), ...isRight };
  }
  return seen;
}
