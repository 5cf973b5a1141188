/**
 * Streamed products: a program keeps the blocks of its rows in shared memory, and its loops load blocks of other tensors.
 * An iteration multiplies the kept blocks, and tiles that it computes from earlier products, by the loaded blocks. A
 * product is a tile of scores, or part of a loop-carried sum. Each row is then stored independently.
 * The pattern is matched by data flow, on the program before views are lowered.
 */
import {
  type Argument,
  type ForStatement,
  isValue,
  type KernelIR,
  type LetStatement,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import { definitions, resultsOf } from "../../../ir/walk.js";
import { opOf } from "../../../ops/define.js";
import { reshape } from "../../../ops/axes.js";
import type { Dim } from "../../../types/shape.js";
import { shapeOf } from "./attention-layouts.js";
import { type AttentionStore, checkedDot, checkPlain, rowStore, textOf } from "./attention-pattern.js";
import { backwardSlice, valuesUsedBy } from "./backward-slice.js";
import type { BlockAccess } from "./block-access.js";
import { extentDim } from "./block-index.js";
import { registerLoadsIn } from "./register-loads.js";
import { type ColumnVector, columnVector } from "./streamed-vectors.js";
import {
  type DotStatement,
  FLOAT16_FACTORS,
  isProduct,
  matrixShape,
  multipliedBlock,
  productsIn,
} from "./tensor-blocks.js";
import { notSpecializable } from "./not-specializable.js";

export interface StreamedPattern {
  readonly kind: "streamed";
  readonly loops: readonly [StreamedLoop, ...StreamedLoop[]];
  /** The blocks that each program loads once. */
  readonly residents: readonly BlockAccess[];
  /** The loop-carried sums. */
  readonly sums: readonly [LetStatement, ...LetStatement[]];
  readonly stores: readonly AttentionStore[];
  /** Loads that each consumer performs itself. */
  readonly loads: readonly OpStatement[];
  /** Rows, rows of a loaded block, columns of the sums. */
  readonly shape: readonly [Dim, Dim, Dim];
}

export interface StreamedLoop {
  readonly forStatement: ForStatement;
  /** In the author's order. */
  readonly products: readonly StreamedProduct[];
  /** The blocks that an iteration loads, in the order of their first products. */
  readonly streams: readonly BlockAccess[];
  /** One number for each row of a block: vectors that an iteration loads with its blocks. */
  readonly vectors: readonly ColumnVector[];
}

export interface StreamedProduct {
  readonly dot: DotStatement;
  /** The index of the kept block that is multiplied. Undefined for a computed tile. */
  readonly resident: number | undefined;
  /** The index of the loaded block by which it is multiplied. */
  readonly stream: number;
  /** True if the loaded block's axes are swapped in the product. */
  readonly isSwapped: boolean;
  /** The sum to which it is added. */
  readonly sum: Variable | undefined;
}

interface LoadedOperand {
  readonly load: OpStatement;
  readonly isSwapped: boolean;
}

/** True if an iteration of some loop multiplies more than attention does. */
export const hasStreamedProducts = (ir: KernelIR): boolean =>
  ir.body.statements.some((each) => each.kind === "for" && productsIn(each.body).length > 2);

/** @throws {@link NotSpecializable} with the reason and the location if the kernel is of another form. */
export function matchStreamed(ir: KernelIR): StreamedPattern {
  return new StreamedMatcher(ir).match();
}

class StreamedMatcher {
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #residents: BlockAccess[] = [];
  readonly #loads: OpStatement[] = [];

  constructor(readonly ir: KernelIR) {
    this.#definitions = definitions(ir.body);
  }

  match(): StreamedPattern {
    const { statements } = this.ir.body;
    const forStatements = statements.filter((each) => each.kind === "for");
    const inLoops = new Set<Statement>(forStatements.flatMap(({ body }) => body.statements));
    const stray = productsIn(this.ir.body).find((each) => !inLoops.has(each));
    if (stray) notSpecializable("its product stands in a branch, or in no loop", stray.location);
    const [first, ...others] = forStatements.map((each) => this.#loop(each));
    if (!first) return notSpecializable("it multiplies no matrices", this.ir.at);
    const loops = [first, ...others] as const;
    for (const { forStatement } of others.filter((each) => structureOf(each) !== structureOf(first)))
      notSpecializable("its loops multiply different blocks, or in another order", forStatement.location);
    const sums = this.#sums(first);
    const last = forStatements.at(-1) ?? first.forStatement;
    const stores = this.#outside(statements.indexOf(last), new Set(sums.map(({ variable }) => variable)));
    return {
      kind: "streamed",
      loops,
      residents: this.#residents,
      sums,
      stores,
      loads: this.#loads,
      shape: shapeOfLoop(first),
    };
  }

  // ---- loops --------------------------------------------------------------------------------------------------------

  #loop(forStatement: ForStatement): StreamedLoop {
    const { body, unrolled, location: at } = forStatement;
    if (unrolled) notSpecializable("its loop is unrolled", at);
    const dots = body.statements.flatMap((each) => (each.kind === "op" && isProduct(each) ? [checkedDot(each)] : []));
    if (dots.length === 0) notSpecializable("it has a loop without products", at);
    const streams: BlockAccess[] = [];
    const products = dots.map((dot): StreamedProduct => {
      const { load, isSwapped } = this.#loadedOperand(dot.operands[1], dot, forStatement);
      const index = streams.findIndex(({ statement }) => statement === load);
      const stream = index < 0 ? streams.push(this.#block(load)) - 1 : index;
      const block = streams[stream];
      const resident = this.#residentOperand(dot.operands[0], dot, forStatement);
      return { dot, resident, stream, isSwapped: isSwapped !== block?.isSwapped, sum: this.#sumOf(dot, forStatement) };
    });
    const loop = { forStatement, products, streams };
    this.#checkFlow(loop);
    return { ...loop, vectors: this.#iteration(loop) };
  }

  /** The load behind a product's second operand: a block as it lies in memory, without axes of length 1, or swapped. */
  #loadedOperand(operand: Argument | undefined, dot: DotStatement, forStatement: ForStatement): LoadedOperand {
    const definition = isValue(operand) ? this.#definitions.get(operand) : undefined;
    if (definition?.kind === "op") {
      const { op, operands } = definition;
      const { permutes } = op.lowering ?? {};
      if (permutes) {
        const inner = this.#loadedOperand(operands[0], dot, forStatement);
        return { ...inner, isSwapped: inner.isSwapped !== (permutes(operands, 2)[0] === 1) };
      }
      if (isOnlyReshaped(definition)) return this.#loadedOperand(operands[0], dot, forStatement);
      if (op.effect === "read" && forStatement.body.statements.includes(definition))
        return { load: definition, isSwapped: false };
    }
    return notSpecializable("it multiplies by an operand that is not loaded in the loop", dot.location);
  }

  #block(load: OpStatement): BlockAccess {
    const block = multipliedBlock(load, this.ir, this.#definitions, FLOAT16_FACTORS);
    checkPlain(block);
    return block;
  }

  /** The index of the block that a program keeps. Undefined if the loop computes the operand. */
  #residentOperand(operand: Argument, dot: DotStatement, { body }: ForStatement): number | undefined {
    const definition = isValue(operand) ? this.#definitions.get(operand) : undefined;
    if (!definition || body.statements.includes(definition)) return undefined;
    if (definition.kind !== "op" || definition.op.effect !== "read")
      return notSpecializable("it multiplies a tile that is computed before its loop", dot.location);
    const index = this.#residents.findIndex(({ statement }) => statement === definition);
    if (index >= 0) return index;
    const block = this.#block(definition);
    if (block.isSwapped) notSpecializable("it keeps a block with its axes swapped", definition.location);
    return this.#residents.push(block) - 1;
  }

  /** The sum to which a product is added: `sum.value = tl.dot(x, y, sum.value)`. */
  #sumOf({ operands, results, location: at }: DotStatement, { body }: ForStatement): Variable | undefined {
    const addend = operands[2];
    if (addend === undefined) return undefined;
    const read = isValue(addend) ? this.#definitions.get(addend) : undefined;
    const writes = body.statements.filter((each) => each.kind === "write" && each.value === results[0]);
    const [write, extra] = writes;
    if (read?.kind !== "read" || write?.kind !== "write" || extra || write.variable !== read.variable)
      return notSpecializable("its product is not added to a sum that the loop carries", at);
    return read.variable;
  }

  /** Computed tiles follow from scores, which no sum is, and each sum changes once in an iteration. */
  #checkFlow({ forStatement, products }: Pick<StreamedLoop, "forStatement" | "products">): void {
    const { statements } = forStatement.body;
    const sums = products.flatMap(({ sum }) => sum ?? []);
    for (const { dot, resident, sum } of products) {
      if (sum && sums.filter((each) => each === sum).length > 1)
        notSpecializable("its loop adds to one sum twice", dot.location);
      if (resident !== undefined) continue;
      const slice = backwardSlice([dot.operands[0]], statements);
      const state = slice.find((each) => each.kind === "read");
      if (state) notSpecializable("it multiplies a tile that follows from a sum or another state", state.location);
      const added = products.find((each) => each.sum && slice.includes(each.dot));
      if (added) notSpecializable("it multiplies a tile that follows from a sum or another state", added.dot.location);
    }
    const stray = statements.find((each) => each.kind === "write" && !sums.includes(each.variable));
    if (stray)
      notSpecializable("its loop carries state besides its sums, each the third argument of a tl.dot", stray.location);
  }

  /** An iteration loads blocks only for its products. The other loads are vectors, or stay with the consumers. */
  #iteration({ forStatement, products, streams }: Omit<StreamedLoop, "vectors">): readonly ColumnVector[] {
    const { statements } = forStatement.body;
    const ownStatements = new Set<Statement>([
      ...products.map(({ dot }) => dot),
      ...streams.map(({ statement }) => statement),
    ]);
    const loaded = new Set(streams.flatMap(({ statement }) => statement.results));
    const vectors: ColumnVector[] = [];
    const columns = columnsOf(streams[0]);
    for (const statement of statements) {
      if (statement.kind === "write" || ownStatements.has(statement)) continue;
      const vector = columnVector(statement, columns, this.ir, this.#definitions);
      if (vector) vectors.push(vector);
      else this.#loads.push(...registerLoadsIn(statement, this.ir, this.#definitions));
      if (!valuesUsedBy(statement).some((value) => loaded.has(value))) continue;
      if (statement.kind !== "op" || !(statement.op.lowering?.permutes || isOnlyReshaped(statement)))
        notSpecializable("its loop computes with a block before it multiplies by it", statement.location);
      for (const value of resultsOf(statement)) loaded.add(value);
    }
    return vectors;
  }

  // ---- outside the loops --------------------------------------------------------------------------------------------

  #sums({ products }: StreamedLoop): StreamedPattern["sums"] {
    const [first, ...others] = products.flatMap(({ dot, sum }) => {
      const start = this.ir.body.statements.find((each) => each.kind === "let" && each.variable === sum);
      if (sum && start?.kind !== "let")
        notSpecializable("its sum starts in another block than its loops", dot.location);
      return start?.kind === "let" ? [start] : [];
    });
    return first ? [first, ...others] : notSpecializable("its loop adds up no product", products[0]?.dot.location);
  }

  /** The stores after the last loop. Apart from them, the program only computes and loads. */
  #outside(lastLoop: number, sums: ReadonlySet<Variable>): readonly AttentionStore[] {
    const ownLoads = new Set<Statement>(this.#residents.map(({ statement }) => statement));
    const stores = this.ir.body.statements.flatMap((statement, i): readonly AttentionStore[] => {
      if (statement.kind === "for" || ownLoads.has(statement)) return [];
      if (statement.kind === "let" && sums.has(statement.variable)) return [];
      if (statement.kind === "op" && statement.op.effect === "write")
        return i < lastLoop
          ? notSpecializable("it writes before its loops end", statement.location)
          : [rowStore(statement, this.ir, this.#definitions)];
      this.#loads.push(...registerLoadsIn(statement, this.ir, this.#definitions));
      return [];
    });
    return stores.length > 0 ? stores : notSpecializable("it writes no block after its loops", this.ir.at);
  }
}

/** True for a reshape that only drops leading axes of length 1. */
function isOnlyReshaped({ op, operands: [source], results: [result] }: OpStatement): boolean {
  if (op !== opOf(reshape) || !isValue(source) || !result) return false;
  const [from, to] = [shapeOf(source), shapeOf(result)];
  const lead = from.length - to.length;
  return lead >= 0 && from.slice(0, lead).every((dim) => dim === 1) && from.slice(lead).join() === to.join();
}

/** The rows of a loaded block. */
const columnsOf = (block: BlockAccess | undefined): Dim => (block ? extentDim(block.axes[0].extent) : "");

/** A text that loops share if the same pipeline serves them. */
function structureOf({ products, streams, vectors }: StreamedLoop): string {
  const blocks = streams.map(({ tensor, firstAxis, axes }) => [
    tensor.name,
    firstAxis,
    ...axes.map(({ extent }) => textOf(extent)),
  ]);
  const multiplied = products.map(({ resident, stream, isSwapped, sum }) => [resident, stream, isSwapped, sum?.id]);
  return JSON.stringify([blocks, multiplied, vectors.map(({ tensor, extent }) => [tensor.name, textOf(extent)])]);
}

function shapeOfLoop({ products, streams }: StreamedLoop): StreamedPattern["shape"] {
  const columns = columnsOf(streams[0]);
  const differing = streams.find((each) => columnsOf(each) !== columns);
  if (differing) notSpecializable("it loads blocks of different numbers of rows", differing.statement.location);
  const sums = products.flatMap(({ dot, sum }) => (sum ? [dot] : []));
  const [rows, width] = matrixShape(sums[0]?.results[0] ?? { kind: "literal", value: 0 });
  for (const { dot, sum } of products) {
    const [ownRows, ownColumns] = matrixShape(dot.results[0]);
    if (ownRows !== rows || ownColumns !== (sum ? width : columns))
      notSpecializable(
        "its products differ in shape; scores have a column for each row of a block, and sums are equally wide",
        dot.location,
      );
  }
  return [rows, columns, width];
}
