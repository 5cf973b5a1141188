/** What the constexprs that configs choose are to a kernel's tiles, for a search that nobody has declared a space for. */
import type { TileRole } from "../compiled/compiled-kernel.js";
import { isValue, type KernelIR, type OpStatement, paramsOf, type Statement, type Value } from "../ir/nodes.js";
import { argumentsOf, bodiesOf, blocksOf, resultsOf, valuesIn, walk, walkAll } from "../ir/walk.js";
import type { Dim } from "../types/shape.js";

/** The roles that the body shows; a constexpr that is something else to it has none. */
export function tileRoles(ir: KernelIR): Readonly<Record<string, TileRole>> {
  const inProducts = new Map<Dim, TileRole>();
  const inTiles = new Set<Dim>();
  walkAll(ir, (statement) => {
    for (const { type } of resultsOf(statement)) if ("shape" in type) for (const dim of type.shape) inTiles.add(dim);
    if (isProduct(statement)) for (const [dim, role] of dimsOf(statement)) strongest(inProducts, dim, role);
  });
  const chosen = paramsOf(ir, "constexpr").filter(({ from, of }) => from === "config" && of === "int");
  const roles = chosen.flatMap(({ name, value }): [string, TileRole][] => {
    const role = inProducts.get(name) ?? (inTiles.has(name) ? "length" : undefined);
    if (role) return [[name, role]];
    return isOrder(ir, value, inTiles) ? [[name, "order"]] : [];
  });
  return Object.fromEntries(roles);
}

/** Whether a loop multiplies what it loads. Triton's `num_stages` is about these loops alone. */
export function isPipelined(ir: KernelIR): boolean {
  let found = false;
  walkAll(ir, (statement) => {
    if (statement.kind !== "for" && statement.kind !== "while") return;
    let [loads, multiplies] = [false, false];
    walk(statement.body, (inner) => {
      loads ||= inner.kind === "op" && inner.op.effect === "read";
      multiplies ||= isProduct(inner);
    });
    found ||= loads && multiplies;
  });
  return found;
}

const isProduct = (statement: Statement): statement is OpStatement =>
  statement.kind === "op" && statement.op.facts.contracts === true;

function dimsOf({ operands }: OpStatement): readonly (readonly [Dim, TileRole])[] {
  const [x, y] = operands.map((each) => (isValue(each) && "shape" in each.type ? each.type.shape : []));
  const found: (readonly [Dim | undefined, TileRole])[] = [
    [x?.at(-2), "rows"],
    [y?.at(-1), "columns"],
    [x?.at(-1), "inner"],
  ];
  return found.flatMap(([dim, role]) => (dim === undefined ? [] : [[dim, role] as const]));
}

/** In attention, the columns of one product are what the next one sums over: they size the sums all the same. */
const STRENGTH: readonly TileRole[] = ["inner", "columns", "rows"];

function strongest(roles: Map<Dim, TileRole>, dim: Dim, role: TileRole): void {
  const before = roles.get(dim);
  if (!before || STRENGTH.indexOf(role) > STRENGTH.indexOf(before)) roles.set(dim, role);
}

/**
 * Whether only scalars follow from it, besides loops' bounds and the grid: it says which tile a program takes, as
 * `GROUP_M` does. In tiles' shapes it may be part of an expression, which counts as one.
 */
function isOrder(ir: KernelIR, constant: Value, inTiles: ReadonlySet<Dim>): boolean {
  const { type } = constant;
  if (type.kind !== "constexpr" || [...inTiles].some((dim) => String(dim).split(/\W+/).includes(type.text)))
    return false;
  const uses = (statement: Statement) => argumentsOf(statement).flatMap(valuesIn).includes(constant);
  if (ir.grid.block.statements.some(uses) || ir.grid.block.yields.flatMap(valuesIn).includes(constant)) return false;
  if (ir.requires.block.statements.some(uses)) return false;
  let [used, isScalar] = [false, true];
  for (const body of bodiesOf(ir))
    walk(body, (statement) => {
      if (!uses(statement)) return;
      used = true;
      const isArithmetic = statement.kind === "op" && statement.op.facts.integer !== undefined;
      isScalar &&= isArithmetic && blocksOf(statement).length === 0 && resultsOf(statement).every(isNumber);
    });
  return used && isScalar;
}

const isNumber = ({ type }: Value): boolean => type.kind === "tile" && type.shape.length === 0;
