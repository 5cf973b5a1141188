/** What comes in with each program and iteration, and what accesses share there. */
import { expect, test } from "vitest";
import { Budget } from "../../../src/prove/algebra/budget.js";
import { assume, entails } from "../../../src/prove/algebra/interpret.js";
import { FactSet } from "../../../src/prove/algebra/facts.js";
import { divide, levelsOf } from "../../../src/prove/model/fact-scopes.js";
import { atLeast, below, number, quotient, remainder, sum, symbol } from "../../../src/symbolic/term.js";

const [p, iteration, K] = [symbol("p"), symbol("iteration"), symbol("K")];
const nothing = () => new FactSet({ budget: new Budget(10_000), callFacts: () => [] });

test("a condition comes in with the last program or iteration that it speaks of", () => {
  const [ofSizes, ofProgram, ofBoth] = [atLeast(K, number(1)), below(p, K), below(sum(p, iteration), K)];
  const levels = levelsOf([ofBoth, ofProgram, ofSizes], ["p", "iteration"]);
  expect(levels.map(({ name, conditions }) => [name, conditions])).toEqual([
    [undefined, [ofSizes]],
    ["p", [ofProgram]],
    ["iteration", [ofBoth]],
  ]);
});

test("levels are one until paths part", () => {
  const keys = (...path: Parameters<typeof levelsOf>[0]) => levelsOf(path, ["p", "iteration"]).map(({ key }) => key);
  const [first, second] = [keys(below(iteration, K)), keys(atLeast(iteration, K))];
  expect(first.slice(0, 2)).toEqual(second.slice(0, 2));
  expect(first[2]).not.toBe(second[2]);
});

test("only what is certainly not negative is divided before more is known", () => {
  const term = quotient(p, number(4));
  const outside = nothing();
  divide(outside, term);
  expect(outside.seen.get(term)).toBeUndefined();
  const inside = outside.child();
  assume(inside, atLeast(p, number(0)));
  divide(inside, term);
  expect(inside.seen.get(term)).toBeDefined();
  expect(entails(inside.child(), atLeast(term, number(0)))).toBe(true);
});

test("what is divided hangs on no quotient that waits", () => {
  const here = nothing();
  assume(here, atLeast(p, number(0)));
  const term = remainder(sum(p, quotient(iteration, K)), number(4));
  divide(here, term);
  expect(here.seen.get(term)).toBeUndefined();
});
