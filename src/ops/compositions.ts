/** Ops that are compositions of other ops. Each is emitted as a Python function. */
import { mulText } from "../types/constexpr-text.js";
import type { Validate } from "../types/rule-error.js";
import { type ArithOut, inferArith, type WhyArith } from "../rules/arithmetic-rules.js";
import { inferMath, inferPair, type Plain, type WhyMath, whyTile, type WhyTile } from "../rules/math-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { literalType } from "../types/types.js";
import { sqrt } from "./math.js";
import { maximum } from "./select.js";
import { hostOnly } from "../diagnostics/catalog/host-codes.js";
import { fail } from "../diagnostics/diagnostic.js";
import { builder } from "../ir/builder.js";
import type { Operands } from "../ir/op.js";
import { checkedArguments, defineFunctionOp, type OpRecord } from "./define.js";
import { actuals, traceHelper, appendCall, calledResult } from "./helper.js";
import { Message } from "../diagnostics/message.js";

/** The declaration of a derived op. Emission, evaluation and proofs follow from its parts. */
interface DerivedRecord<Given extends Operands> extends Pick<
  OpRecord<Given, {}>,
  "name" | "method" | "operands" | "infer"
> {
  readonly parts: (...operands: any[]) => unknown;
}

/**
 * Defines a derived op: `derived<Signature>()({ … })`. The record declares its operands and types, so that messages
 * name this op. `parts` computes it with other ops. A kernel that calls it gets one `@triton.jit` function for each
 * combination of operand types, as with `tl.fn`.
 */
function derived<Signature>() {
  return <const Given extends Operands>({ parts, ...record }: DerivedRecord<Given>) =>
    defineFunctionOp<Signature>()<Given>({ ...record, parts, effect: "pure", spelling: { form: "apply" } }, (op) => {
      const definition = {
        body: parts,
        name: op.name,
        noinline: false,
        location: undefined,
        opName: op.name,
        isLibrary: true,
      };
      return (...args) => {
        const recorder = builder(`tl.${op.name}`);
        const location = recorder.location();
        if (recorder.executionSpace === "host") fail(hostOnly.notOnHost(op.name), location);
        checkedArguments(recorder, op, args, location);
        const values = actuals(recorder, args, op.name, location);
        const { helper, body } = traceHelper(recorder, definition, args, location);
        return calledResult(appendCall(recorder, helper, values, location), body.form);
      };
    });
}

type WhyRelu<X> = X extends TileLike ? WhyArith<"relu", X[El], X[Sh], 0> : WhyTile<"relu", X>;
type WhySide<X> = X extends TileLike ? WhyMath<"hypot", X> : WhyTile<"hypot", X>;
type WhyOther<X, Y> = X extends TileLike
  ? WhySide<Y> extends ""
    ? WhyArith<"hypot", X[El], X[Sh], Y>
    : WhySide<Y>
  : WhySide<Y>;
type HypotOut<X, Y> = X extends TileLike ? ArithOut<X[El], X[Sh], Y> : Tile<any, any>;

declare module "../types/tile.js" {
  interface TileOps {
    /** The larger of x and 0; NaN stays NaN: `relu(x)`. */
    relu<T extends TileLike>(this: Validate<T, WhyRelu<T>>): Tile<T[El], T[Sh]>;
    /** Square root of the sum of two squares: `hypot(x, y)`. */
    hypot<T extends TileLike, const Y>(this: Validate<T, WhySide<T>>, y: Validate<Y, WhyOther<T, Y>>): HypotOut<T, Y>;
  }
}

/** The larger of x and 0; NaN stays NaN, as in PyTorch. `relu(x)` is `tl.maximum` with `propagate_nan`. */
export const relu = derived<<X>(x: Validate<X, WhyRelu<X>>) => Plain<X>>()({
  name: "relu",
  operands: { x: "tile" },
  method: true,
  infer: ({ x }) => whyTile("relu", x.type) || inferPair("relu", x.type, literalType(0), "max"),
  parts: (x) => maximum(x, 0, { propagateNan: "all" }),
});

/**
 * Square root of the sum of two squares: `hypot(x, y)` is `tl.sqrt(x * x + y * y)`. If a square overflows, the result
 * is infinite; `libdevice.hypot` scales its operands to avoid that.
 */
export const hypot = derived<
  <X, const Y>(x: Validate<X, WhySide<X>>, y: Validate<Y, WhyOther<X, Y>>) => HypotOut<X, Y>
>()({
  name: "hypot",
  operands: { x: "tile", y: "tile" },
  method: true,
  infer: ({ x, y }) => {
    const operandTypes = [x.type, y.type].map((side) => whyTile("hypot", side) || inferMath("hypot", side));
    return operandTypes.find((side) => side instanceof Message) ?? inferArith("hypot", x.type, y.type, mulText);
  },
  parts: (x, y) => sqrt(x.mul(x).add(y.mul(y))),
});
