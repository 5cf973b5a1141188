/** The cases of a real expression, and what its values rest on. */
import { not, type Term } from "../../symbolic/term.js";
import { canonical, mentions } from "./integer-form.js";
import { type Atom, type Factor, type Polynomial, polynomialKey } from "./polynomial.js";
import { isInteger, isNegative, isPositive } from "./rational.js";

/** `infinite` is minus infinity. Nothing is known of what is `undefined`. */
export type Value = Polynomial | "infinite" | "undefined";

export interface Case {
  readonly conditions: readonly Term[];
  readonly value: Value;
}

/** What must hold of an atom so that a value is a real number. */
export interface Need {
  readonly atom: Atom;
  readonly kind: "nonzero" | "nonnegative" | "positive";
  /** The conditions under which it is needed. */
  readonly given: readonly Term[];
}

export const valueKey = (value: Value): string => (typeof value === "string" ? value : polynomialKey(value));

/** One case if all have the same value. */
export function merged(cases: readonly Case[]): readonly Case[] {
  const [first, ...more] = cases;
  if (!first || more.length === 0) return cases;
  const key = valueKey(first.value);
  return more.every(({ value }) => valueKey(value) === key) ? [{ conditions: [], value: first.value }] : cases;
}

/** The conditions of cases that do not mention the variable, without their negations. */
export function outerConditions(cases: readonly Case[], variable: string): readonly Term[] {
  const free: Term[] = [];
  for (const each of cases.flatMap(({ conditions }) => conditions))
    if (!mentions(each, variable) && !free.includes(each) && !free.includes(canonical(not(each)))) free.push(each);
  return free;
}

/** What a factor of a power needs to be a real number. */
export function needOf({ exponent }: Factor): Need["kind"] | undefined {
  if (!isInteger(exponent)) return isPositive(exponent) ? "nonnegative" : "positive";
  return isNegative(exponent) ? "nonzero" : undefined;
}
