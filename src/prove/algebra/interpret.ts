/** Terms as polynomials and truth values as conditions, where something is known. */
import { conditionsOf as conjuncts, not, orTerm, type Term, TRUE } from "../../symbolic/term.js";
import { provesNonNegative } from "./non-negativity.js";
import { divide } from "./division.js";
import { atLeastZero, type Condition, isDivision, isZero, internKey, type FactSet } from "./facts.js";
import {
  add,
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
} from "./polynomial.js";

/** An integer term; what is no sum or product gets atoms, with the conditions that define them. */
export function polynomialOf(known: FactSet, term: Term): Polynomial {
  let found = known.seen.get(term);
  if (found === undefined) known.seen.set(term, (found = compute(known, term)));
  return found;
}

function compute(known: FactSet, term: Term): Polynomial {
  const part = (i: number): Polynomial => polynomialOf(known, term.parts[i]!);
  switch (term.kind) {
    case "number":
      return constant(term.value);
    case "symbol":
      return atom(term.name);
    case "sum":
      return folded(
        known,
        term.parts.reduce((total, each) => add(total, polynomialOf(known, each)), ZERO),
      );
    case "product":
      return term.parts.reduce((total, each) => multiply(total, polynomialOf(known, each)), ONE);
    case "quotient":
    case "floorQuotient":
      return divide(known, part(0), part(1), term.kind === "floorQuotient").quotient;
    case "remainder":
    case "floorRemainder":
      return divide(known, part(0), part(1), term.kind === "floorRemainder").remainder;
    case "least":
    case "greatest":
      return extreme(known, part(0), part(1), term.kind);
    case "choice":
      return chosen(known, term.parts[0]!, part(1), part(2));
    case "call":
      return called(known, term);
    default:
      throw new TypeError(`${term.kind} is no integer`);
  }
}

/** `divisor * quotient + remainder` is the dividend again. */
function folded(known: FactSet, p: Polynomial): Polynomial {
  let result = p;
  for (let turn = 0; turn < 6; turn++) {
    const next = foldedOnce(known, result);
    if (next === undefined) return result;
    result = next;
  }
  return result;
}

function foldedOnce(known: FactSet, p: Polynomial): Polynomial | undefined {
  for (const [monomial, by] of p) {
    const definition = known.definitionOf(monomial);
    if (definition?.kind !== "division" || definition.remainder !== monomial.atoms[0]) continue;
    const { dividend, divisor, quotient, remainder } = definition;
    if (!isDivision(known, definition)) continue;
    const whole = scale(multiply(divisor, atom(quotient)), by);
    if (!whole.monomials.every((each, i) => p.of(each) === whole.coefficients[i])) continue;
    return add(subtract(subtract(p, whole), scale(atom(remainder), by)), dividend, by);
  }
  return undefined;
}

/** The smaller or the larger of two, which is one of them. */
function extreme(known: FactSet, x: Polynomial, y: Polynomial, of: "least" | "greatest"): Polynomial {
  const key = internKey.extreme(of, x, y);
  const same = known.named.get(key);
  if (same) return same;
  const sign = of === "least" ? 1 : -1;
  // Where it is not negative, x is the one.
  const apart = scale(subtract(y, x), sign);
  if (provesNonNegative(known, apart, "sums")) return x;
  if (provesNonNegative(known, opposite(apart), "sums")) return y;
  const name = known.fresh();
  const value = atom(name);
  known.definitions.set(name, { kind: "extreme", of, x, y, name });
  known.add(atLeastZero(scale(subtract(x, value), sign)));
  known.add(atLeastZero(scale(subtract(y, value), sign)));
  boundExtreme(known, x, y, value, sign);
  known.cases.push({
    atoms: [name],
    cases: [
      [isZero(subtract(value, x)), atLeastZero(apart)],
      [isZero(subtract(value, y)), atLeastZero(subtract(opposite(apart), ONE))],
    ],
  });
  known.named.set(key, value);
  return value;
}

/** A number that neither of two passes, the smaller or the larger of them does not pass. */
function boundExtreme(known: FactSet, x: Polynomial, y: Polynomial, value: Polynomial, sign: 1 | -1): void {
  const [a, b] = [known.least(scale(x, sign)), known.least(scale(y, sign))];
  if (a !== undefined && b !== undefined) {
    known.add(atLeastZero(subtract(scale(value, sign), constant(a < b ? a : b))));
    return;
  }
  if (sign < 0) return;
  for (const bound of [1, 0]) {
    const reaches = (p: Polynomial): boolean => provesNonNegative(known, subtract(p, constant(bound)), "products");
    if (!reaches(x) || !reaches(y)) continue;
    known.add(atLeastZero(subtract(value, constant(bound))));
    return;
  }
}

function chosen(known: FactSet, condition: Term, x: Polynomial, y: Polynomial): Polynomial {
  if (x.key === y.key) return x;
  const key = `choice ${condition.id} ${x.key} | ${y.key}`;
  const same = known.named.get(key);
  if (same) return same;
  if (isPlain(known, condition)) return x;
  if (isPlain(known, not(condition))) return y;
  if (y.size === 0 && isZeroWhere(known, not(condition), x)) return x;
  if (x.size === 0 && isZeroWhere(known, condition, y)) return y;
  const name = known.fresh();
  const value = atom(name);
  known.definitions.set(name, { kind: "choice" });
  known.named.set(key, value);
  const [a, b] = [known.least(x), known.least(y)];
  if (a !== undefined && b !== undefined) known.add(atLeastZero(subtract(value, constant(a < b ? a : b))));
  known.cases.push({
    atoms: [name],
    cases: [
      [...together(known, condition), isZero(subtract(value, x))],
      [...together(known, not(condition)), isZero(subtract(value, y))],
    ],
  });
  return value;
}

/** Whether what is taken of a function that rises from 0 lies before its first value, wherever a condition holds. */
function isZeroWhere(known: FactSet, condition: Term, { size, monomials, coefficients }: Polynomial): boolean {
  const definition = size === 1 && coefficients[0] === 1 ? known.definitionOf(monomials[0]!) : undefined;
  if (definition?.kind !== "call" || !known.rises(definition.name)) return false;
  const inside = known.child();
  assume(inside, condition);
  return provesNonNegative(inside, subtract(opposite(definition.given[0]!), ONE), "sums");
}

/** Whether sums of what is known show that a condition holds. */
function isPlain(known: FactSet, condition: Term): boolean {
  return conjuncts(condition).every(({ kind, parts: [x, y] }) => {
    if (kind !== "atMost") return false;
    return provesNonNegative(known, subtract(polynomialOf(known, y!), polynomialOf(known, x!)), "sums");
  });
}

function called(known: FactSet, term: Term): Polynomial {
  const given = term.parts.map((part) => polynomialOf(known, part));
  const key = `call ${term.name} ${given.map((each) => each.key).join(" | ")}`;
  const same = known.named.get(key);
  if (same) return same;
  const name = known.fresh();
  known.definitions.set(name, { kind: "call", name: term.name, given });
  const value = atom(name);
  known.named.set(key, value);
  known.seen.set(term, value);
  for (const fact of known.callFacts(term.name, term.parts, term, known.inProgram))
    assume(known, withoutImpossible(known, fact));
  if (known.rises(term.name)) orderAmong(known, term.name, given, value);
  return value;
}

/** Of alternatives those that sums of what is known do not contradict. */
function withoutImpossible(known: FactSet, term: Term): Term {
  if (term.kind !== "some") return term;
  const isImpossible = ({ p, exact }: Condition): boolean =>
    !exact && provesNonNegative(known, subtract(opposite(p), ONE), "sums");
  return orTerm(...term.parts.filter((part) => !together(known, part).some(isImpossible)));
}

/** Of a function that never falls, a value is no less than those of smaller arguments. */
function orderAmong(known: FactSet, name: string, [at]: readonly Polynomial[], value: Polynomial): void {
  for (const [other, definition] of known.definitions) {
    if (definition.kind !== "call" || definition.name !== name || value.key === atom(other).key) continue;
    const apart = subtract(at!, definition.given[0]!);
    const rise = subtract(value, atom(other));
    if (provesNonNegative(known, apart, "sums")) known.add(atLeastZero(rise));
    else if (provesNonNegative(known, opposite(apart), "sums")) known.add(atLeastZero(opposite(rise)));
  }
}

/** Conditions that hold together where a term is true. They may say less than the term, never more. */
function together(known: FactSet, term: Term): readonly Condition[] {
  const between = (low: Term, high: Term) => subtract(polynomialOf(known, high), polynomialOf(known, low));
  switch (term.kind) {
    case "false":
      return [atLeastZero(constant(-1))];
    case "atMost":
      return [atLeastZero(between(term.parts[0]!, term.parts[1]!))];
    case "equal":
      return [isZero(between(term.parts[0]!, term.parts[1]!))];
    case "all":
      return term.parts.flatMap((part) => together(known, part));
    default:
      return [];
  }
}

/** Adds what a true term says. */
export function assume(known: FactSet, term: Term): void {
  switch (term.kind) {
    case "all":
      for (const part of term.parts) assume(known, part);
      return;
    case "some":
      known.cases.push({ atoms: [], cases: term.parts.map((part) => together(known, part)) });
      return;
    case "not":
      assumeDifferent(known, term.parts[0]!);
      return;
    default:
      noteFactors(known, term);
      for (const condition of together(known, term)) known.add(condition);
  }
}

/** Unequal integers are at least 1 apart. */
function assumeDifferent(known: FactSet, term: Term): void {
  if (term.kind !== "equal") return;
  const [x, y] = term.parts;
  const apart = subtract(polynomialOf(known, x!), polynomialOf(known, y!));
  if (isConstant(apart)) {
    if (constantOf(apart) === 0) known.impossible = true;
    return;
  }
  known.cases.push({
    atoms: [],
    cases: [[atLeastZero(subtract(apart, ONE))], [atLeastZero(subtract(opposite(apart), ONE))]],
  });
}

/** From `0 <= x < y * z` with `y` and `z` not negative follows that both are at least 1. */
function noteFactors(known: FactSet, term: Term): void {
  const [x, y] = term.parts;
  if (term.kind !== "atMost" || y?.kind !== "product") return;
  if (!provesNonNegative(known, subtract(polynomialOf(known, x!), ONE), "sums")) return;
  for (const factor of y.parts) {
    const p = polynomialOf(known, factor);
    if (provesNonNegative(known, p, "sums")) known.add(atLeastZero(subtract(p, ONE)));
  }
}

/** Whether a term certainly holds. */
export function entails(known: FactSet, goal: Term): boolean {
  if (goal === TRUE || known.impossible) return true;
  const [x, y] = goal.parts;
  switch (goal.kind) {
    case "all":
      return conjuncts(goal).every((part) => entails(known, part));
    case "atMost":
      return provesAtMost(known, x!, y!);
    case "equal": {
      const apart = subtract(polynomialOf(known, x!), polynomialOf(known, y!));
      return [apart, opposite(apart)].every((p) => provesNonNegative(known, p, "cases"));
    }
    default:
      return isRefuted(known, not(goal));
  }
}

function provesAtMost(known: FactSet, x: Term, y: Term): boolean {
  if (y.kind === "least") return y.parts.every((part) => provesAtMost(known, x, part));
  if (x.kind === "greatest") return x.parts.every((part) => provesAtMost(known, part, y));
  return provesNonNegative(known, subtract(polynomialOf(known, y), polynomialOf(known, x)), "cases");
}

/** Whether assuming a term leads to a contradiction. */
function isRefuted(known: FactSet, term: Term): boolean {
  const inside = known.child();
  assume(inside, term);
  return inside.impossible || provesNonNegative(inside, constant(-1), "cases");
}
