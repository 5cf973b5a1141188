/** The parts of warp-specialized attention as programs: the author's statements, with the steps of the pipeline in between. */
import {
  type Argument,
  type Block,
  type ForStatement,
  type OpStatement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import type { BlockAccess } from "../pattern/block-access.js";
import { attentionPipeline, KEYS, SPILL_QUERIES_CONSUMERS, type PipelineStep } from "../pattern/pipeline.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import { storedValue } from "../pattern/tensor-blocks.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { WRITE_BLOCK } from "./helpers.js";
import type { AttentionNames, SizeOf } from "./partition-names.js";
import { type OpPrinter, INTEGER } from "./partition-builder.js";
import type { WarpPartition } from "./partitions.js";
import { AttentionLoads, isPerConsumerBarrier } from "./attention-loads.js";
import { tileIn } from "./pipeline-partition.js";
import { sinkDefinitions } from "./sink-definitions.js";

export function attentionProducer(
  specialized: SpecializedAttention,
  names: AttentionNames,
  size: SizeOf,
): WarpPartition {
  return new AttentionPart(specialized, names, size, false).build(attentionPipeline.producer);
}

export function attentionConsumer(
  specialized: SpecializedAttention,
  names: AttentionNames,
  size: SizeOf,
): WarpPartition {
  return new AttentionPart(specialized, names, size, true).build(attentionPipeline.consumer);
}

class AttentionPart extends AttentionLoads {
  /** The weights of the turn before, as a product takes them. */
  readonly #weights: Variable;
  #queries: Value | undefined;
  /** From where a consumer's own keys end to where the tile's do. */
  #left: ForStatement | undefined;
  /** Products that run: queries by keys, and weights by values. */
  #products: Value | undefined;
  #sums: Value | undefined;

  constructor(specialized: SpecializedAttention, names: AttentionNames, size: SizeOf, isConsumer: boolean) {
    super(specialized, names, isConsumer, size);
    this.#weights = this.variable("weights_before", this.loop.weights.type);
  }

  build(steps: readonly PipelineStep[]): WarpPartition {
    const block = this.block(() => {
      this.let(this.count, { kind: "literal", value: 0 });
      this.#steps(steps);
    });
    return { block, built: this.built };
  }

  /** The tiles of the grid that a program computes, or the program's only one. */
  #tiles(body: readonly PipelineStep[]): void {
    const { grid } = this.specialized;
    const tile = (): void => this.append(...sinkDefinitions(this.block(() => this.#tile(body))).statements);
    if (!grid) return tile();
    this.eachTileInLaps(grid, (lap) => {
      this.lap = lap;
      tile();
    });
  }

  #tile(steps: readonly PipelineStep[]): void {
    const { body, loops } = this.specialized;
    const places = body.flatMap((each, i) => (loops.has(each) ? [i] : []));
    const turns = steps.findIndex((step) => step.kind === "turns");
    const step = steps[turns]!;
    this.appendNeeded(body.slice(0, places[0]));
    if (!this.isConsumer) this.#beginSlot();
    this.#steps(steps.slice(0, turns));
    for (const statement of body.slice(places[0], places.at(-1)! + 1))
      if (statement.kind !== "for" || step.kind !== "turns") this.appendNeeded([statement]);
      else this.#turns(statement, step.body);
    this.#beginSlot();
    this.#steps(steps.slice(turns + 1));
  }

  #beginSlot(): void {
    this.forgetSlot();
    this.takeSlot();
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  /** A loop; one for the turns that need no mask and one for the others, where keys are counted. */
  #turns(loop: ForStatement, body: readonly PipelineStep[]): void {
    this.loop = this.specialized.loops.get(loop)!;
    const masks = this.specialized.masks.get(loop);
    const isOwn = this.endsApart(loop);
    const end = masks ? this.endOf(loop, masks, isOwn) : loop.end;
    if (!masks || !this.isConsumer) return this.#turnsOf({ ...loop, end }, body);
    const whole = this.wholeOf(loop, masks, isOwn);
    this.stands = new Map(masks.unmasked);
    this.#turnsOf({ ...loop, end: whole }, body);
    this.stands = new Map();
    this.isAgain = true;
    this.#turnsOf({ ...loop, start: whole, end, index: this.anew([loop.index])[0]! }, body);
    this.isAgain = false;
    this.stands = new Map();
    if (isOwn) this.#left = { ...loop, start: end, end: this.endOf(loop, masks, false) };
  }

  /** The turns of the tile that a consumer leaves to the others. */
  #idle(body: readonly PipelineStep[]): void {
    const loop = this.#left;
    if (!loop) return;
    const start = this.value(
      INTEGER,
      (end, keys) => py.binary(py.call("tl.cdiv", end!, keys!), "*", keys!),
      loop.start,
      loop.step,
    );
    const block = this.block(() => {
      this.#beginSlot();
      this.#steps(body);
    });
    this.append({ ...loop, start, index: this.fresh(INTEGER), options: {}, body: block });
  }

  #turnsOf(loop: ForStatement, body: readonly PipelineStep[]): void {
    const block = this.block(() => {
      if (!this.isConsumer) this.appendNeeded(loop.body.statements);
      this.#beginSlot();
      this.#steps(body, loop.body);
    });
    this.append({ ...loop, options: {}, body: block });
  }

  #steps(steps: readonly PipelineStep[], turn?: Block): void {
    const own = steps.filter((step) => isPerConsumerBarrier(step) && !this.isConsumer);
    for (const step of steps)
      if (!own.includes(step)) this.#step(step, step === steps.at(-1), turn);
      else if (step === own[0]) this.eachConsumer((part) => this.loadQueries(part));
  }

  #step(step: PipelineStep, isLast: boolean, turn?: Block): void {
    switch (step.kind) {
      case "tiles":
        return this.#tiles(step.body);
      case "wait":
        return isPerConsumerBarrier(step) ? this.awaitOwn(step.barrier, this.names.part) : this.wait(step);
      case "await turn":
        return this.#ofSeveral(() => this.#awaitTurn());
      case "give turn":
        return this.#ofSeveral(() => this.#giveTurn());
      case "expect":
        return this.expect(step.barrier === "keysFilled" ? this.names.keys : this.names.values, step);
      case "copy":
        return this.copy(step);
      case "idle turns":
        return this.#idle(step.body);
      case "blank":
        return this.blank(step);
      case "take":
        return this.#takeQueries();
      case "multiply":
        return step.operands.includes(KEYS) ? this.#multiplyKeys() : this.#multiplyValues();
      case "settle":
        return step.running > 0 ? this.#settleScores(turn) : this.#settleSum();
      case "compute":
        return step.what === "weights" ? this.#makeWeights(turn!) : this.#carry(turn!);
      case "release":
        if (step.when === "stay" || step.when === "leave") return this.#releaseQueries(step.when);
        return this.do((slot) => py.call("mbarrier.arrive", this.barrier(step.barrier, slot!)), this.read(this.slot));
      case "advance":
        this.advance();
        return this.isConsumer || isLast ? undefined : this.takeSlot();
      case "epilogue":
        return this.#epilogue();
      case "drain":
        return this.do(() => py.call("tma.store_wait", py.number("0")));
      case "turns":
      case "stage":
      case "fence":
      case "send":
        throw new Error(`${step.kind} stands elsewhere`);
      default:
        return step satisfies never;
    }
  }

  /** What configs of several consumers do. */
  #ofSeveral(body: () => void): void {
    this.where(py.compare(this.names.consumers, [">", py.number("1")]), body);
  }

  /** The first consumer begins. */
  #awaitTurn(): void {
    const { part } = this.names;
    this.do((count) => {
      const before = py.conditional(py.number("1"), py.compare(part, ["==", py.number("0")]), py.number("0"));
      const parity = py.binary(py.binary(count!, "&", py.number("1")), "^", before);
      return py.call("mbarrier.wait", this.barrier("turnGiven", part), parity);
    }, this.read(this.count));
  }

  #giveTurn(): void {
    const { part, consumers } = this.names;
    const next = py.binary(py.binary(part, "+", py.number("1")), "%", consumers);
    this.do(() => py.call("mbarrier.arrive", this.barrier("turnGiven", next)));
  }

  // ---- products -----------------------------------------------------------------------------------------------------

  /** Where a program has another tile, its queries may come: once these are in registers, or multiplied. */
  #releaseQueries(when: "stay" | "leave"): void {
    if (!this.lap) return;
    const { consumers, part } = this.names;
    const leaves = String(SPILL_QUERIES_CONSUMERS);
    const mayLeave = this.specialized.configs.some((config) => config.consumers === SPILL_QUERIES_CONSUMERS);
    const arrive = (): void => {
      // What registers took was read another way than the copy engine writes.
      if (when === "stay") this.do(() => py.call("fence_async_shared"));
      this.do(() => py.call("mbarrier.arrive", this.barrier("queriesEmptied", part)));
    };
    if (!mayLeave) return when === "stay" ? arrive() : undefined;
    const test = py.compare(consumers, [when === "stay" ? "<" : "==", py.number(leaves)]);
    this.where(test, arrive);
  }

  /** Queries stay in registers, of which three consumers have too few, and so do the weights of the turn before. */
  #takeQueries(): void {
    const { queries, part, scoresLayout, sumLayout } = this.names;
    const { type } = this.specialized.form.queries.statement.results[0]!;
    const [, columns, inner] = this.specialized.form.shape;
    const rows = this.rowsOfPart();
    const tile = tileIn(queries, false, [rows, this.size(inner)], part);
    const loaded = py.call(py.attribute(tile, "load"), operandLayout(scoresLayout));
    const mayLeave = this.specialized.configs.some(({ consumers }) => consumers === SPILL_QUERIES_CONSUMERS);
    const leave = py.compare(this.names.consumers, ["==", py.number(String(SPILL_QUERIES_CONSUMERS))]);
    this.#queries = this.made("queries", type, () => (mayLeave ? py.conditional(tile, leave, loaded) : loaded));
    const { type: weights } = this.#weights;
    if (weights.kind !== "tile") return;
    const shape = py.list(rows, this.size(columns));
    const dtype: Argument = { kind: "dtype", dtype: weights.dtype };
    const none = this.value(weights, (elem) => py.call("gl.zeros", shape, elem!, operandLayout(sumLayout)), dtype);
    this.let(this.#weights, none);
  }

  #multiplyKeys(): void {
    const { scores, keys } = this.loop;
    const [, columns, inner] = this.specialized.form.shape;
    const { scoresLayout } = this.names;
    const zeros = py.call(
      "gl.zeros",
      py.list(this.rowsOfPart(), this.size(columns)),
      py.dotted("gl.float32"),
      scoresLayout,
    );
    this.#products = this.made(
      "scoring",
      scores.results[0]!.type,
      (queries, slot) => {
        const tile = tileIn(this.names.keys, keys.swapped, [this.size(inner), this.size(columns)], slot!);
        const given = py.keywords({ use_acc: py.boolean(false), is_async: py.boolean(true) });
        return py.call("warpgroup_mma", queries!, tile, zeros, ...given);
      },
      this.#queries!,
      this.read(this.slot),
    );
  }

  #multiplyValues(): void {
    const { values, sums } = this.loop;
    const [, columns, , width] = this.specialized.form.shape;
    this.#sums = this.made(
      "adding",
      sums.type,
      (weights, sum, slot) => {
        const tile = tileIn(this.names.values, values.swapped, [this.size(columns), this.size(width)], slot!);
        return py.call("warpgroup_mma", weights!, tile, sum!, py.keyword("is_async", py.boolean(true)));
      },
      this.read(this.#weights),
      this.read(sums),
      this.read(this.slot),
    );
  }

  /** What the turn loads besides comes while the products run. */
  #settleScores(turn: Block | undefined): void {
    const { loaded } = this.specialized;
    this.appendNeeded((turn?.statements ?? []).filter((each) => loaded.has(each)));
    const { scores, sums } = this.loop;
    const after = this.fresh(sums.type);
    const deps = py.keyword("deps", py.none);
    const build: OpPrinter = (...running) =>
      py.call("warpgroup_mma_wait", py.number("1"), { ...deps, value: py.tuple(...running) });
    const op = this.op("pure", build, 2, "products, sums");
    const operands = [this.#products!, this.#sums!];
    this.append({
      kind: "op",
      op,
      operands,
      options: {},
      results: [this.anew([scores.results[0]!])[0]!, after],
      at: undefined,
    });
    this.#sums = after;
  }

  #settleSum(): void {
    const { sums } = this.loop;
    const build: OpPrinter = (running) =>
      py.call("warpgroup_mma_wait", py.number("0"), py.keyword("deps", py.tuple(running!)));
    this.write(sums, this.value(sums.type, build, this.#sums!));
  }

  // ---- the author's statements --------------------------------------------------------------------------------------

  /** Everything but what is loaded, and what follows from the sum, which a product still adds to. */
  #makeWeights({ statements }: Block): void {
    const { carried, loaded } = this.specialized;
    this.appendNeeded(statements.filter((each) => !carried.has(each) && !loaded.has(each)));
  }

  #carry({ statements }: Block): void {
    const { carried } = this.specialized;
    this.appendNeeded(statements.filter((each) => carried.has(each)));
    const { sumLayout } = this.names;
    const build: OpPrinter = (weights) => py.call("gl.convert_layout", weights!, operandLayout(sumLayout));
    this.write(this.#weights, this.value(this.#weights.type, build, this.now(this.loop.weights)));
    this.write(this.loop.sums, this.now(this.loop.carried));
  }

  #epilogue(): void {
    const { body, loops, stores } = this.specialized;
    const last = body.findLastIndex((each) => loops.has(each));
    for (const statement of body.slice(last + 1))
      if (!stores.has(statement)) this.appendNeeded([statement]);
      else if (stores.get(statement)) this.#storeBlock(statement as OpStatement, stores.get(statement)!);
      else this.append(statement);
  }

  #storeBlock(statement: OpStatement, block: BlockAccess): void {
    const { part, outputs } = this.names;
    const { descriptor, blocks, first } = outputs.get(block.tensor)!;
    const build: OpPrinter = (value, ...starts) => {
      const own = py.call(py.attribute(blocks, "index"), part);
      return py.call(WRITE_BLOCK, value!, descriptor, this.inPart(first, starts, part), own);
    };
    const operands = [storedValue(statement)!, ...this.starts(block)];
    this.append({ ...statement, op: this.op("write", build, operands.length), operands, options: {} });
  }
}

/** The layout of a product's first operand in registers. */
const operandLayout = (parent: Expression): Expression =>
  py.call("gl.DotOperandLayout", py.number("0"), parent, py.number("2"));
