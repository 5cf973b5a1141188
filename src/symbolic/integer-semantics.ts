/** The integer semantics of ops, and their terms. */
import {
  above,
  asInteger,
  atLeast,
  atMost,
  below,
  cdiv,
  difference,
  equal,
  isTruth,
  minTerm,
  product,
  quotient,
  remainder,
  sum,
  type Term,
} from "./term.js";

/**
 * The integer semantics of an op, for index bounds and proofs. `blocks` is `cdiv`, `least` is the minimum, and `both`
 * is a conjunction.
 */
export type IntegerSemantics =
  | "sum"
  | "difference"
  | "product"
  | "quotient"
  | "remainder"
  | "blocks"
  | "least"
  | "equal"
  | "below"
  | "at most"
  | "above"
  | "at least"
  | "both";

/**
 * `floors` selects Python's rounding of quotients and remainders. `both` has no term, because on integers it operates
 * on bits.
 */
const TERMS: Readonly<Record<Exclude<IntegerSemantics, "both">, (x: Term, y: Term, floors: boolean) => Term>> = {
  sum: (x, y) => sum(x, y),
  difference,
  product: (x, y) => product(x, y),
  quotient,
  remainder,
  blocks: cdiv,
  least: minTerm,
  equal,
  below,
  "at most": atMost,
  above,
  "at least": atLeast,
};

/** The term of a result's lane. Truth values added up give a truth value, which wraps, so they have no term. */
export function termOfMeaning(semantics: Exclude<IntegerSemantics, "both">) {
  const combine = TERMS[semantics];
  return (
    { x, y }: { readonly x: Term; readonly y: Term },
    { isTruth: truth, isFolded }: { readonly isTruth: boolean; readonly isFolded: boolean },
  ): Term | undefined => {
    const result = combine(asInteger(x), asInteger(y), isFolded);
    return truth && !isTruth(result) ? undefined : result;
  };
}
