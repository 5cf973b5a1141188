/** The matrix product of scaled small floats. */
import { type TileArray, tileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import type { DTypeName } from "../types/dtype.js";
import type { Validate } from "../types/rule-error.js";
import type { Context } from "../values/runtime-values.js";
import { leastInner } from "../rules/dot-rules.js";
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
import { HIGHEST, NAN, addClasses, ZERO } from "../symbolic/number-class.js";
import { defineOp } from "./define.js";
import type { TypedArguments, RuntimeArguments } from "../ir/op.js";

interface ScaledOptions<PA, PB, FA, FB> {
  /** Lets Triton trade accuracy for speed. */
  fastMath?: boolean;
  /** Whether the two e2m1 elements of a byte lie along K (the default) or along M. */
  lhsKPack?: Validate<PA, WhyPack<PA, FA>>;
  /** The same for the second operand: along K or along N. */
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
type Typeds = TypedArguments<typeof operands & typeof options>;

const sideOf = (args: Typeds, side: "lhs" | "rhs") => ({
  type: args[side]!.type,
  scale: args[`${side}Scale`]?.type,
  format: args[`${side}Format`]!.literal as ScaledFormat,
  kPack: args[`${side}KPack`]?.literal !== false,
});

/**
 * `a @ b`, with each element multiplied by the scale of its group along K, plus `acc` if given:
 * `tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3")`. The scales of `b` have one row per column of `b`; `null`
 * stands for an operand without scales. The result is float32.
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
    // Every format writes 0 as 0, which stays 0 beside each scale but the one that is NaN.
    classTransfer: ({ lhs, lhsScale }) => (lhs === ZERO ? (lhsScale === HIGHEST ? NAN : ZERO) : lhs),
    isNeutral: (held) => held === ZERO,
    foldSemantics: {
      form: "packed",
      kinds: addClasses,
      sides: [
        { of: "lhs", inner: -1, scale: "lhsScale" },
        { of: "rhs", inner: -2, scale: "rhsScale" },
      ],
    },
  },
  needs: {
    least: ({ lhs }) => leastInner("dotScaled", lhs.type),
    // Triton 3.6 cannot lower it for gfx942.
    targets: { cuda: "3.6", hip: "3.9" },
  },
});

/** The values of a format's codes that fit in four bits: sign, two bits of exponent, one of mantissa. */
const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6];
const BYTES: Readonly<Partial<Record<ScaledFormat, DTypeName>>> = {
  e4m3: "float8e4nv",
  e5m2: "float8e5",
  bf16: "bfloat16",
  fp16: "float16",
};

/** An operand's elements: `at(batch, outer, k)`, where outer is its row or column. */
function elements(args: Args, side: "lhs" | "rhs") {
  const tile = args[side];
  const format = args[`${side}Format`] as ScaledFormat;
  const kPack = args[`${side}KPack`] !== false;
  const scale = args[`${side}Scale`];
  const [rows, columns] = tile.shape.slice(-2) as [number, number];
  const dtype = BYTES[format];
  const data = dtype ? cast(tile, dtype, { bitcast: true }).data : tile.data;
  const isPacked = format === "e2m1";
  const [outerSize, kHeld] = side === "lhs" ? [rows, columns] : [columns, rows];
  const k = isPacked && kPack ? kHeld * 2 : kHeld;
  const outers = isPacked && !kPack ? outerSize * 2 : outerSize;
  const factor = (batch: number, outer: number, i: number) => {
    if (!scale) return 1;
    const groups = scale.shape.at(-1)!;
    const held = Number(scale.data[(batch * outers + outer) * groups + Math.floor((i * groups) / k)]);
    return scale.dtype === "uint8" ? (held === 255 ? NaN : 2 ** (held - 127)) : held;
  };
  const value = (batch: number, outer: number, i: number) => {
    const [o, j] = isPacked ? (kPack ? [outer, i >> 1] : [outer >> 1, i]) : [outer, i];
    const held = Number(data[batch * rows * columns + (side === "lhs" ? o * columns + j : j * columns + o)]);
    return isPacked ? E2M1[((kPack ? i : outer) & 1 ? held >> 4 : held) & 15]! : held;
  };
  return { k, at: (batch: number, outer: number, i: number) => value(batch, outer, i) * factor(batch, outer, i) };
}

function scaledProduct(args: Args, { result }: Context): TileArray {
  const [a, b] = [elements(args, "lhs"), elements(args, "rhs")];
  const acc = args.acc;
  const shape = result.shape;
  const [m, n] = shape.slice(-2) as [number, number];
  const data = new Float32Array(shape.reduce((size, dim) => size * dim, 1));
  for (let at = 0; at < data.length; at++) {
    const [batch, i, j] = [Math.floor(at / (m * n)), Math.floor(at / n) % m, at % n];
    let sum = acc ? Number(acc.data[at]) : 0;
    for (let k = 0; k < a.k; k++) sum += a.at(batch, i, k) * b.at(batch, j, k);
    data[at] = sum;
  }
  const isPoison = Object.values(args).some(
    (arg) => typeof arg === "object" && "poison" in arg && arg.poison !== undefined,
  );
  return tileArray("float32", shape, data, isPoison ? new Uint8Array(data.length).fill(1) : undefined);
}
