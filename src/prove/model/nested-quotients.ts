/**
 * Rewrites `x // (b * c)` to `(x // b) // c` if `x // b` or `x % b` occurs as well, so that equal values have equal
 * terms. Truncating quotients allow this for all signs.
 */
import type { Access } from "./accesses.js";
import { mapOperands, product, quotient, remainder, sum, type Term, termsIn } from "../../symbolic/term.js";

/** Rewrites the terms of all accesses together. */
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

/** Returns the rewrite for a set of terms. */
function nestingQuotients(terms: readonly Term[]): (term: Term) => Term {
  const divisors = new Map<Term, Set<Term>>();
  for (const { kind, operands } of termsIn(...terms)) {
    if (kind !== "quotient" && kind !== "remainder") continue;
    const [dividend, divisor] = operands;
    const existing = divisors.get(dividend) ?? new Set();
    divisors.set(dividend, existing.add(divisor));
  }
  const cache = new Map<Term, Term>();
  const rewrite = (term: Term): Term => {
    const cached = cache.get(term);
    if (cached) return cached;
    const result = nestQuotient(mapOperands(term, rewrite), term);
    cache.set(term, result);
    return result;
  };
  const nestQuotient = (term: Term, { kind, operands }: Term): Term => {
    if (kind !== "quotient" && kind !== "remainder") return term;
    const [dividend, divisor] = operands;
    for (const inner of divisors.get(dividend) ?? []) {
      const outer = quotientOf(divisor, inner);
      if (!outer) continue;
      const [x, b, c] = [rewrite(dividend), rewrite(inner), rewrite(outer)];
      const innerQuotient = rewrite(quotient(dividend, inner));
      return kind === "quotient"
        ? quotient(innerQuotient, c)
        : sum(product(b, remainder(innerQuotient, c)), remainder(x, b));
    }
    return term;
  };
  return rewrite;
}

/** The quotient of two products. Undefined if it is 1 or if a factor of the divisor is missing. */
function quotientOf(dividend: Term, divisor: Term): Term | undefined {
  if (dividend.kind !== "product" || dividend === divisor) return undefined;
  const remaining = [...dividend.operands];
  for (const factor of divisor.kind === "product" ? divisor.operands : [divisor]) {
    const index = remaining.indexOf(factor);
    if (index < 0) return undefined;
    remaining.splice(index, 1);
  }
  return remaining.length > 0 ? product(...remaining) : undefined;
}
