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
  type Block,
  type FunctionIR,
  type IfStatement,
  isFunction,
  type OpStatement,
} from "../ir/nodes.js";
import type { Constant } from "../values/runtime-values.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import type { Dim } from "../types/shape.js";
import type { Type } from "../types/types.js";
import {
  resultsOf,
  type Substitution,
  typedArguments,
  argumentsOf,
  blocksOf,
  bodiesOf,
  definitions,
  typeOfArgument,
  valuesIn,
  walk,
  walkAll,
} from "../ir/walk.js";
import type { TileRole } from "../compiled/compiled-kernel.js";

/** The constant value of an argument. Undefined if only the launch determines it, or if it varies. */
export type Constants = (argument: Argument) => Constant | undefined;

/**
 * The ops of a kernel and of the helper functions that it calls. If `constant` does not know a constexpr condition,
 * both branches are omitted, so every returned op is certainly compiled.
 */
export function compiledOps({ body }: KernelIR, constant: Constants = () => undefined): Iterable<OpStatement> {
  const called = new Set<FunctionIR>();
  function* visit(block: Block): Iterable<OpStatement> {
    for (const statement of block.statements) {
      if (statement.kind === "op") {
        yield statement;
        for (const argument of argumentsOf(statement)) {
          if (!isFunction(argument) || called.has(argument.function)) continue;
          called.add(argument.function);
          yield* visit(argument.function.body);
        }
      }
      const compiledBlocks = isConstexprBranch(statement)
        ? (selectedBranch(statement, constant) ?? [])
        : blocksOf(statement);
      for (const inner of compiledBlocks) yield* visit(inner);
    }
  }
  return visit(body);
}

/** The ops among {@link reachedStatements}. */
export function* reachedOps(ir: KernelIR, constant: Constants): Iterable<OpStatement> {
  for (const statement of reachedStatements(ir, constant)) if (statement.kind === "op") yield statement;
}

/**
 * The statements that Triton may compile, including those of helper functions that they call. If `constant` knows a
 * constexpr condition, only the selected branch is included.
 */
export function* reachedStatements({ body }: KernelIR, constant: Constants): Iterable<Statement> {
  const called = new Set<FunctionIR>();
  function* visit(block: Block): Iterable<Statement> {
    for (const statement of block.statements) {
      yield statement;
      for (const argument of statement.kind === "op" ? argumentsOf(statement) : []) {
        if (!isFunction(argument) || called.has(argument.function)) continue;
        called.add(argument.function);
        yield* visit(argument.function.body);
      }
      const branch = isConstexprBranch(statement) ? selectedBranch(statement, constant) : undefined;
      for (const inner of branch ?? blocksOf(statement)) yield* visit(inner);
    }
  }
  yield* visit(body);
}

/** Constants of a kernel for these argument values: literals, arguments, and results of ops that can be folded. */
export function constantsOf(
  ir: KernelIR,
  argumentOf: (value: Value) => Constant | undefined,
  dtypeOf?: (elem: Elem) => Constant,
): Constants {
  const definitionsOf = definitions(...bodiesOf(ir));
  const constant: Constants = (argument) => {
    if (isLiteral(argument)) return argument.value;
    if (isDType(argument)) return dtypeOf?.(argument.dtype);
    if (!isValue(argument)) return undefined;
    const statement = definitionsOf.get(argument);
    if (statement === undefined) return argumentOf(argument);
    if (statement.kind !== "op" || !statement.op.fold) return undefined;
    const constants = statement.operands.map((operand) => operand && constant(operand));
    return constants.includes(undefined) ? undefined : statement.op.fold(...(constants as Constant[]));
  };
  return constant;
}

/** True if Triton resolves the branch at compile time. */
const isConstexprBranch = (statement: Statement): statement is IfStatement =>
  statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";

/** The branch that is compiled. Undefined if `constant` does not know the condition. */
function selectedBranch(
  { condition, then, otherwise }: IfStatement,
  constant: Constants,
): readonly [Block] | undefined {
  const conditionValue = constant(condition);
  return conditionValue === undefined ? undefined : [conditionValue ? then : otherwise];
}

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

// The roles of a config's constexprs in the kernel's tiles, for a search without a declared search space.

/** The roles that follow from the body. A constexpr with another role is omitted. */
export function tileRoles(ir: KernelIR): Readonly<Record<string, TileRole>> {
  const inProducts = new Map<Dim, TileRole>();
  const inTiles = new Set<Dim>();
  walkAll(ir, (statement) => {
    for (const { type } of resultsOf(statement)) if ("shape" in type) for (const dim of type.shape) inTiles.add(dim);
    if (isProduct(statement)) for (const [dim, role] of dimsOf(statement)) assignRole(inProducts, dim, role);
  });
  const configurable = paramsOf(ir, "constexpr").filter(
    ({ from, of: valueKind }) => from === "config" && valueKind === "int",
  );
  const roles = configurable.flatMap(({ name, value }): [string, TileRole][] => {
    const role = inProducts.get(name) ?? (inTiles.has(name) ? "length" : undefined);
    if (role) return [[name, role]];
    return isOrderConstant(ir, value, inTiles) ? [[name, "order"]] : [];
  });
  return Object.fromEntries(roles);
}

/** True if a loop multiplies tiles that it loads. Triton's `num_stages` affects only these loops. */
export function isPipelined(ir: KernelIR): boolean {
  let isPipelinedLoop = false;
  walkAll(ir, (statement) => {
    if (statement.kind !== "for" && statement.kind !== "while") return;
    let [hasLoad, hasDot] = [false, false];
    walk(statement.body, (inner) => {
      hasLoad ||= inner.kind === "op" && inner.op.effect === "read";
      hasDot ||= isProduct(inner);
    });
    isPipelinedLoop ||= hasLoad && hasDot;
  });
  return isPipelinedLoop;
}

const isProduct = (statement: Statement): statement is OpStatement =>
  statement.kind === "op" && statement.op.facts.contracts === true;

function dimsOf({ operands }: OpStatement): readonly (readonly [Dim, TileRole])[] {
  const [x, y] = operands.map((each) => (isValue(each) && "shape" in each.type ? each.type.shape : []));
  const roles: (readonly [Dim | undefined, TileRole])[] = [
    [x?.at(-2), "rows"],
    [y?.at(-1), "columns"],
    [x?.at(-1), "inner"],
  ];
  return roles.flatMap(([dim, role]) => (dim === undefined ? [] : [[dim, role] as const]));
}

/**
 * Roles in increasing priority. In attention, the columns of one product are summed over by the next, but they still
 * determine the size of the accumulators.
 */
const PRIORITY: readonly TileRole[] = ["inner", "columns", "rows"];

function assignRole(roles: Map<Dim, TileRole>, dim: Dim, role: TileRole): void {
  const previous = roles.get(dim);
  if (!previous || PRIORITY.indexOf(role) > PRIORITY.indexOf(previous)) roles.set(dim, role);
}

/**
 * True if, apart from loop bounds and the grid, only scalars depend on the constexpr: it determines the order of tiles,
 * as `GROUP_M` does. A use within an expression of a tile dim counts as a use in a tile.
 */
function isOrderConstant(ir: KernelIR, constant: Value, inTiles: ReadonlySet<Dim>): boolean {
  const { type } = constant;
  if (type.kind !== "constexpr" || [...inTiles].some((dim) => String(dim).split(/\W+/).includes(type.text)))
    return false;
  const usesConstant = (statement: Statement) => argumentsOf(statement).flatMap(valuesIn).includes(constant);
  if (ir.grid.block.statements.some(usesConstant) || ir.grid.block.yields.flatMap(valuesIn).includes(constant))
    return false;
  if (ir.requires.block.statements.some(usesConstant)) return false;
  let [isUsed, isScalar] = [false, true];
  for (const body of bodiesOf(ir))
    walk(body, (statement) => {
      if (!usesConstant(statement)) return;
      isUsed = true;
      const isArithmetic = statement.kind === "op" && statement.op.facts.integer !== undefined;
      isScalar &&= isArithmetic && blocksOf(statement).length === 0 && resultsOf(statement).every(isNumber);
    });
  return isUsed && isScalar;
}

const isNumber = ({ type }: Value): boolean => type.kind === "tile" && type.shape.length === 0;
