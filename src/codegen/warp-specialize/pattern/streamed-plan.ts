/** The warp-specialized form of streamed products, with the statements of the lowered program that each partition needs. */
import { type Argument, type ForStatement, type KernelIR, type Statement, type Value } from "../../../ir/nodes.js";
import { resultsOf } from "../../../ir/walk.js";
import { lowerViews } from "../../../lower/views.js";
import { columnSides, type Dims, type Side } from "./attention-layouts.js";
import { backwardSlice, flattenStatements, valuesUsedBy } from "./backward-slice.js";
import { type BlockAccess, offsetsOf } from "./block-access.js";
import { checkLanguage } from "./gluon-language.js";
import { checkDTypes, checkLaunchSpecializable, loopOf } from "./launch-constraints.js";
import { notSpecializable } from "./not-specializable.js";
import type { Pipeline } from "./pipeline.js";

import { type ConstexprArm, rowCountBranches } from "./streamed-row-count.js";
import { checkRows } from "./rows.js";
import type { ScaledScores } from "./scaled-scores.js";
import { streamedConfigs } from "./streamed-configs.js";
import type { RingConfig } from "./attention-configs.js";
import { matchStreamed, type StreamedLoop, type StreamedPattern } from "./streamed-pattern.js";
import { type Schedule, scheduleOf, streamedPipeline } from "./streamed-schedule.js";
import { loweredStores, type LoweredStore } from "./tensor-blocks.js";
import { axisOf, isProgram } from "./tile-schedule.js";

/** A loop of the lowered program, with its pattern. */
export interface ScheduledLoop {
  readonly loop: StreamedLoop;
  readonly phases: Schedule["phases"];
}

export interface SpecializedStream {
  readonly kind: "streamed";
  readonly pattern: StreamedPattern;
  readonly configs: readonly RingConfig[];
  /** The branches of constexprs to which configs of three consumers are limited. */
  readonly branches: readonly ConstexprArm[];
  readonly pipeline: Pipeline;
  readonly channels: Schedule["channels"];
  readonly dims: Dims;
  /** The statements of the lowered program. */
  readonly body: readonly Statement[];
  /** The loops of `body`. */
  readonly loops: ReadonlyMap<Statement, ScheduledLoop>;
  /** The stores of `body`. */
  readonly stores: ReadonlyMap<Statement, LoweredStore<BlockAccess | undefined>>;
  /** The statements that each partition computes. */
  readonly producerStatements: ReadonlySet<Statement>;
  readonly consumerStatements: ReadonlySet<Statement>;
  /** The layout of each tile with a single column. */
  readonly sides: ReadonlyMap<Value, Side>;
  readonly scaled: ReadonlyMap<Value, ScaledScores>;
  readonly longestLast: undefined;
}

/** @throws {@link NotSpecializable} if the kernel or all of its configs do not match. */
export function specializedStream(ir: KernelIR): SpecializedStream {
  const pattern = matchStreamed(ir);
  checkLaunchSpecializable(
    ir,
    pattern.loops.map(({ forStatement }) => forStatement),
  );
  const dims = dimsOf(pattern);
  // Partitions carry only the author's variables.
  const lowered = lowerViews(ir, { carriesPointers: false });
  const body = lowered.body.statements;
  const loops = new Map(
    pattern.loops.map((loop): [ForStatement, StreamedLoop] => [loopOf(lowered, loop.forStatement), loop]),
  );
  const stores = loweredStores(
    body,
    pattern.stores.map(({ block }) => block),
  );
  const emitted = new Set(valuesOfPipeline(pattern));
  const computed = [...body, ...[...loops.keys()].flatMap((loop) => loop.body.statements)].filter(
    (each) => !resultsOf(each).some((value) => emitted.has(value)),
  );
  const producerStatements = backwardSlice(producerRoots(pattern), computed);
  const consumerStatements = backwardSlice(consumerRoots(pattern, stores), computed);
  const storeStatements = [...stores.values()].map(({ statement }) => statement);
  checkPartitions(pattern, producerStatements, [...consumerStatements, ...storeStatements], dims);
  const consumerSet = new Set(consumerStatements);
  const loads = consumerStatements.flatMap((each) => (each.kind === "op" && each.op.effect === "read" ? [each] : []));
  const branches = rowCountBranches(ir, pattern, [...loads, ...storeStatements], computed);
  const { schedule, phases } = schedulesOf(pattern, loops, consumerSet);
  return {
    kind: "streamed",
    pattern,
    configs: streamedConfigs(ir, pattern, branches),
    branches: branches ?? [],
    pipeline: streamedPipeline(pattern, schedule),
    channels: schedule.channels,
    dims,
    body,
    loops: phases,
    stores,
    producerStatements: new Set(producerStatements),
    consumerStatements: consumerSet,
    sides: columnSides([...consumerStatements, ...storeStatements], dims),
    scaled: new Map(),
    longestLast: undefined,
  };
}

const boundsOf = ({ loops }: StreamedPattern): readonly Argument[] =>
  loops.flatMap(({ forStatement: { start, end, step } }) => [start, end, step]);

/** The operands of the producer: loop bounds, and the indices of blocks and vectors. */
function producerRoots(pattern: StreamedPattern): readonly Argument[] {
  const blocks = [...pattern.residents, ...pattern.loops.flatMap(({ streams }) => streams)];
  const vectors = pattern.loops.flatMap((loop) => loop.vectors.flatMap(({ lead, starts }) => [...lead, ...starts]));
  return [...boundsOf(pattern), ...blocks.flatMap(offsetsOf), ...vectors];
}

/** The operands of a consumer: loop bounds, the starts of sums, multiplied tiles, and stored values. */
function consumerRoots(pattern: StreamedPattern, stores: SpecializedStream["stores"]): readonly Argument[] {
  const multiplied = pattern.loops.flatMap(({ products }) =>
    products.flatMap(({ dot, resident }) => (resident === undefined ? [dot.operands[0]] : [])),
  );
  const stored = [...stores.values()].flatMap(({ statement }) => valuesUsedBy(statement));
  return [...boundsOf(pattern), ...pattern.sums.map(({ initial }) => initial), ...multiplied, ...stored];
}

/** The schedule that all loops share, and the phases of each. */
function schedulesOf(
  pattern: StreamedPattern,
  loops: ReadonlyMap<ForStatement, StreamedLoop>,
  computed: ReadonlySet<Statement>,
): { readonly schedule: Schedule; readonly phases: SpecializedStream["loops"] } {
  const schedules = [...loops].map(([statement, loop]) => {
    return { statement, loop, schedule: scheduleOf(pattern, loop, statement.body.statements, computed) };
  });
  const [first] = schedules;
  if (!first) throw new Error("streamed products have a loop");
  const textOf = ({ steps, channels }: Schedule) => JSON.stringify([steps, channels]);
  const differing = schedules.find(({ schedule }) => textOf(schedule) !== textOf(first.schedule));
  if (differing)
    notSpecializable("its loops compute with their products in different orders", differing.statement.location);
  const phases = schedules.map(
    ({ statement, loop, schedule }) => [statement, { loop, phases: schedule.phases }] as const,
  );
  return { schedule: first.schedule, phases: new Map(phases) };
}

function dimsOf({ shape: [rows, columns, width], loops: [{ products }] }: StreamedPattern): Dims {
  const at = products[0]?.dot.location;
  if (typeof rows === "number") notSpecializable("the number of rows is no constexpr", at);
  if (new Set([rows, columns, width]).size < 3)
    notSpecializable(
      `its rows, the rows of a block and the columns of a sum are ${rows}, ${columns} and ${width}; use three constexprs`,
      at,
    );
  return { rows, columns, width };
}

/** The results of loads and products, which the pipeline emits. */
const valuesOfPipeline = ({ residents, loops }: StreamedPattern): readonly Value[] => [
  ...residents.flatMap(({ statement }) => statement.results),
  ...loops.flatMap(({ products, streams, vectors }) =>
    [...products.map(({ dot }) => dot), ...[...streams, ...vectors].map(({ statement }) => statement)].flatMap(
      ({ results }) => results,
    ),
  ),
];

/** Every partition computes block indices itself, and each consumer computes its own rows. */
function checkPartitions(
  pattern: StreamedPattern,
  producerStatements: readonly Statement[],
  consumerStatements: readonly Statement[],
  { rows }: Dims,
): void {
  for (const statement of flattenStatements(producerStatements)) {
    if (statement.kind !== "if" && !(statement.kind === "op" && statement.op.effect === "pure"))
      notSpecializable("its block positions depend on loaded or carried values", statement.location);
    if (statement.kind === "op") checkLanguage(statement);
  }
  const ops = flattenStatements(consumerStatements).filter((each) => each.kind === "op");
  for (const op of [...ops, ...flattenStatements(producerStatements)])
    if (isProgram(op) && axisOf(op) === undefined)
      notSpecializable("it asks for its number on an axis that is no literal", op.location);
  checkRows(ops, rows as string, true);
  ops.filter(({ op }) => op.effect !== "write").forEach(checkLanguage);
  const blocks = [
    ...pattern.residents,
    ...pattern.loops[0].streams,
    ...pattern.stores.flatMap(({ block }) => block ?? []),
  ];
  checkDTypes(
    blocks.map(({ tensor }) => tensor),
    ops,
  );
  for (const { op, options, location } of ops.filter(({ op: { effect } }) => effect === "write"))
    if (op.name !== "store" || Object.keys(options).some((name) => name !== "mask"))
      notSpecializable("it writes in a way that Gluon lacks", location);
}
