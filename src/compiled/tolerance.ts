/**
 * Tolerances of outputs relative to their float64 reference, for the worker and the evaluator. The constants of
 * `verify_kernel.py` are generated from these; `docs/testing.md` derives them. Tolerances of the author and the command
 * line override them, and a failure never widens them. The rounding error of a gradient with cancellation depends on
 * its values, so the worker computes it (`rounding.py`).
 */
import type {
  RoundingProfile,
  TestCase,
  Signature,
  SignatureDType,
  SpecialValue,
  Tolerance,
  GivenTolerance,
} from "./compiled-kernel.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { suggestName } from "../diagnostics/message.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";

const FLOAT32_ERROR = 1e-5;

/**
 * The relative error of an element by the output's dtype: two roundings, or for float32 and float64 a chain of
 * approximate functions. All other dtypes are compared exactly.
 */
export const relative: Readonly<Record<string, number>> = {
  float16: 1e-3,
  bfloat16: 1e-2,
  float32: FLOAT32_ERROR,
  float64: 1e-12,
  float8e5: 0.25,
  float8e4nv: 0.125,
};

/** Unit roundoffs: the maximum relative error of one rounding to nearest. */
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

/** The smallest positive number of a dtype; if GPUs flush subnormal numbers, the smallest normal one. */
export const smallestSubnormal: Readonly<Record<string, number>> = {
  float16: 2 ** -24,
  bfloat16: 2 ** -126,
  float32: 2 ** -126,
  float64: 2 ** -1022,
  float8e5: 2 ** -16,
  float8e4nv: 2 ** -9,
};

/** The relative error of a float32 product from rounding its operands, by Triton's `input_precision`. */
export const dotPrecision: Readonly<Record<string, number>> = {
  tf32: 2 ** -10,
  tf32x3: 2 ** -20,
  ieee: 0,
  bf16x3: 2 ** -15,
  bf16x6: 2 ** -22,
};

/**
 * The error of a sum of this many products of 8-bit floats, relative to its magnitude. Tensor cores add them with 14
 * bits (NVIDIA H100): each is truncated at the last place of the largest product and of the partial sum. Measured on an
 * H200 with up to 16384 products of normal values, some of them 30 times larger: no element of 10⁵ was off by more than
 * 2⁻¹³ · 1.5 · √K. If one product dominates the sum, no element was off by more than 2⁻⁹.
 */
const float8Sum = (terms: number): number => 2 ** -13 * Math.max(4, Math.sqrt(terms) / 2);

/** No element of a sum or product of values rounded to nearest is off by more than this many units. */
export const UNITS_PER_ROUNDING = 4;

/** The limit for rounding errors relative to the output's magnitude, unless the author declares a larger one. */
export const MAX_RMS_TOLERANCE = 0.04;

/**
 * The maximum fraction of integers that may differ if the author allows it. A float that is rounded to an integer, as
 * in a quantizing kernel, is close to a rounding boundary for few elements. Truncation instead of rounding changes half
 * of them.
 */
export const MAX_MISMATCHED_FRACTION = 0.01;

/** Sums of up to this many terms are within the plain tolerances. */
export const SHORT_SUM = 64;

/**
 * The error of a literal written with the digits of a float32. An unrounded run may differ from the unrounded reference
 * by this much. The error of float64 itself is a billion times smaller.
 */
const LITERAL_ERROR = 2 ** -23;

/**
 * The execution mode of a kernel. Triton's interpreter multiplies float32 without rounding; the evaluator rounds like
 * GPUs.
 */
export type ExecutionMode = "eval" | "interpreter" | "cuda" | "hip";

/** The tolerance of an unrounded run against the unrounded reference. It includes the author's tolerance. */
export function algorithmTolerance({
  rtol = 0,
  atol = 0,
  rms = 0,
  share = MAX_MISMATCHED_FRACTION,
}: Partial<Tolerance> = {}): Tolerance {
  return { rtol: Math.max(rtol, LITERAL_ERROR), atol, rms: Math.max(rms, LITERAL_ERROR), share };
}

/**
 * The relative error at which the digits of an element are lost. Sums of positive numbers are far below it, however
 * their sizes differ, unless the kernel computes them as differences.
 */
const LOST_DIGITS = 2 ** -5;

type Sizes = Readonly<Record<string, number>>;
type RoundingFacts = Pick<Signature, "arithmetic" | "contracted">;

/** The tolerance of one output in one case. `sizes` includes derived sizes. */
export function toleranceFor(
  dtype: string,
  { arithmetic, contracted }: RoundingFacts,
  { sizes, dtypes, special }: Pick<TestCase, "sizes" | "dtypes" | "special">,
  mode: ExecutionMode,
  override: Partial<Tolerance> = {},
): Tolerance {
  const terms = termCount(contracted, sizes);
  const tolerance = toleranceOfSum(dtype, terms, intermediateError(arithmetic, dtype, dtypes, mode, terms), override);
  if (!special?.some(isCancelling) || relative[dtype] === undefined) return tolerance;
  return { ...tolerance, rtol: override.rtol ?? Math.max(tolerance.rtol, LOST_DIGITS), rms: override.rms ?? 0 };
}

/** True for inputs whose sums differ so much in size that an error relative to the whole output says nothing. */
export const isCancelling = (kind: SpecialValue): boolean =>
  kind === "cancelling rows" || kind === "cancelling columns";

/** The tolerance of the gradient of `tensor`, which is a sum over every size that the tensor does not have. */
export function gradientTolerance(
  dtype: string,
  { arithmetic, tensors, sizes: names }: Pick<Signature, "arithmetic" | "tensors" | "sizes">,
  tensor: string,
  { sizes, dtypes }: Pick<TestCase, "sizes" | "dtypes">,
  mode: ExecutionMode,
  override: Partial<Tolerance> = {},
): Tolerance {
  const dims = tensors.find(({ name }) => name === tensor)?.dims ?? [];
  const contracted = names.filter((name) => !dims.includes(name));
  const terms = termCount(contracted, sizes);
  return toleranceOfSum(
    dtype,
    terms,
    intermediateError(mergeRoundings(arithmetic), dtype, dtypes, mode, terms),
    override,
  );
}

/** Merges roundings by dtype, because a gradient follows the roundings of all kernels of an operator. */
function mergeRoundings({ rounds, sums, ...profile }: RoundingProfile): RoundingProfile {
  return { ...profile, rounds: mergeCounts(rounds), sums: mergeCounts(sums) };
}

function mergeCounts(rounds: RoundingProfile["rounds"]): RoundingProfile["rounds"] {
  const counts = new Map<string, RoundingProfile["rounds"][number]>();
  for (const { dtype, count } of rounds) {
    const key = JSON.stringify(dtype);
    counts.set(key, { dtype, count: (counts.get(key)?.count ?? 0) + count });
  }
  return [...counts.values()];
}

const termCount = (contracted: readonly string[], sizes: Sizes): number =>
  contracted.reduce((product, name) => product * (sizes[name] ?? 1), 1);

/** True if a float32 dot may round its operands to TF32. Triton's interpreter multiplies exactly. */
export function mayRunInTf32({ dots }: RoundingProfile, dtypes: TestCase["dtypes"]): boolean {
  return dots.some(({ dtype, precision }) => precision === "tf32" && dtypeName(dtype, dtypes) === "float32");
}

/** The error from all roundings except the last, relative to the magnitude of an output that sums `terms` terms. */
function intermediateError(
  arithmetic: RoundingProfile,
  output: string,
  dtypes: TestCase["dtypes"],
  mode: ExecutionMode,
  terms: number,
): number {
  const roundingErrors = declaredRoundings(arithmetic, output, dtypes).map(
    ({ dtype, count }) => roundoffOf(dtype) * Math.sqrt(count),
  );
  return UNITS_PER_ROUNDING * Math.max(0, ...roundingErrors, ...dotErrors(arithmetic, dtypes, mode, terms));
}

/** The maximum relative error of a single operation before the last rounding. */
export function roundingUnit(arithmetic: RoundingProfile, dtypes: TestCase["dtypes"], mode: ExecutionMode): number {
  const roundoffs = declaredRoundings(arithmetic, widestDeclared(arithmetic, dtypes), dtypes).map(({ dtype }) =>
    roundoffOf(dtype),
  );
  return Math.max(0, ...roundoffs, ...dotErrors(arithmetic, dtypes, mode, 1));
}

/** The unit roundoff, 0 for float64. */
export const roundoffOf = (dtype: string): number => unitRoundoff[dtype] ?? 0;

/** The most precise dtype of the inputs and outputs, at least float32: outputs that are integers are held to it. */
export function widestDeclared({ declared }: RoundingProfile, dtypes: TestCase["dtypes"]): string {
  return declared.some((dtype) => dtypeName(dtype, dtypes) === "float64") ? "float64" : "float32";
}

/**
 * True if the author allows single results, or partial sums, of this dtype on the way to an output: the dtype is
 * declared, or no less precise than the output. Sums in less than float32 need a declaration of their own.
 */
export function isDeclaredRounding(
  kind: "value" | "sum",
  dtype: string,
  output: string,
  profile: RoundingProfile,
  dtypes: TestCase["dtypes"],
): boolean {
  const names = (declared: readonly SignatureDType[]) => declared.map((each) => dtypeName(each, dtypes));
  if (names(profile.declaredSums).includes(dtype)) return true;
  if (kind === "sum" && roundoffOf(dtype) > roundoffOf("float32")) return false;
  const limit = output in unitRoundoff || output === "float64" ? output : widestDeclared(profile, dtypes);
  return names(profile.declared).includes(dtype) || roundoffOf(dtype) <= roundoffOf(limit);
}

/**
 * The roundings that the author allows on the way to an output. Others do not widen its tolerance: a kernel would be
 * judged by its own mistakes.
 */
function declaredRoundings(
  profile: RoundingProfile,
  output: string,
  dtypes: TestCase["dtypes"],
): readonly { readonly dtype: string; readonly count: number }[] {
  const allowed = (kind: "value" | "sum", roundings: RoundingProfile["rounds"]) =>
    roundings
      .map(({ dtype, count }) => ({ dtype: dtypeName(dtype, dtypes), count }))
      .filter(({ dtype }) => isDeclaredRounding(kind, dtype, output, profile, dtypes));
  return [...allowed("value", profile.rounds), ...allowed("sum", profile.sums)];
}

function dotErrors(
  { dots }: RoundingProfile,
  dtypes: TestCase["dtypes"],
  mode: ExecutionMode,
  terms: number,
): readonly number[] {
  if (mode === "interpreter") return [];
  return dots.map(({ dtype, precision }) => {
    const operand = dtypeName(dtype, dtypes);
    if (operand === "float32") return dotPrecision[precision] ?? 0;
    // The evaluator accumulates in float32.
    return operand.startsWith("float8") && mode !== "eval" ? float8Sum(terms) : 0;
  });
}

const dtypeName = (dtype: SignatureDType, dtypes: TestCase["dtypes"]): string =>
  typeof dtype === "string" ? dtype : (dtypes[dtype.variable] ?? "");

/**
 * The tolerance of a sum. The element-relative part is `relative`. The part relative to the output's root mean square
 * is the larger of `intermediate` and the error of a float32 sum of `terms` terms.
 *
 * A sum of K products of independent inputs grows with √K, and so does its rounding error (N. Higham, T. Mary, "A New
 * Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019: λ√K·u holds with high
 * probability where the worst case is K·u).
 */
export function toleranceOfSum(
  dtype: string,
  terms: number,
  intermediate: number,
  override: Partial<Tolerance> = {},
): Tolerance {
  const elementError = relative[dtype];
  // PyTorch stores float8e4b15 only as bytes.
  if (/^u?int|^float8e4b15$/.test(dtype)) {
    const steps = Math.floor(override.atol ?? 0);
    return { rtol: 0, atol: steps, rms: 0, ...(steps > 0 && { share: override.share ?? MAX_MISMATCHED_FRACTION }) };
  }
  if (elementError === undefined) return { rtol: 0, atol: 0, rms: 0, ...override };
  const sums = Math.min(elementError, FLOAT32_ERROR) * Math.max(1, Math.sqrt(terms / SHORT_SUM));
  const rms = Math.min(Math.max(sums, intermediate), MAX_RMS_TOLERANCE);
  return {
    rtol: override.rtol ?? Math.max(elementError, rms),
    atol: override.atol ?? smallestSubnormal[dtype] ?? 0,
    rms: override.rms ?? (override.atol === undefined ? rms : 0),
  };
}

// Tolerances declared by the author: for all outputs, and for individual outputs by name.

const FIELDS: readonly string[] = ["rtol", "atol", "rms", "share"] satisfies readonly (keyof Tolerance)[];

/** The fields for one output. Its own fields override those for all outputs. */
export function declaredToleranceFor(declared: GivenTolerance | undefined, output: string): Partial<Tolerance> {
  const outputTolerance = declared?.[output];
  return { ...declaredTolerance(declared), ...(typeof outputTolerance === "object" && outputTolerance) };
}

/** The fields that apply to every output. */
export function declaredTolerance(declared: GivenTolerance = {}): Partial<Tolerance> {
  return Object.fromEntries(Object.entries(declared).filter(([field, value]) => isValidField(field, value)));
}

const isValidField = (field: string, value: unknown): boolean =>
  FIELDS.includes(field) &&
  (value === undefined ||
    (typeof value === "number" && value >= 0 && Number.isFinite(value) && (field !== "share" || value <= 1)));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws TileScriptError if the value is neither a tolerance nor a partial one. */
export function checkTolerance(kernel: string, tolerance: unknown, at: Location | undefined): void {
  if (tolerance === undefined) return;
  const isPartialTolerance = (value: unknown): boolean =>
    isRecord(value) && Object.entries(value).every(([field, fieldValue]) => isValidField(field, fieldValue));
  const isValid =
    isRecord(tolerance) &&
    Object.entries(tolerance).every(([key, value]) => isValidField(key, value) || isPartialTolerance(value));
  if (!isValid) fail(specValue.tolerance(kernel, tolerance), at);
}

/** An output and the kind of its elements in every call. */
export interface ToleratedOutput {
  readonly name: string;
  readonly holds: "floats" | "integers" | undefined;
}

/**
 * @throws TileScriptError if a tolerance names no output, or has a field that does not apply to the elements of the
 * output.
 */
export function checkOutputTolerances(
  kernel: string,
  declared: GivenTolerance | undefined,
  outputs: readonly ToleratedOutput[],
  at: Location | undefined,
): void {
  const names = outputs.map(({ name }) => name);
  for (const [output, tolerance] of Object.entries(declared ?? {})) {
    if (typeof tolerance !== "object") continue;
    const match = outputs.find(({ name }) => name === output);
    if (!match) fail(specValue.toleratedOutput(kernel, output, names, suggestName(output, names)), at);
    if (match.holds === "floats" && tolerance.share !== undefined) fail(specValue.shareOfFloats(kernel, output), at);
    if (match.holds === "integers" && (tolerance.rtol ?? tolerance.rms) !== undefined)
      fail(specValue.toleranceOfIntegers(kernel, output), at);
  }
  if (declaredTolerance(declared).share !== undefined && outputs.every(({ holds }) => holds === "floats"))
    fail(specValue.shareOfFloats(kernel, names.join(", ")), at);
}
