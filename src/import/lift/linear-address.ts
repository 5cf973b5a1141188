/** Decomposes an address into a sum of indices times strides, and a mask into a conjunction. */
import { type Comparison, type Expression, type Subscript, boundArgument, type Call } from "../tree.js";
import { readNames, childrenOf } from "../liveness.js";
import { indexNode } from "../node-builders.js";
import { constantOf, kindOf, rankOf } from "../value.js";
import { expandedAxes, type MaskCondition, type Env, type ParamKinds, type Term } from "./expression-parts.js";

/** The components of an index: program ids and ranges of lanes. */
export interface IndexParts {
  /** The grid axes of the program ids in the index. */
  readonly programAxes: readonly number[];
  /** The lengths of its `tl.arange` calls: parameters or numbers. */
  readonly blockLengths: readonly string[];
}

/** Collects the components of an index. Names are replaced by their definitions. */
export function indexParts(node: Expression, env: Env): IndexParts {
  const programs = new Set<number>();
  const blocks = new Set<string>();
  const visit = (each: object, currentEnv: Env): void => {
    if (!("kind" in each)) return childrenOf(each).forEach((child) => visit(child, currentEnv));
    const expression = each as Expression;
    if (expression.kind === "Name") {
      const binding = currentEnv.get(expression.id);
      if (binding?.value && binding.env) visit(binding.value, binding.env);
    } else if (expression.kind === "Call" && isCallOf(expression, "tl.program_id")) {
      const axis = boundArgument(expression, "axis");
      if (axis?.kind === "Constant" && typeof axis.value === "number") programs.add(axis.value);
    } else if (expression.kind === "Call" && isCallOf(expression, "tl.arange")) {
      const end = boundArgument(expression, "end");
      if (end?.kind === "Name") blocks.add(end.id);
      if (end?.kind === "Constant") blocks.add(String(end.value));
    } else childrenOf(each).forEach((child) => visit(child, currentEnv));
  };
  visit(node, env);
  return { programAxes: [...programs], blockLengths: [...blocks] };
}

const isCallOf = ({ callee }: Call, name: string): boolean => callee?.what === "function" && callee.name === name;

export interface LinearAddress {
  /** Pointer parameters. */
  readonly bases: readonly string[];
  readonly terms: readonly Term[];
}

export function toLinearAddress(node: Expression, env: Env, params: ParamKinds): LinearAddress {
  const leaf: LinearAddress = { bases: [], terms: isZero(node) ? [] : [{ index: node, env, strides: [] }] };
  switch (node.kind) {
    case "BinOp": {
      if (node.op === "Add") {
        const [lhs, rhs] = [toLinearAddress(node.left, env, params), toLinearAddress(node.right, env, params)];
        return { bases: [...lhs.bases, ...rhs.bases], terms: [...lhs.terms, ...rhs.terms] };
      }
      return (node.op === "Mult" && linearProduct(node, env, params)) || leaf;
    }
    case "Name": {
      if (params.pointers.has(node.id) && !env.has(node.id)) return { bases: [node.id], terms: [] };
      const binding = env.get(node.id);
      if (!binding?.value || !binding.env) return leaf;
      const inner = toLinearAddress(binding.value, binding.env, params);
      if (dependsOnInductionVariable(node, env)) return inner;
      // Keeps the author's name for an index.
      return kindOf(node) === "pointer" || inner.terms.some(({ strides }) => strides.length > 0) ? inner : leaf;
    }
    case "Subscript": {
      if (!expandedAxes(node)) return leaf;
      const { bases, terms } = toLinearAddress(node.value, env, params);
      const isIndex = bases.length === 0 && terms.every(({ strides }) => strides.length === 0);
      if (isIndex && !dependsOnInductionVariable(node.value, env)) return leaf;
      return { bases, terms: terms.map((term) => ({ ...term, index: expandIndex(term.index, node) })) };
    }
    case "Attribute":
    case "BoolOp":
    case "Call":
    case "Compare":
    case "Constant":
    case "Unsupported":
    case "IfExp":
    case "JoinedStr":
    case "List":
    case "Slice":
    case "Tuple":
    case "UnaryOp":
    case "View":
      return leaf;
    default:
      return node satisfies never;
  }
}

/** A product of an index and strides, or of a scalar and terms with strides. */
function linearProduct(
  { left, right }: Extract<Expression, { kind: "BinOp" }>,
  env: Env,
  params: ParamKinds,
): LinearAddress | undefined {
  const sides = [
    [left, right],
    [right, left],
  ] as const;
  for (const [index, stride] of sides) {
    const strides = stridesOf(stride, env, params);
    if (!strides) continue;
    const { bases, terms } = toLinearAddress(index, env, params);
    if (bases.length === 0)
      return { bases, terms: terms.map((term) => ({ ...term, strides: [...term.strides, ...strides].toSorted() })) };
  }
  // A scalar times terms with strides, such as an iteration number times an increment.
  for (const [factor, index] of sides) {
    const inner = toLinearAddress(index, env, params);
    const hasStrides = inner.bases.length === 0 && inner.terms.some(({ strides }) => strides.length > 0);
    if (hasStrides && rankOf(factor) === 0)
      return {
        bases: [],
        terms: inner.terms.map((term) => ({ ...term, env, index: indexNode("Mult", factor, term.index) })),
      };
  }
  return undefined;
}

/** True if an expression depends on an induction variable. */
function dependsOnInductionVariable(node: Expression, env: Env): boolean {
  return [...readNames(node)].some((name) => {
    const binding = env.get(name);
    return (
      binding?.isInductionVariable === true ||
      (binding?.value && binding.env ? dependsOnInductionVariable(binding.value, binding.env) : false)
    );
  });
}

const isZero = (node: Expression): boolean => {
  const value = constantOf(node);
  return value?.kind === "number" && Number(value.value) === 0;
};

/** Applies a subscript that adds axes to an index. Scalars are unchanged. */
function expandIndex(index: Expression, subscript: Subscript): Expression {
  if (rankOf(index) === 0 || kindOf(index) === "constant") return index;
  if (index.kind === "BinOp" && index.op === "Add")
    return {
      ...index,
      types: subscript.types,
      left: expandIndex(index.left, subscript),
      right: expandIndex(index.right, subscript),
    };
  return { ...subscript, value: index };
}

/** The parameters whose product is the expression, if any. */
function stridesOf(node: Expression, env: Env, params: ParamKinds): readonly string[] | undefined {
  if (node.kind === "Name") {
    const binding = env.get(node.id);
    if (binding) return binding.value && binding.env && stridesOf(binding.value, binding.env, params);
    if (params.unitConstants.has(node.id)) return [];
    return params.int32Scalars.has(node.id) || params.strideConstants.has(node.id) ? [node.id] : undefined;
  }
  if (isOne(node)) return [];
  if (node.kind !== "BinOp" || node.op !== "Mult") return undefined;
  const [lhs, rhs] = [stridesOf(node.left, env, params), stridesOf(node.right, env, params)];
  return lhs && rhs && [...lhs, ...rhs];
}

/** The conjuncts of a mask. */
export function maskConditions(node: Expression, env: Env, params: ParamKinds): readonly MaskCondition[] {
  const visit = (each: Expression): readonly MaskCondition[] => maskConditions(each, env, params);
  if (node.kind === "BinOp" && node.op === "BitAnd") return [...visit(node.left), ...visit(node.right)];
  if (node.kind === "BoolOp" && node.op === "And") return node.values.flatMap(visit);
  if (node.kind === "Name") {
    const binding = env.get(node.id);
    if (binding?.value && binding.env) return maskConditions(binding.value, binding.env, params);
  }
  if (node.kind === "Subscript" && expandedAxes(node))
    return visit(node.value).map(({ node: inner, index, ...condition }) => ({
      ...condition,
      node: expandIndex(inner, node),
      ...(index && { index: expandIndex(index, node) }),
    }));
  if (node.kind === "Compare") return [toCondition(node, env, params)];
  return [{ node, env }];
}

const isOne = (node: Expression): boolean => node.kind === "Constant" && node.of === "int" && node.value === 1;

/** Recognizes `index < size`, `index < size - more`, `index <= size - 1`, and `index >= 0`. */
function toCondition(node: Comparison, env: Env, params: ParamKinds): MaskCondition {
  const [op, ...otherOps] = node.ops;
  const [rhs] = node.comparators;
  if (!rhs || otherOps.length > 0) return { node, env };
  const isMirrored = op === "Gt" || op === "GtE";
  const [low, high] = isMirrored ? [rhs, node.left] : [node.left, rhs];
  const isStrict = op === "Lt" || op === "Gt";
  if (!isStrict && op !== "LtE" && op !== "GtE") return { node, env };
  if (!isStrict && isZero(low)) return { node, env, index: high };
  const [size, more] = high.kind === "BinOp" && high.op === "Sub" ? [high.left, high.right] : [high, undefined];
  const name = sizeOf(size, env, params);
  if (name === undefined || (!isStrict && !(more && isOne(more)))) return { node, env };
  return { node, env, index: more && isStrict ? indexNode("Add", low, more) : low, size: name };
}

/** The parameter or the number that an expression equals, if any. */
export function sizeOf(node: Expression, env: Env, params: ParamKinds): string | undefined {
  if (node.kind === "Constant" && node.of === "int" && Number(node.value) > 0) return String(node.value);
  if (node.kind !== "Name") return undefined;
  const binding = env.get(node.id);
  if (binding) return binding.value && binding.env && sizeOf(binding.value, binding.env, params);
  return params.int32Scalars.has(node.id) || params.positiveConstants.has(node.id) ? node.id : undefined;
}
