/** Parts of expressions, and the texts by which they are compared. */
import { childrenOf, reads } from "../liveness.js";
import { ofIndices } from "../node-builders.js";
import type { Binary, Call, Expression, Subscript } from "../tree.js";
import { kindOf } from "../value.js";
import type { Env } from "./python-access.js";

/** The calls inside of a node, in the order of the text, an argument's before the call itself. */
export function callsIn(node: object): readonly Call[] {
  const inside = childrenOf(node).flatMap(callsIn);
  return "kind" in node && node.kind === "Call" ? [...inside, node as Call] : inside;
}

/** `x[:, None]`: whether a subscript only adds axes of length 1; gives where the axes of `x` come to stand. */
export function expandedAxes({ slice }: Subscript): readonly number[] | undefined {
  const dims = slice.kind === "Tuple" ? slice.elts : [slice];
  const isWhole = (dim: Expression): boolean => dim.kind === "Slice" && !dim.lower && !dim.upper && !dim.step;
  const isNew = (dim: Expression): boolean => dim.kind === "Constant" && dim.of === "NoneType";
  if (!dims.every((dim) => isWhole(dim) || isNew(dim))) return undefined;
  return dims.flatMap((dim, axis) => (isWhole(dim) ? [axis] : []));
}

/** Whether all names of an expression have the values at `there` that they have at `here`. */
export function isSame(node: Expression, here: Env, there: Env): boolean {
  return [...reads(node)].every((name) => here.get(name)?.version === there.get(name)?.version);
}

const ids = new WeakMap<Expression, number>();
let met = 0;

/** A node stands for one value wherever what it names has not changed. */
function itself(node: Expression): string {
  const id = ids.get(node) ?? ++met;
  ids.set(node, id);
  return `node ${id}`;
}

/** A text that is equal only for equal values: names are followed to what they were assigned. */
export function canonical(node: Expression, env: Env): string {
  const of = (each: Expression): string => canonical(each, env);
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
        ? joined(node.op, parts(node, node.op, env))
        : `${node.op}(${of(node.left)}, ${of(node.right)})`;
    case "Subscript": {
      const axes = expandedAxes(node);
      return axes ? `${of(node.value)}[${axes.join()}]` : itself(node);
    }
    case "Call": {
      const isPlain =
        node.callee?.what === "function" && /^tl\.(program_id|arange|num_programs)$/.test(node.callee.name);
      const given = [...node.args, ...node.keywords.map(({ value }) => value)];
      return isPlain && node.callee.what === "function"
        ? `${node.callee.name}(${given.map(of).join(", ")})`
        : itself(node);
    }
    default:
      return itself(node);
  }
}

/** A sum without zeros, a product without ones. */
function joined(op: string, texts: readonly string[]): string {
  const kept = texts.filter((text) => text !== (op === "Add" ? "int 0" : "int 1")).toSorted();
  return kept.length === 1 ? kept[0]! : `${op}(${kept.join(", ")})`;
}

function parts(node: Expression, op: string, env: Env): readonly string[] {
  if (node.kind === "BinOp" && node.op === op) return [...parts(node.left, op, env), ...parts(node.right, op, env)];
  if (node.kind !== "Name") return [canonical(node, env)];
  const binding = env.get(node.id);
  return binding?.value && binding.env ? parts(binding.value, op, binding.env) : [canonical(node, env)];
}

/** The axis of an access that an index spans: a tile of rank 1, wherever axes were added to it. */
export interface Span {
  readonly inner: Expression;
  readonly env: Env;
  /** Undefined for a scalar. */
  readonly axis: number | undefined;
  readonly rank: number;
}

/** Undefined for an index that spans several axes. */
export function spanOf(node: Expression, env: Env): Span | undefined {
  if (node.kind === "Subscript") {
    const [axis, ...more] = expandedAxes(node) ?? [];
    const inner = spanOf(node.value, env);
    const { length: rank } = node.slice.kind === "Tuple" ? node.slice.elts : [node.slice];
    return axis === undefined || more.length > 0 || inner?.axis !== 0 || inner.rank !== 1
      ? undefined
      : { ...inner, axis, rank };
  }
  const [type, ...others] = node.types;
  const rank = type && "shape" in type ? type.shape.length : kindOf(node) === "constant" ? 0 : undefined;
  if (rank === undefined || others.some((each) => !("shape" in each) || each.shape.length !== rank)) return undefined;
  if (rank === 0) return { inner: node, env, axis: undefined, rank };
  if (rank === 1) return { inner: node, env, axis: 0, rank };
  if (node.kind === "BinOp" && node.op === "Add") return spanOfBoth(node, env, rank);
  const binding = node.kind === "Name" ? env.get(node.id) : undefined;
  return binding?.value && binding.env ? spanOf(binding.value, binding.env) : undefined;
}

/** The span of a sum of which one side is a number, or both span the same axis. */
function spanOfBoth(node: Binary, env: Env, rank: number): Span | undefined {
  const [left, right] = [spanOf(node.left, env), spanOf(node.right, env)];
  if (!left || !right || left.env !== right.env) return undefined;
  const [axis, ...others] = new Set(
    [left, right].flatMap((each) => (each.axis === undefined ? [] : [each.axis + rank - each.rank])),
  );
  return others.length > 0
    ? undefined
    : { inner: ofIndices("Add", left.inner, right.inner), env: left.env, axis, rank };
}
