/** The rules of normal forms: each is a true identity, and the normalizer applies it. */
import { expect, test } from "vitest";
import { assume } from "../../../../src/prove/algebra/interpret.js";
import { Budget } from "../../../../src/prove/algebra/budget.js";
import { FactSet } from "../../../../src/prove/algebra/facts.js";
import { withMonomials } from "../../../../src/prove/algebra/polynomial.js";
import { compareCases } from "../../../../src/prove/equivalence/compare.js";
import { Entailment } from "../../../../src/prove/equivalence/integer-form.js";
import { Normalizer } from "../../../../src/prove/equivalence/normalizer.js";
import { withAtoms } from "../../../../src/prove/equivalence/polynomial.js";
import { rational, rationalOf } from "../../../../src/prove/equivalence/rational.js";
import { KNOWN_CONSTANTS } from "../../../../src/prove/equivalence/real.js";
import { rules } from "../../../support/real-identities.js";
import { hostFacts } from "../../../../src/prove/model/launch.js";
import { atLeast, number, symbol } from "../../../../src/symbolic/term.js";
import { drawn } from "../../../support/drawn.js";
import { preciseValue, TOLERANCE } from "../../../support/precise.js";

function sameForm(rule: (typeof rules)[number]): boolean {
  return withMonomials(() =>
    withAtoms(() => {
      const facts = new FactSet({ budget: new Budget(10_000), callFacts: hostFacts });
      for (const name of ["N", "M"]) assume(facts, atLeast(symbol(name), number(3)));
      const normalizer = new Normalizer(new Entailment(facts, new Budget(10_000)));
      const [left, right] = [rule.left, rule.right].map((side) => normalizer.cases(side, []));
      return compareCases(left!, right!, normalizer, []) === undefined;
    }),
  );
}

test.each(rules.map((rule) => ({ ...rule, rule })))("$identity holds", ({ rule }) => {
  const draw = drawn(7);
  for (let i = 0; i < 5; i++) {
    const elements = new Map<string, ReturnType<typeof rational>>();
    const point = {
      sizes: new Map([
        ["N", 5],
        ["M", 4],
        ["bias given", i % 2],
      ]),
      input(name: string, index: readonly number[]) {
        const key = `${name} ${index.join()}`;
        if (!elements.has(key)) elements.set(key, rational(1 + Math.floor(draw() * 40), 41));
        return elements.get(key)!;
      },
    };
    const [left, right] = [rule.left, rule.right].map((side) => preciseValue(side, point));
    const apart = left! - right!;
    expect(apart < TOLERANCE && apart > -TOLERANCE).toBe(true);
  }
});

test.each(rules.map((rule) => ({ ...rule, rule })))("$identity is applied", ({ rule }) => {
  expect(sameForm(rule)).toBe(true);
});

test("no two sides of different rules have one form", () => {
  for (const [i, x] of rules.entries()) {
    const y = rules[(i + 1) % rules.length]!;
    if (x.identity.slice(0, 4) !== y.identity.slice(0, 4))
      expect(sameForm({ ...x, right: y.right }), x.identity).toBe(false);
  }
});

test("a known constant is its exact value, and a literal next to it is not", () => {
  const point = { sizes: new Map(), input: () => rational(1n) };
  for (const { value, exact } of KNOWN_CONSTANTS) {
    const apart = preciseValue(exact, point) - preciseValue({ kind: "number", value: rationalOf(value) }, point);
    expect((apart < 0n ? -apart : apart) < 1n << (320n - 50n), String(value)).toBe(true);
  }
});
