/**
 * The loops of a consumer that scales its products. The scales of the rows are read from shared memory while a product
 * runs, and those of whole products are loaded before their iteration.
 */
import type { Argument, OpStatement, Value } from "../../../ir/nodes.js";
import { constexprType } from "../../../types/types.js";
import type { Scales } from "../pattern/gemm-plan.js";
import type { PipelineStep } from "../pattern/pipeline.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { AheadLoads, isOne, isZero, IterationCopies, substituted, times, type Values } from "./ahead-loads.js";
import { INTEGER } from "./partition-builder.js";
import type { GemmContext } from "./partition-context.js";
import type { GemmNames, StagedTensor } from "./partition-names.js";
import { bufferAt } from "./staged-blocks.js";

interface Iteration {
  readonly values: Values;
  product?: Value;
}

/** The partition's part in the emission of the loops. */
export interface PartitionSteps {
  readonly run: (steps: readonly PipelineStep[]) => void;
  readonly append: (statement: OpStatement) => void;
  readonly blocks: (slot: Expression) => readonly [Expression, Expression];
  readonly bufferIndex: (slot: Expression, consumerIndex: Expression) => Expression;
}

export class ScaledSum {
  readonly #copies: IterationCopies;
  readonly #ahead: AheadLoads;
  /** The iterations of the loop that is being emitted, and the number of those that have started. */
  #iterations: Iteration[] = [];
  #started = 0;

  constructor(
    readonly context: GemmContext,
    readonly scales: Scales,
    readonly rowScales: StagedTensor,
    readonly partition: PartitionSteps,
  ) {
    this.#copies = new IterationCopies(context, partition.append);
    this.#ahead = new AheadLoads(this.#copies, scales.ahead, "scale", 2);
  }

  // ---- loops --------------------------------------------------------------------------------------------------------

  pairs(body: readonly PipelineStep[]): void {
    const { builder, specialized, names } = this.context;
    const { start, end, step } = specialized.pattern.kLoop;
    this.#ahead.loadFirst(start, 0);
    const isPaired = builder.value(constexprType("bool", names.inFlight.id), () => isPairedIn(names));
    builder.appendIf(isPaired, () => {
      this.#ahead.loadFirst(start, 1);
      const lastStart = builder.value(INTEGER, (x, y) => py.binary(x, "-", y), end, step);
      this.#loop(body, 2, start, lastStart);
    });
  }

  singles(body: readonly PipelineStep[]): void {
    const { builder, specialized, names } = this.context;
    const { start, end, step } = specialized.pattern.kLoop;
    const firstSingle = builder.value(
      INTEGER,
      (first, last, by) => {
        const distance = isZero(first) ? last : py.binary(last, "-", first);
        const count = isOne(by) ? distance : py.call("tl.cdiv", distance, by);
        const paired = times(times(py.binary(count, "//", py.number("2")), py.number("2")), by);
        return py.conditional(isZero(first) ? paired : py.binary(first, "+", paired), isPairedIn(names), first);
      },
      start,
      end,
      step,
    );
    this.#loop(body, 1, firstSingle, end);
  }

  /** @param count The number of iterations of the author's loop in one of this loop. */
  #loop(body: readonly PipelineStep[], count: number, start: Argument, end: Argument): void {
    const { builder, pipeline, specialized } = this.context;
    const { kLoop } = specialized.pattern;
    const index = builder.copyOf(kLoop.index);
    const twice = () => builder.value(INTEGER, (by) => times(by, py.number("2")), kLoop.step);
    const step = count === 1 ? kLoop.step : twice();
    const block = builder.block(() => {
      const next = this.#ahead.loadNext(index, count);
      this.#iterations = Array.from({ length: count }, (_, i) => this.#begin(this.#copies.indexAfter(index, i), i));
      this.#started = 0;
      pipeline.declareSlot();
      this.partition.run(body);
      this.#ahead.keep(next);
    });
    builder.append({ ...kLoop, index, start, end, step, options: {}, body: block });
  }

  #begin(index: Argument, i: number): Iteration {
    const values = this.#ahead.valuesOf(index, i);
    for (const statement of this.scales.early) this.#copies.append(statement, values);
    return { values };
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  multiply(): void {
    const { builder, pipeline, rows, specialized, names, size } = this.context;
    const { accumulator, shape } = specialized.pattern;
    const zeros = py.call("gl.zeros", py.list(rows.count(), size(shape[1])), py.dotted("gl.float32"), names.layout);
    const keywords = py.keywords({ use_acc: py.boolean(false), is_async: py.boolean(true) });
    this.#iteration(this.#started).product = builder.namedValue(
      "products",
      accumulator.variable.type,
      (slot) => py.call("warpgroup_mma", ...this.partition.blocks(slot), zeros, ...keywords),
      pipeline.readSlot(),
    );
  }

  /** Reads the scales of the rows. */
  take(): void {
    const { builder, pipeline, rows, names } = this.context;
    const { values } = this.#iteration(this.#started++);
    const [result] = this.scales.rows.statement.results;
    if (!result) throw new Error("a load has no result");
    const layout = py.call("gl.SliceLayout", py.number("1"), names.layout);
    const scales = builder.namedValue(
      "scales",
      result.type,
      (slot) => {
        const buffer = bufferAt(this.rowScales, this.partition.bufferIndex(slot, names.consumerIndex));
        return py.call(py.attribute(py.call(py.attribute(buffer, "reshape"), py.list(rows.count())), "load"), layout);
      },
      pipeline.readSlot(),
    );
    values.set(result, scales);
  }

  awaitProducts(pending: number): void {
    const { builder, specialized } = this.context;
    const { type } = specialized.pattern.accumulator.variable;
    const products = this.#iterations.flatMap(({ product }) => product ?? []);
    const build = (...running: readonly Expression[]) =>
      py.call("warpgroup_mma_wait", py.number(String(pending)), py.keyword("deps", py.tuple(...running)));
    const [product, second] = products;
    let results: readonly Value[];
    if (product && !second) results = [builder.namedValue("products", type, build, product)];
    else {
      results = products.map(() => builder.freshValue(type));
      builder.appendUnpacked("products, products", results, build, ...products);
    }
    for (const [i, iteration] of this.#iterations.entries()) {
      const result = results[i];
      if (result) iteration.product = result;
    }
  }

  add(): void {
    const { builder, specialized } = this.context;
    const { accumulator, accumulation } = specialized.pattern;
    const { variable } = accumulator;
    const { values, product } = this.#iteration(0);
    if (!product) throw new Error("a product is added before it is started");
    for (const statement of this.scales.late) this.#copies.append(statement, values);
    const result = builder.value(
      variable.type,
      (sum, unscaled, ...factors) => py.binary(sum, "+", factors.reduce(times, unscaled)),
      builder.read(variable),
      product,
      ...accumulation.arms[0].factors.map((each) => substituted(each, values)),
    );
    builder.write(variable, result);
    this.#iterations = this.#iterations.slice(1);
  }

  #iteration(i: number): Iteration {
    const iteration = this.#iterations[i];
    if (!iteration) throw new Error("a step belongs to no iteration");
    return iteration;
  }
}

const isPairedIn = ({ inFlight }: GemmNames): Expression => py.compare(inFlight, ["==", py.number("2")]);
