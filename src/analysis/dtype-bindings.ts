/** The dtypes that a kernel can be called with, and its types for each combination of them. */
import {
  type Argument,
  isDType,
  isLiteral,
  isValue,
  type KernelIR,
  type Param,
  type Statement,
  type Value,
  type ConstexprParam,
  paramsOf,
} from "../ir/nodes.js";
import type { Constant } from "../values/runtime-values.js";
import { type Constants, compiledOps } from "./compiled-ops.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import type { Dim } from "../types/shape.js";
import type { Type } from "../types/types.js";
import { resultsOf, type Substitution, typedArguments } from "../ir/walk.js";

/** A dtype for each dtype variable, by the variable's name. */
export type DTypeBinding = Readonly<Record<string, DTypeName>>;

function elemOfParam(param: Param): Elem | undefined {
  if (param.kind === "constexpr") return param.variable;
  return "dtype" in param ? param.dtype : undefined;
}

/** The members of the dtype variables that the parameters bind, by the variable's name. */
export function dtypeVariables(ir: Pick<KernelIR, "params">): ReadonlyMap<string, readonly DTypeName[]> {
  const variables = new Map<string, readonly DTypeName[]>();
  for (const param of ir.params) {
    const elem = elemOfParam(param);
    if (elem !== undefined && typeof elem !== "string") variables.set(elem.name, elem.members);
  }
  return variables;
}

/** Every combination of dtypes that the kernel can be called with. */
export function dtypeBindings(ir: KernelIR): readonly DTypeBinding[] {
  return [...dtypeVariables(ir)].reduce<readonly DTypeBinding[]>(
    (bindings, [name, members]) =>
      bindings.flatMap((binding) => members.map((member) => ({ ...binding, [name]: member }))),
    [{}],
  );
}

/**
 * Constant conditions for bound dtypes. An unknown boolean may be true or false. The result is constant if it is the
 * same for both.
 */
export function dtypeConstants(definitionsOf: ReadonlyMap<Value, Statement>, binding: DTypeBinding): Constants {
  const possibleValues = (argument: Argument | undefined): readonly Constant[] | undefined => {
    if (argument === undefined) return undefined;
    if (isLiteral(argument)) return [argument.value];
    if (isDType(argument)) {
      const elem = bindElem(argument.dtype, binding);
      return typeof elem === "string" ? [elem] : undefined;
    }
    if (!isValue(argument)) return undefined;
    const statement = definitionsOf.get(argument);
    const isBoolean = argument.type.kind === "constexpr" && argument.type.of === "bool";
    const unknown = isBoolean ? [true, false] : undefined;
    const fold = statement?.kind === "op" ? statement.op.fold : undefined;
    if (statement?.kind !== "op" || !fold) return unknown;
    const operandValues = statement.operands.map(possibleValues);
    if (!operandValues.every((each) => each !== undefined)) return unknown;
    const choices = operandValues.reduce<readonly Constant[][]>(
      (prefixes, each) => prefixes.flatMap((prefix) => each.map((value) => [...prefix, value])),
      [[]],
    );
    return [...new Set(choices.map((choice) => fold(...choice)))];
  };
  return (argument) => {
    const values = possibleValues(argument);
    return values?.length === 1 ? values[0] : undefined;
  };
}

/** Replaces dtype variables by their dtypes, in types and in the texts of dims. */
export function substitution(binding: DTypeBinding): Substitution {
  const cache = new Map<Type, Type>();
  const type = (unbound: Type): Type => {
    const boundType = cache.get(unbound) ?? bind(unbound, binding);
    cache.set(unbound, boundType);
    return boundType;
  };
  return { type, elem: (elem) => bindElem(elem, binding) };
}

function bindElem(elem: Elem, binding: DTypeBinding): Elem {
  if (typeof elem === "string") return elem;
  const bound = binding[elem.name];
  // In a branch that this dtype does not reach, the variable has other members.
  return bound !== undefined && elem.members.includes(bound) ? bound : elem;
}

function bind(type: Type, binding: DTypeBinding): Type {
  const dims = (shape: readonly Dim[]) => shape.map((dim) => (typeof dim === "string" ? bindText(dim, binding) : dim));
  if (type.kind === "tile") return { ...type, dtype: bindElem(type.dtype, binding), shape: dims(type.shape) };
  if (type.kind === "pointer" || type.kind === "view" || type.kind === "descriptor")
    return { ...type, to: bindElem(type.to, binding), shape: dims(type.shape) };
  if (type.kind === "tensor") return { ...type, to: bindElem(type.to, binding) };
  return type.kind === "constexpr" ? { ...type, text: bindText(type.text, binding) } : type;
}

/** A constexpr can read a dtype: `T.bits` becomes `float16.bits`. */
function bindText(text: string, binding: DTypeBinding): string {
  if (!text.includes(".")) return text;
  return text.replace(/\b([A-Za-z_]\w*)\.(?=[a-z])/g, (matched, name: string) =>
    name in binding ? `${binding[name]}.` : matched,
  );
}

// Constexprs that a caller passes and that are tile dims. A launch checks them as the build checks configs.

interface TileSize {
  /** A tile dimension, so it must be a power of two. */
  readonly param: ConstexprParam;
  /**
   * The smallest value that every op accepts for at least one combination of dtypes, such as for the inner dim of a
   * dot.
   */
  readonly least: number;
}

export function tileSizes(ir: KernelIR): readonly TileSize[] {
  const dimensions = tileDims(ir);
  const params = paramsOf(ir, "constexpr").filter(
    ({ from, name }) => (from === "dim" || from === "argument") && dimensions.has(name),
  );
  if (params.length === 0) return [];
  const minimums = dtypeBindings(ir).map((binding) => minimumSizes(ir, substitution(binding)));
  return params.map((param) => ({ param, least: Math.min(...minimums.map((sizes) => sizes.get(param.name) ?? 1)) }));
}

/** The numbers that are tile dims in every config: `tl.arange(0, 128)`. */
export const constantTileDims = (ir: KernelIR): readonly number[] =>
  [...tileDims(ir)].filter((dim): dim is number => typeof dim === "number" && dim > 1);

/** The dims of the tiles that every launch compiles. */
export function tileDims(ir: KernelIR): ReadonlySet<number | string> {
  const dimensions = new Set<number | string>();
  for (const statement of compiledOps(ir))
    for (const { type } of resultsOf(statement))
      if (type.kind === "tile") for (const dim of type.shape) dimensions.add(dim);
  return dimensions;
}

/** The smallest value that every op accepts for each dim, for one combination of dtypes. */
function minimumSizes(ir: KernelIR, bound: Substitution): ReadonlyMap<number | string, number> {
  const minimums = new Map<number | string, number>();
  for (const statement of compiledOps(ir))
    for (const { dim, minimum: size } of statement.op.needs.minimumDims?.(typedArguments(statement, bound)) ?? [])
      minimums.set(dim, Math.max(ir.limits.scaled(size), minimums.get(dim) ?? 1));
  return minimums;
}
