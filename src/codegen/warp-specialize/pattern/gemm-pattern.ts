/**
 * Matrix products with an epilogue: a loop over blocks of two tensors whose product a state takes up, then arithmetic of
 * each row by itself, then stores of blocks. Recognized by data flow, in the program before views are lowered.
 */
import {
  type Argument,
  type Block,
  type ForStatement,
  type IfStatement,
  isList,
  isValue,
  type KernelIR,
  type LetStatement,
  type OpStatement,
  paramsOf,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { argumentsOf, blocksOf, definitions, valuesIn, walk } from "../../../ir/walk.js";
import { dot } from "../../../ops/dot.js";
import { opOf } from "../../../ops/define.js";
import type { Dim } from "../../../types/shape.js";
import { axisIn, type BlockAccess, checkAlike, checkRank } from "./block-access.js";
import { isSameBlock } from "./block-index.js";
import { checkOptions, multipliedBlock, productsIn, storedValue, writtenBlock } from "./tensor-blocks.js";
import { notSpecializable } from "./not-specializable.js";

export interface GemmPattern {
  /** The author's own loop over tiles; undefined where each program of the grid computes one. */
  readonly tiles: ForStatement | undefined;
  /** The loop over blocks. */
  readonly turns: ForStatement;
  readonly product: OpStatement;
  readonly accumulator: LetStatement;
  /** What the product takes, rows first. */
  readonly operands: readonly [ProductOperand, ProductOperand];
  /** In program order. */
  readonly stores: readonly BlockAccess[];
  /** Rows, columns and inner dimension of the product. */
  readonly shape: readonly [Dim, Dim, Dim];
}

export interface ProductOperand {
  readonly block: BlockAccess;
  /** Whether the product takes the loaded block with its axes swapped. */
  readonly swapped: boolean;
}

/** @throws Unsuited with the reason why the kernel is no such product, and where. */
export function matchGemm(ir: KernelIR): GemmPattern {
  const found = nestOf(ir);
  return new GemmReader(ir, found).form();
}

interface Nest {
  readonly tiles: ForStatement | undefined;
  readonly turns: ForStatement;
  readonly product: OpStatement;
  /** The statements of one tile. */
  readonly tile: Block;
}

function nestOf(ir: KernelIR): Nest {
  const [product] = productsIn(ir.body);
  if (!product) return notSpecializable("it multiplies no matrices", ir.at);
  if (product.op !== opOf(dot))
    return notSpecializable(`tl.${product.op.name} has no warp-specialized form`, product.at);
  const loopIn = ({ statements }: Block): ForStatement | undefined =>
    statements.find((each) => each.kind === "for" && has(each.body, product)) as ForStatement | undefined;
  const outer = loopIn(ir.body);
  if (!outer) return notSpecializable("its product is not in a loop over blocks", product.at);
  const inner = loopIn(outer.body);
  const turns = inner ?? outer;
  if (!turns.body.statements.includes(product))
    return notSpecializable("its product stands in a branch or a third loop", product.at);
  if (turns.unrolled || (inner && outer.unrolled)) return notSpecializable("its loop is unrolled", turns.at);
  return { tiles: inner && outer, turns, product, tile: inner ? outer.body : ir.body };
}

function has(block: Block, wanted: Statement): boolean {
  let found = false;
  walk(block, (statement) => (found ||= statement === wanted));
  return found;
}

class GemmReader {
  readonly #made: ReadonlyMap<Value, Statement>;

  constructor(
    readonly ir: KernelIR,
    readonly nest: Nest,
  ) {
    this.#made = definitions(ir.body);
  }

  form(): GemmPattern {
    const { tiles, turns, product, tile } = this.nest;
    this.#checkOptions();
    if (tiles) this.#checkOnly(this.ir.body, [tiles]);
    const accumulator = this.#accumulator();
    const operands = [this.#operand(product.operands[0]!), this.#operand(product.operands[1]!)] as const;
    this.#checkTurn(operands);
    const stores = this.#stores(tile, accumulator);
    const form = { tiles, turns, product, accumulator, operands, stores, shape: this.#shape() };
    this.#checkOuterLanes(form);
    return form;
  }

  #checkOptions(): void {
    const { product } = this.nest;
    checkOptions(product);
    const state = product.results[0]?.type;
    if (state?.kind !== "tile" || state.dtype !== "float32")
      notSpecializable("its product is not summed in float32", product.at);
    if (state.shape.length !== 2) notSpecializable("its product has more than two axes", product.at);
  }

  #shape(): GemmPattern["shape"] {
    const [a, b] = this.nest.product.operands.map((operand) => shapeOf(operand!));
    return [a![0]!, b![1]!, a![1]!];
  }

  /** The state that the product is added to, and nothing else changes. */
  #accumulator(): LetStatement {
    const { turns, product, tile } = this.nest;
    const [sum] = product.results;
    const writes = turns.body.statements.filter((each) => each.kind === "write");
    const [write, other] = writes;
    if (!write) return notSpecializable("its loop adds up no product", product.at);
    if (other) return notSpecializable("its loop carries state besides the sum of products", other.at);
    const taken = product.operands[2] ?? this.#added(write.value, sum!);
    if (product.operands[2] ? write.value !== sum : taken === undefined)
      return notSpecializable("what its loop carries is not the sum of products alone", write.at);
    const read = isValue(taken) ? this.#made.get(taken) : undefined;
    if (read?.kind !== "read" || read.variable !== write.variable || !turns.body.statements.includes(read))
      return notSpecializable("its product is not added to the state that the loop carries", product.at);
    const first = tile.statements.find((each) => each.kind === "let" && each.variable === write.variable);
    if (first?.kind !== "let")
      return notSpecializable("the sum of products does not start anew for each tile", write.at);
    return first;
  }

  /** `acc + a @ b`: what the product is added to. */
  #added(value: Argument, sum: Value): Argument | undefined {
    const made = isValue(value) ? this.#made.get(value) : undefined;
    if (made?.kind !== "op" || made.op.facts.integer !== "sum" || !made.operands.includes(sum)) return undefined;
    return made.operands.find((operand) => operand !== sum);
  }

  #operand(given: Argument): ProductOperand {
    const { product, turns } = this.nest;
    const made = isValue(given) ? this.#made.get(given) : undefined;
    if (made?.kind !== "op") return notSpecializable("its product takes what no load in the loop reads", product.at);
    const { permutes } = made.op.lowering ?? {};
    if (permutes) {
      const inner = this.#operand(made.operands[0]!);
      return { ...inner, swapped: inner.swapped !== (permutes(made.operands, 2)[0] === 1) };
    }
    if (made.op.effect !== "read" || !turns.body.statements.includes(made))
      return notSpecializable("its product takes what no load in the loop reads", made.at);
    const block = multipliedBlock(made, this.ir, this.#made);
    checkRank(block);
    return { block, swapped: block.swapped };
  }

  /** A turn does nothing but load both blocks and multiply them. */
  #checkTurn(operands: GemmPattern["operands"]): void {
    const { turns, product } = this.nest;
    const loads: Statement[] = operands.map(({ block }) => block.statement);
    const tiles = new Set([...operands.flatMap(({ block }) => block.statement.results), ...product.results]);
    for (const statement of turns.body.statements) {
      if (statement.kind === "read" || statement.kind === "write") continue;
      if (statement.kind !== "op" || (statement.op.effect !== "pure" && !loads.includes(statement)))
        notSpecializable("its loop does more than load two blocks and multiply them", statement.at);
      const isPermuted = statement.op.lowering?.permutes !== undefined;
      const isSum =
        statement.op.facts.integer === "sum" && statement.operands.some((each) => each === product.results[0]);
      if (statement === product || isPermuted || isSum) continue;
      if (
        argumentsOf(statement)
          .flatMap(valuesIn)
          .some((value) => tiles.has(value))
      )
        notSpecializable("its loop computes with the blocks before it multiplies them", statement.at);
    }
  }

  /** What follows the loop: arithmetic, loads of inputs, and stores of blocks. */
  #stores(tile: Block, accumulator: LetStatement): readonly BlockAccess[] {
    const { turns } = this.nest;
    this.#checkOnly(tile, [turns, accumulator], true);
    const place = tile.statements.indexOf(turns);
    const stores = tile.statements.flatMap((statement, i): readonly BlockAccess[] => {
      if (statement.kind !== "op" || statement.op.effect !== "write") return [];
      if (i < place) return notSpecializable("it writes before it multiplies", statement.at);
      return [this.#store(statement)];
    });
    if (stores.length === 0) notSpecializable("it writes no block after its loop", turns.at);
    checkAlike(stores);
    return stores;
  }

  #store(statement: OpStatement): BlockAccess {
    const value = storedValue(statement);
    if (value !== undefined && shapeOf(value).length === 1)
      notSpecializable("it writes a number for each row or column; a product is written in blocks alone", statement.at);
    const block = writtenBlock(statement, this.ir, this.#made);
    checkRank(block);
    return block;
  }

  /** Besides `inner`, a block only computes, or reads inputs where it may. */
  #checkOnly({ statements }: Block, inner: readonly Statement[], mayAccess = false): void {
    for (const statement of statements) {
      if (inner.includes(statement) || statement.kind === "read") continue;
      if (statement.kind === "if" && mayAccess) {
        this.#checkBranch(statement);
        continue;
      }
      if (statement.kind !== "op")
        return notSpecializable(`it has ${WORDS[statement.kind]} around its product`, statement.at);
      const { effect } = statement.op;
      if (statement.operands.some((each) => each !== undefined && hasFunction(each)))
        notSpecializable("it calls a helper function around its product", statement.at);
      if (effect === "pure" || (mayAccess && (effect === "write" || this.#readsInput(statement)))) continue;
      notSpecializable(
        "it accesses memory around its product other than to read inputs and to write blocks",
        statement.at,
      );
    }
  }

  /**
   * An arm computes a value, of what it may load. At run time both arms would need one layout, and a tile that is converted
   * to it passes through shared memory, which the ring fills.
   */
  #checkBranch(statement: IfStatement): void {
    const { condition, at } = statement;
    if (isValue(condition) && condition.type.kind !== "constexpr")
      notSpecializable("it decides at run time around its product; use tl.where, or decide by a constexpr", at);
    for (const arm of blocksOf(statement)) {
      const write = arm.statements.find((each) => each.kind === "op" && each.op.effect === "write");
      if (write) notSpecializable("it writes in a branch; write what the branch gives behind it", write.at);
      this.#checkOnly(arm, [], true);
    }
  }

  #readsInput(statement: OpStatement): boolean {
    if (statement.op.effect !== "read") return false;
    const roots = rootsOf(statement.operands[0]!, this.#made);
    const inputs = paramsOf(this.ir, "tensor").filter(
      ({ role, optional, block }) => role === "in" && !optional && !block,
    );
    return roots.some((root) => inputs.some(({ value, pointer }) => root === value || root === pointer));
  }

  /**
   * Rows and columns beyond their tensor's hold what the author's wrapping index finds there, or the copy engine's zeros. No
   * one may see the difference: stores leave these lanes out.
   */
  #checkOuterLanes({ operands, stores }: GemmPattern): void {
    operands.forEach(({ block, swapped }, side) => {
      // The tensor's axis that is the product's row or column, and the one that it sums over.
      const own = (side === 0) !== swapped ? 0 : 1;
      if (block.axes[1 - own]!.wraps !== undefined)
        notSpecializable("an index wraps along the sum", block.statement.at);
      const { wraps } = block.axes[own]!;
      if (wraps === undefined) return;
      if (wraps !== block.tensor.dims[axisIn(block, own)])
        notSpecializable("an index wraps at another size than its tensor's", block.statement.at);
      for (const store of stores) {
        const index = store.axes[side]!;
        const isLeftOut =
          index.wraps === undefined &&
          isSameBlock(index, block.axes[own]!) &&
          store.tensor.dims[axisIn(store, side)] === wraps;
        if (!isLeftOut)
          notSpecializable("an index wraps, and a store may show the lanes that it wraps", store.statement.at);
      }
    });
    for (const { axes, statement } of stores)
      if (axes.some(({ wraps }) => wraps !== undefined)) notSpecializable("a store's index wraps", statement.at);
  }
}

const WORDS = {
  let: "state",
  write: "state",
  for: "another loop",
  while: "a while loop",
  if: "a branch",
  exit: "an early end",
} as const;

const hasFunction = (argument: Argument): boolean =>
  isList(argument) ? argument.some(hasFunction) : "kind" in argument && argument.kind === "function";

/** The parameters that an address is made of. */
function rootsOf(argument: Argument, made: ReadonlyMap<Value, Statement>): readonly Value[] {
  if (!isValue(argument)) return [];
  const statement = made.get(argument);
  if (statement?.kind !== "op") return [argument];
  return statement.operands.slice(0, 1).flatMap((operand) => (operand ? rootsOf(operand, made) : []));
}

function shapeOf(argument: Argument): readonly Dim[] {
  return isValue(argument) && argument.type.kind === "tile" ? argument.type.shape : [];
}
