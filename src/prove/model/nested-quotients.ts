/**
 * Writes `x // (b * c)` as `(x // b) // c` where `x // b` or `x % b` occurs as well, so that what is the same looks the same.
 * Quotients that truncate allow it for all signs.
 */
import type { Access } from "./accesses.js";
import { product, quotient, withOperands, remainder, sum, type Term, termsIn } from "../../symbolic/term.js";

/** Rewrites what accesses reach, all together. */
export function withNestedQuotients(accesses: readonly Access[]): readonly Access[] {
  const nest = nestingQuotients(
    accesses.flatMap(({ axes, mask, path }) => [...axes.flatMap(({ index, size }) => [index, size]), mask, ...path]),
  );
  return accesses.map((access) => ({
    ...access,
    axes: access.axes.map((axis) => ({ ...axis, index: nest(axis.index), size: nest(axis.size) })),
    mask: nest(access.mask),
    path: access.path.map(nest),
  }));
}

/** Rewrites terms that are looked at together. */
function nestingQuotients(terms: readonly Term[]): (term: Term) => Term {
  const divisors = new Map<Term, Set<Term>>();
  for (const { kind, parts } of termsIn(...terms)) {
    if (kind !== "quotient" && kind !== "remainder") continue;
    const [dividend, divisor] = parts as [Term, Term];
    const known = divisors.get(dividend) ?? new Set();
    divisors.set(dividend, known.add(divisor));
  }
  const done = new Map<Term, Term>();
  const rewrite = (term: Term): Term => {
    const known = done.get(term);
    if (known) return known;
    const result = nested(withOperands(term, term.parts.map(rewrite)), term);
    done.set(term, result);
    return result;
  };
  const nested = (term: Term, { kind, parts }: Term): Term => {
    if (kind !== "quotient" && kind !== "remainder") return term;
    const [dividend, divisor] = parts as [Term, Term];
    const inner = [...(divisors.get(dividend) ?? [])].find((each) => quotientOf(divisor, each) !== undefined);
    if (!inner) return term;
    const [x, b, c] = [rewrite(dividend), rewrite(inner), rewrite(quotientOf(divisor, inner)!)];
    const whole = rewrite(quotient(dividend, inner));
    return kind === "quotient" ? quotient(whole, c) : sum(product(b, remainder(whole, c)), remainder(x, b));
  };
  return rewrite;
}

/** What is left of a product without the factors of another; undefined where nothing is, or where it lacks one. */
function quotientOf(whole: Term, part: Term): Term | undefined {
  if (whole.kind !== "product" || whole === part) return undefined;
  const rest = [...whole.parts];
  for (const factor of part.kind === "product" ? part.parts : [part]) {
    const place = rest.indexOf(factor);
    if (place < 0) return undefined;
    rest.splice(place, 1);
  }
  return rest.length > 0 ? product(...rest) : undefined;
}
