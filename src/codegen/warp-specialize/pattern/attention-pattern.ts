/**
 * Attention: loops over blocks of keys and values. A turn multiplies the queries by its keys, makes weights of the scores and
 * of state that it carries, and adds the product of the weights and its values to a sum. Then each row is stored by itself.
 * Recognized by data flow, in the program before views are lowered.
 */
import { cacheKey } from "../../../compiled/canonical-json.js";
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
  type WriteStatement,
} from "../../../ir/nodes.js";
import { blocksOf, definitions, resultsOf } from "../../../ir/walk.js";
import { opOf } from "../../../ops/define.js";
import { dot } from "../../../ops/dot.js";
import type { Dim } from "../../../types/shape.js";
import { type BlockAccess, checkAlike, checkRank } from "./block-access.js";
import { backwardSlice, valuesUsedBy } from "./backward-slice.js";
import { checkRegisterLoad } from "./register-loads.js";
import { checkOptions, isProduct, multipliedBlock, productsIn, storedValue, writtenBlock } from "./tensor-blocks.js";
import { notSpecializable } from "./not-specializable.js";

export interface AttentionPattern {
  readonly kind: "attention";
  readonly loops: readonly AttentionLoop[];
  readonly queries: BlockAccess;
  readonly accumulator: LetStatement;
  /** The other state. */
  readonly states: readonly LetStatement[];
  readonly stores: readonly AttentionStore[];
  /** What else it loads. */
  readonly loads: readonly OpStatement[];
  /** Rows, keys of a turn, elements of a query, elements of a value. */
  readonly shape: readonly [Dim, Dim, Dim, Dim];
}

export interface AttentionLoop {
  readonly turns: ForStatement;
  /** The product of queries and keys. */
  readonly scores: OpStatement;
  /** The product of weights and values. */
  readonly sum: OpStatement;
  readonly keys: MultipliedBlock;
  readonly values: MultipliedBlock;
  readonly weights: Value;
  /** What the product is added to: the accumulator, after what the turn does with it. */
  readonly carried: Argument;
  /** All that it writes to state. */
  readonly writes: readonly WriteStatement[];
  /** The state that sums up the second products. */
  readonly sums: Variable;
}

export interface MultipliedBlock {
  readonly block: BlockAccess;
  /** Whether the product takes the block with its axes swapped. */
  readonly swapped: boolean;
}

/** A block, or one number for each row. */
export interface AttentionStore {
  readonly statement: OpStatement;
  readonly block: BlockAccess | undefined;
}

/** @throws Unsuited with the reason why the kernel is no attention, and where. */
export function matchAttention(ir: KernelIR): AttentionPattern {
  return new AttentionReader(ir).form();
}

class AttentionReader {
  readonly #made: ReadonlyMap<Value, Statement>;
  readonly #loads: OpStatement[] = [];

  constructor(readonly ir: KernelIR) {
    this.#made = definitions(ir.body);
  }

  form(): AttentionPattern {
    const { statements } = this.ir.body;
    const around = statements.filter((each): each is ForStatement => each.kind === "for");
    const loops = around.map((turns) => this.#loop(turns));
    const [first] = loops;
    if (!first) return notSpecializable("it multiplies matrices in two places that are in no loop", this.ir.at);
    const queries = this.#queries(loops);
    const other = loops.find(({ sums }) => sums !== first.sums);
    if (other) notSpecializable("its loops add to different sums", other.sum.at);
    const lets = statements.filter((each) => each.kind === "let");
    const accumulator = lets.find(({ variable }) => variable === first.sums);
    if (!accumulator) return notSpecializable("its sum starts in another block than its loops", first.sum.at);
    this.#checkSame(loops);
    const stores = this.#stores(around, queries.statement);
    const [rows, columns] = shapeOf(first.scores.results[0]!);
    const [, width] = shapeOf(first.sum.results[0]!);
    const [, inner] = shapeOf(first.scores.operands[0]!);
    const shape = [rows!, columns!, inner!, width!] as const;
    const states = lets.filter((each) => each !== accumulator);
    return { kind: "attention", loops, queries, accumulator, states, stores, loads: this.#loads, shape };
  }

  // ---- loops --------------------------------------------------------------------------------------------------------

  #loop(turns: ForStatement): AttentionLoop {
    const { statements } = turns.body;
    if (turns.unrolled) notSpecializable("its loop is unrolled", turns.at);
    const products = statements.filter((each): each is OpStatement => each.kind === "op" && isProduct(each));
    const [scores, sum, third] = products;
    if (!scores || !sum) {
      const [inside] = productsIn(turns.body);
      return notSpecializable("a turn of its loop does not multiply twice, as attention does", inside?.at ?? turns.at);
    }
    if (third) notSpecializable("a turn of its loop multiplies more than twice", third.at);
    for (const product of products) checkProduct(product);
    const write = this.#sumWrite(statements, sum);
    const carried = sum.operands[2] ?? this.#added(write, sum);
    const [weights] = sum.operands;
    if (scores.operands[2] !== undefined) notSpecializable("its scores are added to something in tl.dot", scores.at);
    if (!isValue(weights) || carried === undefined)
      return notSpecializable("its second product is not added to a sum that the loop carries", sum.at);
    const writes = statements.filter((each) => each.kind === "write");
    const loop = { turns, scores, sum, weights, carried, writes, sums: write.variable };
    this.#checkFlow(loop);
    const keys = this.#block(scores.operands[1]!, scores, statements);
    const values = this.#block(sum.operands[1]!, sum, statements);
    if (!keys.swapped || values.swapped) notSpecializable("its keys or values do not lie row by row", turns.at);
    this.#checkTurn(statements, [keys, values], products);
    return { ...loop, keys, values };
  }

  /** The statement that makes the product, or the product and what it is added to, the new sum. */
  #sumWrite(statements: readonly Statement[], sum: OpStatement): WriteStatement {
    const [result] = sum.results;
    const write = statements.find((each) => {
      if (each.kind !== "write" || !isValue(each.value)) return false;
      const made = this.#made.get(each.value);
      return each.value === result || (made?.kind === "op" && isSum(made) && made.operands.includes(result));
    });
    return write?.kind === "write"
      ? write
      : notSpecializable("its second product is not added to a sum that the loop carries", sum.at);
  }

  /** `acc + p @ v`: what the product is added to. */
  #added({ value }: WriteStatement, { results: [result] }: OpStatement): Argument | undefined {
    const made = isValue(value) ? this.#made.get(value) : undefined;
    return made?.kind === "op" && isSum(made) ? made.operands.find((operand) => operand !== result) : undefined;
  }

  /** Weights and state follow from the scores and from state, and not from the sum; the sum follows from itself. */
  #checkFlow(loop: Omit<AttentionLoop, "keys" | "values">): void {
    const { turns, scores, sum, weights, carried, writes, sums } = loop;
    const { statements } = turns.body;
    if (!backwardSlice([weights], statements).includes(scores))
      notSpecializable("its second product does not follow from its first", sum.at);
    const others = writes.filter(({ variable }) => variable !== sums);
    const early = backwardSlice([weights, ...others.map(({ value }) => value)], statements);
    const wrong = early.find((each) => each === sum || (each.kind === "read" && each.variable === sums));
    if (wrong)
      notSpecializable(
        "its weights or its state follow from the sum, which one turn adds while the next runs",
        wrong.at,
      );
    const variables = writes.map(({ variable }) => variable);
    const twice = writes.find(({ variable }, i) => variables.indexOf(variable) !== i);
    if (twice) notSpecializable("its loop changes a state twice", twice.at);
    const reads = backwardSlice([carried], statements).filter((each) => each.kind === "read");
    if (!reads.some(({ variable }) => variable === sums) || !hasShapeOf(carried, sum.results[0]!))
      notSpecializable("its second product is not added to a sum that the loop carries", sum.at);
  }

  #block(given: Argument, product: OpStatement, statements: readonly Statement[]): MultipliedBlock {
    const made = isValue(given) ? this.#made.get(given) : undefined;
    if (made?.kind !== "op") return notSpecializable("it multiplies by what no load in the loop reads", product.at);
    const { permutes } = made.op.lowering ?? {};
    if (permutes) {
      const inner = this.#block(made.operands[0]!, product, statements);
      return { ...inner, swapped: inner.swapped !== (permutes(made.operands, 2)[0] === 1) };
    }
    if (made.op.effect !== "read" || !statements.includes(made))
      return notSpecializable("it multiplies by what no load in the loop reads", made.at);
    const block = multipliedBlock(made, this.ir, this.#made);
    checkPlain(block);
    return { block, swapped: block.swapped };
  }

  /** A turn loads keys and values for its products alone, and computes. */
  #checkTurn(
    statements: readonly Statement[],
    blocks: readonly MultipliedBlock[],
    products: readonly OpStatement[],
  ): void {
    const loads = blocks.map(({ block }) => block.statement);
    const loaded = new Set(loads.flatMap(({ results }) => results));
    for (const statement of statements) {
      if (statement.kind === "write" || loads.includes(statement as OpStatement)) continue;
      this.#checkComputes(statement);
      if (products.includes(statement as OpStatement) || !valuesUsedBy(statement).some((value) => loaded.has(value)))
        continue;
      if (statement.kind !== "op" || !statement.op.lowering?.permutes)
        notSpecializable("its loop computes with a block before it multiplies by it", statement.at);
      for (const value of resultsOf(statement)) loaded.add(value);
    }
  }

  // ---- around them --------------------------------------------------------------------------------------------------

  #queries(loops: readonly AttentionLoop[]): BlockAccess {
    const [given, other] = new Set(loops.map(({ scores }) => scores.operands[0]!));
    const at = loops[0]!.scores.at;
    const made = isValue(given!) ? this.#made.get(given) : undefined;
    if (other !== undefined) notSpecializable("its loops multiply different queries", loops.at(-1)!.scores.at);
    if (made?.kind !== "op" || made.op.effect !== "read" || !this.ir.body.statements.includes(made))
      return notSpecializable("its first product takes queries that no load ahead of the loop reads", made?.at ?? at);
    const block = multipliedBlock(made, this.ir, this.#made);
    checkPlain(block);
    if (block.swapped) notSpecializable("its queries are loaded with their axes swapped", made.at);
    return block;
  }

  /** The ring has slots of one kind for keys, and of one kind for values. */
  #checkSame(loops: readonly AttentionLoop[]): void {
    const [first] = loops;
    const kindOf = ({ block, swapped }: MultipliedBlock) =>
      [
        block.tensor.name,
        block.first,
        swapped,
        block.swapped,
        ...block.axes.map(({ extent }) => textOf(extent)),
      ].join();
    for (const { keys, values, sum } of loops)
      if (kindOf(keys) !== kindOf(first!.keys) || kindOf(values) !== kindOf(first!.values))
        notSpecializable("its loops load keys and values in different ways", sum.at);
  }

  #stores(loops: readonly ForStatement[], queries: OpStatement): readonly AttentionStore[] {
    const { statements } = this.ir.body;
    const last = statements.indexOf(loops.at(-1)!);
    const stores = statements.flatMap((statement, i): readonly AttentionStore[] => {
      if (statement.kind === "for" || statement.kind === "let" || statement === queries) return [];
      if (statement.kind === "op" && statement.op.effect === "write")
        return i < last ? notSpecializable("it writes before its loops end", statement.at) : [this.#store(statement)];
      this.#checkComputes(statement);
      return [];
    });
    if (!stores.some(({ block }) => block)) notSpecializable("it writes no block after its loops", loops.at(-1)!.at);
    checkAlike(stores.flatMap(({ block }) => block ?? []));
    return stores;
  }

  /** What computes, reads state, or loads what changes scores or sums; branches of such. */
  #checkComputes(statement: Statement): void {
    if (statement.kind === "read") return;
    if (statement.kind === "op" && statement.op.effect === "pure") return;
    if (statement.kind === "op" && statement.op.effect === "read") {
      checkRegisterLoad(statement, this.ir, this.#made);
      this.#loads.push(statement);
      return;
    }
    if (statement.kind !== "if") return notSpecializable("it does more than load, multiply and compute", statement.at);
    for (const { statements } of blocksOf(statement)) statements.forEach((each) => this.#checkComputes(each));
  }

  #store(statement: OpStatement): AttentionStore {
    const value = storedValue(statement);
    if (value !== undefined && shapeOf(value).length === 1) {
      const given = Object.keys(statement.options);
      if (given.length > 0)
        notSpecializable(`it writes a number for each row with ${given.join(" and ")}`, statement.at);
      return { statement, block: undefined };
    }
    const block = writtenBlock(statement, this.ir, this.#made);
    checkPlain(block);
    return { statement, block };
  }
}

const isSum = ({ op }: OpStatement): boolean => op.facts.integer === "sum";

function checkProduct(product: OpStatement): void {
  const { op, results, at } = product;
  if (op !== opOf(dot)) notSpecializable(`tl.${op.name} has no warp-specialized form`, at);
  checkOptions(product);
  const type = results[0]?.type;
  if (type?.kind !== "tile" || type.dtype !== "float32") notSpecializable("its product is not summed in float32", at);
  if (type.shape.length !== 2) notSpecializable("its product has more than two axes", at);
}

function checkPlain(block: BlockAccess): void {
  checkRank(block);
  const { axes, statement } = block;
  if (axes.some(({ wraps }) => wraps !== undefined)) notSpecializable("an index wraps", statement.at);
}

const textOf = (argument: Argument): string =>
  isValue(argument)
    ? argument.type.kind === "constexpr"
      ? argument.type.text
      : String(argument.id)
    : cacheKey(argument);

function shapeOf(argument: Argument): readonly Dim[] {
  return isValue(argument) && argument.type.kind === "tile" ? argument.type.shape : [];
}

const hasShapeOf = (argument: Argument, other: Value): boolean =>
  JSON.stringify(shapeOf(argument)) === JSON.stringify(shapeOf(other));
