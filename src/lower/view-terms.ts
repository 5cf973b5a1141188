/** What an index adds to the address of a view, written with the ops themselves. */
import { dtypes } from "../types/dtype.js";
import { Handle } from "../ir/handle.js";
import { type Argument, isLiteral, isValue, type TensorParam } from "../ir/nodes.js";
import { add, mul, sub } from "../ops/arithmetic.js";
import { to } from "../ops/cast.js";
import { and, ge, lt } from "../ops/compare.js";
import { expandDims } from "../ops/axes.js";

/** The ops without their types: here shapes and dtypes are the author's, known only to the rules. */
type AnyOp = (...args: unknown[]) => unknown;
const untyped = (op: unknown) => op as AnyOp;
export const [ADD, SUB, AND] = [untyped(add), untyped(sub), untyped(and)];
export const [GE, LT] = [untyped(ge), untyped(lt)];
const [MUL, EXPAND, TO] = [untyped(mul), untyped(expandDims), untyped(to)];

/** A view that waits for the load or store which uses it. */
export interface View {
  readonly tensor: TensorParam;
  readonly indices: readonly Argument[];
  readonly claimed: readonly boolean[];
  /** Which axis of the result each index spans; undefined for scalars, and for gathers, whose indices broadcast. */
  readonly axes: readonly (number | undefined)[];
  readonly rank: number;
}

/** An argument as the author-side functions take it. */
export function author(argument: Argument): unknown {
  if (isValue(argument)) return new Handle(argument);
  return isLiteral(argument) ? argument.value : argument;
}

/** What an argument is, in a key. */
export function id(argument: Argument): string {
  return isValue(argument) ? `%${argument.id}` : isLiteral(argument) ? String(argument.value) : "?";
}

/** `rm[:, None] * stride_am`, as far as it is not 0. */
export function term(index: Argument, view: View, axis: number, isScalar = false): readonly unknown[] {
  if (isLiteral(index) && index.value === 0) return [];
  const position = isScalar ? author(index) : placed(index, view, axis);
  const stride = view.tensor.strides[axis]!;
  if (isLiteral(stride) && stride.value === 1) return [position];
  if (isLiteral(index) && index.value === 1) return [author(stride)];
  if (view.tensor.offsets !== "int64") return [MUL(position, author(stride))];
  // One wide side is enough; a number is none.
  const isTile = isValue(index) && index.type.kind === "tile";
  return [isTile ? MUL(TO(position, dtypes.int64), author(stride)) : MUL(position, TO(author(stride), dtypes.int64))];
}

/** An index on the axis of the result that it spans: `rm[:, None]`. */
export function placed(index: Argument, view: View, axis: number): unknown {
  const position = view.axes[axis];
  let result: unknown = author(index);
  if (position === undefined) return result;
  for (let i = 0; i < position; i++) result = EXPAND(result, 0);
  for (let i = position + 1; i < view.rank; i++) result = EXPAND(result, i);
  return result;
}
