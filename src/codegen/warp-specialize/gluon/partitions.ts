/**
 * The parts of a warp-specialized kernel as programs of their own: the author's statements that each needs, with the steps
 * of its pipeline in between.
 */
import {
  type Argument,
  type Block,
  type IfStatement,
  type KernelIR,
  type LetStatement,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { walk } from "../../../ir/walk.js";
import { axisOf, isProgram } from "../pattern/tile-schedule.js";
import { storedValue } from "../pattern/tensor-blocks.js";
import { axisIn } from "../pattern/block-access.js";
import { gemmPipeline, type PipelineStep } from "../pattern/pipeline.js";
import { consumerStatements, producerStatements, type SpecializedGemm } from "../pattern/gemm-plan.js";
import type { Built } from "../../body/print-op.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { LOAD_BLOCK, WRITE_PIECES } from "./helpers.js";
import type { PartNames, SizeOf } from "./partition-names.js";
import { type OpPrinter, INTEGER } from "./partition-builder.js";
import { tileIn } from "./pipeline-partition.js";
import { PersistentPartition } from "./persistent-partition.js";

/** A part's program, and the expressions of the ops that are its own. */
export interface WarpPartition {
  readonly block: Block;
  readonly built: Built;
}

export function producerPartition(
  ir: KernelIR,
  specialized: SpecializedGemm,
  names: PartNames,
  size: SizeOf,
): WarpPartition {
  return new PartBuilder(ir, specialized, names, size).build(gemmPipeline.producer);
}

export function consumerPartition(
  ir: KernelIR,
  specialized: SpecializedGemm,
  names: PartNames,
  size: SizeOf,
): WarpPartition {
  return new PartBuilder(ir, specialized, names, size).build(gemmPipeline.consumer);
}

class PartBuilder extends PersistentPartition {
  /** The author's statements that the part computes. */
  #needed: ReadonlySet<Statement> = new Set();

  constructor(
    readonly ir: KernelIR,
    readonly specialized: SpecializedGemm,
    readonly names: PartNames,
    readonly size: SizeOf,
  ) {
    super(specialized.form.accumulator.variable.scope, specialized.form.shape[0], names);
  }

  build(steps: readonly PipelineStep[]): WarpPartition {
    this.#needed = new Set(
      isConsumer(steps) ? consumerStatements(this.specialized) : producerStatements(this.specialized),
    );
    const block = this.block(() => {
      this.let(this.count, { kind: "literal", value: 0 });
      this.#appendNeeded(this.specialized.first);
      this.#steps(steps);
    });
    return { block, built: this.built };
  }

  #steps(steps: readonly PipelineStep[]): void {
    for (const step of steps) this.#step(step);
  }

  #step(step: PipelineStep): void {
    switch (step.kind) {
      case "tiles":
        return this.#tiles(step.body);
      case "turns":
        return this.#turn(step.body);
      case "epilogue":
        return this.#epilogue();
      case "wait":
        return this.wait(step);
      case "expect":
        return this.do(
          (slot) => py.call("mbarrier.expect", this.barrier("filled", slot!), this.#bytes()),
          this.read(this.slot),
        );
      case "copy":
        return this.#copy(step.operand === 0 ? 0 : 1);
      case "multiply":
        return this.#multiply();
      case "settle":
        return this.#sum((sum) =>
          py.call("warpgroup_mma_wait", py.number(String(step.running)), py.keyword("deps", py.tuple(sum!))),
        );
      case "release":
        return this.#release(step);
      case "advance":
        return this.advance();
      case "drain":
        return this.do(() => py.call("tma.store_wait", py.number("0")));
      case "idle turns":
      case "blank":
      case "take":
      case "await turn":
      case "give turn":
      case "compute":
      case "stage":
      case "fence":
      case "send":
        throw new Error(`${step.kind} stands in no product's pipeline`);
      default:
        return step satisfies never;
    }
  }

  // ---- loops --------------------------------------------------------------------------------------------------------

  #tiles(body: readonly PipelineStep[]): void {
    const { form, tile } = this.specialized;
    const inner = (): void => {
      this.#appendNeeded(tile);
      if (isConsumer(body)) this.#start(form.accumulator);
      this.#steps(body);
    };
    if (form.tiles) return this.append({ ...form.tiles, options: {}, body: this.block(inner) });
    this.eachTile(this.ir.grid.block, this.#onlyProgram(), inner);
  }

  /** The one statement that asks for the program's number on the grid's first axis, if only one asks at all. */
  #onlyProgram(): OpStatement | undefined {
    const asked: OpStatement[] = [];
    walk(this.ir.body, (statement) => {
      if (isProgram(statement)) asked.push(statement);
    });
    const [only] = asked;
    const isOnly = asked.length === 1 && axisOf(only!) === 0;
    return isOnly && this.specialized.tile.includes(only!) ? only : undefined;
  }

  #turn(body: readonly PipelineStep[]): void {
    const { form, turn } = this.specialized;
    const block = this.block(() => {
      this.#appendNeeded(turn);
      this.takeSlot();
      this.#steps(body);
    });
    this.append({ ...form.turns, options: {}, body: block });
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  #bytes(): Expression {
    const bytes = (operand: 0 | 1) =>
      py.attribute(py.attribute(this.names.operands[operand]!.descriptor, "block_type"), "nbytes");
    return py.binary(py.binary(this.names.consumers, "*", bytes(0)), "+", bytes(1));
  }

  /** The rows' operand comes in a block for each consumer. */
  #copy(operand: 0 | 1): void {
    const { block, swapped } = this.specialized.form.operands[operand];
    const { descriptor, blocks } = this.names.operands[operand]!;
    const own = axisIn(block, swapped ? 1 : 0);
    const copy = (part: Value | undefined): void => {
      const starts = this.starts(block);
      this.do(
        (...given) => {
          const places = given.slice(0, starts.length);
          const [slot, index] = given.slice(starts.length) as [Expression, Expression | undefined];
          const at = index ? this.inPart(own, places, index) : py.list(...places);
          const to = index ? py.binary(py.binary(slot, "*", this.names.consumers), "+", index) : slot;
          const into = py.call(py.attribute(blocks, "index"), to);
          return py.call(LOAD_BLOCK, descriptor, at, this.barrier("filled", slot), into);
        },
        ...starts,
        this.read(this.slot),
        ...(part ? [part] : []),
      );
    };
    if (operand === 1) return copy(undefined);
    const part = this.fresh(INTEGER);
    const body = this.block(() => copy(part));
    const end = this.value(INTEGER, () => this.names.consumers);
    const zero: Argument = { kind: "literal", value: 0 };
    const one: Argument = { kind: "literal", value: 1 };
    this.append({
      kind: "for",
      index: part,
      start: zero,
      end,
      step: one,
      options: {},
      unrolled: true,
      body,
      at: undefined,
    });
  }

  #multiply(): void {
    const { operands } = this.specialized.form;
    this.#sum((sum, slot) => {
      const own = py.binary(py.binary(slot!, "*", this.names.consumers), "+", this.names.part);
      const [, columns, inner] = this.specialized.form.shape;
      const [a, b] = operands.map(({ swapped }, i) => {
        const sizes = i === 0 ? [this.rowsOfPart(), this.size(inner)] : [this.size(inner), this.size(columns)];
        return tileIn(this.names.operands[i]!, swapped, sizes, i === 0 ? own : slot!);
      });
      return py.call("warpgroup_mma", a!, b!, sum!, py.keyword("is_async", py.boolean(true)));
    }, this.read(this.slot));
  }

  #release({ barrier, ago, when }: Extract<PipelineStep, { kind: "release" }>): void {
    const { form } = this.specialized;
    const { start, end, index } = form.turns;
    this.do(
      (count, ...bounds) => {
        const before = py.binary(py.binary(count!, "+", this.names.stages), "-", py.number(String(ago)));
        const slot = py.binary(before, "%", this.names.stages);
        const does =
          when === "later" ? py.compare(bounds[0]!, [">", bounds[1]!]) : py.compare(bounds[0]!, ["<", bounds[1]!]);
        return py.call("mbarrier.arrive", this.barrier(barrier, slot), py.keyword("pred", does));
      },
      this.read(this.count),
      ...(when === "later" ? [index, start] : [start, end]),
    );
  }

  /** The author's first sum, in the layout of the products. */
  #start(accumulator: LetStatement): void {
    const initial = this.value(
      accumulator.variable.type,
      (first) => py.call("gl.set_auto_layout", first!, this.names.layout),
      accumulator.initial,
    );
    this.append({ ...accumulator, initial });
  }

  #sum(build: OpPrinter, ...operands: readonly Argument[]): void {
    const { variable } = this.specialized.form.accumulator;
    this.write(variable, this.value(variable.type, build, this.read(variable), ...operands));
  }

  #epilogue(): void {
    const { epilogue, stores } = this.specialized;
    for (const statement of epilogue) {
      const store = stores.get(statement);
      if (store !== undefined) this.#storePieces(statement as OpStatement, store);
      else this.#appendNeeded([statement]);
    }
  }

  #storePieces(statement: OpStatement, place: number): void {
    const store = this.specialized.form.stores[place]!;
    const { descriptor, blocks, first } = this.names.outputs.get(store.tensor)!;
    const build: OpPrinter = (value, ...starts) => {
      const at = this.inPart(first, starts, this.names.part);
      return py.call(
        WRITE_PIECES,
        value!,
        descriptor,
        at,
        blocks,
        this.names.part,
        this.names.pieces,
        this.names.depth,
      );
    };
    const operands = [storedValue(statement)!, ...this.starts(store)];
    this.append({ ...statement, op: this.op("write", build, operands.length), operands, options: {} });
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  #appendNeeded(statements: readonly Statement[]): void {
    for (const statement of statements) if (this.#needed.has(statement)) this.#appendOwn(statement);
  }

  #appendOwn(statement: Statement): void {
    if (statement.kind === "if") this.#appendBranch(statement);
    else if (statement.kind !== "op") this.append(statement);
    else if (statement.op.facts.queries === "program") this.appendProgram(statement);
    else this.append(this.inRows(statement));
  }

  /** A branch is needed as a whole. */
  #appendBranch(statement: IfStatement): void {
    const [then, otherwise] = [statement.then, statement.otherwise].map(({ statements, yields }): Block => {
      const own = this.block(() => {
        for (const inner of statements) this.#appendOwn(inner);
      });
      return { ...own, yields };
    });
    this.append({ ...statement, then: then!, otherwise: otherwise! });
  }
}

function isConsumer(steps: readonly PipelineStep[]): boolean {
  return steps.some((step) => step.kind === "epilogue" || ("body" in step && isConsumer(step.body)));
}
