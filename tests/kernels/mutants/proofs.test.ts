/**
 * Seeded mistakes, seen by proofs: an access that leaves its tensor is refuted at the line to blame, and nothing that is
 * proved is found wrong by the evaluator.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CompiledKernel, Obligation } from "../../../src/contract/compiled.js";
import { cases } from "tilescript/testing";
import type { Location } from "../../../src/diagnostics/diagnostic.js";
import { drawn } from "../../support/drawn.js";
import { fc } from "../../support/property.js";
import { subjects } from "./mutations.js";
import { buildRight, Seeded } from "./seed.js";

const OUTSIDE = ["out-of-bounds", "false-in-bounds"];
const all = subjects.flatMap((subject) =>
  subject.mutations.map((mutation) => [`${subject.kernel}: ${mutation.what}`, subject, mutation] as const),
);
const place = (at: Location | undefined) => `${at?.line}:${at?.column}`;

function obligationsOf(compiled: CompiledKernel): readonly Obligation[] {
  return compiled.proof().obligations.filter(({ property }) => property === "bounds");
}

/** Places of accesses that are proved, and of those that the evaluator finds outside a tensor. */
function contradictions(compiled: CompiledKernel, draw: object, scalars: Readonly<Record<string, number>> | undefined) {
  const obligations = obligationsOf(compiled);
  const open = new Set(obligations.flatMap(({ at, verdict }) => (verdict.kind === "proved" ? [] : [place(at)])));
  const proved = new Set(obligations.flatMap(({ at }) => (open.has(place(at)) ? [] : [place(at)])));
  return fc
    .sample(cases(compiled, draw), { seed: 1, numRuns: 12 })
    .flatMap((at) => compiled.evaluate(scalars ? { ...at, scalars } : at).findings)
    .filter(({ code, at }) => OUTSIDE.includes(code) && proved.has(place(at)))
    .map(({ message }) => message);
}

describe("seeded mistakes", { timeout: 120_000 }, () => {
  let seeded: Seeded;
  beforeAll(() => void (seeded = new Seeded()));
  afterAll(() => seeded.remove());

  test.each(drawn("seeded mistakes to prove", all, { key: ([name]) => name, least: 8 }))(
    "%s",
    async (_, subject, mutation) => {
      const { compiled, lines } = await seeded.build(subject, mutation);
      expect(contradictions(compiled, subject.draw, subject.scalars)).toEqual([]);
      if (!OUTSIDE.includes(mutation.by)) return;
      // An offset without strides stays unknown; nothing else that leaves its tensor may.
      const at = obligationsOf(compiled).filter((each) => lines.includes(each.at?.line ?? 0));
      const isSeen = ({ verdict }: Obligation): boolean =>
        verdict.kind === "refuted" || (verdict.kind === "unknown" && /without its strides/.test(verdict.missing));
      expect(at.some(isSeen)).toBe(true);
    },
  );
});

test.each(drawn("right kernels to prove", subjects, { key: ({ kernel }) => kernel, least: 4 }))(
  "nothing of $kernel is refuted",
  async (subject) => {
    const compiled = await buildRight(subject);
    const wrong = obligationsOf(compiled).filter(({ verdict }) => verdict.kind === "refuted");
    expect(wrong.map(({ of, verdict }) => ({ of, verdict }))).toEqual([]);
    expect(contradictions(compiled, subject.draw, subject.scalars)).toEqual([]);
  },
);
