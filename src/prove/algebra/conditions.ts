/** Conditions on polynomials, and the definitions of the atoms in them. */
import type { Polynomial } from "./polynomial.js";

/** `p >= 0`, or `p = 0` if it is an equation. */
export interface Condition {
  readonly p: Polynomial;
  readonly isEquation: boolean;
}

export const atLeastZero = (p: Polynomial): Condition => ({ p, isEquation: false });

export const isZero = (p: Polynomial): Condition => ({ p, isEquation: true });

/** A disjunction: one of these lists of conditions is true. `atoms` are the atoms that it defines. */
export interface CaseSplit {
  readonly atoms: readonly string[];
  readonly cases: readonly (readonly Condition[])[];
}

/**
 * The definition of an atom that is not a symbol: a division `dividend = divisor * quotient + remainder`, a minimum or
 * maximum, a conditional, or an uninterpreted function.
 */
export type Definition =
  | {
      readonly kind: "division";
      readonly dividend: Polynomial;
      readonly divisor: Polynomial;
      readonly quotient: string;
      readonly remainder: string;
      /** The key under which the quotient is interned, if the divisor is positive. */
      readonly key: string | undefined;
    }
  | {
      readonly kind: "extreme";
      readonly of: "least" | "greatest";
      readonly x: Polynomial;
      readonly y: Polynomial;
      readonly name: string;
    }
  | { readonly kind: "choice" }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Polynomial[] };

export interface DefinedConditions {
  readonly conditions: readonly Condition[];
  readonly cases: readonly CaseSplit[];
  /** The definition of each atom. */
  readonly definitions: ReadonlyMap<string, Definition>;
}
