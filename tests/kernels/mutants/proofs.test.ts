/**
 * Seeded mistakes, seen by proofs: what a finding tells of is refuted at the line to blame, and nothing that is proved is
 * found wrong by the evaluator.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CompiledKernel, Obligation } from "../../../src/compiled/compiled-kernel.js";
import { cases } from "tilescript/testing";
import { sampleCases } from "../../support/sampled-tests.js";
import { fc } from "../../support/property.js";
import { soundnessViolations, forbiddenBy } from "../../support/soundness.js";
import { subjects } from "./mutations.js";
import { buildRight, Seeded } from "./seed.js";

const all = subjects.flatMap((subject) =>
  subject.mutations.map((mutation) => [`${subject.kernel}: ${mutation.what}`, subject, mutation] as const),
);

/** What the evaluator finds of something that is proved. */
function contradictions(compiled: CompiledKernel, draw: object, scalars: Readonly<Record<string, number>> | undefined) {
  const proof = compiled.proof();
  return fc
    .sample(cases(compiled, draw), { seed: 1, numRuns: 12 })
    .flatMap((at) => soundnessViolations(proof, compiled.evaluate(scalars ? { ...at, scalars } : at).findings));
}

describe("seeded mistakes", { timeout: 120_000 }, () => {
  let seeded: Seeded;
  beforeAll(() => void (seeded = new Seeded()));
  afterAll(() => seeded.remove());

  test.each(
    sampleCases("seeded mistakes to prove", all, { key: ([name]) => name, minimum: 8, perRun: 43, hasOwnTests: true }),
  )("%s", async (_, subject, mutation) => {
    const { compiled, lines } = await seeded.build(subject, mutation);
    expect(contradictions(compiled, subject.draw, subject.scalars)).toEqual([]);
    const { obligations } = compiled.proof();
    const isOpen = obligations.some(({ property: of, verdict }) => of === "padding" && verdict.kind === "unknown");
    if (mutation.padding) expect(isOpen).toBe(true);
    const property = forbiddenBy(mutation.by);
    if (property === undefined) return;
    // An atomic gives no element its first value, so what only atomics write is not covered, wherever they stand.
    const isUncovered = (of: string): boolean => mutation.by === "uninitialized" && of === "coverage";
    const isSeen = ({ property: of, at, verdict }: Obligation): boolean =>
      verdict.kind === "refuted" &&
      (isUncovered(of) ||
        (of === property && [at, verdict.finding.at].some((place) => lines.includes(place?.line ?? 0))));
    expect(obligations.filter(isSeen)).not.toEqual([]);
  });
});

describe("what needs no mistake to be found", { timeout: 120_000 }, () => {
  let seeded: Seeded;
  beforeAll(() => void (seeded = new Seeded()));
  afterAll(() => seeded.remove());

  test.each([
    ["layer-norm", "layerNorm"],
    ["rms-norm", "rmsNorm"],
  ])("the gradients of %s leave dx unwritten without a group", async (name, kernel) => {
    const source = { file: `../../../examples/${name}.ts`, kernel, anywhere: true };
    const { compiled } = await seeded.build(source, { what: "no group", from: ", GROUPS.ge(1)", to: "" });
    const refuted = compiled.proof().obligations.filter(({ verdict }) => verdict.kind === "refuted");
    expect(refuted.map(({ property, of }) => `${property} of ${of}`)).toEqual(["coverage of dx"]);
    const [{ verdict }] = refuted as [Obligation];
    expect(verdict).toMatchObject({ at: { sizes: { GROUPS: 0 } }, finding: { code: "never-written" } });
  });

  test("roll may overflow, for its index is below twice the size", async () => {
    const compiled = await buildRight({ file: "sources/moves.ts", kernel: "roll" });
    const sums = compiled.proof().obligations.filter(({ property }) => property === "overflow");
    expect(sums.map(({ verdict }) => verdict.kind)).toContain("unknown");
  });
});

test.each(
  sampleCases("right kernels to prove", subjects, { key: ({ kernel }) => kernel, minimum: 4, hasOwnTests: true }),
)("nothing of $kernel is refuted", async (subject) => {
  const compiled = await buildRight(subject);
  const { obligations } = compiled.proof();
  const wrong = obligations.flatMap(({ verdict }) => (verdict.kind === "refuted" ? [verdict] : []));
  expect(wrong).toEqual([]);
  const open = obligations.filter(({ property, verdict }) => property === "padding" && verdict.kind !== "proved");
  expect(open.map(({ of, verdict }) => ({ of, verdict }))).toEqual([]);
  expect(contradictions(compiled, subject.draw, subject.scalars)).toEqual([]);
});
