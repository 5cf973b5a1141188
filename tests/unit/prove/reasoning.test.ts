/** Reasoning about terms is right: what is proved holds for all values, and contradictions have no solution. */
import { describe, expect, test } from "vitest";
import { Budget } from "../../../src/prove/algebra/budget.js";
import { provesNonNegative } from "../../../src/prove/algebra/non-negativity.js";
import { contradict } from "../../../src/prove/algebra/contradiction.js";
import { assume, polynomialOf, entails } from "../../../src/prove/algebra/interpret.js";
import { FactSet, CopyOnWriteMap } from "../../../src/prove/algebra/facts.js";
import {
  add,
  atom,
  constant,
  multiply,
  Polynomial,
  PolynomialSet,
  single,
  subtract,
  ZERO,
  monomialOf,
} from "../../../src/prove/algebra/polynomial.js";
import { Valuation } from "../../../src/prove/launch-search.js";
import {
  andTerm,
  atLeast,
  atMost,
  below,
  cdiv,
  iteTerm,
  difference,
  equal,
  maxTerm,
  minTerm,
  not,
  number,
  product,
  quotient,
  remainder,
  orTerm,
  sum,
  symbol,
  type Term,
} from "../../../src/symbolic/term.js";
import { fc, runCount } from "../../support/property.js";

const STEPS = 2_000;
const knowing = (...facts: readonly Term[]): FactSet => {
  const known = new FactSet({ budget: new Budget(STEPS), callFacts: () => [] });
  for (const fact of facts) assume(known, fact);
  return known;
};
const [a, b, c] = ["a", "b", "c"].map(symbol) as [Term, Term, Term];
const NAMES = ["a", "b", "c"];
const n = number;

const integers: fc.Arbitrary<Term> = fc.letrec<{ term: Term; truth: Term }>((tie) => ({
  term: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(a, b, c),
    fc.integer({ min: -3, max: 6 }).map(n),
    fc.tuple(tie("term"), tie("term")).map(([x, y]) => sum(x, y)),
    fc.tuple(tie("term"), tie("term")).map(([x, y]) => difference(x, y)),
    fc.tuple(tie("term"), tie("term")).map(([x, y]) => product(x, y)),
    fc.tuple(tie("term"), tie("term"), fc.boolean()).map(([x, y, floors]) => quotient(x, y, floors)),
    fc.tuple(tie("term"), tie("term"), fc.boolean()).map(([x, y, floors]) => remainder(x, y, floors)),
    fc.tuple(tie("term"), tie("term")).map(([x, y]) => minTerm(x, y)),
    fc.tuple(tie("term"), tie("term")).map(([x, y]) => maxTerm(x, y)),
    fc.tuple(tie("truth"), tie("term"), tie("term")).map(([t, x, y]) => iteTerm(t, x, y)),
  ),
  truth: fc.oneof(
    { depthSize: "small" },
    fc.tuple(tie("term"), tie("term")).map(([x, y]) => atMost(x, y)),
    fc.tuple(tie("term"), tie("term")).map(([x, y]) => equal(x, y)),
    fc.tuple(tie("truth"), tie("truth")).map(([x, y]) => andTerm(x, y)),
    fc.tuple(tie("truth"), tie("truth")).map(([x, y]) => orTerm(x, y)),
    tie("truth").map(not),
  ),
})).term;
const truths: fc.Arbitrary<Term> = fc
  .tuple(
    integers,
    integers,
    fc.constantFrom(atMost, below, equal, (x: Term, y: Term) => not(equal(x, y))),
  )
  .map(([x, y, compare]) => compare(x, y));

/** Every assignment of small numbers to the symbols. */
function* assignments(): Iterable<ReadonlyMap<string, number>> {
  const range = [-2, -1, 0, 1, 2, 3, 5];
  for (const x of range)
    for (const y of range)
      for (const z of range)
        yield new Map([
          [NAMES[0]!, x],
          [NAMES[1]!, y],
          [NAMES[2]!, z],
        ]);
}

test("what is proved from facts holds wherever the facts do", () => {
  let proved = 0;
  fc.assert(
    fc.property(fc.array(truths, { maxLength: 3 }), truths, (facts, goal) => {
      if (!entails(knowing(atLeast(a, n(0)), ...facts), goal)) return;
      proved++;
      for (const values of assignments()) {
        const at = new Valuation(values);
        const isHere = values.get("a")! >= 0 && facts.every((fact) => at.truth(fact) === true);
        if (isHere && at.truth(goal) === false) throw new Error(`false at ${[...values].join(" ")}`);
      }
    }),
    { numRuns: runCount(2000) },
  );
  expect(proved).toBeGreaterThan(runCount(2000) / 100);
});

/** Terms of which everything is known: divisors are positive, and conditions choose nothing. */
const plain: fc.Arbitrary<Term> = fc.letrec<{ term: Term }>((tie) => ({
  term: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(a, b, c),
    fc.integer({ min: -3, max: 6 }).map(n),
    fc
      .tuple(tie("term"), tie("term"), fc.constantFrom(sum, difference, product, minTerm, maxTerm))
      .map(([x, y, make]) => make(x, y)),
    fc
      .tuple(tie("term"), fc.integer({ min: 1, max: 5 }), fc.constantFrom(quotient, remainder), fc.boolean())
      .map(([x, y, make, floors]) => make(x, n(y), floors)),
  ),
})).term;

test("at a point that refutes something all facts hold, and it does not", () => {
  let refuted = 0;
  const comparisons = fc.tuple(plain, plain, fc.constantFrom(atMost, below, equal)).map(([x, y, is]) => is(x, y));
  fc.assert(
    fc.property(fc.array(comparisons, { maxLength: 3 }), plain, (facts, term) => {
      const known = knowing(atLeast(a, n(0)), ...facts);
      const point = known.samples.sampleMore().refute(polynomialOf(known, term));
      if (known.impossible || !point) return;
      refuted++;
      // A symbol of which nothing is said may have any value.
      const at = new Valuation(new Map([...NAMES.map((name) => [name, -1] as const), ...point]));
      expect(at.integer(term)).toBeLessThan(0);
      expect(facts.filter((fact) => at.truth(fact) !== true)).toEqual([]);
    }),
    { numRuns: runCount(2000) },
  );
  expect(refuted).toBeGreaterThan(runCount(2000) / 100);
});

/** A coefficient with the atoms of its monomial. */
const terms = fc.tuple(fc.constantFrom("", "a", "b", "ab", "aa"), fc.integer({ min: -4, max: 4 }));
const total = (of: readonly (readonly [string, number])[]): Polynomial =>
  of.reduce((sum, [atoms, by]) => add(sum, single(monomialOf([...atoms])), by), ZERO);

test("conditions that contradict each other have no solution", () => {
  const polynomials = fc.array(terms, { maxLength: 4 }).map(total);
  const valueOf = (p: Polynomial, x: number, y: number): number =>
    p.terms.reduce(
      (sum, { monomial: { atoms }, coefficient }) =>
        sum + atoms.reduce((value, name) => value * (name === "a" ? x : y), Number(coefficient)),
      0,
    );
  let found = 0;
  fc.assert(
    fc.property(fc.array(polynomials, { maxLength: 5 }), fc.array(polynomials, { maxLength: 2 }), (positive, zero) => {
      if (!contradict(positive, zero, new Budget(STEPS))) return;
      found++;
      for (let x = -6; x <= 6; x++)
        for (let y = -6; y <= 6; y++)
          expect(
            positive.every((p) => valueOf(p, x, y) >= 0) && zero.every((p) => valueOf(p, x, y) === 0),
            `a=${x} b=${y}`,
          ).toBe(false);
    }),
    { numRuns: runCount(2000) },
  );
  expect(found).toBeGreaterThan(0);
});

describe("what kernels need is proved", () => {
  const positive = [atLeast(a, n(1)), atLeast(b, n(1)), atLeast(c, n(0))];
  test.each([
    ["a remainder is below its divisor", [], below(remainder(c, a), a)],
    ["a quotient by blocks is below their number", [below(c, a)], below(quotient(c, b), cdiv(a, b))],
    ["b·(x // b) + x % b is x", [], equal(sum(product(b, quotient(c, b)), remainder(c, b)), c)],
    ["a block's start is before the end", [below(c, cdiv(a, b))], below(product(c, b), a)],
    ["(b·x + y) // b is x for a small y", [below(c, b)], equal(quotient(sum(product(a, b), c), b), a)],
    ["the smaller of two is no larger than either", [], andTerm(atMost(minTerm(a, b), a), atMost(minTerm(a, b), b))],
    [
      "floors of exact multiples need no sign",
      [],
      equal(quotient(product(n(8), symbol("d")), n(8), true), symbol("d")),
    ],
    ["one of two cases", [orTerm(atLeast(a, n(5)), atLeast(b, n(5)))], atLeast(sum(a, b), n(6))],
  ] as const)("%s", (_, facts, goal) => {
    expect(entails(knowing(...positive, ...facts), goal)).toBe(true);
  });

  test("and not where a fact is missing", () => {
    expect(entails(knowing(), below(remainder(c, a), a))).toBe(false);
    expect(entails(knowing(...positive), below(quotient(c, b), cdiv(a, b)))).toBe(false);
    expect(entails(knowing(...positive), below(product(c, b), a))).toBe(false);
    expect(entails(knowing(...positive, atLeast(a, sum(b, n(-1)))), atLeast(quotient(a, b), n(1)))).toBe(false);
    // A row of a grid, a column of a group of rows, and blocks that are at least so long.
    expect(entails(knowing(...positive, below(c, product(a, b))), below(quotient(c, a), b))).toBe(true);
    expect(entails(knowing(...positive, atMost(c, product(a, b))), below(quotient(c, a), b))).toBe(false);
    const place = remainder(c, product(a, b));
    expect(entails(knowing(...positive), below(quotient(place, b), a))).toBe(true);
    expect(entails(knowing(...positive), below(quotient(place, b), sum(a, n(-1))))).toBe(false);
    const long = knowing(atLeast(b, n(4)), atLeast(a, b));
    const more = sum(quotient(a, b), n(-1));
    expect(entails(long, atMost(product(n(4), more), difference(a, b)))).toBe(true);
    expect(entails(long, atMost(product(n(5), more), difference(a, b)))).toBe(false);
  });
});

describe("what is shared out by quotients of products", () => {
  const [shares, place] = [symbol("shares"), symbol("place")];
  // c blocks of a steps each, shared out among b programs.
  const steps = product(c, a);
  const share = cdiv(steps, b);
  const natural = [atLeast(a, n(1)), atLeast(b, n(1)), atLeast(c, n(1)), atLeast(place, n(0))];
  /** Whether it follows without products and cases: what a quotient is bounded by is known with it. */
  const follows = (known: FactSet, { operands: [x, y] }: Term): boolean =>
    provesNonNegative(known, subtract(polynomialOf(known, y!), polynomialOf(known, x!)), "sums");

  test("the blocks that cover the smaller of two are no more than those of either", () => {
    const known = knowing(...natural, atLeast(shares, n(0)));
    expect(follows(known, atMost(cdiv(minTerm(shares, steps), a), c))).toBe(true);
    expect(entails(known, below(cdiv(minTerm(shares, steps), a), c))).toBe(false);
    expect(entails(known, atMost(cdiv(maxTerm(shares, steps), a), c))).toBe(false);
    // Less than the larger is more than less than either.
    const left = (of: Term): Term => cdiv(difference(product(n(2), steps), of), a);
    const above = knowing(...natural, atLeast(shares, n(0)), atMost(shares, product(n(2), steps)));
    expect(follows(above, atMost(left(maxTerm(shares, steps)), c))).toBe(true);
    expect(entails(above, atMost(left(minTerm(shares, steps)), c))).toBe(false);
  });

  test("every place belongs to one of those who share", () => {
    const owner = (step: Term) => quotient(step, share);
    const known = knowing(...natural, below(place, c));
    const last = sum(product(place, a), a, n(-1));
    expect(follows(known, below(owner(last), b))).toBe(true);
    expect(entails(known, below(owner(sum(last, n(1))), b))).toBe(false);
    expect(entails(known, below(owner(last), sum(b, n(-1))))).toBe(false);
  });

  test("the last element of the block before is one block less", () => {
    const known = knowing(...natural);
    const before = difference(steps, n(1));
    expect(entails(known, equal(quotient(before, a), difference(c, n(1))))).toBe(true);
    // It needs no atom of its own.
    expect(polynomialOf(known, remainder(before, a)).key).toBe(polynomialOf(known, difference(a, n(1))).key);
  });
});

test("an iteration between numbers of blocks gets its value after them, so that points are found", () => {
  const iterations = ["iteration", "inner"].map(symbol);
  const first = quotient(product(a, b), c);
  const known = knowing(
    ...[...iterations, a, b, c].map((each) => atLeast(each, n(2))),
    ...iterations.flatMap((iteration) => [atLeast(iteration, first), below(iteration, sum(first, n(3)))]),
  );
  expect(known.samples.sampleMore().refute(polynomialOf(known, difference(a, first)))).toBeDefined();
  expect(known.samples.sampleMore().refute(polynomialOf(known, difference(iterations[0]!, first)))).toBeUndefined();
});

test("a proof ends when its steps are spent, and then shows nothing", () => {
  const known = new FactSet({ budget: new Budget(3), callFacts: () => [] });
  assume(known, atLeast(a, n(1)));
  assume(known, atLeast(b, a));
  expect(entails(known, atLeast(b, n(1)))).toBe(false);
});

test("numbers as large as 2^31 hide no small ones", () => {
  const [x, y] = [atom("x"), atom("y")];
  const conditions = [x, subtract(constant(2 ** 31), x), y, subtract(subtract(constant(7), y), multiply(x, y))];
  expect(contradict([...conditions, subtract(y, constant(8)), multiply(x, y)], [], new Budget(STEPS))).toBe(true);
});

test("a set of polynomials holds each once, whatever the order of its terms", () => {
  fc.assert(
    fc.property(fc.array(fc.array(terms, { maxLength: 4 }).map(total), { maxLength: 60 }), (list) => {
      const set = new PolynomialSet();
      const kept = list.filter((p) => set.add(p)).map(({ key }) => key);
      expect(kept).toEqual([...new Set(list.map(({ key }) => key))]);
      // Terms in another order are the same polynomial.
      const reversed = (p: Polynomial) => new Polynomial(p.terms.toReversed());
      expect(list.filter((p) => set.add(reversed(p)))).toEqual([]);
    }),
    { numRuns: runCount(300) },
  );
});

test("copies of a map share what they have, until one of them changes", () => {
  const first = new CopyOnWriteMap<string, number>();
  first.set("x", 1);
  const second = new CopyOnWriteMap(first);
  second.set("x", 2);
  first.set("y", 3);
  const third = new CopyOnWriteMap(second);
  third.set("z", 4);
  const of = (map: CopyOnWriteMap<string, number>) => ["x", "y", "z"].map((key) => map.get(key));
  expect([first, second, third].map(of)).toEqual([
    [1, 3, undefined],
    [2, undefined, undefined],
    [2, undefined, 4],
  ]);
});
