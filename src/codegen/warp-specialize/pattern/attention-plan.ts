/** Attention's warp-specialized form, with the statements of the lowered program that each part needs. */
import {
  type Argument,
  type Block,
  type ForStatement,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { LaunchFacts } from "../../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../../analysis/signs.js";
import { argumentsOf, definitions, resultsOf } from "../../../ir/walk.js";
import { type AttentionConfig, attentionConfigs } from "./attention-configs.js";
import { type AttentionPattern, matchAttention, type AttentionLoop } from "./attention-pattern.js";
import { columnSides, type Dims, shapeOf, type Side } from "./attention-layouts.js";
import { masksKeysPastEnd, type Masks, masksOf } from "./attention-masks.js";
import { type BlockAccess, placesOf } from "./block-access.js";
import { checkLanguage } from "./gluon-language.js";
import { lowerViews } from "../../../lower/views.js";
import { isLoad } from "./register-loads.js";
import { checkDTypes, checkLaunchSpecializable, loopOf } from "./launch-constraints.js";
import { flattenStatements, backwardSlice, valuesUsedBy } from "./backward-slice.js";
import { longestTileAxis } from "./tile-schedule.js";
import { checkRows } from "./rows.js";
import { type ScaledScores, scaledScores } from "./scaled-scores.js";
import { storedValue } from "./tensor-blocks.js";
import { isPersistent } from "./tiles.js";
import { notSpecializable } from "./not-specializable.js";

export interface SpecializedAttention {
  readonly kind: "attention";
  readonly form: AttentionPattern;
  readonly configs: readonly AttentionConfig[];
  readonly dims: Dims;
  /** The lowered program. */
  readonly body: readonly Statement[];
  /** Its loops, each with what the form says of it. */
  readonly loops: ReadonlyMap<Statement, AttentionLoop>;
  /** Its stores, each with the block that it writes; undefined for one of a number for each row. */
  readonly stores: ReadonlyMap<Statement, BlockAccess | undefined>;
  /** What each part computes. */
  readonly produced: ReadonlySet<Statement>;
  readonly consumed: ReadonlySet<Statement>;
  /** What a turn loads besides, and what that takes, while its products run. */
  readonly loaded: ReadonlySet<Statement>;
  /** What a turn computes of the sum. */
  readonly carried: ReadonlySet<Statement>;
  /** The masks of its loops that count keys. */
  readonly masks: ReadonlyMap<Statement, Masks>;
  /** The side of each tile of one column. */
  readonly sides: ReadonlyMap<Value, Side>;
  /** Scores times a number above 0. */
  readonly scaled: ReadonlyMap<Value, ScaledScores>;
  /** The grid, where one program may compute several of its tiles. */
  readonly grid: Block | undefined;
  /** The axis of the grid whose last programs have most keys, if one has. */
  readonly longestLast: number | undefined;
}

/** @throws Unsuited */
export function specializedAttention(ir: KernelIR, given: KernelIR): SpecializedAttention {
  const form = matchAttention(ir);
  // Pointers that a loop carries would fill registers, and parts carry the author's state alone.
  const lowered = form.loads.length > 0 ? lowerViews(ir, { carries: false }) : given;
  const dims = dimsOf(form);
  checkLaunchSpecializable(
    ir,
    form.loops.map(({ turns }) => turns),
  );
  const body = lowered.body.statements;
  const loops = new Map(form.loops.map((loop): [ForStatement, AttentionLoop] => [loopOf(lowered, loop.turns), loop]));
  const written = body.filter((each): each is OpStatement => each.kind === "op" && each.op.effect === "write");
  const stores = new Map(written.map((statement, i) => [statement, form.stores[i]!.block]));
  const own = [...body, ...[...loops.keys()].flatMap((loop) => loop.body.statements)].filter(
    (each) => !isGiven(each, form),
  );
  const isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
  const made = definitions(ir.body);
  const masks = new Map<Statement, Masks>();
  for (const [statement, loop] of loops) {
    const found = masksOf(loop, dims, made, isNonNegative);
    if (found) masks.set(statement, found);
  }
  const mayWiden = [...loops].every(([statement, loop]) => masksKeysPastEnd(loop, masks.get(statement)));
  const configs = attentionConfigs(ir, form, mayWiden);
  const limits = [...masks.values()].flatMap((each) => each.limits.flatMap(({ starts }) => starts));
  const bounds = form.loops.flatMap(({ turns: { start, end, step } }) => [start, end, step]);
  const blocks = [form.queries, ...form.loops.flatMap(({ keys, values }) => [keys.block, values.block])];
  const produced = backwardSlice([...bounds, ...limits, ...blocks.flatMap(placesOf)], own);
  const consumed = backwardSlice([...bounds, ...limits, ...rootsOf(form, stores)], own);
  checkParts(form, dims, produced, consumed, stores);
  const carried = [...loops].flatMap(([loop, { carried, sums }]) =>
    backwardSlice([carried], loop.body.statements).filter((each) => followsFrom(each, sums, loop.body.statements)),
  );
  const loaded = [...loops.keys()].flatMap(({ body: { statements } }) => {
    const loads = statements.filter((each) => isLoad(each) && consumed.includes(each));
    return [...loads, ...backwardSlice(loads.flatMap(argumentsOf), statements)];
  });
  return {
    kind: "attention",
    form,
    configs,
    dims,
    body,
    loops,
    stores,
    produced: new Set(produced),
    consumed: new Set(consumed),
    loaded: new Set(loaded),
    carried: new Set(carried),
    masks,
    sides: columnSides(consumed, dims),
    scaled: scaledScores(form, made),
    grid: isPersistent(ir) ? lowered.grid.block : undefined,
    longestLast: longestTileAxis(form, [...masks.values()], body),
  };
}

function dimsOf({ shape: [rows, columns, , width], loops }: AttentionPattern): Dims {
  const { at } = loops[0]!.scores;
  if (typeof rows === "number") notSpecializable("the number of rows is no constexpr", at);
  const [, same] = [rows, columns, width].filter((dim, i, all) => all.indexOf(dim) !== i || all.lastIndexOf(dim) !== i);
  if (same !== undefined)
    notSpecializable(
      `rows, keys and elements of a value have the same size ${same}; give each a constexpr of its own`,
      at,
    );
  return { rows, columns, width };
}

/** Loads and products, which the pipeline makes; the statement that adds a product to the sum. */
function isGiven(statement: Statement, { queries, loops, accumulator }: AttentionPattern): boolean {
  const given = [
    queries.statement,
    ...loops.flatMap(({ keys, values }) => [keys.block.statement, values.block.statement]),
  ];
  const made = [...given, ...loops.flatMap(({ scores, sum }) => [scores, sum])].flatMap(({ results }) => results);
  const sums = loops.flatMap(({ writes }) => writes.filter(({ variable }) => variable === accumulator.variable));
  const isAdded = sums.some(({ value }) => isValue(value) && resultsOf(statement).includes(value));
  return isAdded || resultsOf(statement).some((value) => made.includes(value));
}

/** What a consumer hands on: weights, state, and what it stores. */
function rootsOf(
  { accumulator, states, loops }: AttentionPattern,
  stores: ReadonlyMap<Statement, BlockAccess | undefined>,
): readonly Argument[] {
  const turns = loops.flatMap(({ weights, carried, writes }): readonly Argument[] => [
    weights,
    carried,
    ...writes.flatMap(({ variable, value }) => (variable === accumulator.variable ? [] : [value])),
  ]);
  const stored = [...stores].flatMap(([statement, block]): readonly Argument[] =>
    block ? [storedValue(statement as OpStatement)!, ...placesOf(block)] : valuesUsedBy(statement),
  );
  return [accumulator.initial, ...states.map(({ initial }) => initial), ...turns, ...stored];
}

/** Whether a statement of a turn follows from the state. */
function followsFrom(statement: Statement, sums: unknown, turn: readonly Statement[]): boolean {
  const values = statement.kind === "read" ? [statement.result] : valuesUsedBy(statement);
  return backwardSlice(values, turn).some((each) => each.kind === "read" && each.variable === sums);
}

/** A number that producer and consumers may load alike. */
const isScalarLoad = (statement: OpStatement): boolean =>
  isLoad(statement) && statement.results.every((value) => shapeOf(value).length === 0);

/** Every part computes by itself where blocks lie, and each consumer its own rows. */
function checkParts(
  form: AttentionPattern,
  dims: Dims,
  produced: readonly Statement[],
  consumed: readonly Statement[],
  stores: ReadonlyMap<Statement, BlockAccess | undefined>,
): void {
  for (const statement of flattenStatements(produced)) {
    const isGiven = statement.kind === "op" && (statement.op.effect === "pure" || isScalarLoad(statement));
    if (!isGiven && statement.kind !== "if")
      notSpecializable("where its blocks lie depends on what it loads or carries", statement.at);
    if (statement.kind === "op") checkLanguage(statement);
  }
  const ops = flattenStatements(consumed).filter((each) => each.kind === "op");
  checkRows(ops, dims.rows as string, true);
  ops.forEach(checkLanguage);
  const blocks = [form.queries, ...form.stores.flatMap(({ block }) => block ?? [])];
  checkDTypes(
    blocks.map(({ tensor }) => tensor),
    ops,
  );
  for (const [statement, block] of stores)
    if (!block && statement.kind === "op" && Object.keys(statement.options).some((name) => name !== "mask"))
      notSpecializable("it writes a number for each row in a way that Gluon lacks", statement.at);
  for (const { type, at } of form.states.map(({ variable }) => variable)) {
    const shape = type.kind === "tile" ? type.shape : [];
    if (shape.length > 1 || (shape.length === 1 && shape[0] !== dims.rows))
      notSpecializable(`it carries a state of [${shape.join(", ")}] besides its sum`, at);
  }
}
