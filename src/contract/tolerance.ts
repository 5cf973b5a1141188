/**
 * How far an output may be from its float64 reference. Decided here once, for the worker and for the evaluator; the
 * figures that `verify_kernel.py` uses are generated from these. An author's own tolerance and the command line's
 * override them, and a failure never widens them. What rounding leaves of a gradient that cancels depends on its
 * values, so the worker computes that (`rounding.py`).
 */
import type { Signature, Tolerance } from "./compiled.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { specValue } from "../diagnostics/catalogue/definition-codes.js";

/** By the dtype of the output. Every other dtype is compared exactly. */
export const elementwise: Readonly<Record<string, Tolerance>> = {
  float16: { rtol: 1e-3, atol: 1e-3 },
  bfloat16: { rtol: 1e-2, atol: 1e-2 },
  float32: { rtol: 1e-5, atol: 1e-5 },
  float64: { rtol: 1e-12, atol: 1e-12 },
  float8e5: { rtol: 0.25, atol: 0.25 },
  float8e4nv: { rtol: 0.125, atol: 0.125 },
};

/** Products of float32 matrices run in TF32, whose inputs keep 10 bits of mantissa. */
export const tf32: Tolerance = { rtol: 1e-2, atol: 1e-1 };

const exact: Tolerance = { rtol: 0, atol: 0 };

/** Sums of up to this many terms are within the plain tolerances. */
export const SHORT_SUM = 64;

/** @throws TileScriptError if it is neither a tolerance nor a part of one. */
export function checkTolerance(name: string, tolerance: unknown, at: Location | undefined): void {
  if (tolerance === undefined) return;
  const isOne =
    typeof tolerance === "object" &&
    tolerance !== null &&
    Object.entries(tolerance).every(
      ([key, value]) =>
        (key === "rtol" || key === "atol") && (value === undefined || (typeof value === "number" && value >= 0)),
    );
  if (!isOne) fail(specValue.tolerance(name, tolerance), at);
}

/**
 * The tolerance of one output of one case.
 *
 * A sum of K products of independent inputs grows with √K, and so does its rounding error (N. Higham, T. Mary, "A New
 * Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019: λ√K·u holds with high
 * probability where the worst case is K·u). Elements that cancel to nearly zero keep that absolute error, so for
 * kernels that multiply matrices `atol` grows with √K beyond K = 64, and `rtol` stays.
 */
export function toleranceFor(
  dtype: string,
  signature: Pick<Signature, "dot" | "contracted">,
  sizes: Readonly<Record<string, number>>,
  override: Partial<Tolerance> = {},
): Tolerance {
  return grown(dtype, signature.dot, signature.dot ? signature.contracted : [], sizes, override);
}

/** The tolerance of the gradient of `tensor`, which is a sum over every size that the tensor does not have. */
export function gradientTolerance(
  dtype: string,
  { dot, tensors, sizes: names }: Pick<Signature, "dot" | "tensors" | "sizes">,
  tensor: string,
  sizes: Readonly<Record<string, number>>,
  override: Partial<Tolerance> = {},
): Tolerance {
  const own = tensors.find(({ name }) => name === tensor)?.dims ?? [];
  const summed = names.filter((name) => !own.includes(name));
  return grown(dtype, dot, summed, sizes, override);
}

/** The tolerance of a dtype for a sum over `summed`. */
function grown(
  dtype: string,
  dot: boolean,
  summed: readonly string[],
  sizes: Readonly<Record<string, number>>,
  override: Partial<Tolerance>,
): Tolerance {
  const terms = summed.reduce((product, name) => product * (sizes[name] ?? 1), 1);
  return toleranceOfSum(dtype, dot, terms, override);
}

/**
 * The rule: the tolerance of a dtype for sums of this many terms. `dot` says whether the kernel multiplies matrices.
 */
export function toleranceOfSum(
  dtype: string,
  dot: boolean,
  terms: number,
  override: Partial<Tolerance> = {},
): Tolerance {
  const base = dot && dtype === "float32" ? tf32 : (elementwise[dtype] ?? exact);
  const growth = Math.max(1, Math.sqrt(terms / SHORT_SUM));
  return { rtol: override.rtol ?? base.rtol, atol: override.atol ?? base.atol * growth };
}
