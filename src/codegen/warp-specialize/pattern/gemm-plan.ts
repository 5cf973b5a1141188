/** The warp-specialized form of a GEMM, with the statements of the lowered program that each partition needs. */
import {
  type Argument,
  type Block,
  type IfStatement,
  isFunction,
  type KernelIR,
  type OpStatement,
  type ReadStatement,
  type Statement,
  type TensorParam,
  type Value,
} from "../../../ir/nodes.js";
import { argumentsOf } from "../../../ir/walk.js";
import { lowerViews } from "../../../lower/views.js";
import { type BlockAccess, offsetsOf, type RowAccess } from "./block-access.js";
import { type GemmPattern, matchGemm } from "./gemm-pattern.js";
import { checkLanguage } from "./gluon-language.js";
import { checkDTypes, checkLaunchSpecializable, loopOf } from "./launch-constraints.js";
import { flattenStatements, backwardSlice, valuesUsedBy } from "./backward-slice.js";
import { type PipelineConfig, ringConfigs } from "./pipeline-configs.js";
import { gemmPipeline, mixedPipeline, type Pipeline, scaledPipeline } from "./pipeline.js";
import { checkRows } from "./rows.js";
import { type LoweredStore, loweredStores } from "./tensor-blocks.js";
import { checkTiles } from "./tile-schedule.js";
import { notSpecializable } from "./not-specializable.js";

export interface SpecializedGemm extends GemmStatements {
  readonly kind: "gemm";
  readonly pipeline: Pipeline;
  readonly configs: readonly PipelineConfig[];
  /** The scales of a product, if the ring buffer takes those of its rows. */
  readonly scales?: Scales | undefined;
  /** The statements of an iteration that compute its second factor from the packed block. */
  readonly widening?: WideningStatements | undefined;
}

export interface WideningStatements {
  /** Statements that do not depend on the packed block, except the loads of `ahead`, and statements that do. */
  readonly early: readonly OpStatement[];
  readonly late: readonly OpStatement[];
  /** Loads that the widener performs an iteration before their own. */
  readonly ahead: readonly AheadLoad[];
}

/** The statements of an iteration that scale its product. */
export interface Scales {
  readonly rows: RowAccess;
  /** Statements that do not depend on the scales of the rows, and statements that do. */
  readonly early: readonly OpStatement[];
  readonly late: readonly OpStatement[];
  /** Loads of numbers that scale a whole product, which a consumer performs before their iteration. */
  readonly ahead: readonly AheadLoad[];
}

export interface AheadLoad {
  readonly load: OpStatement;
  /** The statements of the iteration that its address and its mask follow from. */
  readonly address: readonly OpStatement[];
}

/** A statement that computes values. */
export type ComputeStatement = OpStatement | ReadStatement | IfStatement;

interface GemmStatements {
  readonly pattern: GemmPattern;
  /**
   * Lowered statements in program order: before the tile loop, in a tile before the k loop, in the k loop, and after
   * it.
   */
  readonly prologue: readonly OpStatement[];
  readonly tile: readonly ComputeStatement[];
  readonly iteration: readonly OpStatement[];
  readonly epilogue: readonly ComputeStatement[];
  readonly stores: ReadonlyMap<Statement, LoweredStore<BlockAccess>>;
}

/** @throws {@link NotSpecializable} if the kernel or all of its configs do not match. */
export function specializedGemm(ir: KernelIR, defaultLowered: KernelIR): SpecializedGemm {
  const matched = matchGemm(ir);
  // The widener loads for the next iteration.
  const lowered = matched.widening ? lowerViews(ir, { carriesPointers: false }) : defaultLowered;
  if (!matched.tileLoop) checkTiles(ir);
  checkLaunchSpecializable(ir, [matched.kLoop]);
  const { pattern, configs } = ringConfigs(ir, matched);
  const tileLoop = pattern.tileLoop && loopOf(lowered, pattern.tileLoop);
  const kLoop = loopOf(lowered, pattern.kLoop);
  const tile: Block = tileLoop ? tileLoop.body : lowered.body;
  const loopIndex = tile.statements.indexOf(kLoop);
  const epilogue = computeStatementsOf(tile.statements.slice(loopIndex + 1));
  const phases = {
    prologue: tileLoop ? opsOf(lowered.body.statements.slice(0, lowered.body.statements.indexOf(tileLoop))) : [],
    tile: computeStatementsOf(tile.statements.slice(0, loopIndex)),
    iteration: opsOf(kLoop.body.statements),
    epilogue,
    stores: loweredStores(tile.statements, pattern.stores),
  };
  const statements = { pattern, ...phases };
  checkEpilogue(statements);
  checkOffsets(statements);
  checkWidener(statements);
  const scales = scalesOf(statements);
  const loadedPipeline = scales ? scaledPipeline : gemmPipeline;
  const pipeline = pattern.widening ? mixedPipeline : loadedPipeline;
  return { kind: "gemm", pipeline, ...statements, configs, scales, widening: wideningStatements(statements) };
}

function wideningStatements({
  pattern: { widening, kLoop },
  iteration,
}: GemmStatements): WideningStatements | undefined {
  if (!widening) return undefined;
  const [packed] = widening.packed.statement.results;
  const others = iteration.filter(({ results }) => results[0] !== packed);
  const slice = backwardSlice([widening.tile], others);
  const ahead = slice.flatMap((load) => aheadLoad(load, others, kLoop.index, 1) ?? []);
  const computed = backwardSlice(
    [widening.tile],
    others.filter((each) => !ahead.some(({ load }) => load === each)),
  );
  return { ahead, ...splitBy(computed, packed ? [packed] : []) };
}

/** The statements that follow from none of these values, and those that do. */
function splitBy(
  statements: readonly OpStatement[],
  values: readonly Value[],
): { readonly early: readonly OpStatement[]; readonly late: readonly OpStatement[] } {
  const dependent = new Set(values);
  const late = statements.filter((statement) => {
    if (!valuesUsedBy(statement).some((value) => dependent.has(value))) return false;
    for (const result of statement.results) dependent.add(result);
    return true;
  });
  return { early: statements.filter((each) => !late.includes(each)), late };
}

function scalesOf({ pattern, iteration }: GemmStatements): Scales | undefined {
  const { rowScales: rows, accumulation, kLoop } = pattern;
  if (!rows) return undefined;
  const isRowLoad = ({ results }: OpStatement) => results[0] === rows.statement.results[0];
  const factors = accumulation.arms[0].factors;
  const others = iteration.filter((each) => !isRowLoad(each));
  const ahead = backwardSlice(factors, others).flatMap((load) => aheadLoad(load, others, kLoop.index, 0) ?? []);
  const scaling = backwardSlice(
    factors,
    others.filter((each) => !ahead.some(({ load }) => load === each)),
  );
  return { rows, ahead, ...splitBy(scaling, rows.statement.results) };
}

/** A load that differs between iterations, if nothing else that it needs is loaded. */
function aheadLoad(
  load: OpStatement,
  iteration: readonly OpStatement[],
  index: Value,
  mostAxes: number,
): AheadLoad | undefined {
  const [result] = load.results;
  if (load.op.effect !== "read" || result?.type.kind !== "tile" || result.type.shape.length > mostAxes)
    return undefined;
  const address = backwardSlice(argumentsOf(load), iteration);
  const uses = [load, ...address].flatMap(valuesUsedBy);
  return uses.includes(index) && address.every(({ op }) => op.effect === "pure") ? { load, address } : undefined;
}

const computeStatementsOf = (statements: readonly Statement[]): readonly ComputeStatement[] =>
  statements.filter((each) => each.kind === "op" || each.kind === "read" || each.kind === "if");

const opsOf = (statements: readonly Statement[]): readonly OpStatement[] =>
  statements.filter((statement) => statement.kind === "op");

/** The statements that determine the offsets of the operand blocks and the trip counts of the loops. */
export function producerStatements({
  pattern,
  prologue,
  tile,
  iteration,
}: GemmStatements): readonly ComputeStatement[] {
  const offsets = pattern.operands.flatMap(({ block }) => offsetsOf(block));
  const { lead = [], index } = pattern.rowScales ?? {};
  const roots = [...boundsOf(pattern), ...offsets, ...lead, ...(index?.starts ?? [])];
  return backwardSlice(roots, [...prologue, ...tile, ...iteration]);
}

/** The statements that compute the second factor from the packed block. */
export function widenerStatements({ pattern, prologue, tile, iteration }: GemmStatements): readonly ComputeStatement[] {
  const { widening } = pattern;
  if (!widening) return [];
  const [packed] = widening.packed.statement.results;
  const computed = iteration.filter(({ results: [result] }) => result !== packed);
  return backwardSlice([...boundsOf(pattern), widening.tile], [...prologue, ...tile, ...computed]);
}

/** The statements of the epilogue, including those that determine the offsets of the stored blocks. */
export function consumerStatements({
  pattern,
  prologue,
  tile,
  iteration,
  epilogue,
  stores,
}: GemmStatements): readonly ComputeStatement[] {
  const values = [...stores.values()].map(({ value }) => value);
  const offsets = pattern.stores.flatMap(offsetsOf);
  const factors = pattern.accumulation.arms.flatMap((arm) => arm?.factors ?? []);
  const roots = [...boundsOf(pattern), pattern.accumulator.initial, ...factors, ...values, ...offsets];
  const copied = pattern.rowScales?.statement.results[0];
  const computed = iteration.filter(({ results: [result] }) => copied === undefined || result !== copied);
  return backwardSlice(roots, [...prologue, ...tile, ...computed, ...epilogue]);
}

const boundsOf = ({ tileLoop, kLoop }: GemmPattern): readonly Argument[] =>
  [...(tileLoop ? [tileLoop] : []), kLoop].flatMap(({ start, end, step }) => [start, end, step]);

/** Every partition computes block offsets and trip counts itself. */
function checkOffsets(statements: GemmStatements): void {
  for (const statement of flattenStatements(producerStatements(statements)))
    if (statement.kind === "op" && statement.op.effect === "pure") checkLanguage(statement);
    else if (statement.kind !== "if")
      notSpecializable("its block positions depend on loaded values", statement.location);
}

/** The widener computes in one layout and loads from global memory. */
function checkWidener(statements: GemmStatements): void {
  const opsIn = (statement: Statement): readonly OpStatement[] => {
    const { location } = statement;
    if (statement.kind !== "op") return notSpecializable("it computes a factor by a branch or by state", location);
    if (statement.op.spelling.form !== "apply") return [statement];
    const [callee] = statement.operands;
    if (callee === undefined || !isFunction(callee) || callee.function.extern)
      return notSpecializable("it computes a factor by a function of Triton's language, not Gluon's", location);
    return callee.function.body.statements.flatMap(opsIn);
  };
  const ops = widenerStatements(statements).flatMap(opsIn);
  ops.forEach(checkLanguage);
  checkDTypes(blockTensorsOf(statements), ops);
  checkLoadOptions(ops);
}

/** Each warp group computes its own rows, so no row may depend on another. */
function checkEpilogue(statements: GemmStatements): void {
  const { pattern } = statements;
  const [rows, columns] = pattern.shape;
  const location = pattern.product.location;
  if (rows === columns)
    notSpecializable(`rows and columns of its product are both ${rows}; give each a constexpr of its own`, location);
  if (typeof rows === "number") notSpecializable("the number of rows is no constexpr", location);
  const consumed = flattenStatements(consumerStatements(statements));
  for (const statement of consumed)
    if (statement.kind === "read" && statement.variable !== pattern.accumulator.variable)
      notSpecializable("it uses other state than the sum", statement.location);
  const isPadded = pattern.operands.every(({ block }) => block.axes.every(({ wraps }) => wraps === undefined));
  const ops = consumed.filter((statement) => statement.kind === "op");
  checkRows(ops, rows as string, isPadded);
  ops.forEach(checkLanguage);
  checkDTypes(blockTensorsOf(statements), ops);
  checkLoadOptions(ops);
}

const blockTensorsOf = ({ pattern: { operands, rowScales, stores } }: GemmStatements): readonly TensorParam[] =>
  [...operands.map(({ block }) => block), ...(rowScales ? [rowScales] : []), ...stores].map(({ tensor }) => tensor);

function checkLoadOptions(ops: readonly OpStatement[]): void {
  for (const { op, location, options } of ops)
    if (op.effect === "read" && Object.keys(options).some((name) => name !== "mask" && name !== "other"))
      notSpecializable("it loads with options around its product", location);
}
