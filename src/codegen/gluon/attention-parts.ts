/** The parts of warp-specialised attention as programs: the author's statements, with the steps of the pipeline in between. */
import {
  type Argument,
  type Block,
  type ForStatement,
  type OpStatement,
  type Value,
  type Variable,
} from "../../ir/nodes.js";
import type { AttentionLoop } from "../../specialise/attention-form.js";
import type { BlockAccess } from "../../specialise/block-access.js";
import { attentionPipeline, KEYS, type Step, VALUES } from "../../specialise/pipeline.js";
import type { SpecialisedAttention } from "../../specialise/specialised-attention.js";
import { storedValue } from "../../specialise/tensor-blocks.js";
import type { Dim } from "../../types/shape.js";
import { constexprType } from "../../types/types.js";
import type { Expression } from "../python/py.js";
import * as py from "../python/py-build.js";
import { LOAD_BLOCK, WRITE_BLOCK } from "./gluon-helpers.js";
import type { AttentionNames, Staged } from "./part-names.js";
import { type Build, INTEGER } from "./part-writer.js";
import type { Part } from "./parts.js";
import { AttentionBounds } from "./attention-bounds.js";

type SizeOf = (dim: Dim) => Expression;

export function attentionProducer(specialised: SpecialisedAttention, names: AttentionNames, size: SizeOf): Part {
  return new AttentionPart(specialised, names, size, false).build(attentionPipeline.producer);
}

export function attentionConsumer(specialised: SpecialisedAttention, names: AttentionNames, size: SizeOf): Part {
  return new AttentionPart(specialised, names, size, true).build(attentionPipeline.consumer);
}

/** The tile of a slot's block, as a product takes it: `k_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]).permute((1, 0))`. */
export function tileIn(staged: Staged, isSwapped: boolean, sizes: readonly Expression[], slot: Expression): Expression {
  const block = py.call(py.attribute(staged.blocks, "index"), slot);
  const shape = isSwapped ? sizes.toReversed() : sizes;
  const isMatrix = staged.tensor.dims.length === 2;
  const tile = isMatrix ? block : py.call(py.attribute(block, "reshape"), py.list(...shape));
  return isSwapped ? py.call(py.attribute(tile, "permute"), py.tuple(py.number("1"), py.number("0"))) : tile;
}

class AttentionPart extends AttentionBounds {
  /** The weights of the turn before, as a product takes them. */
  readonly #weights: Variable;
  #queries: Value | undefined;
  #loop: AttentionLoop;
  /** Products that run: queries by keys, and weights by values. */
  #products: Value | undefined;
  #sums: Value | undefined;

  constructor(
    specialised: SpecialisedAttention,
    names: AttentionNames,
    readonly size: SizeOf,
    isConsumer: boolean,
  ) {
    super(specialised, names, isConsumer);
    this.#loop = specialised.form.loops[0]!;
    this.#weights = this.variable("weights_before", this.#loop.weights.type);
  }

  build(steps: readonly Step[]): Part {
    const { body, loops } = this.specialised;
    const places = body.flatMap((each, i) => (loops.has(each) ? [i] : []));
    const turns = steps.findIndex((step) => step.kind === "turns");
    const step = steps[turns]!;
    const block = this.block(() => {
      this.let(this.count, { kind: "literal", value: 0 });
      this.appendNeeded(body.slice(0, places[0]));
      this.#steps(steps.slice(0, turns));
      for (const statement of body.slice(places[0], places.at(-1)! + 1))
        if (statement.kind !== "for" || step.kind !== "turns") this.appendNeeded([statement]);
        else this.#turns(statement, step.body);
      if (!this.isConsumer) return;
      this.forgetSlot();
      this.takeSlot();
      this.#steps(steps.slice(turns + 1));
    });
    return { block, built: this.built };
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  /** A loop; one for the turns that need no mask and one for the others, where keys are counted. */
  #turns(loop: ForStatement, body: readonly Step[]): void {
    this.#loop = this.specialised.loops.get(loop)!;
    const masks = this.specialised.masks.get(loop);
    const end = masks ? this.endOf(loop, masks) : loop.end;
    if (!masks || !this.isConsumer) return this.#turnsOf({ ...loop, end }, body);
    const whole = this.wholeOf(loop, masks);
    this.stands = new Map(masks.unmasked);
    this.#turnsOf({ ...loop, end: whole }, body);
    this.stands = new Map();
    this.isAgain = true;
    this.#turnsOf({ ...loop, start: whole, end, index: this.anew([loop.index])[0]! }, body);
    this.isAgain = false;
    this.stands = new Map();
  }

  #turnsOf(loop: ForStatement, body: readonly Step[]): void {
    const block = this.block(() => {
      if (!this.isConsumer) this.appendNeeded(loop.body.statements);
      this.forgetSlot();
      this.takeSlot();
      this.#steps(body, loop.body);
    });
    this.append({ ...loop, options: {}, body: block });
  }

  #steps(steps: readonly Step[], turn?: Block): void {
    const own = steps.filter(
      (step) => "barrier" in step && attentionPipeline.barriers[step.barrier]?.per === "consumer",
    );
    const [first] = own;
    for (const step of steps)
      if (this.isConsumer || !own.includes(step)) this.#step(step, turn);
      else if (step === first) this.#eachConsumer((part) => this.#loadQueries(part));
  }

  #step(step: Step, turn?: Block): void {
    switch (step.kind) {
      case "wait":
        return step.barrier === "queriesFilled" ? this.#awaitQueries() : this.wait(step);
      case "await turn":
        return this.#ofSeveral(() => this.#awaitTurn());
      case "give turn":
        return this.#ofSeveral(() => this.#giveTurn());
      case "expect":
        return this.#expect(step.barrier === "keysFilled" ? this.names.keys : this.names.values, step);
      case "copy":
        return this.#copy(step);
      case "take":
        return this.#takeQueries();
      case "multiply":
        return step.operands.includes(KEYS) ? this.#multiplyKeys() : this.#multiplyValues();
      case "settle":
        return step.running > 0 ? this.#settleScores() : this.#settleSum();
      case "compute":
        return step.what === "weights" ? this.#makeWeights(turn!) : this.#carry(turn!);
      case "release":
        return this.do((slot) => py.call("mbarrier.arrive", this.barrier(step.barrier, slot!)), this.read(this.slot));
      case "advance":
        this.advance();
        return this.isConsumer ? undefined : this.takeSlot();
      case "epilogue":
        return this.#epilogue();
      case "drain":
        return this.do(() => py.call("tma.store_wait", py.number("0")));
      case "turns":
      case "tiles":
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
    const { consumers } = this.names;
    const test = py.compare(consumers, [">", py.number("1")]);
    const condition = this.value(constexprType("bool", consumers.id), () => test);
    const otherwise: Block = { statements: [], yields: [] };
    this.append({ kind: "if", condition, then: this.block(body), otherwise, results: [], at: undefined });
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

  // ---- loads --------------------------------------------------------------------------------------------------------

  #eachConsumer(body: (part: Value) => void): void {
    const index = this.fresh(INTEGER);
    const [start, step] = [0, 1].map((value): Argument => ({ kind: "literal", value }));
    const end = this.value(INTEGER, () => this.names.consumers);
    const block = this.block(() => body(index));
    this.append({
      kind: "for",
      index,
      start: start!,
      end,
      step: step!,
      options: {},
      unrolled: true,
      body: block,
      at: undefined,
    });
  }

  #loadQueries(part: Value): void {
    const { queries } = this.names;
    const bytes = py.attribute(py.attribute(queries.descriptor, "block_type"), "nbytes");
    const barrier = (place: Expression) => this.barrier("queriesFilled", place);
    this.do((place) => py.call("mbarrier.expect", barrier(place!), bytes), part);
    const starts = this.#starts(this.specialised.form.queries);
    this.do(
      (place, ...given) => {
        const block = py.call(py.attribute(queries.blocks, "index"), place!);
        return py.call(LOAD_BLOCK, queries.descriptor, this.#inPart(given, place!), barrier(place!), block);
      },
      part,
      ...starts,
    );
  }

  #expect({ descriptor }: Staged, { barrier }: Extract<Step, { kind: "expect" }>): void {
    const bytes = py.attribute(py.attribute(descriptor, "block_type"), "nbytes");
    this.do((slot) => py.call("mbarrier.expect", this.barrier(barrier, slot!), bytes), this.read(this.slot));
  }

  #copy({ operand, barrier }: Extract<Step, { kind: "copy" }>): void {
    const { keys, values } = this.#loop;
    const [{ block }, { descriptor, blocks }] =
      operand === VALUES ? [values, this.names.values] : [keys, this.names.keys];
    this.do(
      (slot, ...starts) => {
        const into = py.call(py.attribute(blocks, "index"), slot!);
        return py.call(LOAD_BLOCK, descriptor, py.list(...starts), this.barrier(barrier, slot!), into);
      },
      this.read(this.slot),
      ...this.#starts(block),
    );
  }

  /** Where a block lies. */
  #starts({ lead, axes }: BlockAccess): readonly Argument[] {
    return [...lead, ...axes.map((axis) => this.startOf(axis))];
  }

  /** Where a consumer's rows of a block lie. */
  #inPart(starts: readonly Expression[], part: Expression): Expression {
    return py.list(...starts.map((start, i) => (i === starts.length - 2 ? this.rowsFrom(start, part) : start)));
  }

  // ---- products -----------------------------------------------------------------------------------------------------

  #awaitQueries(): void {
    this.do(() => py.call("mbarrier.wait", this.barrier("queriesFilled", this.names.part), py.number("0")));
  }

  /** Queries stay in registers, of which three consumers have too few, and so do the weights of the turn before. */
  #takeQueries(): void {
    const { queries, part, scoresLayout, sumLayout } = this.names;
    const { type } = this.specialised.form.queries.statement.results[0]!;
    const [, columns, inner] = this.specialised.form.shape;
    const rows = this.rowsOfPart();
    const tile = tileIn(queries, false, [rows, this.size(inner)], part);
    const loaded = py.call(py.attribute(tile, "load"), operandLayout(scoresLayout));
    const mayStay = this.specialised.configs.some(({ consumers }) => consumers === 3);
    const areThree = py.compare(this.names.consumers, ["==", py.number("3")]);
    this.#queries = this.made("queries", type, () => (mayStay ? py.conditional(tile, areThree, loaded) : loaded));
    const { type: weights } = this.#weights;
    if (weights.kind !== "tile") return;
    const shape = py.list(rows, this.size(columns));
    const dtype: Argument = { kind: "dtype", dtype: weights.dtype };
    const none = this.value(weights, (elem) => py.call("gl.zeros", shape, elem!, operandLayout(sumLayout)), dtype);
    this.let(this.#weights, none);
  }

  #multiplyKeys(): void {
    const { scores, keys } = this.#loop;
    const [, columns, inner] = this.specialised.form.shape;
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
    const { values, sums } = this.#loop;
    const [, columns, , width] = this.specialised.form.shape;
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

  #settleScores(): void {
    const { scores, sums } = this.#loop;
    const after = this.fresh(sums.type);
    const deps = py.keyword("deps", py.none);
    const build: Build = (...running) =>
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
    const { sums } = this.#loop;
    const build: Build = (running) =>
      py.call("warpgroup_mma_wait", py.number("0"), py.keyword("deps", py.tuple(running!)));
    this.write(sums, this.value(sums.type, build, this.#sums!));
  }

  // ---- the author's statements --------------------------------------------------------------------------------------

  /** Everything but what follows from the sum, which a product still adds to. */
  #makeWeights({ statements }: Block): void {
    const { carried } = this.specialised;
    this.appendNeeded(statements.filter((each) => !carried.has(each)));
  }

  #carry({ statements }: Block): void {
    const { carried } = this.specialised;
    this.appendNeeded(statements.filter((each) => carried.has(each)));
    const { sumLayout } = this.names;
    const build: Build = (weights) => py.call("gl.convert_layout", weights!, operandLayout(sumLayout));
    this.write(this.#weights, this.value(this.#weights.type, build, this.now(this.#loop.weights)));
    this.write(this.#loop.sums, this.now(this.#loop.carried));
  }

  #epilogue(): void {
    const { body, loops, stores } = this.specialised;
    const last = body.findLastIndex((each) => loops.has(each));
    for (const statement of body.slice(last + 1))
      if (!stores.has(statement)) this.appendNeeded([statement]);
      else if (stores.get(statement)) this.#storeBlock(statement as OpStatement, stores.get(statement)!);
      else this.append(statement);
  }

  #storeBlock(statement: OpStatement, block: BlockAccess): void {
    const { part, outputs } = this.names;
    const { descriptor, blocks } = outputs.get(block.tensor)!;
    const build: Build = (value, ...starts) => {
      const own = py.call(py.attribute(blocks, "index"), part);
      return py.call(WRITE_BLOCK, value!, descriptor, this.#inPart(starts, part), own);
    };
    const operands = [storedValue(statement)!, ...this.#starts(block)];
    this.append({ ...statement, op: this.op("write", build, operands.length), operands, options: {} });
  }
}

/** The layout of a product's first operand in registers. */
const operandLayout = (parent: Expression): Expression =>
  py.call("gl.DotOperandLayout", py.number("0"), parent, py.number("2"));
