/** Nodes that the author's Python does not have, as Triton would type them. */
import type { Binary, Call, Described, Expression, Name, Statement, WireConstant } from "./tree.js";
import { rankOf } from "./value.js";

/** Where a made node is said to stand. */
export interface At {
  readonly line: number;
  readonly end: number;
}

const place = ({ line, end }: At): At => ({ line, end });
/** A tile of these axes; their lengths do not matter here. */
const tileOf = (dtype: string, rank: number): Described => ({
  kind: "tile",
  dtype,
  shape: Array.from({ length: rank }, () => 1),
});
export const INDEX: readonly Described[] = [tileOf("int32", 0)];

export const nameOf = (id: string, types: readonly Described[], at: At): Name => ({
  kind: "Name",
  id,
  types,
  ...place(at),
});

export const constantOf = (of: string, value: WireConstant, at: At): Expression => ({
  kind: "Constant",
  of,
  value,
  types: [{ kind: "constant", of, value }],
  ...place(at),
});

export const binary = (op: string, left: Expression, right: Expression, types: Expression["types"]): Binary => ({
  kind: "BinOp",
  op,
  left,
  right,
  types,
  line: left.line,
  end: Math.max(left.end, right.end),
});

/** A sum or a product of indices, of which at most one is a tile. */
export function ofIndices(op: "Add" | "Mult", left: Expression, right: Expression): Expression {
  const isNumber = (node: Expression, value: number): boolean =>
    node.kind === "Constant" && node.of === "int" && node.value === value;
  const neutral = op === "Add" ? 0 : 1;
  if (isNumber(left, neutral)) return right;
  if (isNumber(right, neutral)) return left;
  const rank = Math.max(rankOf(left) ?? 0, rankOf(right) ?? 0);
  return binary(op, left, right, [tileOf("int32", rank)]);
}

/** `tl.arange(0, length)` */
export function arange(length: Expression, at: At): Call {
  const start = constantOf("int", 0, at);
  return {
    kind: "Call",
    func: nameOf("tl.arange", [], at),
    args: [start, length],
    keywords: [],
    callee: { what: "function", name: "tl.arange" },
    bound: { start, end: length },
    parameters: ["start", "end"],
    types: [tileOf("int32", 1)],
    ...place(at),
  };
}

/** `index[None, :]`: a tile of rank 1 as this axis of a larger one. */
export function expandToAxis(index: Expression, axis: number, rank: number, dtype = "int32"): Expression {
  if (rank === 1) return index;
  const at = place(index);
  const whole: Expression = { kind: "Slice", lower: null, upper: null, step: null, types: [], ...at };
  const elts = Array.from({ length: rank }, (_, i) => (i === axis ? whole : constantOf("NoneType", null, at)));
  return {
    kind: "Subscript",
    value: index,
    slice: { kind: "Tuple", elts, types: [], ...at },
    types: [tileOf(dtype, rank)],
    ...at,
  };
}

/** `left < right`, a tile of truth values. */
export const compared = (op: "Lt" | "GtE", left: Expression, right: Expression): Expression => ({
  kind: "Compare",
  left,
  ops: [op],
  comparators: [right],
  types: [tileOf("int1", rankOf(left) ?? 0)],
  ...place(left),
});

export const allOf = (conditions: readonly Expression[], rank: number): Expression | undefined =>
  conditions.length === 0
    ? undefined
    : conditions.reduce((left, right) => binary("BitAnd", left, right, [tileOf("int1", rank)]));

/** `id = value` */
export const assigned = (id: string, value: Expression): Statement => ({
  kind: "Assign",
  targets: [nameOf(id, value.types, value)],
  value,
  ...place(value),
});
