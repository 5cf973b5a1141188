/**
 * A kernel's warp-specialised form: what it computes, by the program before views are lowered, with the statements of the
 * lowered program that each part needs.
 */
import {
  type Argument,
  type Block,
  type ForStatement,
  isDType,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type ReadStatement,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import { argumentsOf, resultsOf, valuesIn, walk } from "../ir/walk.js";
import { type GemmForm, gemmForm, storedValue } from "./gemm-form.js";
import { checkLanguage } from "./gluon-language.js";
import { type RingConfig, ringConfigs } from "./ring-configs.js";
import { checkRows } from "./rows.js";
import { Unsuited, unsuited } from "./unsuited.js";

export interface Specialised extends Statements {
  readonly configs: readonly RingConfig[];
}

interface Statements {
  readonly form: GemmForm;
  /** Lowered, in program order: what stands before the loop over tiles, in it before the sum, in the sum's loop, behind. */
  readonly first: readonly OpStatement[];
  readonly tile: readonly OpStatement[];
  readonly turn: readonly OpStatement[];
  readonly epilogue: readonly (OpStatement | ReadStatement)[];
  /** The lowered statements of `form.stores`. */
  readonly stores: ReadonlyMap<Statement, number>;
}

/** The form, or why there is none. `lowered` is the same kernel with its views as pointers. */
export function specialise(ir: KernelIR, lowered: KernelIR): Specialised | Unsuited {
  try {
    return specialised(ir, lowered);
  } catch (error) {
    if (error instanceof Unsuited) return error;
    throw error;
  }
}

function specialised(ir: KernelIR, lowered: KernelIR): Specialised {
  const form = gemmForm(ir);
  checkLaunch(ir, form);
  const configs = ringConfigs(ir, form);
  const tiles = form.tiles && loopOf(lowered, form.tiles);
  const turns = loopOf(lowered, form.turns);
  const tile: Block = tiles ? tiles.body : lowered.body;
  const place = tile.statements.indexOf(turns);
  const epilogue = tile.statements.slice(place + 1).filter((each) => each.kind === "op" || each.kind === "read");
  const written = tile.statements.filter((each) => each.kind === "op" && each.op.effect === "write");
  const parts = {
    first: tiles ? opsOf(lowered.body.statements.slice(0, lowered.body.statements.indexOf(tiles))) : [],
    tile: opsOf(tile.statements.slice(0, place)),
    turn: opsOf(turns.body.statements),
    epilogue,
    stores: new Map(written.map((statement, i) => [statement, i])),
  };
  const statements = { form, ...parts };
  checkEpilogue(statements);
  checkPlaces(statements);
  return { ...statements, configs };
}

const opsOf = (statements: readonly Statement[]): readonly OpStatement[] =>
  statements.filter((statement) => statement.kind === "op");

/** Lowering keeps the index of a loop. */
function loopOf(lowered: KernelIR, { index }: ForStatement): ForStatement {
  let found: ForStatement | undefined;
  walk(lowered.body, (statement) => {
    if (statement.kind === "for" && statement.index === index) found = statement;
  });
  return found!;
}

/** What a launch has to be like for each part to run every tile. */
function checkLaunch(ir: KernelIR, { tiles, turns }: GemmForm): void {
  const known = ir.params.flatMap(({ kind, value }) => (kind === "device" ? [value] : []));
  const asked = ir.grid.block.statements.flatMap(argumentsOf).concat(ir.grid.block.yields).flatMap(valuesIn);
  if (!tiles && asked.some((value) => known.includes(value)))
    unsuited("its grid depends on the GPU, and its body has no loop over tiles", ir.at);
  if (!tiles)
    walk(ir.body, (statement) => {
      if (statement.kind === "op" && statement.op.facts.asks === "grid")
        unsuited(
          "it asks for the number of programs, which is another where each computes several tiles",
          statement.at,
        );
    });
  if (!tiles) for (const statement of ir.grid.block.statements) if (statement.kind === "op") checkLanguage(statement);
  const [option] = Object.keys(ir.launch.options);
  if (option !== undefined) unsuited(`its launch has the option ${option}`, ir.at);
  const named = [ir.name, ...ir.params.map(({ name }) => name), ...ir.functions.map(({ name }) => name ?? "")];
  const taken = named.find((name) => GLUON_NAMES.has(name));
  if (taken !== undefined) unsuited(`it has the name ${taken}, which the specialised kernel uses`, ir.at);
  if (!isPositive(turns.step, ir)) unsuited("the loop over blocks may count down", turns.at);
  const computed = ir.params.find((param) => param.kind === "constexpr" && param.from === "heuristic");
  if (computed) unsuited(`a heuristic computes ${computed.name}`, ir.at);
}

/** Names of the module that a specialised kernel refers to. */
const GLUON_NAMES: ReadonlySet<string> = new Set(
  "gl gluon mbarrier tma fence_async_shared warpgroup_mma warpgroup_mma_wait".split(" "),
);

function isPositive(step: Argument, ir: KernelIR): boolean {
  if (isLiteral(step)) return Number(step.value) > 0;
  if (!isValue(step)) return false;
  const param = ir.params.find(({ value }) => value === step);
  return param !== undefined && ir.tuning.configs.every(({ values }) => Number(values[param.name]) > 0);
}

/** The statements that say where the blocks lie that are multiplied, and how often the loops turn. */
export function produced({ form, first, tile, turn }: Statements): readonly (OpStatement | ReadStatement)[] {
  const places = form.operands.flatMap(({ block }) => block.axes.flatMap(({ starts }) => starts));
  return neededBy([...boundsOf(form), ...places], [...first, ...tile, ...turn]);
}

/** The statements that follow from the sum, up to where its blocks lie that are written. */
export function consumed({
  form,
  first,
  tile,
  epilogue,
  stores,
}: Statements): readonly (OpStatement | ReadStatement)[] {
  const values = [...stores.keys()].map((statement) => storedValue(statement as OpStatement)!);
  const places = form.stores.flatMap(({ axes }) => axes.flatMap(({ starts }) => starts));
  const roots = [...boundsOf(form), form.accumulator.initial, ...values, ...places];
  return neededBy(roots, [...first, ...tile, ...epilogue]);
}

const boundsOf = ({ tiles, turns }: GemmForm): readonly Argument[] =>
  [...(tiles ? [tiles] : []), turns].flatMap(({ start, end, step }) => [start, end, step]);

/** Every part computes by itself where blocks lie and how many turns there are. */
function checkPlaces(statements: Statements): void {
  for (const statement of produced(statements))
    if (statement.kind !== "op" || statement.op.effect !== "pure")
      unsuited("where its blocks lie depends on what it loads", statement.at);
    else checkLanguage(statement);
}

/** Each group of warps computes its own rows, so no row may depend on another. */
function checkEpilogue(statements: Statements): void {
  const { form } = statements;
  const [rows, columns] = form.shape;
  const at = form.product.at;
  if (rows === columns)
    unsuited(`rows and columns of its product are both ${rows}; give each a constexpr of its own`, at);
  if (typeof rows === "number") unsuited("the number of rows is no constexpr", at);
  const needed = consumed(statements);
  for (const statement of needed)
    if (statement.kind === "read" && statement.variable !== form.accumulator.variable)
      unsuited("it uses other state than the sum", statement.at);
  const isPadded = form.operands.every(({ block }) => block.axes.every(({ wraps }) => wraps === undefined));
  const ops = needed.filter((statement) => statement.kind === "op");
  checkRows(ops, rows as string, isPadded);
  ops.forEach(checkLanguage);
  checkDTypes(form, ops);
  for (const { op, at: place, options } of ops)
    if (op.effect === "read" && Object.keys(options).some((name) => name !== "mask" && name !== "other"))
      unsuited("it loads with options around its product", place);
}

/** A part knows the members of dtype variables by the tensors whose blocks it has. */
function checkDTypes({ operands, stores }: GemmForm, ops: readonly OpStatement[]): void {
  const tensors = [...operands.map(({ block }) => block.tensor), ...stores.map(({ tensor }) => tensor)];
  const known = tensors.flatMap(({ dtype }) => (typeof dtype === "string" ? [] : [dtype.name]));
  for (const { operands: given, options, at } of ops)
    for (const argument of [...given, ...Object.values(options)])
      if (isDType(argument) && typeof argument.dtype !== "string" && !known.includes(argument.dtype.name))
        unsuited(`it casts to ${argument.dtype.name}, which none of its blocks has`, at);
}

/** The statements that these arguments depend on, in program order. */
function neededBy<S extends OpStatement | ReadStatement>(
  roots: readonly Argument[],
  statements: readonly S[],
): readonly S[] {
  const made = new Map<Value, S>();
  for (const statement of statements) for (const value of resultsOf(statement)) made.set(value, statement);
  const needed = new Set<S>();
  const visit = (argument: Argument): void => {
    for (const value of valuesIn(argument)) {
      const statement = made.get(value);
      if (!statement || needed.has(statement)) continue;
      needed.add(statement);
      argumentsOf(statement).forEach(visit);
    }
  };
  roots.forEach(visit);
  return statements.filter((statement) => needed.has(statement));
}
