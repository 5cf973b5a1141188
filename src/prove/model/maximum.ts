/**
 * The maximum of an integer over all programs, iterations and lanes, as a term of parameters. It is a suggestion that a
 * proof still has to confirm.
 */
import type { Range } from "./launch.js";
import {
  difference,
  maxTerm,
  isNumber,
  minTerm,
  not,
  number,
  product,
  quotient,
  mapOperands,
  substitute,
  sum,
  symbolsIn,
  type Term,
} from "../../symbolic/term.js";

type Ranges = ReadonlyMap<string, Range>;
/** The direction of a term in a variable: 1 if it never decreases, -1 if it never increases, undefined if unknown. */
type Direction = -1 | 0 | 1 | undefined;

/** The maximum of a term. Undefined if it depends on memory. `variables` lists the outer ones first. */
export function maximumOver(term: Term, variables: readonly string[], ranges: Ranges): Term | undefined {
  let current = expand(term);
  for (const name of variables.toReversed()) {
    const direction = directionOf(current, name);
    const range = ranges.get(name);
    if (!range || direction === undefined || direction === 0) continue;
    const end = direction > 0 ? sum(range.to, number(-1)) : range.from;
    current = expand(substitute(current, new Map([[name, end]])));
  }
  const remaining = new Set(variables.filter((name) => symbolsIn(current).has(name)));
  return extreme(current, 1, remaining, ranges);
}

function directionOf(term: Term, name: string): Direction {
  if (!symbolsIn(term).has(name)) return 0;
  switch (term.kind) {
    case "symbol":
      return 1;
    case "sum":
    case "least":
    case "greatest":
      return commonDirection(term.operands, name);
    case "product": {
      const direction = commonDirection(term.operands, name);
      return direction && isNegativeProduct(term.operands) ? reversed(direction) : direction;
    }
    case "quotient":
    case "floorQuotient": {
      const [x, y] = term.operands;
      return symbolsIn(y).has(name) ? undefined : directionOf(x, name);
    }
    case "choice": {
      const [condition, ...sides] = term.operands;
      return symbolsIn(condition).has(name) ? undefined : commonDirection(sides, name);
    }
    case "all":
    case "atMost":
    case "call":
    case "equal":
    case "false":
    case "floorRemainder":
    case "not":
    case "number":
    case "remainder":
    case "some":
    case "true":
      return undefined;
    default:
      return term satisfies never;
  }
}

/** The direction that all terms share, apart from those that do not depend on the variable. */
function commonDirection(terms: readonly Term[], name: string): Direction {
  const directions = new Set(terms.map((part) => directionOf(part, name)));
  directions.delete(0);
  if (directions.size === 0) return 0;
  const [direction, ...others] = directions;
  return others.length > 0 ? undefined : direction;
}

const reversed = (direction: 1 | -1): 1 | -1 => (direction === 1 ? -1 : 1);

const isNegativeProduct = (factors: readonly Term[]): boolean =>
  factors.some((part) => part.kind === "number" && part.value < 0n);

/** The maximum, or with -1 the minimum, of each operand separately. */
function extreme(term: Term, direction: 1 | -1, remaining: ReadonlySet<string>, ranges: Ranges): Term | undefined {
  if (![...symbolsIn(term)].some((name) => remaining.has(name))) return term;
  const extremeOf = (part: Term, partDirection: 1 | -1 = direction): Term | undefined =>
    extreme(part, partDirection, remaining, ranges);
  const combine = (merge: (a: Term, b: Term) => Term, a: Term | undefined, b: Term | undefined): Term | undefined =>
    a && b && merge(a, b);
  switch (term.kind) {
    case "symbol": {
      const range = ranges.get(term.name);
      if (!range) return undefined;
      return extremeOf(direction > 0 ? sum(range.to, number(-1)) : range.from);
    }
    case "sum": {
      const operands = term.operands.map((part) => extremeOf(part));
      return operands.every((part) => part !== undefined) ? sum(...operands) : undefined;
    }
    case "product": {
      const partDirection = isNegativeProduct(term.operands) ? reversed(direction) : direction;
      const operands = term.operands.map((part) => (part.kind === "number" ? part : extremeOf(part, partDirection)));
      return operands.every((part) => part !== undefined) ? product(...operands) : undefined;
    }
    case "quotient":
    case "floorQuotient": {
      const [x, y] = term.operands;
      const divide = (a: Term, b: Term) => quotient(a, b, term.kind === "floorQuotient");
      return combine(divide, extremeOf(x), extremeOf(y, reversed(direction)));
    }
    case "remainder":
    case "floorRemainder": {
      if (direction < 0) return number(0);
      const maximum = extremeOf(term.operands[1]);
      return maximum && sum(maximum, number(-1));
    }
    case "least":
    case "greatest": {
      const [x, y] = term.operands;
      return combine(term.kind === "least" ? minTerm : maxTerm, extremeOf(x), extremeOf(y));
    }
    case "choice": {
      const [condition, x, y] = term.operands;
      const sideUnder = (side: Term, truth: Term) =>
        (direction > 0 ? maximumUnder(side, truth, remaining) : undefined) ?? extremeOf(side);
      const [first, second] = [sideUnder(x, condition), sideUnder(y, not(condition))];
      // A constant next to a symbolic size is the value for lanes outside of it.
      if (first && second && isNumber(first) !== isNumber(second)) return isNumber(first) ? second : first;
      return combine(direction > 0 ? maxTerm : minTerm, first, second);
    }
    case "all":
    case "atMost":
    case "call":
    case "equal":
    case "false":
    case "not":
    case "number":
    case "some":
    case "true":
      return undefined;
    default:
      return term satisfies never;
  }
}

/** The maximum of a term under a condition: under `a <= b`, `term <= b + (term - a)`. */
function maximumUnder(term: Term, condition: Term, remaining: ReadonlySet<string>): Term | undefined {
  if (condition.kind !== "atMost") return undefined;
  const [a, b] = condition.operands;
  const maximum = sum(b, minus(term, a));
  return [...symbolsIn(maximum)].some((name) => remaining.has(name)) ? undefined : maximum;
}

/** A sum of products without parentheses, with like terms combined. */
export function expand(term: Term): Term {
  const byFactors = new Map<string, { readonly factors: readonly Term[]; times: bigint }>();
  for (const { factors, times } of monomials(term)) {
    const sorted = factors.toSorted((a, b) => a.id - b.id);
    const key = sorted.map(({ id }) => id).join();
    const existing = byFactors.get(key);
    if (existing) existing.times += times;
    else byFactors.set(key, { factors: sorted, times });
  }
  return sum(
    ...[...byFactors.values()].flatMap(({ factors, times }) =>
      times === 0n ? [] : [product(number(times), ...factors)],
    ),
  );
}

/** The limit on the products of an expanded product of sums. Longer conditions are unreadable. */
const MAX_PRODUCTS = 100;

interface Monomial {
  readonly factors: readonly Term[];
  readonly times: bigint;
}

function monomials(term: Term): readonly Monomial[] {
  switch (term.kind) {
    case "quotient":
    case "floorQuotient": {
      const reducedQuotient = irreducible.has(term)
        ? term
        : reduceQuotient(...term.operands, term.kind === "floorQuotient");
      return reducedQuotient === term ? [{ factors: [term], times: 1n }] : monomials(reducedQuotient);
    }
    case "number":
      return [{ factors: [], times: term.value }];
    case "sum":
      return term.operands.flatMap(monomials);
    case "product": {
      const operands = term.operands.map(monomials);
      if (operands.reduce((count, { length }) => count * length, 1) > MAX_PRODUCTS)
        return [{ factors: [term], times: 1n }];
      return operands.reduce((products, right) =>
        products.flatMap((a) =>
          right.map((b) => ({ factors: [...a.factors, ...b.factors], times: a.times * b.times })),
        ),
      );
    }
    case "least":
    case "greatest": {
      const rebuilt = mapOperands(term, expand);
      return rebuilt.kind === term.kind ? [{ factors: [rebuilt], times: 1n }] : monomials(rebuilt);
    }
    case "all":
    case "atMost":
    case "call":
    case "choice":
    case "equal":
    case "false":
    case "floorRemainder":
    case "not":
    case "remainder":
    case "some":
    case "symbol":
    case "true":
      return [{ factors: [term], times: 1n }];
    default:
      return term satisfies never;
  }
}

/** Quotients that cannot be reduced further. */
const irreducible = new WeakSet<Term>();

function markIrreducible(term: Term): Term {
  irreducible.add(term);
  return term;
}

/**
 * A quotient without the multiples of its positive divisor: `(B * x + B - 1) // B` becomes `x`, and `(x - 1) // B`
 * becomes one less than the blocks of `x`.
 */
function reduceQuotient(dividend: Term, divisor: Term, floors: boolean): Term {
  const [x, y] = [expand(dividend), expand(divisor)];
  const terms = monomials(x).map((monomial) => ({ each: monomial, quotientTerm: divideMonomial(monomial, y) }));
  const quotientSum = sum(...terms.flatMap(({ quotientTerm }) => quotientTerm ?? []));
  const remainder = sum(
    ...terms.flatMap(({ each: monomial, quotientTerm }) =>
      quotientTerm ? [] : [product(number(monomial.times), ...monomial.factors)],
    ),
  );
  if (remainder.kind === "number" && y.kind !== "number" && remainder.value <= 0n && remainder.value >= -1n)
    return sum(quotientSum, number(remainder.value));
  const hasMinusOne =
    remainder.kind === "sum" && remainder.operands.some((part) => part.kind === "number" && part.value === -1n);
  if (hasMinusOne && !terms.some(({ quotientTerm }) => quotientTerm !== undefined))
    return sum(markIrreducible(quotient(expand(sum(remainder, y)), y, floors)), number(-1));
  return x.kind === "number" && x.value === 0n ? x : markIrreducible(quotient(x, y, floors));
}

/** A product divided by a divisor whose factors it contains. Undefined if one is missing. */
function divideMonomial({ factors, times }: Monomial, y: Term): Term | undefined {
  const remaining = [...factors];
  for (const factor of y.kind === "product" ? y.operands : [y]) {
    const index = remaining.indexOf(factor);
    if (index < 0) return undefined;
    remaining.splice(index, 1);
  }
  return product(number(times), ...remaining);
}

/** The coefficient of a variable in a sum that is linear in it. Undefined if it is not. */
export function coefficientOf(term: Term, name: string): Term | undefined {
  const coefficients: Term[] = [];
  for (const { factors, times } of monomials(expand(term))) {
    const matches = factors.filter((factor) => factor.kind === "symbol" && factor.name === name);
    const others = factors.filter((factor) => !matches.includes(factor));
    if (matches.length > 1 || symbolsIn(...others).has(name)) return undefined;
    if (matches.length === 1) coefficients.push(product(number(times), ...others));
  }
  return sum(...coefficients);
}

/** The positive and the negative part of a sum, both without signs. The sum is their difference. */
export function splitBySign(term: Term): { readonly positive: Term; readonly negative: Term } {
  const all = monomials(expand(term));
  const sumWhere = (accepts: (times: bigint) => boolean, sign: bigint): Term =>
    sum(...all.flatMap(({ factors, times }) => (accepts(times) ? [product(number(times * sign), ...factors)] : [])));
  return { positive: sumWhere((times) => times > 0n, 1n), negative: sumWhere((times) => times < 0n, -1n) };
}

export const withoutTerm = (term: Term, by: Term): Term => expand(sum(term, by));
export const minus = (x: Term, y: Term): Term => expand(difference(x, y));
