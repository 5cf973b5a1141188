/**
 * How far what an op gives may be from the exact result: nothing for what IEEE 754 or integer arithmetic decides, a
 * number of units in the last place for what is approximated, and for sums of floats, whose order no rule gives, a part
 * of the sum of the absolute values.
 */
import { type DTypeName, isInt } from "../../../src/types/dtype.js";

/** What an output is compared by. */
export type Rule =
  | { readonly kind: "exact" }
  | { readonly kind: "ulps"; readonly ulps: number }
  | { readonly kind: "absolute"; readonly within: number }
  /** What `verify` allows between a kernel and its reference. */
  | { readonly kind: "close"; readonly rtol: number; readonly atol: number }
  /** `of` is the output that holds the sum of absolute values. */
  | { readonly kind: "bound"; readonly of: number; readonly factor: number };

export const exact: Rule = { kind: "exact" };

/**
 * Units in the last place by op, on operands in [-8, 8] or the range of its sample. The GPU's `ex2.approx`, `lg2.approx`,
 * `rsqrt.approx`, `sqrt.approx` and `div.full` are off by 1 or 2 (PTX ISA, "Floating Point Instructions"); `exp` first
 * multiplies by log2(e), which costs |x| times as much; sin, cos and erf are libdevice's (CUDA Math API, "Accuracy"), which
 * Triton links so that float32 is flushed: a zero stands for a subnormal result.
 */
const ULPS: Readonly<Record<string, number>> = {
  div: 2,
  fdiv: 2,
  sqrt: 2,
  rsqrt: 4,
  exp: 16,
  exp2: 4,
  log: 4,
  log2: 4,
  sin: 4,
  cos: 4,
  erf: 4,
  sigmoid: 32,
  softmax: 64,
  cumprod: 64,
};
/** Normal numbers come from log, sin and cos, and are near 0 where those are not exact. */
const ABSOLUTE: Readonly<Record<string, number>> = { randn: 1e-5, randn4x: 1e-5, pairUniformToNormal: 1e-5 };
const SUMS = new Set(["sum", "cumsum", "dot", "dotScaled"]);

export type Kind = { readonly kind: "exact" | "sum" } | Extract<Rule, { kind: "ulps" | "absolute" }>;

/** How an op rounds whose result has this dtype. Integers are exact. */
export function kindOf(op: string, result: DTypeName): Kind {
  if (isInt(result)) return { kind: "exact" };
  if (SUMS.has(op)) return { kind: "sum" };
  if (op in ABSOLUTE) return { kind: "absolute", within: ABSOLUTE[op]! };
  return op in ULPS ? { kind: "ulps", ulps: ULPS[op]! } : { kind: "exact" };
}

/** The last place of 1. An addition is off by half of it, or by all of it on tensor cores, which cut off. */
const LAST_PLACE: Partial<Record<DTypeName, number>> = {
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
  float32: 2 ** -23,
  float64: 2 ** -52,
};

/** How a product of matrices takes operands of float32. */
export type Precision = "tf32" | "tf32x3" | "ieee";

/** tf32 keeps 10 bits of each operand; three products of such parts lose what is below both. */
const OPERANDS: Readonly<Record<Precision, number>> = { tf32: 2 * 2 ** -10, tf32x3: 3 * 2 ** -20, ieee: 0 };

/**
 * The part of the sum of absolute values by which a sum of so many terms may be off (Higham, Accuracy and Stability of
 * Numerical Algorithms, 3.1), once on either side of the comparison. `result` is the dtype that accumulates.
 */
export function sumFactor(terms: number, result: DTypeName, precision: Precision = "ieee"): number {
  return terms * (LAST_PLACE[result] ?? 0) + OPERANDS[precision];
}
