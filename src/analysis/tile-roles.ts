/** The roles of a config's constexprs in the kernel's tiles, for a search without a declared search space. */
import type { TileRole } from "../compiled/compiled-kernel.js";
import { isValue, type KernelIR, type OpStatement, paramsOf, type Statement, type Value } from "../ir/nodes.js";
import { argumentsOf, bodiesOf, blocksOf, resultsOf, valuesIn, walk, walkAll } from "../ir/walk.js";
import type { Dim } from "../types/shape.js";

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
