/** The warp-specialized form of attention, with the statements of the lowered program that each partition needs. */
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
import { type BlockAccess, offsetsOf } from "./block-access.js";
import { checkLanguage } from "./gluon-language.js";
import { lowerViews } from "../../../lower/views.js";
import { isLoad } from "./register-loads.js";
import { checkDTypes, checkLaunchSpecializable, loopOf } from "./launch-constraints.js";
import { flattenStatements, backwardSlice, valuesUsedBy } from "./backward-slice.js";
import { isPersistent, type LongestTiles, longestTiles } from "./tile-schedule.js";
import { checkRows } from "./rows.js";
import { type ScaledScores, scaledScores } from "./scaled-scores.js";
import { type LoweredStore, loweredStores } from "./tensor-blocks.js";
import { notSpecializable } from "./not-specializable.js";

type Stores = ReadonlyMap<Statement, LoweredStore<BlockAccess | undefined>>;

export interface SpecializedAttention {
  readonly kind: "attention";
  readonly pattern: AttentionPattern;
  readonly configs: readonly AttentionConfig[];
  readonly dims: Dims;
  /** The statements of the lowered program. */
  readonly body: readonly Statement[];
  /** The loops of `body`, each with its matched pattern. */
  readonly loops: ReadonlyMap<Statement, AttentionLoop>;
  /** The stores of `body`. */
  readonly stores: Stores;
  /** The statements that each partition computes. */
  readonly producerStatements: ReadonlySet<Statement>;
  readonly consumerStatements: ReadonlySet<Statement>;
  /** Other loads of an iteration and the statements that they depend on, executed while the products run. */
  readonly registerLoads: ReadonlySet<Statement>;
  /** The statements of an iteration that update the accumulator before the product is added. */
  readonly accumulatorUpdates: ReadonlySet<Statement>;
  /** The masks that limit the keys of its loops. */
  readonly masks: ReadonlyMap<Statement, Masks>;
  /** The layout of each tile with a single column. */
  readonly sides: ReadonlyMap<Value, Side>;
  /** Scores multiplied by a positive number. */
  readonly scaled: ReadonlyMap<Value, ScaledScores>;
  /** The grid, if the kernel is persistent. */
  readonly grid: Block | undefined;
  /** The grid axis whose last programs process the most keys. Undefined if there is none. */
  readonly longestLast: LongestTiles | undefined;
}

/** @throws {@link NotSpecializable} if the kernel or all of its configs do not match. */
export function specializedAttention(ir: KernelIR, defaultLowered: KernelIR): SpecializedAttention {
  const pattern = matchAttention(ir);
  // Loop-carried pointers would fill registers, and partitions carry only the author's variables.
  const lowered = pattern.loads.length > 0 ? lowerViews(ir, { carriesPointers: false }) : defaultLowered;
  const dims = dimsOf(pattern);
  checkLaunchSpecializable(
    ir,
    pattern.loops.map(({ forStatement }) => forStatement),
  );
  const body = lowered.body.statements;
  const loops = new Map(
    pattern.loops.map((loop): [ForStatement, AttentionLoop] => [loopOf(lowered, loop.forStatement), loop]),
  );
  const stores = loweredStores(
    body,
    pattern.stores.map(({ block }) => block),
  );
  const computed = [...body, ...[...loops.keys()].flatMap((loop) => loop.body.statements)].filter(
    (each) => !isEmittedByPipeline(each, pattern),
  );
  const isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
  const definitionsOf = definitions(ir.body);
  const masks = new Map<Statement, Masks>();
  for (const [statement, loop] of loops) {
    const loopMasks = masksOf(loop, dims, definitionsOf, isNonNegative);
    if (loopMasks) masks.set(statement, loopMasks);
  }
  const mayWiden = [...loops].every(([statement, loop]) => masksKeysPastEnd(loop, masks.get(statement)));
  const configs = attentionConfigs(ir, pattern, mayWiden);
  const limits = [...masks.values()].flatMap((each) => each.limits.flatMap(({ starts }) => starts));
  const bounds = pattern.loops.flatMap(({ forStatement: { start, end, step } }) => [start, end, step]);
  const blocks = [pattern.queries, ...pattern.loops.flatMap(({ keys, values }) => [keys.block, values.block])];
  const producerStatements = backwardSlice([...bounds, ...limits, ...blocks.flatMap(offsetsOf)], computed);
  const consumerStatements = backwardSlice([...bounds, ...limits, ...rootsOf(pattern, stores)], computed);
  checkPartitions(pattern, dims, producerStatements, consumerStatements, stores);
  const accumulatorUpdates = [...loops].flatMap(([loop, { carried, accumulator }]) =>
    backwardSlice([carried], loop.body.statements).filter((each) => dependsOn(each, accumulator, loop.body.statements)),
  );
  const registerLoads = [...loops.keys()].flatMap(({ body: { statements } }) => {
    const loads = statements.filter((each) => isLoad(each) && consumerStatements.includes(each));
    return [...loads, ...backwardSlice(loads.flatMap(argumentsOf), statements)];
  });
  return {
    kind: "attention",
    pattern,
    configs,
    dims,
    body,
    loops,
    stores,
    producerStatements: new Set(producerStatements),
    consumerStatements: new Set(consumerStatements),
    registerLoads: new Set(registerLoads),
    accumulatorUpdates: new Set(accumulatorUpdates),
    masks,
    sides: columnSides(consumerStatements, dims),
    scaled: scaledScores(pattern, definitionsOf),
    grid: isPersistent(ir) ? lowered.grid.block : undefined,
    longestLast: longestTiles(pattern, [...masks.values()], body),
  };
}

function dimsOf({ shape: [rows, columns, , width], loops }: AttentionPattern): Dims {
  const { location: at } = loops[0].scores;
  if (typeof rows === "number") notSpecializable("the number of rows is no constexpr", at);
  const [, duplicate] = [rows, columns, width].filter(
    (dim, i, all) => all.indexOf(dim) !== i || all.lastIndexOf(dim) !== i,
  );
  if (duplicate !== undefined)
    notSpecializable(
      `rows, keys and elements of a value have the same size ${duplicate}; give each a constexpr of its own`,
      at,
    );
  return { rows, columns, width };
}

/**
 * True for loads and products, which the pipeline emits, and for the statement that adds a product to the accumulator.
 */
function isEmittedByPipeline(statement: Statement, { queries, loops, accumulator }: AttentionPattern): boolean {
  const loads = [
    queries.statement,
    ...loops.flatMap(({ keys, values }) => [keys.block.statement, values.block.statement]),
  ];
  const results = [...loads, ...loops.flatMap(({ scores, sum }) => [scores, sum])].flatMap(({ results }) => results);
  const accumulatorWrites = loops.flatMap(({ writes }) =>
    writes.filter(({ variable }) => variable === accumulator.variable),
  );
  const isAdded = accumulatorWrites.some(({ value }) => isValue(value) && resultsOf(statement).includes(value));
  return isAdded || resultsOf(statement).some((value) => results.includes(value));
}

/** The values that a consumer needs: weights, loop-carried variables, stored values and block indices. */
function rootsOf({ accumulator, variables: states, loops }: AttentionPattern, stores: Stores): readonly Argument[] {
  const carried = loops.flatMap(({ weights, carried, writes }): readonly Argument[] => [
    weights,
    carried,
    ...writes.flatMap(({ variable, value }) => (variable === accumulator.variable ? [] : [value])),
  ]);
  const stored = [...stores.values()].flatMap(({ statement, value, block }): readonly Argument[] =>
    block ? [value, ...offsetsOf(block)] : valuesUsedBy(statement),
  );
  return [accumulator.initial, ...states.map(({ initial }) => initial), ...carried, ...stored];
}

/** True if a statement of an iteration depends on the accumulator. */
function dependsOn(statement: Statement, accumulator: unknown, iteration: readonly Statement[]): boolean {
  const values = statement.kind === "read" ? [statement.result] : valuesUsedBy(statement);
  return backwardSlice(values, iteration).some((each) => each.kind === "read" && each.variable === accumulator);
}

/** True for a load of a single number, which producer and consumers may each perform. */
const isScalarLoad = (statement: OpStatement): boolean =>
  isLoad(statement) && statement.results.every((value) => shapeOf(value).length === 0);

/** Every partition computes block indices itself, and each consumer computes its own rows. */
function checkPartitions(
  pattern: AttentionPattern,
  dims: Dims,
  producerStatements: readonly Statement[],
  consumerStatements: readonly Statement[],
  stores: Stores,
): void {
  for (const statement of flattenStatements(producerStatements)) {
    const isComputable = statement.kind === "op" && (statement.op.effect === "pure" || isScalarLoad(statement));
    if (!isComputable && statement.kind !== "if")
      notSpecializable("its block positions depend on loaded or carried values", statement.location);
    if (statement.kind === "op") checkLanguage(statement);
  }
  const ops = flattenStatements(consumerStatements).filter((each) => each.kind === "op");
  checkRows(ops, dims.rows as string, true);
  ops.forEach(checkLanguage);
  const blocks = [pattern.queries, ...pattern.stores.flatMap(({ block }) => block ?? [])];
  checkDTypes(
    blocks.map(({ tensor }) => tensor),
    ops,
  );
  for (const { statement, block } of stores.values())
    if (!block && Object.keys(statement.options).some((name) => name !== "mask"))
      notSpecializable("it writes a number for each row in a way that Gluon lacks", statement.location);
  for (const { type, location: at } of pattern.variables.map(({ variable }) => variable)) {
    const shape = type.kind === "tile" ? type.shape : [];
    if (shape.length > 1 || (shape.length === 1 && shape[0] !== dims.rows))
      notSpecializable(`it carries a state of [${shape.join(", ")}] besides its sum`, at);
  }
}
