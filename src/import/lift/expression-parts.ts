/** Analyses of index expressions, and canonical texts to compare them. */
import { childrenOf, readNames } from "../liveness.js";
import { indexNode } from "../node-builders.js";
import type { Binary, Call, Expression, Subscript } from "../tree.js";
import { kindOf, rankOf } from "../value.js";

/** The calls in a node, in source order. Arguments come before their call. */
export function callsIn(node: object): readonly Call[] {
  const nestedCalls = childrenOf(node).flatMap(callsIn);
  return "kind" in node && node.kind === "Call" ? [...nestedCalls, node as Call] : nestedCalls;
}

/** The new positions of the axes of `x` in `x[:, None]`. Undefined if the subscript does more than add axes. */
export function expandedAxes({ slice }: Subscript): readonly number[] | undefined {
  const dims = slice.kind === "Tuple" ? slice.elts : [slice];
  const isWhole = (dim: Expression): boolean => dim.kind === "Slice" && !dim.lower && !dim.upper && !dim.step;
  const isNewAxis = (dim: Expression): boolean => dim.kind === "Constant" && dim.of === "NoneType";
  if (!dims.every((dim) => isWhole(dim) || isNewAxis(dim))) return undefined;
  return dims.flatMap((dim, axis) => (isWhole(dim) ? [axis] : []));
}

/** True if all names of an expression have the same values in both environments. */
export function isUnchanged(node: Expression, env: Env, otherEnv: Env): boolean {
  return [...readNames(node)].every((name) => env.get(name)?.version === otherEnv.get(name)?.version);
}

const ids = new WeakMap<Expression, number>();
let lastId = 0;

/** The key of a node that has no canonical text. The same node has the same value if its names are unchanged. */
function identityText(node: Expression): string {
  const id = ids.get(node) ?? ++lastId;
  ids.set(node, id);
  return `node ${id}`;
}

/** The canonical text of an expression. Equal texts imply equal values. Names are replaced by their definitions. */
export function canonical(node: Expression, env: Env): string {
  const visit = (each: Expression): string => canonical(each, env);
  switch (node.kind) {
    case "Name": {
      const binding = env.get(node.id);
      if (binding?.value && binding.env) return canonical(binding.value, binding.env);
      return binding ? `${node.id}@${binding.version}` : node.id;
    }
    case "Constant":
      return `${node.of} ${String(node.value)}`;
    case "BinOp":
      return node.op === "Add" || node.op === "Mult"
        ? joinOperands(node.op, operandTexts(node, node.op, env))
        : `${node.op}(${visit(node.left)}, ${visit(node.right)})`;
    case "Subscript": {
      const axes = expandedAxes(node);
      return axes ? `${visit(node.value)}[${axes.join()}]` : identityText(node);
    }
    case "Call": {
      const isPlain =
        node.callee?.what === "function" && /^tl\.(program_id|arange|num_programs)$/.test(node.callee.name);
      const args = [...node.args, ...node.keywords.map(({ value }) => value)];
      return isPlain && node.callee.what === "function"
        ? `${node.callee.name}(${args.map(visit).join(", ")})`
        : identityText(node);
    }
    case "Attribute":
    case "BoolOp":
    case "Compare":
    case "Unsupported":
    case "IfExp":
    case "JoinedStr":
    case "List":
    case "Slice":
    case "Tuple":
    case "UnaryOp":
    case "View":
      return identityText(node);
    default:
      return node satisfies never;
  }
}

/** Joins the operands of a sum or a product in sorted order, without neutral elements. */
function joinOperands(op: string, texts: readonly string[]): string {
  const operands = texts.filter((text) => text !== (op === "Add" ? "int 0" : "int 1")).toSorted();
  const [operand, ...others] = operands;
  return operand !== undefined && others.length === 0 ? operand : `${op}(${operands.join(", ")})`;
}

function operandTexts(node: Expression, op: string, env: Env): readonly string[] {
  if (node.kind === "BinOp" && node.op === op)
    return [...operandTexts(node.left, op, env), ...operandTexts(node.right, op, env)];
  if (node.kind !== "Name") return [canonical(node, env)];
  const binding = env.get(node.id);
  return binding?.value && binding.env ? operandTexts(binding.value, op, binding.env) : [canonical(node, env)];
}

/** An index of rank 0 or 1, and the axis of the access that it spans after added axes. */
export interface Span {
  readonly inner: Expression;
  readonly env: Env;
  /** Undefined for a scalar. */
  readonly axis: number | undefined;
  readonly rank: number;
}

/** The span of an index. Undefined if it spans several axes. */
export function spanOf(node: Expression, env: Env): Span | undefined {
  if (node.kind === "Subscript") return spanOfSubscript(node, env);
  const rank = commonRank(node);
  if (rank === undefined) return undefined;
  if (rank === 0) return { inner: node, env, axis: undefined, rank };
  if (rank === 1) return { inner: node, env, axis: 0, rank };
  if (node.kind === "BinOp" && node.op === "Add") return spanOfAddition(node, env, rank);
  const binding = node.kind === "Name" ? env.get(node.id) : undefined;
  return binding?.value && binding.env ? spanOf(binding.value, binding.env) : undefined;
}

/** The rank of an expression in every compilation. 0 for a constant that never changes. */
function commonRank(node: Expression): number | undefined {
  if (kindOf(node) === "constant") return node.types.length === 1 ? 0 : undefined;
  return node.types.every((type) => "shape" in type) ? rankOf(node) : undefined;
}

function spanOfSubscript(node: Subscript, env: Env): Span | undefined {
  const [axis, ...otherAxes] = expandedAxes(node) ?? [];
  const inner = spanOf(node.value, env);
  const { length: rank } = node.slice.kind === "Tuple" ? node.slice.elts : [node.slice];
  const isVector = inner?.axis === 0 && inner.rank === 1;
  return axis !== undefined && otherAxes.length === 0 && isVector ? { ...inner, axis, rank } : undefined;
}

/** The span of a sum whose operands span at most one axis together. */
function spanOfAddition(node: Binary, env: Env, rank: number): Span | undefined {
  const [lhs, rhs] = [spanOf(node.left, env), spanOf(node.right, env)];
  if (!lhs || !rhs || lhs.env !== rhs.env) return undefined;
  const [axis, ...others] = new Set(
    [lhs, rhs].flatMap((each) => (each.axis === undefined ? [] : [each.axis + rank - each.rank])),
  );
  return others.length > 0 ? undefined : { inner: indexNode("Add", lhs.inner, rhs.inner), env: lhs.env, axis, rank };
}

/** The binding of a name at a program point: its version, its definition, and the environment of the definition. */
export interface Binding {
  readonly version: number;
  readonly value?: Expression;
  readonly env?: Env;
  /** True for an induction variable. Its value is its closed form. */
  readonly isInductionVariable?: boolean;
}
export type Env = ReadonlyMap<string, Binding>;

/** The parameters of the kernel, classified by the arguments of its calls. */
export interface ParamKinds {
  readonly pointers: ReadonlySet<string>;
  /** Parameters that are None in every call. */
  readonly omitted: ReadonlySet<string>;
  /** Scalars of type int32, which may be sizes or strides. */
  readonly int32Scalars: ReadonlySet<string>;
  /** Constants that are 1 in every call. Triton specializes strides of 1 to constants. */
  readonly unitConstants: ReadonlySet<string>;
  /** Constants that are positive integers in every call. */
  readonly positiveConstants: ReadonlySet<string>;
  /** Constants that may be strides, according to their uses. */
  readonly strideConstants: ReadonlySet<string>;
}

/** A conjunct of a mask. `index` and `size` are set for `index < size`, and only `index` for `index >= 0`. */
export interface MaskCondition {
  readonly node: Expression;
  readonly env: Env;
  readonly index?: Expression;
  readonly size?: string;
}

/** An index times a stride: the product of these parameters. */
export interface Term {
  readonly index: Expression;
  readonly env: Env;
  readonly strides: readonly string[];
}

export interface Access {
  readonly call: Call;
  /** The address. */
  readonly pointer: Expression;
  readonly env: Env;
  readonly isStore: boolean;
  /** The pointer parameter. Undefined if the address has none or several. */
  readonly base: string | undefined;
  /** The name of a pointer without a unique parameter, and the reason. */
  readonly unresolved?: { readonly name: string; readonly reason: string };
  readonly terms: readonly Term[];
  readonly conditions: readonly MaskCondition[];
  /** Bounds of indices that are known without a mask. */
  readonly knownBounds: readonly MaskCondition[];
}
