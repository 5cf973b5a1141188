/** An address as a sum of indices times strides, and a mask as a conjunction. */
import type { Comparison, Expression, Subscript } from "../tree.js";
import { reads } from "../liveness.js";
import { ofIndices } from "../node-builders.js";
import { constantOf, kindOf, rankOf } from "../value.js";
import type { Condition, Env, Passed, Term } from "./python-access.js";
import { expandedAxes } from "./expression-parts.js";

export interface Linear {
  /** Pointer parameters. */
  readonly bases: readonly string[];
  readonly terms: readonly Term[];
}

export function linear(node: Expression, env: Env, passed: Passed): Linear {
  const leaf: Linear = { bases: [], terms: isZero(node) ? [] : [{ index: node, env, strides: [] }] };
  switch (node.kind) {
    case "BinOp": {
      if (node.op === "Add") {
        const [left, right] = [linear(node.left, env, passed), linear(node.right, env, passed)];
        return { bases: [...left.bases, ...right.bases], terms: [...left.terms, ...right.terms] };
      }
      const sides = [
        [node.left, node.right],
        [node.right, node.left],
      ] as const;
      for (const [index, stride] of node.op === "Mult" ? sides : []) {
        const strides = stridesOf(stride, env, passed);
        const inner = strides && linear(index, env, passed);
        if (inner?.bases.length === 0)
          return {
            bases: [],
            terms: inner.terms.map((term) => ({ ...term, strides: [...term.strides, ...strides!].toSorted() })),
          };
      }
      // A number times what has strides, such as the turns of a loop times what each of them adds.
      for (const [times, index] of node.op === "Mult" ? sides : []) {
        const inner = linear(index, env, passed);
        const hasStrides = inner.bases.length === 0 && inner.terms.some(({ strides }) => strides.length > 0);
        if (hasStrides && rankOf(times) === 0)
          return {
            bases: [],
            terms: inner.terms.map((term) => ({ ...term, env, index: ofIndices("Mult", times, term.index) })),
          };
      }
      return leaf;
    }
    case "Name": {
      if (passed.pointers.has(node.id) && !env.has(node.id)) return { bases: [node.id], terms: [] };
      const binding = env.get(node.id);
      if (!binding?.value || !binding.env) return leaf;
      const inner = linear(binding.value, binding.env, passed);
      if (isMoved(node, env)) return inner;
      // A name for an index stays, since the author chose it.
      return kindOf(node) === "pointer" || inner.terms.some(({ strides }) => strides.length > 0) ? inner : leaf;
    }
    case "Subscript": {
      if (!expandedAxes(node)) return leaf;
      const { bases, terms } = linear(node.value, env, passed);
      const isIndex = bases.length === 0 && terms.every(({ strides }) => strides.length === 0);
      if (isIndex && !isMoved(node.value, env)) return leaf;
      return { bases, terms: terms.map((term) => ({ ...term, index: expanded(term.index, node) })) };
    }
    default:
      return leaf;
  }
}

/** Whether a loop moves a name, or one that it is computed from. */
function isMoved(node: Expression, env: Env): boolean {
  return [...reads(node)].some((name) => {
    const binding = env.get(name);
    return binding?.isMoved === true || (binding?.value && binding.env ? isMoved(binding.value, binding.env) : false);
  });
}

const isZero = (node: Expression): boolean => {
  const known = constantOf(node);
  return known?.kind === "number" && Number(known.value) === 0;
};

/** Scalars have no axes to add to. */
function expanded(index: Expression, by: Subscript): Expression {
  if (rankOf(index) === 0 || kindOf(index) === "constant") return index;
  if (index.kind === "BinOp" && index.op === "Add")
    return { ...index, types: by.types, left: expanded(index.left, by), right: expanded(index.right, by) };
  return { ...by, value: index };
}

/** The parameters of which an expression is the product. */
function stridesOf(node: Expression, env: Env, passed: Passed): readonly string[] | undefined {
  if (node.kind === "Name") {
    const binding = env.get(node.id);
    if (binding) return binding.value && binding.env && stridesOf(binding.value, binding.env, passed);
    if (passed.ones.has(node.id)) return [];
    return passed.numbers.has(node.id) || passed.widths.has(node.id) ? [node.id] : undefined;
  }
  if (isOne(node)) return [];
  if (node.kind !== "BinOp" || node.op !== "Mult") return undefined;
  const [left, right] = [stridesOf(node.left, env, passed), stridesOf(node.right, env, passed)];
  return left && right && [...left, ...right];
}

/** The parts of a mask that hold together. */
export function conditionsOf(node: Expression, env: Env, passed: Passed): readonly Condition[] {
  const of = (each: Expression): readonly Condition[] => conditionsOf(each, env, passed);
  if (node.kind === "BinOp" && node.op === "BitAnd") return [...of(node.left), ...of(node.right)];
  if (node.kind === "BoolOp" && node.op === "And") return node.values.flatMap(of);
  if (node.kind === "Name") {
    const binding = env.get(node.id);
    if (binding?.value && binding.env) return conditionsOf(binding.value, binding.env, passed);
  }
  if (node.kind === "Subscript" && expandedAxes(node))
    return of(node.value).map(({ node: inner, index, ...rest }) => ({
      ...rest,
      node: expanded(inner, node),
      ...(index && { index: expanded(index, node) }),
    }));
  if (node.kind === "Compare" && node.ops.length === 1) return [bound(node, env, passed)];
  return [{ node, env }];
}

const isOne = (node: Expression): boolean => node.kind === "Constant" && node.of === "int" && node.value === 1;

/** `index < size`, `index < size - more`, `index <= size - 1`, or `index >= 0`. */
function bound(node: Comparison, env: Env, passed: Passed): Condition {
  const [op, other] = [node.ops[0]!, node.comparators[0]!];
  const isMirrored = op === "Gt" || op === "GtE";
  const [low, high] = isMirrored ? [other, node.left] : [node.left, other];
  const isStrict = op === "Lt" || op === "Gt";
  if (!isStrict && op !== "LtE" && op !== "GtE") return { node, env };
  if (!isStrict && isZero(low)) return { node, env, index: high };
  const [size, more] = high.kind === "BinOp" && high.op === "Sub" ? [high.left, high.right] : [high, undefined];
  const name = sizeOf(size, env, passed);
  if (name === undefined || (!isStrict && !(more && isOne(more)))) return { node, env };
  return { node, env, index: more && isStrict ? ofIndices("Add", low, more) : low, size: name };
}

/** The parameter or the number that an expression is. */
export function sizeOf(node: Expression, env: Env, passed: Passed): string | undefined {
  if (node.kind === "Constant" && node.of === "int" && Number(node.value) > 0) return String(node.value);
  if (node.kind !== "Name") return undefined;
  const binding = env.get(node.id);
  if (binding) return binding.value && binding.env && sizeOf(binding.value, binding.env, passed);
  return passed.numbers.has(node.id) || passed.constants.has(node.id) ? node.id : undefined;
}
