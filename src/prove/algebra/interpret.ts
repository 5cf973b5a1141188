/** Interprets terms as polynomials and truth values as conditions, under a set of facts. */
import { conditionsOf as conjuncts, not, orTerm, type Term, TRUE } from "../../symbolic/term.js";
import { provesNonNegative } from "./non-negativity.js";
import { divide } from "./division.js";
import { isDivision, internKey, type FactSet } from "./facts.js";
import {
  add,
  asMonomial,
  atom,
  constant,
  constantOf,
  isConstant,
  multiply,
  ONE,
  opposite,
  type Polynomial,
  scale,
  subtract,
  ZERO,
  atLeastZero,
  type Condition,
  isZero,
} from "./polynomial.js";

/** The polynomial of an integer term. Operators other than sums and products become atoms with defining conditions. */
export function polynomialOf(facts: FactSet, term: Term): Polynomial {
  let polynomial = facts.seen.get(term);
  if (polynomial === undefined) facts.seen.set(term, (polynomial = compute(facts, term)));
  return polynomial;
}

function compute(facts: FactSet, term: Term): Polynomial {
  const operandsOf = ([x, y]: readonly [Term, Term]) => [polynomialOf(facts, x), polynomialOf(facts, y)] as const;
  switch (term.kind) {
    case "number":
      return constant(term.value);
    case "symbol":
      return atom(term.name);
    case "sum":
      return foldDivisions(
        facts,
        term.operands.reduce((total, summand) => add(total, polynomialOf(facts, summand)), ZERO),
      );
    case "product":
      return term.operands.reduce((total, factor) => multiply(total, polynomialOf(facts, factor)), ONE);
    case "quotient":
    case "floorQuotient":
      return divide(facts, ...operandsOf(term.operands), term.kind === "floorQuotient").quotient;
    case "remainder":
    case "floorRemainder":
      return divide(facts, ...operandsOf(term.operands), term.kind === "floorRemainder").remainder;
    case "least":
    case "greatest":
      return extreme(facts, ...operandsOf(term.operands), term.kind);
    case "choice": {
      const [condition, ...sides] = term.operands;
      return conditional(facts, condition, ...operandsOf(sides));
    }
    case "call":
      return callAtom(facts, term);
    case "all":
    case "atMost":
    case "equal":
    case "false":
    case "not":
    case "some":
    case "true":
      throw new TypeError(`${term.kind} is no integer`);
    default:
      return term satisfies never;
  }
}

/** Replaces `divisor * quotient + remainder` by the dividend. */
function foldDivisions(facts: FactSet, p: Polynomial): Polynomial {
  let result = p;
  for (let round = 0; round < 6; round++) {
    const next = foldDivision(facts, result);
    if (next === undefined) return result;
    result = next;
  }
  return result;
}

function foldDivision(facts: FactSet, p: Polynomial): Polynomial | undefined {
  for (const { monomial, coefficient } of p.terms) {
    const definition = facts.definitionOf(monomial);
    if (definition?.kind !== "division" || definition.remainder !== monomial.atoms[0]) continue;
    const { dividend, divisor, quotient, remainder } = definition;
    if (!isDivision(facts, definition)) continue;
    const product = scale(multiply(divisor, atom(quotient)), coefficient);
    if (!product.terms.every((term) => p.coefficientOf(term.monomial) === term.coefficient)) continue;
    return add(subtract(subtract(p, product), scale(atom(remainder), coefficient)), dividend, coefficient);
  }
  return undefined;
}

/** The minimum or maximum of two polynomials, as an atom that equals one of them. */
function extreme(facts: FactSet, x: Polynomial, y: Polynomial, kind: "least" | "greatest"): Polynomial {
  const key = internKey.extreme(kind, x, y);
  const same = facts.interned.get(key);
  if (same) return same;
  const sign = kind === "least" ? 1 : -1;
  // `x` is the result if this is nonnegative.
  const difference = scale(subtract(y, x), sign);
  if (provesNonNegative(facts, difference, "sums")) return x;
  if (provesNonNegative(facts, opposite(difference), "sums")) return y;
  const name = facts.freshAtom();
  const value = atom(name);
  facts.definitions.set(name, { kind: "extreme", of: kind, x, y, name });
  facts.add(atLeastZero(scale(subtract(x, value), sign)));
  facts.add(atLeastZero(scale(subtract(y, value), sign)));
  boundExtreme(facts, x, y, value, sign);
  facts.cases.push({
    atoms: [name],
    cases: [
      [isZero(subtract(value, x)), atLeastZero(difference)],
      [isZero(subtract(value, y)), atLeastZero(subtract(opposite(difference), ONE))],
    ],
  });
  facts.interned.set(key, value);
  return value;
}

/** A common bound of both operands also bounds their minimum or maximum. */
function boundExtreme(facts: FactSet, x: Polynomial, y: Polynomial, value: Polynomial, sign: 1 | -1): void {
  const [a, b] = [facts.least(scale(x, sign)), facts.least(scale(y, sign))];
  if (a !== undefined && b !== undefined) {
    facts.add(atLeastZero(subtract(scale(value, sign), constant(a < b ? a : b))));
    return;
  }
  if (sign < 0) return;
  for (const bound of [1, 0]) {
    const isAtLeastBound = (p: Polynomial): boolean =>
      provesNonNegative(facts, subtract(p, constant(bound)), "products");
    if (!isAtLeastBound(x) || !isAtLeastBound(y)) continue;
    facts.add(atLeastZero(subtract(value, constant(bound))));
    return;
  }
}

function conditional(facts: FactSet, condition: Term, x: Polynomial, y: Polynomial): Polynomial {
  if (x.key === y.key) return x;
  const key = `choice ${condition.id} ${x.key} | ${y.key}`;
  const same = facts.interned.get(key);
  if (same) return same;
  if (provesBySums(facts, condition)) return x;
  if (provesBySums(facts, not(condition))) return y;
  if (y.size === 0 && isZeroUnder(facts, not(condition), x)) return x;
  if (x.size === 0 && isZeroUnder(facts, condition, y)) return y;
  const name = facts.freshAtom();
  const value = atom(name);
  facts.definitions.set(name, { kind: "choice" });
  facts.interned.set(key, value);
  const [a, b] = [facts.least(x), facts.least(y)];
  if (a !== undefined && b !== undefined) facts.add(atLeastZero(subtract(value, constant(a < b ? a : b))));
  facts.cases.push({
    atoms: [name],
    cases: [
      [...impliedConditions(facts, condition), isZero(subtract(value, x))],
      [...impliedConditions(facts, not(condition)), isZero(subtract(value, y))],
    ],
  });
  return value;
}

/** True if the polynomial is a monotone function's value before index 0 wherever a condition is true. */
function isZeroUnder(facts: FactSet, condition: Term, p: Polynomial): boolean {
  const monomial = asMonomial(p);
  const definition = monomial && facts.definitionOf(monomial);
  if (definition?.kind !== "call" || !facts.rises(definition.name)) return false;
  const [index] = definition.args;
  if (!index) return false;
  const branchFacts = facts.child();
  assume(branchFacts, condition);
  return provesNonNegative(branchFacts, subtract(opposite(index), ONE), "sums");
}

/** Proves a condition by linear combinations of the facts. */
function provesBySums(facts: FactSet, condition: Term): boolean {
  return conjuncts(condition).every(({ kind, operands }) => {
    if (kind !== "atMost") return false;
    const [x, y] = operands;
    return provesNonNegative(facts, subtract(polynomialOf(facts, y), polynomialOf(facts, x)), "sums");
  });
}

function callAtom(facts: FactSet, term: Term): Polynomial {
  const args = term.operands.map((part) => polynomialOf(facts, part));
  const key = `call ${term.name} ${args.map((arg) => arg.key).join(" | ")}`;
  const same = facts.interned.get(key);
  if (same) return same;
  const name = facts.freshAtom();
  facts.definitions.set(name, { kind: "call", name: term.name, args });
  const value = atom(name);
  facts.interned.set(key, value);
  facts.seen.set(term, value);
  for (const fact of facts.callFacts(term.name, term.operands, term, facts.inProgram))
    assume(facts, withoutRefuted(facts, fact));
  const [argument] = args;
  if (argument && facts.rises(term.name)) orderValues(facts, term.name, argument, value);
  return value;
}

/** The alternatives that linear combinations of the facts do not refute. */
function withoutRefuted(facts: FactSet, term: Term): Term {
  if (term.kind !== "some") return term;
  const isImpossible = ({ p, isEquation: exact }: Condition): boolean =>
    !exact && provesNonNegative(facts, subtract(opposite(p), ONE), "sums");
  return orTerm(...term.operands.filter((part) => !impliedConditions(facts, part).some(isImpossible)));
}

/** Orders the values of a monotone function by their arguments. */
function orderValues(facts: FactSet, name: string, argument: Polynomial, value: Polynomial): void {
  for (const [otherName, definition] of facts.definitions) {
    if (definition.kind !== "call" || definition.name !== name || value.key === atom(otherName).key) continue;
    const [otherArgument] = definition.args;
    if (!otherArgument) continue;
    const distance = subtract(argument, otherArgument);
    const rise = subtract(value, atom(otherName));
    if (provesNonNegative(facts, distance, "sums")) facts.add(atLeastZero(rise));
    else if (provesNonNegative(facts, opposite(distance), "sums")) facts.add(atLeastZero(opposite(rise)));
  }
}

/** The conditions that a true term implies. They may be weaker than the term. */
function impliedConditions(facts: FactSet, term: Term): readonly Condition[] {
  const differenceOf = (low: Term, high: Term) => subtract(polynomialOf(facts, high), polynomialOf(facts, low));
  if (term.kind === "false") return [atLeastZero(constant(-1))];
  if (term.kind === "atMost") return [atLeastZero(differenceOf(term.operands[0], term.operands[1]))];
  if (term.kind === "equal") return [isZero(differenceOf(term.operands[0], term.operands[1]))];
  if (term.kind === "all") return term.operands.flatMap((part) => impliedConditions(facts, part));
  if (term.kind === "not" && term.operands[0].kind === "equal") {
    // At an end of its interval, a number that is not there lies on one side, as a truth value that is not 1 is 0.
    const difference = differenceOf(...term.operands[0].operands);
    return [difference, opposite(difference)].flatMap((p) =>
      (facts.least(p) ?? -1) >= 0 ? [atLeastZero(subtract(p, ONE))] : [],
    );
  }
  return [];
}

/** Adds a true term to the facts. */
export function assume(facts: FactSet, term: Term): void {
  if (term.kind === "all") {
    for (const part of term.operands) assume(facts, part);
    return;
  }
  if (term.kind === "some") {
    facts.cases.push({ atoms: [], cases: term.operands.map((part) => impliedConditions(facts, part)) });
    return;
  }
  if (term.kind === "not") {
    assumeDifferent(facts, term.operands[0]);
    return;
  }
  assumePositiveFactors(facts, term);
  for (const condition of impliedConditions(facts, term)) facts.add(condition);
}

/** Unequal integers differ by at least 1. */
function assumeDifferent(facts: FactSet, term: Term): void {
  if (term.kind !== "equal") return;
  const [x, y] = term.operands;
  const difference = subtract(polynomialOf(facts, x), polynomialOf(facts, y));
  if (isConstant(difference)) {
    if (constantOf(difference) === 0) facts.impossible = true;
    return;
  }
  facts.cases.push({
    atoms: [],
    cases: [[atLeastZero(subtract(difference, ONE))], [atLeastZero(subtract(opposite(difference), ONE))]],
  });
}

/** `0 <= x < y * z` with nonnegative `y` and `z` implies that both are at least 1. */
function assumePositiveFactors(facts: FactSet, term: Term): void {
  if (term.kind !== "atMost") return;
  const [x, y] = term.operands;
  if (y.kind !== "product" || !provesNonNegative(facts, subtract(polynomialOf(facts, x), ONE), "sums")) return;
  for (const factor of y.operands) {
    const p = polynomialOf(facts, factor);
    if (provesNonNegative(facts, p, "sums")) facts.add(atLeastZero(subtract(p, ONE)));
  }
}

/** Proves a term from the facts. */
export function entails(facts: FactSet, goal: Term): boolean {
  if (goal === TRUE || facts.impossible) return true;
  if (goal.kind === "all") return goal.operands.every((part) => entails(facts, part));
  if (goal.kind === "atMost") return provesAtMost(facts, ...goal.operands);
  if (goal.kind === "equal") {
    const [x, y] = goal.operands;
    const difference = subtract(polynomialOf(facts, x), polynomialOf(facts, y));
    return [difference, opposite(difference)].every((p) => provesNonNegative(facts, p, "cases"));
  }
  return isRefuted(facts, not(goal));
}

function provesAtMost(facts: FactSet, x: Term, y: Term): boolean {
  if (y.kind === "least") return y.operands.every((part) => provesAtMost(facts, x, part));
  if (x.kind === "greatest") return x.operands.every((part) => provesAtMost(facts, part, y));
  return provesNonNegative(facts, subtract(polynomialOf(facts, y), polynomialOf(facts, x)), "cases");
}

/** Refutes a term: assuming it leads to a contradiction. */
function isRefuted(facts: FactSet, term: Term): boolean {
  const assumedFacts = facts.child();
  assume(assumedFacts, term);
  return assumedFacts.impossible || provesNonNegative(assumedFacts, constant(-1), "cases");
}
