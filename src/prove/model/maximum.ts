/**
 * The greatest value that an integer may have over all programs, turns and lanes, as a term of parameters. What is found
 * is a suggestion: only a proof says whether it holds.
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
  withOperands,
  substitute,
  sum,
  symbolsIn,
  type Term,
} from "../../symbolic/term.js";

type Ranges = ReadonlyMap<string, Range>;
/** How a term moves with a variable: 1 and -1 where it never falls or never rises, undefined where nobody knows. */
type Direction = -1 | 0 | 1 | undefined;

/** Undefined where the value depends on what memory holds. `variables` has the outer ones first. */
export function maximumOver(term: Term, variables: readonly string[], ranges: Ranges): Term | undefined {
  let now = expanded(term);
  for (const name of variables.toReversed()) {
    const way = directionOf(now, name);
    const range = ranges.get(name);
    if (!range || way === undefined || way === 0) continue;
    const end = way > 0 ? sum(range.to, number(-1)) : range.from;
    now = expanded(substitute(now, new Map([[name, end]])));
  }
  const left = new Set(variables.filter((name) => symbolsIn(now).has(name)));
  return extreme(now, 1, left, ranges);
}

function directionOf(term: Term, name: string): Direction {
  if (!symbolsIn(term).has(name)) return 0;
  const [x, y] = term.parts;
  switch (term.kind) {
    case "symbol":
      return 1;
    case "sum":
    case "least":
    case "greatest":
      return together(term.parts.map((part) => directionOf(part, name)));
    case "product": {
      const moving = term.parts.filter((part) => symbolsIn(part).has(name));
      const sign = term.parts.some((part) => part.kind === "number" && part.value < 0n) ? -1 : 1;
      const way = together(moving.map((part) => directionOf(part, name)));
      return way === undefined ? undefined : ((way * sign) as Direction);
    }
    case "quotient":
    case "floorQuotient":
      return symbolsIn(y!).has(name) ? undefined : directionOf(x!, name);
    case "choice":
      return symbolsIn(x!).has(name) ? undefined : together(term.parts.slice(1).map((each) => directionOf(each, name)));
    default:
      return undefined;
  }
}

function together(ways: readonly Direction[]): Direction {
  const moving = new Set(ways.filter((way) => way !== 0));
  return moving.size > 1 ? undefined : moving.size === 0 ? 0 : [...moving][0];
}

/** The greatest, or with -1 the least value of each part by itself. */
function extreme(term: Term, way: 1 | -1, left: ReadonlySet<string>, ranges: Ranges): Term | undefined {
  if (![...symbolsIn(term)].some((name) => left.has(name))) return term;
  const [x, y, z] = term.parts;
  const of = (part: Term, to: 1 | -1 = way): Term | undefined => extreme(part, to, left, ranges);
  const both = (a: Term | undefined, b: Term | undefined, join: (a: Term, b: Term) => Term): Term | undefined =>
    a && b && join(a, b);
  switch (term.kind) {
    case "symbol": {
      const range = ranges.get(term.name);
      if (!range) return undefined;
      return of(way > 0 ? sum(range.to, number(-1)) : range.from);
    }
    case "sum": {
      const parts = term.parts.map((part) => of(part));
      return parts.every((part) => part !== undefined) ? sum(...parts) : undefined;
    }
    case "product": {
      const sign = term.parts.some((part) => part.kind === "number" && part.value < 0n) ? -1 : 1;
      const parts = term.parts.map((part) => (part.kind === "number" ? part : of(part, (way * sign) as 1 | -1)));
      return parts.every((part) => part !== undefined) ? product(...parts) : undefined;
    }
    case "quotient":
    case "floorQuotient":
      return both(of(x!), of(y!, (0 - way) as 1 | -1), (a, b) => quotient(a, b, term.kind === "floorQuotient"));
    case "remainder":
    case "floorRemainder": {
      if (way < 0) return number(0);
      const most = of(y!);
      return most && sum(most, number(-1));
    }
    case "least":
      return both(of(x!), of(y!), minTerm);
    case "greatest":
      return both(of(x!), of(y!), maxTerm);
    case "choice": {
      const known = way > 0 ? [within(y!, x!, left), within(z!, not(x!), left)] : [];
      const [one, other] = [known[0] ?? of(y!), known[1] ?? of(z!)];
      // A number beside a size is what a lane outside of it gets.
      if (one && other && isNumber(one) !== isNumber(other)) return isNumber(one) ? other : one;
      return both(one, other, way > 0 ? maxTerm : minTerm);
    }
    default:
      return undefined;
  }
}

/** How far a term goes where a condition says it: at most `b` of `a <= b`. */
function within(term: Term, condition: Term, left: ReadonlySet<string>): Term | undefined {
  if (condition.kind !== "atMost") return undefined;
  const [a, b] = condition.parts;
  const most = sum(b!, minus(term, a!));
  return [...symbolsIn(most)].some((name) => left.has(name)) ? undefined : most;
}

/** A sum of products without brackets in which what cancels is left out. */
export function expanded(term: Term): Term {
  const found = new Map<string, { readonly factors: readonly Term[]; times: bigint }>();
  for (const { factors, times } of monomials(term)) {
    const sorted = factors.toSorted((a, b) => a.id - b.id);
    const key = sorted.map(({ id }) => id).join();
    const known = found.get(key);
    if (known) known.times += times;
    else found.set(key, { factors: sorted, times });
  }
  return sum(
    ...[...found.values()].flatMap(({ factors, times }) => (times === 0n ? [] : [product(number(times), ...factors)])),
  );
}

/** A product of sums with more products stays as it is: no reader would take what follows from it. */
const MOST_PRODUCTS = 100;

interface Monomial {
  readonly factors: readonly Term[];
  readonly times: bigint;
}

function monomials(term: Term): readonly Monomial[] {
  switch (term.kind) {
    case "quotient":
    case "floorQuotient": {
      const whole = plain.has(term) ? term : divided(term);
      return whole === term ? [{ factors: [term], times: 1n }] : monomials(whole);
    }
    case "number":
      return [{ factors: [], times: term.value }];
    case "sum":
      return term.parts.flatMap(monomials);
    case "product": {
      const parts = term.parts.map(monomials);
      if (parts.reduce((count, { length }) => count * length, 1) > MOST_PRODUCTS)
        return [{ factors: [term], times: 1n }];
      return parts.reduce((left, right) =>
        left.flatMap((a) => right.map((b) => ({ factors: [...a.factors, ...b.factors], times: a.times * b.times }))),
      );
    }
    case "least":
    case "greatest": {
      const made = withOperands(term, term.parts.map(expanded));
      return made.kind === term.kind ? [{ factors: [made], times: 1n }] : monomials(made);
    }
    default:
      return [{ factors: [term], times: 1n }];
  }
}

/** Quotients of which nothing is left to divide. */
const plain = new WeakSet<Term>();

function kept(term: Term): Term {
  plain.add(term);
  return term;
}

/**
 * A quotient without the multiples of its divisor, which is positive: of `(B * x + B - 1) // B` remains `x`, and
 * `(x - 1) // B` is one less than the blocks of `x`.
 */
function divided(term: Term): Term {
  const floors = term.kind === "floorQuotient";
  const [x, y] = term.parts.map(expanded) as [Term, Term];
  const all = monomials(x).map((each) => ({ each, rest: without(each, y) }));
  const whole = sum(...all.flatMap(({ rest }) => rest ?? []));
  const left = sum(...all.flatMap(({ each, rest }) => (rest ? [] : [product(number(each.times), ...each.factors)])));
  if (left.kind === "number" && y.kind !== "number" && left.value <= 0n && left.value >= -1n)
    return sum(whole, number(left.value));
  const isBefore = left.kind === "sum" && left.parts.some((part) => part.kind === "number" && part.value === -1n);
  if (isBefore && !all.some(({ rest }) => rest !== undefined))
    return sum(kept(quotient(expanded(sum(left, y)), y, floors)), number(-1));
  return x.kind === "number" && x.value === 0n ? x : kept(quotient(x, y, floors));
}

/** What is left of a product without a divisor that is one of its factors. */
function without({ factors, times }: Monomial, y: Term): Term | undefined {
  const rest = [...factors];
  for (const factor of y.kind === "product" ? y.parts : [y]) {
    const place = rest.indexOf(factor);
    if (place < 0) return undefined;
    rest.splice(place, 1);
  }
  return product(number(times), ...rest);
}

/** What multiplies a variable in a sum that has it once at most in each product; undefined where it is inside of others. */
export function coefficientOf(term: Term, name: string): Term | undefined {
  const found: Term[] = [];
  for (const { factors, times } of monomials(expanded(term))) {
    const own = factors.filter((factor) => factor.kind === "symbol" && factor.name === name);
    const others = factors.filter((factor) => !own.includes(factor));
    if (own.length > 1 || symbolsIn(...others).has(name)) return undefined;
    if (own.length === 1) found.push(product(number(times), ...others));
  }
  return sum(...found);
}

/** The positive and the negative part of a sum, both without signs: it is their difference. */
export function sides(term: Term): { readonly positive: Term; readonly negative: Term } {
  const all = monomials(expanded(term));
  const joined = (is: (times: bigint) => boolean, sign: bigint): Term =>
    sum(...all.flatMap(({ factors, times }) => (is(times) ? [product(number(times * sign), ...factors)] : [])));
  return { positive: joined((times) => times > 0n, 1n), negative: joined((times) => times < 0n, -1n) };
}

export const withoutTerm = (term: Term, by: Term): Term => expanded(sum(term, by));
export const minus = (x: Term, y: Term): Term => expanded(difference(x, y));
