/**
 * Attention: loops over blocks of keys and values. An iteration multiplies the queries by its keys. It computes weights
 * from the scores and loop-carried variables, and adds the product of the weights and its values to the accumulator.
 * Each row is then stored independently.
 * The pattern is matched by data flow, on the program before views are lowered.
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
import { definitions, resultsOf } from "../../../ir/walk.js";
import type { Dim } from "../../../types/shape.js";
import { type BlockAccess, checkSameShape, checkRank } from "./block-access.js";
import { backwardSlice, valuesUsedBy } from "./backward-slice.js";
import { registerLoadsIn } from "./register-loads.js";
import {
  checkProduct,
  type DotStatement,
  isDot,
  isProduct,
  matrixShape,
  FLOAT16_FACTORS,
  multipliedBlock,
  productsIn,
  storedValue,
  writtenBlock,
} from "./tensor-blocks.js";
import { notSpecializable } from "./not-specializable.js";

export interface AttentionPattern {
  readonly kind: "attention";
  readonly loops: AttentionLoops;
  readonly queries: QueriesBlock;
  readonly accumulator: LetStatement;
  /** The other loop-carried variables. */
  readonly variables: readonly LetStatement[];
  readonly stores: readonly AttentionStore[];
  /** The loads of everything but queries, keys and values. */
  readonly loads: readonly OpStatement[];
  /** Rows, keys of an iteration, elements of a query, elements of a value. */
  readonly shape: readonly [Dim, Dim, Dim, Dim];
}

type AttentionLoops = readonly [AttentionLoop, ...AttentionLoop[]];

/** The block of queries, with the loaded tile. */
export interface QueriesBlock extends BlockAccess {
  readonly value: Value;
}

export interface AttentionLoop {
  readonly forStatement: ForStatement;
  /** The product of queries and keys. */
  readonly scores: DotStatement;
  /** The product of weights and values. */
  readonly sum: DotStatement;
  readonly keys: MultipliedBlock;
  readonly values: MultipliedBlock;
  readonly weights: Value;
  /** The operand to which the second product is added: the accumulator, after the iteration has rescaled it. */
  readonly carried: Argument;
  /** All writes to loop-carried variables. */
  readonly writes: readonly WriteStatement[];
  /** The loop-carried variable that accumulates the second products. */
  readonly accumulator: Variable;
}

export interface MultipliedBlock {
  readonly block: BlockAccess;
  /** True if the block's axes are swapped in the product. */
  readonly isSwapped: boolean;
}

/** The store of a block, or of one number per row. */
export interface AttentionStore {
  readonly statement: OpStatement;
  readonly block: BlockAccess | undefined;
}

/** @throws {@link NotSpecializable} with the reason and the location if the kernel is not attention. */
export function matchAttention(ir: KernelIR): AttentionPattern {
  return new AttentionMatcher(ir).match();
}

class AttentionMatcher {
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #loads: OpStatement[] = [];

  constructor(readonly ir: KernelIR) {
    this.#definitions = definitions(ir.body);
  }

  match(): AttentionPattern {
    const { statements } = this.ir.body;
    const forStatements = statements.filter((each): each is ForStatement => each.kind === "for");
    const [firstStatement, ...otherStatements] = forStatements;
    if (!firstStatement)
      return notSpecializable("it multiplies matrices in two places that are in no loop", this.ir.at);
    const first = this.#loop(firstStatement);
    const loops: AttentionLoops = [first, ...otherStatements.map((each) => this.#loop(each))];
    const queries = this.#queries(loops);
    const differing = loops.find((loop) => loop.accumulator !== first.accumulator);
    if (differing) notSpecializable("its loops add to different sums", differing.sum.location);
    const lets = statements.filter((each) => each.kind === "let");
    const accumulator = lets.find(({ variable }) => variable === first.accumulator);
    if (!accumulator) return notSpecializable("its sum starts in another block than its loops", first.sum.location);
    this.#checkSameBlocks(loops);
    const stores = this.#stores(otherStatements.at(-1) ?? firstStatement, queries.statement);
    const [rows, columns] = matrixShape(first.scores.results[0]);
    const [, width] = matrixShape(first.sum.results[0]);
    const [, inner] = matrixShape(first.scores.operands[0]);
    const shape = [rows, columns, inner, width] as const;
    const variables = lets.filter((each) => each !== accumulator);
    return { kind: "attention", loops, queries, accumulator, variables, stores, loads: this.#loads, shape };
  }

  // ---- loops --------------------------------------------------------------------------------------------------------

  #loop(forStatement: ForStatement): AttentionLoop {
    const { statements } = forStatement.body;
    if (forStatement.unrolled) notSpecializable("its loop is unrolled", forStatement.location);
    const products = statements.filter((each): each is OpStatement => each.kind === "op" && isProduct(each));
    const [firstProduct, secondProduct, third] = products;
    if (!firstProduct || !secondProduct) {
      const [nested] = productsIn(forStatement.body);
      return notSpecializable(
        nested && !firstProduct
          ? "its products are in a branch or a nested loop"
          : "an iteration of its loop does not multiply twice, as attention does",
        nested?.location ?? forStatement.location,
      );
    }
    if (third) notSpecializable("an iteration of its loop multiplies more than twice", third.location);
    const scores = checkedDot(firstProduct);
    const sum = checkedDot(secondProduct);
    const write = this.#accumulatorWrite(statements, sum);
    const carried = sum.operands[2] ?? this.#addend(write, sum);
    const [weights] = sum.operands;
    if (scores.operands[2] !== undefined)
      notSpecializable("its scores are added to something in tl.dot", scores.location);
    if (!isValue(weights) || carried === undefined)
      return notSpecializable("its second product is not added to a sum that the loop carries", sum.location);
    const writes = statements.filter((each) => each.kind === "write");
    const loop = { forStatement, scores, sum, weights, carried, writes, accumulator: write.variable };
    this.#checkFlow(loop);
    const keys = this.#block(scores.operands[1], scores, statements);
    const values = this.#block(sum.operands[1], sum, statements);
    if (!keys.isSwapped || values.isSwapped)
      notSpecializable("its keys or values do not lie row by row", forStatement.location);
    this.#checkIteration(statements, [keys, values], products);
    return { ...loop, keys, values };
  }

  /** The statement that assigns the product, or its sum with the carried operand, to the accumulator. */
  #accumulatorWrite(statements: readonly Statement[], sum: DotStatement): WriteStatement {
    const [result] = sum.results;
    const write = statements.find((each) => {
      if (each.kind !== "write" || !isValue(each.value)) return false;
      const definition = this.#definitions.get(each.value);
      return (
        each.value === result ||
        (definition?.kind === "op" && isAddition(definition) && definition.operands.includes(result))
      );
    });
    return write?.kind === "write"
      ? write
      : notSpecializable("its second product is not added to a sum that the loop carries", sum.location);
  }

  /** The other operand of `acc + p @ v`. */
  #addend({ value }: WriteStatement, { results: [result] }: DotStatement): Argument | undefined {
    const definition = isValue(value) ? this.#definitions.get(value) : undefined;
    return definition?.kind === "op" && isAddition(definition)
      ? definition.operands.find((operand) => operand !== result)
      : undefined;
  }

  /**
   * Weights and loop-carried variables must depend on the scores and not on the accumulator. The accumulator must
   * depend on itself.
   */
  #checkFlow(loop: Omit<AttentionLoop, "keys" | "values">): void {
    const { forStatement, scores, sum, weights, carried, writes, accumulator } = loop;
    const { statements } = forStatement.body;
    if (!backwardSlice([weights], statements).includes(scores))
      notSpecializable("its second product does not follow from its first", sum.location);
    const others = writes.filter(({ variable }) => variable !== accumulator);
    const slice = backwardSlice([weights, ...others.map(({ value }) => value)], statements);
    const dependent = slice.find((each) => each === sum || (each.kind === "read" && each.variable === accumulator));
    if (dependent)
      notSpecializable(
        "its weights or its state follow from the sum, which one iteration adds while the next runs",
        dependent.location,
      );
    const variables = writes.map(({ variable }) => variable);
    const duplicate = writes.find(({ variable }, i) => variables.indexOf(variable) !== i);
    if (duplicate) notSpecializable("its loop changes a state twice", duplicate.location);
    const reads = backwardSlice([carried], statements).filter((each) => each.kind === "read");
    if (!reads.some(({ variable }) => variable === accumulator) || !hasShapeOf(carried, sum.results[0]))
      notSpecializable("its second product is not added to a sum that the loop carries", sum.location);
  }

  #block(operand: Argument | undefined, product: OpStatement, statements: readonly Statement[]): MultipliedBlock {
    const definition = isValue(operand) ? this.#definitions.get(operand) : undefined;
    if (definition?.kind !== "op")
      return notSpecializable("it multiplies by an operand that is not loaded in the loop", product.location);
    const { permutes } = definition.op.lowering ?? {};
    if (permutes) {
      const inner = this.#block(definition.operands[0], product, statements);
      return { ...inner, isSwapped: inner.isSwapped !== (permutes(definition.operands, 2)[0] === 1) };
    }
    if (definition.op.effect !== "read" || !statements.includes(definition))
      return notSpecializable("it multiplies by an operand that is not loaded in the loop", definition.location);
    const block = multipliedBlock(definition, this.ir, this.#definitions, FLOAT16_FACTORS);
    checkPlain(block);
    return { block, isSwapped: block.isSwapped };
  }

  /** An iteration may load keys and values only for its products, and compute. */
  #checkIteration(
    statements: readonly Statement[],
    blocks: readonly MultipliedBlock[],
    products: readonly OpStatement[],
  ): void {
    const loads = blocks.map(({ block }) => block.statement);
    const loaded = new Set(loads.flatMap(({ results }) => results));
    for (const statement of statements) {
      if (statement.kind === "write" || loads.includes(statement as OpStatement)) continue;
      this.#loads.push(...registerLoadsIn(statement, this.ir, this.#definitions));
      if (products.includes(statement as OpStatement) || !valuesUsedBy(statement).some((value) => loaded.has(value)))
        continue;
      if (statement.kind !== "op" || !statement.op.lowering?.permutes)
        notSpecializable("its loop computes with a block before it multiplies by it", statement.location);
      for (const value of resultsOf(statement)) loaded.add(value);
    }
  }

  // ---- outside the loops --------------------------------------------------------------------------------------------

  #queries(loops: AttentionLoops): QueriesBlock {
    const { operands, location } = loops[0].scores;
    const [value] = operands;
    const definition = isValue(value) ? this.#definitions.get(value) : undefined;
    if (loops.some(({ scores }) => scores.operands[0] !== value))
      notSpecializable("its loops multiply different queries", loops.at(-1)?.scores.location);
    if (
      !isValue(value) ||
      definition?.kind !== "op" ||
      definition.op.effect !== "read" ||
      !this.ir.body.statements.includes(definition)
    )
      return notSpecializable(
        "its first product takes queries that no load ahead of the loop reads",
        definition?.location ?? location,
      );
    const block = multipliedBlock(definition, this.ir, this.#definitions, FLOAT16_FACTORS);
    checkPlain(block);
    if (block.isSwapped) notSpecializable("its queries are loaded with their axes swapped", definition.location);
    return { ...block, value };
  }

  /** The ring buffer has one kind of slot for keys and one for values, so all loops must load them in the same way. */
  #checkSameBlocks(loops: AttentionLoops): void {
    const [first] = loops;
    const slotKind = ({ block, isSwapped }: MultipliedBlock) =>
      [
        block.tensor.name,
        block.firstAxis,
        isSwapped,
        block.isSwapped,
        ...block.axes.map(({ extent }) => textOf(extent)),
      ].join();
    for (const { keys, values, sum } of loops)
      if (slotKind(keys) !== slotKind(first.keys) || slotKind(values) !== slotKind(first.values))
        notSpecializable("its loops load keys and values in different ways", sum.location);
  }

  #stores(lastLoop: ForStatement, queries: OpStatement): readonly AttentionStore[] {
    const { statements } = this.ir.body;
    const last = statements.indexOf(lastLoop);
    const stores = statements.flatMap((statement, i): readonly AttentionStore[] => {
      if (statement.kind === "for" || statement.kind === "let" || statement === queries) return [];
      if (statement.kind === "op" && statement.op.effect === "write")
        return i < last
          ? notSpecializable("it writes before its loops end", statement.location)
          : [rowStore(statement, this.ir, this.#definitions)];
      this.#loads.push(...registerLoadsIn(statement, this.ir, this.#definitions));
      return [];
    });
    if (!stores.some(({ block }) => block)) notSpecializable("it writes no block after its loops", lastLoop.location);
    checkSameShape(stores.flatMap(({ block }) => block ?? []));
    return stores;
  }
}

/** @throws {@link NotSpecializable} if the store writes neither a whole block nor one number per row. */
export function rowStore(
  statement: OpStatement,
  ir: KernelIR,
  definitionsOf: ReadonlyMap<Value, Statement>,
): AttentionStore {
  const value = storedValue(statement);
  if (value !== undefined && shapeOf(value).length === 1) {
    const options = Object.keys(statement.options);
    if (options.length > 0)
      notSpecializable(`it writes a number for each row with ${options.join(" and ")}`, statement.location);
    return { statement, block: undefined };
  }
  const block = writtenBlock(statement, ir, definitionsOf);
  checkPlain(block);
  return { statement, block };
}

const isAddition = ({ op }: OpStatement): boolean => op.facts.integer === "sum";

export function checkedDot(product: OpStatement): DotStatement {
  if (!isDot(product)) return notSpecializable(`tl.${product.op.name} has no warp-specialized form`, product.location);
  checkProduct(product);
  return product;
}

export function checkPlain(block: BlockAccess): void {
  checkRank(block);
  const { axes, statement } = block;
  if (axes.some(({ wraps }) => wraps !== undefined)) notSpecializable("an index wraps", statement.location);
}

export function textOf(argument: Argument): string {
  if (!isValue(argument)) return cacheKey(argument);
  return argument.type.kind === "constexpr" ? argument.type.text : String(argument.id);
}

function shapeOf(argument: Argument): readonly Dim[] {
  return isValue(argument) && argument.type.kind === "tile" ? argument.type.shape : [];
}

const hasShapeOf = (argument: Argument, other: Value): boolean =>
  JSON.stringify(shapeOf(argument)) === JSON.stringify(shapeOf(other));
