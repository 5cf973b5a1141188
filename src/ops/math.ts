/** Functions of float32 and float64 elements. The evaluator computes them in float64 and rounds once. */
import type { Checked } from "../ir/problem.js";
import { inferMath, type MathOut, type WhyMath } from "../ir/signatures-math.js";
import { defineOp } from "./define.js";
import { unary } from "./evaluate.js";

type MathFunction<Name extends string> = <const X>(x: Checked<X, WhyMath<Name, X>>) => MathOut<X>;

function math<Name extends string>(name: Name, python: string, float: (x: number) => number) {
  return defineOp<MathFunction<Name>>({
    name,
    operands: { x: "value" },
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: ({ x }) => inferMath(name, x!.type),
    evaluate: unary({ float }),
  });
}

/** e to the power of x: `tl.exp(x)`. */
export const exp = math("exp", "tl.exp", Math.exp);
/** 2 to the power of x: `tl.exp2(x)`. */
export const exp2 = math("exp2", "tl.exp2", (x) => 2 ** x);
/** Natural logarithm: `tl.log(x)`. */
export const log = math("log", "tl.log", Math.log);
/** Square root, approximate on the GPU: `tl.sqrt(x)`. */
export const sqrt = math("sqrt", "tl.sqrt", Math.sqrt);
