/** An address as a sum of indices times strides, and a mask as a conjunction. */
import type { Expression, Subscript } from "../tree.js";
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
      return leaf;
    }
    case "Name": {
      if (passed.pointers.has(node.id) && !env.has(node.id)) return { bases: [node.id], terms: [] };
      const binding = env.get(node.id);
      if (!binding?.value || !binding.env) return leaf;
      const inner = linear(binding.value, binding.env, passed);
      // A name for an index stays, since the author chose it.
      return kindOf(node) === "pointer" || inner.terms.some(({ strides }) => strides.length > 0) ? inner : leaf;
    }
    case "Subscript": {
      if (!expandedAxes(node)) return leaf;
      const { bases, terms } = linear(node.value, env, passed);
      if (bases.length === 0 && terms.every(({ strides }) => strides.length === 0)) return leaf;
      return { bases, terms: terms.map((term) => ({ ...term, index: expanded(term.index, node) })) };
    }
    default:
      return leaf;
  }
}

const isZero = (node: Expression): boolean => {
  const known = constantOf(node);
  return known?.kind === "number" && Number(known.value) === 0;
};

/** Scalars have no axes to add to. */
const expanded = (index: Expression, by: Subscript): Expression =>
  rankOf(index) === 0 || kindOf(index) === "constant" ? index : { ...by, value: index };

/** The parameters of which an expression is the product. */
function stridesOf(node: Expression, env: Env, passed: Passed): readonly string[] | undefined {
  if (node.kind === "Name") {
    const binding = env.get(node.id);
    if (binding) return binding.value && binding.env && stridesOf(binding.value, binding.env, passed);
    if (passed.ones.has(node.id)) return [];
    return passed.numbers.has(node.id) ? [node.id] : undefined;
  }
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
  if (node.kind === "Compare" && node.ops.length === 1) {
    const [op, other] = [node.ops[0], node.comparators[0]!];
    const sides = op === "Lt" ? [node.left, other] : op === "Gt" ? [other, node.left] : [];
    const size = sides[1] && sizeOf(sides[1], env, passed);
    if (sides[0] && size !== undefined) return [{ node, env, index: sides[0], size }];
  }
  return [{ node, env }];
}

function sizeOf(node: Expression, env: Env, passed: Passed): string | undefined {
  if (node.kind !== "Name") return undefined;
  const binding = env.get(node.id);
  if (binding) return binding.value && binding.env && sizeOf(binding.value, binding.env, passed);
  return passed.numbers.has(node.id) ? node.id : undefined;
}
