/** What ops compute of integers, and the term of each meaning. */
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
 * What an op computes of integers, to the rules that bound indices and to proofs: `blocks` is `cdiv`, `least` the smaller of
 * two, `both` a condition that is two.
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

/** `floors` as Python does, where the quotient and the remainder do. Of integers, `both` is about their bits. */
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

/** The rule for a lane of the result. Truth values add up to a truth value, which wraps. */
export function termOfMeaning(meaning: Exclude<IntegerSemantics, "both">) {
  const combine = TERMS[meaning];
  return (
    { x, y }: { readonly x: Term; readonly y: Term },
    { truth, folded }: { readonly truth: boolean; readonly folded: boolean },
  ): Term | undefined => {
    const made = combine(asInteger(x), asInteger(y), folded);
    return truth && !isTruth(made) ? undefined : made;
  };
}
