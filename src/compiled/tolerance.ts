/**
 * How far an output may be from its float64 reference. Decided here once, for the worker and for the evaluator; the
 * figures that `verify_kernel.py` uses are generated from these, and `docs/testing.md` derives them. An author's own
 * tolerance and the command line's override them, and a failure never widens them. What rounding leaves of a gradient
 * that cancels depends on its values, so the worker computes that (`rounding.py`).
 */
import type { RoundingProfile, TestCase, Signature, SignatureDType, Tolerance } from "./compiled-kernel.js";

/**
 * The error of an element relative to itself, by the output's dtype: two roundings to it, or for float32 and float64 a
 * chain of approximate functions. Every other dtype is compared exactly.
 */
export const relative: Readonly<Record<string, number>> = {
  float16: 1e-3,
  bfloat16: 1e-2,
  float32: 1e-5,
  float64: 1e-12,
  float8e5: 0.25,
  float8e4nv: 0.125,
};

/** Unit roundoffs: what one rounding to nearest changes at most, relative to the value. */
export const unitRoundoff: Readonly<Record<string, number>> = {
  float32: 2 ** -24,
  float16: 2 ** -11,
  bfloat16: 2 ** -8,
  float8e5: 2 ** -3,
  float8e4nv: 2 ** -4,
  float8e4b8: 2 ** -4,
  float8e4b15: 2 ** -4,
  float8e5b16: 2 ** -3,
};

/** The smallest numbers that a dtype tells apart, or where GPUs flush subnormal ones, the smallest normal one. */
export const smallestSubnormal: Readonly<Record<string, number>> = {
  float16: 2 ** -24,
  bfloat16: 2 ** -126,
  float32: 2 ** -126,
  float64: 2 ** -1022,
  float8e5: 2 ** -16,
  float8e4nv: 2 ** -9,
};

/** What rounding the operands of a float32 product costs, relative to it, by Triton's `input_precision`. */
export const dotPrecision: Readonly<Record<string, number>> = {
  tf32: 2 ** -10,
  tf32x3: 2 ** -20,
  ieee: 0,
  bf16x3: 2 ** -15,
  bf16x6: 2 ** -22,
};

/**
 * What a sum of this many products of 8-bit floats is off by, as a part of its magnitude. Tensor cores add them in 14 bits
 * (NVIDIA H100): each is cut at the last place of the largest, and of the sum so far. On an H200, of up to 16384 products
 * of normal values, some 30 times as large as others, no element of 10⁵ was off by more than 2⁻¹³ · 1.5 · √K, nor, where
 * one product is most of the sum, by more than 2⁻⁹.
 */
const float8Sum = (terms: number): number => 2 ** -13 * Math.max(4, Math.sqrt(terms) / 2);

/** A sum or product of values that were rounded to nearest is off by more than this many units in no element. */
export const UNITS_PER_ROUNDING = 4;

/** More than this part of the output's magnitude is not taken for rounding unless the author says so. */
export const MAX_RMS_TOLERANCE = 0.04;

/**
 * Where an author lets integers differ, no more than this part of them may. A float that is rounded to an integer, as by
 * a quantizing kernel, lies next to the border of two for few elements; truncating instead changes half of them.
 */
export const MAX_MISMATCHED_FRACTION = 0.01;

/** Sums of up to this many terms are within the plain tolerances. */
export const SHORT_SUM = 64;

/**
 * An unrounded run may differ from the unrounded reference by what a literal costs that the author wrote with the digits
 * of a float32. Float64 itself costs a billionth of that.
 */
const ALGORITHM = 2 ** -23;

/** Where a kernel runs. Triton's interpreter multiplies float32 without rounding; the evaluator rounds as GPUs do. */
export type ExecutionMode = "eval" | "interpreter" | "cuda" | "hip";

/** How far an unrounded run may be from the unrounded reference. What the author allows holds here too. */
export function algorithmTolerance({
  rtol = 0,
  atol = 0,
  rms = 0,
  share = MAX_MISMATCHED_FRACTION,
}: Partial<Tolerance> = {}): Tolerance {
  return { rtol: Math.max(rtol, ALGORITHM), atol, rms: Math.max(rms, ALGORITHM), share };
}

type Sizes = Readonly<Record<string, number>>;
type Of = Pick<Signature, "arithmetic" | "contracted">;

/** The tolerance of one output of one case. `sizes` has the derived sizes too. */
export function toleranceFor(
  dtype: string,
  { arithmetic, contracted }: Of,
  { sizes, dtypes }: Pick<TestCase, "sizes" | "dtypes">,
  on: ExecutionMode,
  override: Partial<Tolerance> = {},
): Tolerance {
  const terms = termsOf(contracted, sizes);
  return toleranceOfSum(dtype, terms, roundedOnTheWay(arithmetic, dtypes, on, terms), override);
}

/** The tolerance of the gradient of `tensor`, which is a sum over every size that the tensor does not have. */
export function gradientTolerance(
  dtype: string,
  { arithmetic, tensors, sizes: names }: Pick<Signature, "arithmetic" | "tensors" | "sizes">,
  tensor: string,
  { sizes, dtypes }: Pick<TestCase, "sizes" | "dtypes">,
  on: ExecutionMode,
  override: Partial<Tolerance> = {},
): Tolerance {
  const own = tensors.find(({ name }) => name === tensor)?.dims ?? [];
  const summed = names.filter((name) => !own.includes(name));
  const terms = termsOf(summed, sizes);
  return toleranceOfSum(dtype, terms, roundedOnTheWay(oneChain(arithmetic), dtypes, on, terms), override);
}

/** A gradient comes after the roundings of all of an operator's kernels, so those of one dtype are counted together. */
function oneChain({ rounds, dots }: RoundingProfile): RoundingProfile {
  const counts = new Map<string, RoundingProfile["rounds"][number]>();
  for (const { dtype, count } of rounds) {
    const key = JSON.stringify(dtype);
    counts.set(key, { dtype, count: (counts.get(key)?.count ?? 0) + count });
  }
  return { rounds: [...counts.values()], dots };
}

const termsOf = (summed: readonly string[], sizes: Sizes): number =>
  summed.reduce((product, name) => product * (sizes[name] ?? 1), 1);

/** Whether a product of float32 matrices may round its operands to TF32. Triton's interpreter multiplies exactly. */
export function mayRunInTf32({ dots }: RoundingProfile, dtypes: TestCase["dtypes"]): boolean {
  return dots.some(({ dtype, precision }) => precision === "tf32" && nameOf(dtype, dtypes) === "float32");
}

/** What a kernel's roundings before the last one cost, relative to the magnitude of the output, a sum of so many terms. */
function roundedOnTheWay(
  arithmetic: RoundingProfile,
  dtypes: TestCase["dtypes"],
  on: ExecutionMode,
  terms: number,
): number {
  const narrow = arithmetic.rounds.map(
    ({ dtype, count }) => (unitRoundoff[nameOf(dtype, dtypes)] ?? 0) * Math.sqrt(count),
  );
  return UNITS_PER_ROUNDING * Math.max(0, ...narrow, ...productErrors(arithmetic, dtypes, on, terms));
}

/** What one of a kernel's operations before the last rounding is off by at most, relative to what it gives. */
export function roundingUnit(arithmetic: RoundingProfile, dtypes: TestCase["dtypes"], on: ExecutionMode): number {
  const narrow = arithmetic.rounds.map(({ dtype }) => unitRoundoff[nameOf(dtype, dtypes)] ?? 0);
  return Math.max(0, ...narrow, ...productErrors(arithmetic, dtypes, on, 1));
}

function productErrors(
  { dots }: RoundingProfile,
  dtypes: TestCase["dtypes"],
  on: ExecutionMode,
  terms: number,
): readonly number[] {
  if (on === "interpreter") return [];
  return dots.map(({ dtype, precision }) => {
    const operand = nameOf(dtype, dtypes);
    if (operand === "float32") return dotPrecision[precision] ?? 0;
    // The evaluator adds them in float32.
    return operand.startsWith("float8") && on !== "eval" ? float8Sum(terms) : 0;
  });
}

const nameOf = (dtype: SignatureDType, dtypes: TestCase["dtypes"]): string =>
  typeof dtype === "string" ? dtype : (dtypes[dtype.variable] ?? "");

/**
 * The rule: `relative` of the element, and of the output's root mean square what rounding on the way costs (`way`), or
 * what sums of this many float32 terms do.
 *
 * A sum of K products of independent inputs grows with √K, and so does its rounding error (N. Higham, T. Mary, "A New
 * Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019: λ√K·u holds with high
 * probability where the worst case is K·u).
 */
export function toleranceOfSum(
  dtype: string,
  terms: number,
  way: number,
  override: Partial<Tolerance> = {},
): Tolerance {
  const own = relative[dtype];
  // PyTorch has the bytes of float8e4b15 alone.
  if (/^u?int|^float8e4b15$/.test(dtype)) {
    const steps = Math.floor(override.atol ?? 0);
    return { rtol: 0, atol: steps, rms: 0, ...(steps > 0 && { share: override.share ?? MAX_MISMATCHED_FRACTION }) };
  }
  if (own === undefined) return { rtol: 0, atol: 0, rms: 0, ...override };
  const sums = Math.min(own, relative["float32"]!) * Math.max(1, Math.sqrt(terms / SHORT_SUM));
  const rms = Math.min(Math.max(sums, way), MAX_RMS_TOLERANCE);
  return {
    rtol: override.rtol ?? Math.max(own, rms),
    atol: override.atol ?? smallestSubnormal[dtype] ?? 0,
    rms: override.rms ?? (override.atol === undefined ? rms : 0),
  };
}
