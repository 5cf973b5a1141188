/** `tl.dot`: the matrix product. */
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
import { multiplyClasses, addClasses, ZERO } from "../symbolic/number-class.js";
import { members } from "../types/dtype.js";
import type { Type } from "../types/types.js";
import { defineOp } from "./define.js";

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
