/** Rewrites syntax trees, and builds nodes with the types that Triton would infer. */
import type { Binary, Call, TritonType, Expression, Name, Statement, WireConstant, FunctionTree } from "./tree.js";
import { rankOf } from "./value.js";

/** Copies a node and maps its children. Types are copied unchanged. */
const mapChildren = (node: object, visit: (child: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "types" || key === "known" ? value : visit(value)]),
  );

/** Replaces nodes recursively. A node is kept if `replace` returns undefined. */
export function replaceNodes<T>(node: T, replace: (node: object) => object | undefined): T {
  const visit = (child: unknown): unknown => {
    if (Array.isArray(child)) return child.map(visit);
    if (typeof child !== "object" || child === null) return child;
    return mapChildren(replace(child) ?? child, visit);
  };
  return visit(node) as T;
}

/** Makes `args` and `bound` of each call refer to the same node objects. */
export function memoizeByPosition(node: FunctionTree): FunctionTree {
  const visit = (child: unknown): unknown => {
    if (Array.isArray(child)) return child.map(visit);
    if (typeof child !== "object" || child === null) return child;
    const copy = mapChildren(child, visit) as Call;
    if (!("bound" in child) || !copy.bound) return copy;
    const receiver = copy.func.kind === "Attribute" ? [copy.func.value] : [];
    const args = [...receiver, ...copy.args, ...copy.keywords.map(({ value }) => value)];
    const argsByText = new Map(args.map((arg) => [textOf(arg), arg]));
    const canonicalArg = (arg: Expression): Expression => argsByText.get(textOf(arg)) ?? arg;
    const bound = Object.entries(copy.bound).map(([name, arg]) => [
      name,
      "kind" in arg ? canonicalArg(arg) : arg.map(canonicalArg),
    ]);
    return { ...copy, bound: Object.fromEntries(bound) as Call["bound"] };
  };
  return visit(node) as FunctionTree;
}

const textOf = (node: Expression): string => JSON.stringify(node);

/** Replaces the arguments of a call. All arguments become named. */
export const withArguments = (call: Call, bound: NonNullable<Call["bound"]>): Call => ({
  ...call,
  bound,
  args: Object.values(bound).flat() as readonly Expression[],
  keywords: [],
});

/** The lines of the node that a synthesized node replaces. */
export interface SourceRange {
  readonly line: number;
  readonly end: number;
}

const sourceRange = ({ line, end }: SourceRange): SourceRange => ({ line, end });
/** A tile type. Only its rank matters, so all dims are 1. */
const tileOf = (dtype: string, rank: number): TritonType => ({
  kind: "tile",
  dtype,
  shape: Array.from({ length: rank }, () => 1),
});
export const INDEX: readonly TritonType[] = [tileOf("int32", 0)];

export const nameNode = (id: string, types: readonly TritonType[], range: SourceRange): Name => ({
  kind: "Name",
  id,
  types,
  ...sourceRange(range),
});

export const constantNode = (pythonType: string, value: WireConstant, range: SourceRange): Expression => ({
  kind: "Constant",
  of: pythonType,
  value,
  types: [{ kind: "constant", of: pythonType, value }],
  ...sourceRange(range),
});

export const binaryNode = (op: string, lhs: Expression, rhs: Expression, types: Expression["types"]): Binary => ({
  kind: "BinOp",
  op,
  left: lhs,
  right: rhs,
  types,
  line: lhs.line,
  end: Math.max(lhs.end, rhs.end),
});

/** A sum or a product of indices, at most one of which is a tile. Neutral operands are dropped. */
export function indexNode(op: "Add" | "Mult", lhs: Expression, rhs: Expression): Expression {
  const isNumber = (node: Expression, value: number): boolean =>
    node.kind === "Constant" && node.of === "int" && node.value === value;
  const neutral = op === "Add" ? 0 : 1;
  if (isNumber(lhs, neutral)) return rhs;
  if (isNumber(rhs, neutral)) return lhs;
  const rank = Math.max(rankOf(lhs) ?? 0, rankOf(rhs) ?? 0);
  return binaryNode(op, lhs, rhs, [tileOf("int32", rank)]);
}

/** `tl.arange(0, length)` */
export function arangeNode(length: Expression, range: SourceRange): Call {
  const start = constantNode("int", 0, range);
  return {
    kind: "Call",
    func: nameNode("tl.arange", [], range),
    args: [start, length],
    keywords: [],
    callee: { what: "function", name: "tl.arange" },
    bound: { start, end: length },
    parameters: ["start", "end"],
    types: [tileOf("int32", 1)],
    ...sourceRange(range),
  };
}

/** `index[None, :]`: expands a tile of rank 1 so that it spans this axis of a larger tile. */
export function expandToAxis(index: Expression, axis: number, rank: number, dtype = "int32"): Expression {
  if (rank === 1) return index;
  const range = sourceRange(index);
  const whole: Expression = { kind: "Slice", lower: null, upper: null, step: null, types: [], ...range };
  const elts = Array.from({ length: rank }, (_, i) => (i === axis ? whole : constantNode("NoneType", null, range)));
  return {
    kind: "Subscript",
    value: index,
    slice: { kind: "Tuple", elts, types: [], ...range },
    types: [tileOf(dtype, rank)],
    ...range,
  };
}

/** `lhs < rhs` or `lhs >= rhs`, a tile of booleans. */
export const comparisonNode = (op: "Lt" | "GtE", lhs: Expression, rhs: Expression): Expression => ({
  kind: "Compare",
  left: lhs,
  ops: [op],
  comparators: [rhs],
  types: [tileOf("int1", rankOf(lhs) ?? 0)],
  ...sourceRange(lhs),
});

export const conjunction = (conditions: readonly Expression[], rank: number): Expression | undefined =>
  conditions.length === 0
    ? undefined
    : conditions.reduce((lhs, rhs) => binaryNode("BitAnd", lhs, rhs, [tileOf("int1", rank)]));

/** `id = value` */
export const assignmentNode = (id: string, value: Expression): Statement => ({
  kind: "Assign",
  targets: [nameNode(id, value.types, value)],
  value,
  ...sourceRange(value),
});
