/** Elementwise functions of two and three operands: fdiv, divRn, umulhi, fma, clamp. */
import { optionValue } from "../diagnostics/catalog/rule-codes.js";
import {
  classesIn,
  maxClasses,
  NAN,
  EMPTY,
  multiplyClasses,
  divideClasses,
  minClasses,
  addClasses,
} from "../symbolic/number-class.js";
import { clampBounds } from "../diagnostics/catalog/finding-codes.js";
import { broadcastTo, type TileArray, cast } from "../numerics/array.js";
import { map2, mapBig2 } from "../numerics/array-map.js";
import type { Validate, RuleError } from "../types/rule-error.js";
import { fma as fmaOf, directed } from "../numerics/numeric-float.js";
import { umulhi as umulhiOf, umulhiBig, isBig } from "../numerics/numeric-int.js";
import {
  type FdivOut,
  inferClamp,
  inferFdiv,
  inferFma,
  inferSinglePair,
  inferTriple,
  inferUmulhi,
  type PairOf,
  type TripleOut,
  type WhyClamped,
  type WhyFdiv,
  type WhyFused,
  type WhySecond,
  type WhySingleSecond,
  type WhyThird,
  type WhyUmulhi,
} from "../rules/elementwise-rules.js";
import { members } from "../types/dtype.js";
import type { Type, Typed } from "../types/types.js";
import { defineOp } from "./define.js";
import { binaryInResult, promoteOperands, ternary, tileOf, markPoison } from "../values/operands.js";
import type { Context, Runtime } from "../values/runtime-values.js";
import { extremes, propagation, widened36 } from "./select.js";
import { Message } from "../diagnostics/message.js";

const float32 = Math.fround;
const hasDType = ({ type }: Typed, name: "float16" | "bfloat16" | "float32" | "float64") =>
  type.kind === "tile" && members(type.dtype).includes(name);

/**
 * `x / y` of floats: `tl.fdiv(x, y)`. `ieeeRounding` rounds correctly; `approx` is faster and needs Triton 3.9. The
 * result of float16 and bfloat16 operands is float32.
 */
export const fdiv = defineOp<
  <const X, const Y>(
    x: X,
    y: Validate<Y, WhyFdiv<X, Y>>,
    options?: { ieeeRounding?: boolean; approx?: boolean },
  ) => FdivOut<X, Y>
>()({
  name: "fdiv",
  operands: { x: "value", y: "value" },
  options: { ieeeRounding: "constant?", approx: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.fdiv" },
  infer: ({ x, y, ieeeRounding, approx }) => {
    if (ieeeRounding?.literal && approx?.literal) return optionValue("fdiv: it is either ieeeRounding or approx");
    const approximation = approx?.literal ? "approx" : undefined;
    return inferFdiv(x.type, y.type, ieeeRounding?.literal ? "ieeeRounding" : approximation);
  },
  evaluate: binaryInResult({ float: (x, y) => x / y }),
  facts: { lanewise: true },
  proof: { classTransfer: ({ x, y }) => divideClasses(x, y) },
  needs: { needsTriton39: ({ approx }) => approx?.literal === true },
  triton36: {
    strongLiterals: true,
    firstDecides: true,
    // 3.6 divides 16-bit floats in 16 bits, and does not promote to float64.
    operands: ({ x, y }) => {
      const has = (name: Parameters<typeof hasDType>[1]) => hasDType(x, name) || hasDType(y, name);
      if (has("float64")) return has("float32") || has("float16") || has("bfloat16") ? "float64" : undefined;
      return has("float16") || has("bfloat16") ? "float32" : undefined;
    },
  },
});

/** `x / y` of float32, correctly rounded: `tl.div_rn(x, y)`. */
export const divRn = defineOp<
  <const X, const Y>(x: X, y: Validate<Y, WhySingleSecond<"divRn", X, Y>>) => PairOf<X, Y>
>()({
  name: "divRn",
  operands: { x: "value", y: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.div_rn" },
  infer: ({ x, y }) => inferSinglePair("divRn", x.type, y.type),
  evaluate: binaryInResult({ float: (x, y) => float32(x / y) }),
  facts: { lanewise: true },
  proof: { classTransfer: ({ x, y }) => divideClasses(x, y) },
  triton36: { strongLiterals: true },
});

/**
 * The high half of the product of unsigned integers: `tl.umulhi(x, y)`. Signed operands are reinterpreted as unsigned.
 */
export const umulhi = defineOp<<const X, const Y>(x: X, y: Validate<Y, WhyUmulhi<X, Y>>) => PairOf<X, Y>>()({
  name: "umulhi",
  operands: { x: "value", y: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.umulhi" },
  infer: ({ x, y }) => inferUmulhi(x.type, y.type),
  evaluate: ({ x, y }, { result }) => {
    const [a, b] = promoteOperands(x, y);
    return isBig(a.dtype) ? mapBig2(a, b, result.dtype, umulhiBig) : cast(map2(a, b, "uint32", umulhiOf), result.dtype);
  },
  triton36: { strongLiterals: true },
});

/** `x * y + z` of floats with one rounding: `tl.fma(x, y, z)`. */
export const fma = defineOp<
  <const X, const Y, const Z>(
    x: Validate<X, WhyFused<X>>,
    y: Validate<Y, WhySecond<"fma", X, Y>>,
    z: Validate<Z, WhyThird<"fma", X, Y, Z>>,
  ) => TripleOut<X, Y, Z>
>()({
  name: "fma",
  operands: { x: "value", y: "value", z: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.fma" },
  infer: ({ x, y, z }) => inferFma(x.type, y.type, z.type),
  evaluate: ternary(["x", "y", "z"], {
    float: (dtype) => (dtype === "float64" ? directed("fma", dtype, "n") : fmaOf(dtype)),
  }),
  facts: { lanewise: true },
  proof: {
    classTransfer: ({ x, y, z }) =>
      classesIn(multiplyClasses(x, y)).reduce((all, each) => all | addClasses(each, z), EMPTY),
  },
  triton36: { strongLiterals: true },
});

/**
 * Clamps `x` to `min` and `max`: `tl.clamp(x, 0.0, 1.0)`. NaN becomes `min`, unless `propagateNan` is "all". Integers
 * need Triton 3.9.
 */
export const clamp = defineOp<
  <const X, const Lo, const Hi>(
    x: Validate<X, WhyClamped<"clamp", X>>,
    min: Validate<Lo, WhySecond<"clamp", X, Lo>>,
    max: Validate<Hi, WhyThird<"clamp", X, Lo, Hi>>,
    options?: { propagateNan?: "none" | "all" },
  ) => TripleOut<X, Lo, Hi>
>()({
  name: "clamp",
  operands: { x: "value", min: "value", max: "value" },
  options: { propagateNan: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.clamp", symbols: propagation },
  infer: ({ x, min, max }) => inferClamp(x.type, min.type, max.type),
  evaluate: (args, context) => {
    const all = args.propagateNan === "all";
    const [smaller, larger] = [extremes.min(all), extremes.max(all)];
    const clamped = ternary(["x", "min", "max"], {
      float: () => (x, low, high) => smaller(larger(x, low), high),
      int: (x, low, high) => Math.min(Math.max(x, low), high),
      big: (x, low, high) => extremes.bigMin(extremes.bigMax(x, low), high),
    })(args, context);
    return poisonInvertedBounds(clamped, args, context);
  },
  facts: {
    // If `max` is below `min`, `max` wins.
    nonNegative: ([, low, high]) => low === true && high === true,
  },
  proof: {
    classTransfer: ({ x, min, max }, { args }) => {
      const all = args.propagateNan?.literal === "all";
      if (all && [x, min, max].includes(NAN)) return NAN;
      return classesIn(maxClasses(x, min)).reduce((classes, each) => classes | minClasses(each, max), EMPTY);
    },
  },
  needs: { needsTriton39: (args) => !isFloat(clampType(args)) },
  triton36: {
    strongLiterals: true,
    result: (args) => widened36(clampType(args), args.x.type, args.min.type, args.max.type),
  },
});

/**
 * Marks lanes as poison if `min` is above `max`: the result then depends on the compiler. For bounds -a and a, Triton
 * uses an instruction that considers only the sign of x.
 */
function poisonInvertedBounds(clamped: TileArray, { min, max }: ClampBounds, context: Context): TileArray {
  const { dtype } = context.result;
  const broadcastBound = (bound: Runtime) => broadcastTo(cast(tileOf(bound, dtype), dtype), clamped.shape);
  const [low, high] = [broadcastBound(min), broadcastBound(max)];
  let lanes: Uint8Array | undefined;
  const boundsAt = (lane: number) => [low.data[lane]!, high.data[lane]!] as const;
  for (let i = 0; i < clamped.data.length; i++) {
    const [lowest, highest] = boundsAt(i);
    if (!(lowest <= highest) && !low.poison?.[i] && !high.poison?.[i])
      (lanes ??= new Uint8Array(clamped.data.length))[i] = 1;
  }
  return markPoison(clamped, lanes, context, (lane) => clampBounds(...boundsAt(lane)));
}

type ClampBounds = Readonly<Record<"min" | "max", Runtime>>;

const clampType = ({ x, min, max }: Readonly<Record<"x" | "min" | "max", Typed>>) =>
  inferTriple("clamp", x.type, min.type, max.type);
const isFloat = (type: Type | RuleError) =>
  !(type instanceof Message) && type.kind === "tile" && members(type.dtype).every((name) => name.includes("float"));
