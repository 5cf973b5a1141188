/** Matrix products: `tl.dot` and `tl.dotScaled`. */
import { Message } from "../diagnostics/message.js";
import { dotOperands } from "../diagnostics/catalog/rule-codes.js";
import { dot as dotArrays, type AccumulatorDType, type InputPrecision } from "../numerics/array-dot.js";
import { type Validate, whyChoice, type RuleError } from "../types/rule-error.js";
import {
  type AccOrOptions,
  dotAcc,
  type DotOut,
  inferDot,
  minimumInnerDims,
  type OptionsFor,
  type WhyDotFirst,
  type WhyDotSecond,
} from "../rules/dot-rules.js";
import { multiplyClasses, addClasses, ZERO, HIGHEST, NAN } from "../symbolic/number-class.js";
import { members, type DTypeName } from "../types/dtype.js";
import type { Type } from "../types/types.js";
import { defineOp } from "./define.js";
import { atAxis } from "../types/dims.js";
import { type TileArray, tileArray, cast } from "../numerics/array.js";
import type { Context } from "../values/runtime-values.js";
import {
  inferDotScaled,
  type FirstRows,
  type ScaledFormat,
  type ScaledOut,
  type ScaledShape,
  type SecondRows,
  type WhyPack,
  type WhyScale,
  type WhyScaledAcc,
  type WhyScaledSecond,
  type WhyScaledSide,
} from "../rules/dot-scaled-rules.js";
import type { TypedArguments, RuntimeArguments } from "../ir/op.js";

// `tl.dotScaled`: the matrix product of 4-bit and 8-bit floats with scales (microscaling formats).

interface ScaledOptions<PA, PB, FA, FB> {
  /** Allows Triton to trade accuracy for speed. */
  fastMath?: boolean;
  /** True (the default) if the two e2m1 elements of a byte are adjacent along K, false if along M. */
  lhsKPack?: Validate<PA, WhyPack<PA, FA>>;
  /** The same for the second operand: true for K, false for N. */
  rhsKPack?: Validate<PB, WhyPack<PB, FB>>;
}

const operands = {
  lhs: "tile",
  lhsScale: "tile?",
  lhsFormat: "constant",
  rhs: "tile",
  rhsScale: "tile?",
  rhsFormat: "constant",
  acc: "tile?",
} as const;
const options = { fastMath: "constant?", lhsKPack: "constant?", rhsKPack: "constant?" } as const;
type Args = RuntimeArguments<typeof operands & typeof options>;
type TypedArgs = TypedArguments<typeof operands & typeof options>;

const sideOf = (args: TypedArgs, side: "lhs" | "rhs") => ({
  type: args[side].type,
  scale: args[`${side}Scale`]?.type,
  format: args[`${side}Format`].literal as ScaledFormat,
  kPack: args[`${side}KPack`]?.literal !== false,
});

/**
 * `a @ b`, plus the optional `acc`: `tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3")`. Each element is multiplied
 * by the scale of its group along K. The scales of `b` have one row per column of `b`. Pass `null` for an operand
 * without scales. The result is float32.
 */
export const dotScaled = defineOp<
  <
    A,
    SA,
    const FA extends ScaledFormat,
    B,
    SB,
    const FB extends ScaledFormat,
    C = undefined,
    const PA = true,
    const PB = true,
  >(
    lhs: Validate<A, WhyScaledSide<A, FA>>,
    lhsScale: Validate<SA, WhyScale<SA, A, FA, FirstRows<A, FA, PA>>>,
    lhsFormat: FA,
    rhs: Validate<B, WhyScaledSecond<A, FA, PA, B, FB, PB>>,
    rhsScale: Validate<SB, WhyScale<SB, B, FB, SecondRows<B, FB, PB>>>,
    rhsFormat: FB,
    acc?: Validate<C, WhyScaledAcc<ScaledShape<A, FA, PA, B, FB, PB>, C>>,
    options?: ScaledOptions<PA, PB, FA, FB>,
  ) => ScaledOut<ScaledShape<A, FA, PA, B, FB, PB>>
>()({
  name: "dotScaled",
  operands,
  options,
  effect: "pure",
  spelling: { form: "call", name: "tl.dot_scaled" },
  infer: (args) => inferDotScaled(sideOf(args, "lhs"), sideOf(args, "rhs"), args.acc?.type),
  evaluate: scaledProduct,
  facts: { contracts: true },
  proof: {
    // 0 is exact in every format, and 0 times a scale is 0 unless the scale is NaN.
    classTransfer: ({ lhs, lhsScale }) => (lhs === ZERO && lhsScale === HIGHEST ? NAN : lhs),
    isNeutral: (classes) => classes === ZERO,
    foldSemantics: {
      form: "packed",
      combineClasses: addClasses,
      sides: [
        { operand: "lhs", inner: -1, scale: "lhsScale" },
        { operand: "rhs", inner: -2, scale: "rhsScale" },
      ],
    },
  },
  needs: {
    minimumDims: ({ lhs }) => minimumInnerDims("dotScaled", lhs.type),
    // Triton 3.6 cannot lower it for gfx942.
    targets: { cuda: "3.6", hip: "3.9" },
  },
});

/** The values of the 4-bit codes: one sign bit, two exponent bits, one mantissa bit. */
const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6];
const BYTES: Readonly<Partial<Record<ScaledFormat, DTypeName>>> = {
  e4m3: "float8e4nv",
  e5m2: "float8e5",
  bf16: "bfloat16",
  fp16: "float16",
};

/** Accesses the scaled elements of an operand. `outer` is the row of the first or the column of the second operand. */
function elements(args: Args, side: "lhs" | "rhs") {
  const tile = args[side];
  const format = args[`${side}Format`] as ScaledFormat;
  const kPack = args[`${side}KPack`] !== false;
  const scale = args[`${side}Scale`];
  const [rows, columns] = tile.shape.slice(-2) as [number, number];
  const dtype = BYTES[format];
  const data = dtype ? cast(tile, dtype, { bitcast: true }).data : tile.data;
  const isPacked = format === "e2m1";
  const [outerSize, storedK] = side === "lhs" ? [rows, columns] : [columns, rows];
  const k = isPacked && kPack ? storedK * 2 : storedK;
  const outerCount = isPacked && !kPack ? outerSize * 2 : outerSize;
  const factor = (batch: number, outer: number, i: number) => {
    if (!scale) return 1;
    const groups = atAxis(scale.shape, scale.shape.length - 1);
    const scaleCode = Number(scale.data[(batch * outerCount + outer) * groups + Math.floor((i * groups) / k)]);
    if (scale.dtype !== "uint8") return scaleCode;
    return scaleCode === 255 ? NaN : 2 ** (scaleCode - 127);
  };
  const value = (batch: number, outer: number, i: number) => {
    const [o, j] = [isPacked && !kPack ? outer >> 1 : outer, isPacked && kPack ? i >> 1 : i];
    const code = Number(data[batch * rows * columns + (side === "lhs" ? o * columns + j : j * columns + o)]);
    return isPacked ? E2M1[((kPack ? i : outer) & 1 ? code >> 4 : code) & 15]! : code;
  };
  return {
    k,
    elementAt: (batch: number, outer: number, i: number) => value(batch, outer, i) * factor(batch, outer, i),
  };
}

function scaledProduct(args: Args, { result }: Context): TileArray {
  const [a, b] = [elements(args, "lhs"), elements(args, "rhs")];
  const acc = args.acc;
  const shape = result.shape;
  const [m, n] = shape.slice(-2) as [number, number];
  const data = new Float32Array(shape.reduce((size, dim) => size * dim, 1));
  for (let index = 0; index < data.length; index++) {
    const [batch, i, j] = [Math.floor(index / (m * n)), Math.floor(index / n) % m, index % n];
    let sum = acc ? Number(acc.data[index]) : 0;
    for (let k = 0; k < a.k; k++) sum += a.elementAt(batch, i, k) * b.elementAt(batch, j, k);
    data[index] = sum;
  }
  const isPoison = Object.values(args).some(
    (arg) => typeof arg === "object" && "poison" in arg && arg.poison !== undefined,
  );
  return tileArray("float32", shape, data, isPoison ? new Uint8Array(data.length).fill(1) : undefined);
}

/** Checks `maxNumImpreciseAcc`: the number of products that may accumulate with lower precision, at most K. */
function whyImprecise(a: Type, limit: unknown): RuleError | undefined {
  const k = a.kind === "tile" ? a.shape.at(-1) : undefined;
  return typeof limit === "number" && typeof k === "number" && limit > k
    ? dotOperands(`dot: maxNumImpreciseAcc is ${limit}, more than the inner dimension ${k}`, "give at most that")
    : undefined;
}

/**
 * `a @ b`, plus the optional `acc`: `acc = tl.dot(a, b, acc)`. The accumulator is float32; for int8 it is int32, and
 * for float64 it is float64. For float16 and 8-bit floats, `outDtype` can select a float16 accumulator. float32
 * operands are rounded to TF32 unless `inputPrecision` selects another precision.
 */
export const dot = defineOp<
  <A, B, const C = undefined, const O = undefined>(
    a: Validate<A, WhyDotFirst<A>>,
    b: Validate<B, WhyDotSecond<A, B>>,
    acc?: AccOrOptions<A, B, C, O>,
    options?: OptionsFor<A, O>,
  ) => DotOut<A, B, C, O>
>()({
  name: "dot",
  operands: { a: "tile", b: "tile", acc: "tile?" },
  options: { inputPrecision: "constant?", maxNumImpreciseAcc: "constant?", outDtype: "dtype?" },
  effect: "pure",
  spelling: {
    form: "call",
    name: "tl.dot",
    symbols: { outDtype: { int32: "tl.int32", float64: "tl.float64" } },
    // The default precision of float32 differs between Triton versions. 3.6 expects a float32 accumulator unless
    // outDtype is set.
    pinned: ({ a, acc }) => {
      if (a.type.kind !== "tile") return {};
      const { dtype } = a.type;
      const result = dotAcc(dtype);
      return {
        ...(members(dtype).includes("float32") && { inputPrecision: "tf32" }),
        ...(acc && (result === "int32" || result === "float64") && { outDtype: result }),
      };
    },
  },
  infer: ({ a, b, acc, inputPrecision, maxNumImpreciseAcc, outDtype }) => {
    const why =
      whyChoice("dot: inputPrecision", inputPrecision?.literal, ["tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"]) ||
      whyImprecise(a.type, maxNumImpreciseAcc?.literal);
    if (why) return why;
    const inferred = inferDot(a.type, b.type, acc?.type, outDtype?.dtype);
    const isInvalidDType = outDtype !== undefined && !outDtype.dtype;
    return isInvalidDType && !(inferred instanceof Message)
      ? dotOperands("dot: outDtype is a dtype, such as tl.float16")
      : inferred;
  },
  evaluate: ({ a, b, acc, inputPrecision }, { result }) =>
    dotArrays(a, b, acc, {
      accDType: result.dtype as AccumulatorDType,
      inputPrecision: inputPrecision as InputPrecision | undefined,
    }),
  facts: { contracts: true },
  proof: {
    wraps: true,
    classTransfer: ({ a, b }) => multiplyClasses(a, b),
    foldSemantics: { form: "contraction", combineClasses: addClasses },
    isNeutral: (classes) => classes === ZERO,
  },
  needs: { minimumDims: ({ a }) => minimumInnerDims("dot", a.type) },
});
