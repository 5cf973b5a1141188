/** Signatures of raw Python and inline assembly, which are not modeled: the author declares the results. */
import { Message } from "../diagnostics/message.js";
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { DType, Dt, Elem } from "../types/dtype.js";
import { dimsOf, whyDims } from "../types/constexpr.js";
import {
  type AsShape,
  type Broadcast,
  type Dim,
  type Shape,
  type WhyBroadcast,
  inferBroadcast,
} from "../types/shape.js";
import type { FirstError, RuleError } from "../types/rule-error.js";
import { notATile, type NotATile } from "../types/operand.js";
import type { ShapeOf } from "./math-rules.js";
import type { Sh, Tile, TileLike } from "../types/tile.js";
import { none, tileType, type Type } from "../types/types.js";

/** The result of `tl.raw`: the declared tile, or none. */
export function inferRaw(
  code: string,
  count: number,
  dtype: Elem | undefined,
  shape: readonly Type[] | undefined,
): Type | RuleError {
  for (const [placeholder, index] of code.matchAll(/\{(\d+)\}/g))
    if (Number(index) >= count)
      return operandKind(
        `raw: ${placeholder} has no operand`,
        `give ${Number(index) + 1} operands, or write {{ for a brace`,
      );
  if (dtype === undefined) return shape ? operandKind("raw: a shape needs a dtype", "add dtype: tl.float32") : none;
  const why = shape ? whyDims("raw", shape) : undefined;
  return why || tileType(dtype, shape ? dimsOf(shape) : []);
}

type FirstWrong<A, S extends Shape = []> = A extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? FirstError<WhyBroadcast<"inlineAsmElementwise", S, H[Sh]>, FirstWrong<R, AsShape<Broadcast<S, H[Sh]>>>>
    : NotATile<"inlineAsmElementwise", H>
  : "";
/** The rule of the operands of `tl.inlineAsmElementwise`. */
export type WhyAsmArgs<A> = FirstWrong<A>;

type AllShapes<A, S extends Shape = []> = A extends readonly [infer H, ...infer R]
  ? AllShapes<R, AsShape<Broadcast<S, AsShape<ShapeOf<H>>>>>
  : S;
type AsmTile<D, S extends Shape> = D extends DType<any> ? Tile<D[Dt], S> : never;
export type AsmOut<A, D> = D extends readonly unknown[]
  ? { -readonly [K in keyof D]: AsmTile<D[K], AllShapes<A>> }
  : AsmTile<D, AllShapes<A>>;
export function inferAsm(args: readonly Type[], dtypes: readonly (Elem | undefined)[]): readonly Type[] | RuleError {
  let shape: readonly Dim[] = [];
  for (const arg of args) {
    if (arg.kind !== "tile") return notATile("inlineAsmElementwise", arg);
    const common = inferBroadcast("inlineAsmElementwise", shape, arg.shape);
    if (common instanceof Message) return common;
    shape = common;
  }
  const outs = dtypes.filter((dtype) => dtype !== undefined);
  return outs.length === dtypes.length
    ? outs.map((dtype) => tileType(dtype, shape))
    : operandKind("inlineAsmElementwise: needs the dtype of the result, such as tl.float32, or a list of dtypes");
}
