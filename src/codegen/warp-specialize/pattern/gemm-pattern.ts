/**
 * GEMM with an epilogue: a loop over blocks of two tensors whose product is accumulated, then arithmetic that treats
 * each row independently, then stores of blocks.
 * The pattern is matched by data flow, on the program before views are lowered.
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
import type { Dim } from "../../../types/shape.js";
import { axisIn, type BlockAccess, checkSameShape, checkRank } from "./block-access.js";
import { isSameBlock } from "./block-index.js";
import {
  checkProduct,
  type DotStatement,
  isDot,
  matrixShape,
  multipliedBlock,
  productsIn,
  storedValue,
  writtenBlock,
} from "./tensor-blocks.js";
import { notSpecializable } from "./not-specializable.js";

export interface GemmPattern {
  /** The author's loop over tiles. Undefined if each program computes one tile. */
  readonly tileLoop: ForStatement | undefined;
  /** The loop over blocks of the inner dimension. */
  readonly kLoop: ForStatement;
  readonly product: DotStatement;
  readonly accumulator: LetStatement;
  /** The operands of the product, rows first. */
  readonly operands: readonly [ProductOperand, ProductOperand];
  /** In program order. */
  readonly stores: readonly BlockAccess[];
  /** Rows, columns and inner dimension of the product. */
  readonly shape: readonly [Dim, Dim, Dim];
}

export interface ProductOperand {
  readonly block: BlockAccess;
  /** True if the loaded block's axes are swapped in the product. */
  readonly isSwapped: boolean;
}

/** @throws {@link NotSpecializable} with the reason and the location if the kernel is not a GEMM. */
export function matchGemm(ir: KernelIR): GemmPattern {
  const nest = loopNestOf(ir);
  return new GemmMatcher(ir, nest).match();
}

interface LoopNest {
  readonly tileLoop: ForStatement | undefined;
  readonly kLoop: ForStatement;
  readonly product: DotStatement;
  /** The statements of one tile. */
  readonly tile: Block;
}

function loopNestOf(ir: KernelIR): LoopNest {
  const [product] = productsIn(ir.body);
  if (!product) return notSpecializable("it multiplies no matrices", ir.at);
  if (!isDot(product)) return notSpecializable(`tl.${product.op.name} has no warp-specialized form`, product.location);
  const loopIn = ({ statements }: Block): ForStatement | undefined =>
    statements.find((each) => each.kind === "for" && containsStatement(each.body, product)) as ForStatement | undefined;
  const outer = loopIn(ir.body);
  if (!outer) return notSpecializable("its product is not in a loop over blocks", product.location);
  const inner = loopIn(outer.body);
  const kLoop = inner ?? outer;
  if (!kLoop.body.statements.includes(product))
    return notSpecializable("its product stands in a branch or a third loop", product.location);
  if (kLoop.unrolled || (inner && outer.unrolled)) return notSpecializable("its loop is unrolled", kLoop.location);
  return { tileLoop: inner && outer, kLoop, product, tile: inner ? outer.body : ir.body };
}

function containsStatement(block: Block, target: Statement): boolean {
  let isContained = false;
  walk(block, (statement) => (isContained ||= statement === target));
  return isContained;
}

class GemmMatcher {
  readonly #definitions: ReadonlyMap<Value, Statement>;

  constructor(
    readonly ir: KernelIR,
    readonly nest: LoopNest,
  ) {
    this.#definitions = definitions(ir.body);
  }

  match(): GemmPattern {
    const { tileLoop, kLoop, product, tile } = this.nest;
    checkProduct(product);
    if (tileLoop) this.#checkOnlyComputes(this.ir.body, [tileLoop]);
    const accumulator = this.#accumulator();
    const operands = [this.#operand(product.operands[0]), this.#operand(product.operands[1])] as const;
    this.#checkIteration(operands);
    const stores = this.#stores(tile, accumulator);
    const pattern = { tileLoop, kLoop, product, accumulator, operands, stores, shape: this.#shape() };
    checkOuterLanes(operands[0], 0, stores);
    checkOuterLanes(operands[1], 1, stores);
    for (const { axes, statement } of stores)
      if (axes.some(({ wraps }) => wraps !== undefined)) notSpecializable("a store's index wraps", statement.location);
    return pattern;
  }

  #shape(): GemmPattern["shape"] {
    const [a, b] = this.nest.product.operands;
    const [rows, inner] = matrixShape(a);
    const [, columns] = matrixShape(b);
    return [rows, columns, inner];
  }

  /** The variable to which the product is added. Nothing else may change it. */
  #accumulator(): LetStatement {
    const { kLoop, product, tile } = this.nest;
    const [sum] = product.results;
    const writes = kLoop.body.statements.filter((each) => each.kind === "write");
    const [write, extra] = writes;
    if (!write) return notSpecializable("its loop adds up no product", product.location);
    if (extra) return notSpecializable("its loop carries state besides the sum of products", extra.location);
    const carried = product.operands[2] ?? this.#addend(write.value, sum);
    if (product.operands[2] ? write.value !== sum : carried === undefined)
      return notSpecializable("its loop carries more than the sum of products", write.location);
    const read = isValue(carried) ? this.#definitions.get(carried) : undefined;
    if (read?.kind !== "read" || read.variable !== write.variable || !kLoop.body.statements.includes(read))
      return notSpecializable("its product is not added to the state that the loop carries", product.location);
    const initialization = tile.statements.find((each) => each.kind === "let" && each.variable === write.variable);
    if (initialization?.kind !== "let")
      return notSpecializable("the sum of products does not start anew for each tile", write.location);
    return initialization;
  }

  /** The other operand of `acc + a @ b`. */
  #addend(value: Argument, sum: Value): Argument | undefined {
    const definition = isValue(value) ? this.#definitions.get(value) : undefined;
    if (definition?.kind !== "op" || definition.op.facts.integer !== "sum" || !definition.operands.includes(sum))
      return undefined;
    return definition.operands.find((operand) => operand !== sum);
  }

  #operand(operand: Argument | undefined): ProductOperand {
    const { product, kLoop } = this.nest;
    const definition = isValue(operand) ? this.#definitions.get(operand) : undefined;
    if (definition?.kind !== "op")
      return notSpecializable("its product takes an operand that is not loaded in the loop", product.location);
    const { permutes } = definition.op.lowering ?? {};
    if (permutes) {
      const inner = this.#operand(definition.operands[0]);
      return { ...inner, isSwapped: inner.isSwapped !== (permutes(definition.operands, 2)[0] === 1) };
    }
    if (definition.op.effect !== "read" || !kLoop.body.statements.includes(definition))
      return notSpecializable("its product takes an operand that is not loaded in the loop", definition.location);
    const block = multipliedBlock(definition, this.ir, this.#definitions);
    checkRank(block);
    return { block, isSwapped: block.isSwapped };
  }

  /** An iteration may only load both blocks and multiply them. */
  #checkIteration(operands: GemmPattern["operands"]): void {
    const { kLoop, product } = this.nest;
    const loads: Statement[] = operands.map(({ block }) => block.statement);
    const tiles = new Set([...operands.flatMap(({ block }) => block.statement.results), ...product.results]);
    for (const statement of kLoop.body.statements) {
      if (statement.kind === "read" || statement.kind === "write") continue;
      if (statement.kind !== "op" || (statement.op.effect !== "pure" && !loads.includes(statement)))
        notSpecializable("its loop does more than load two blocks and multiply them", statement.location);
      const isPermuted = statement.op.lowering?.permutes !== undefined;
      const isAccumulation =
        statement.op.facts.integer === "sum" && statement.operands.some((each) => each === product.results[0]);
      if (statement === product || isPermuted || isAccumulation) continue;
      if (
        argumentsOf(statement)
          .flatMap(valuesIn)
          .some((value) => tiles.has(value))
      )
        notSpecializable("its loop computes with the blocks before it multiplies them", statement.location);
    }
  }

  /** The stores after the loop, which may be surrounded by arithmetic and loads of inputs. */
  #stores(tile: Block, accumulator: LetStatement): readonly BlockAccess[] {
    const { kLoop } = this.nest;
    this.#checkOnlyComputes(tile, [kLoop, accumulator], true);
    const loopIndex = tile.statements.indexOf(kLoop);
    const stores = tile.statements.flatMap((statement, i): readonly BlockAccess[] => {
      if (statement.kind !== "op" || statement.op.effect !== "write") return [];
      if (i < loopIndex) return notSpecializable("it writes before it multiplies", statement.location);
      return [this.#store(statement)];
    });
    if (stores.length === 0) notSpecializable("it writes no block after its loop", kLoop.location);
    checkSameShape(stores);
    return stores;
  }

  #store(statement: OpStatement): BlockAccess {
    const value = storedValue(statement);
    if (value !== undefined && shapeOf(value).length === 1)
      notSpecializable(
        "it writes a number for each row or column; a product is written in blocks alone",
        statement.location,
      );
    const block = writtenBlock(statement, this.ir, this.#definitions);
    checkRank(block);
    return block;
  }

  /** Apart from `inner`, a block may only compute, and access memory if `mayAccess`. */
  #checkOnlyComputes({ statements }: Block, inner: readonly Statement[], mayAccess = false): void {
    for (const statement of statements) {
      if (inner.includes(statement) || statement.kind === "read") continue;
      if (statement.kind === "if" && mayAccess) {
        this.#checkBranch(statement);
        continue;
      }
      if (statement.kind !== "op")
        return notSpecializable(`it has ${STATEMENT_NAMES[statement.kind]} around its product`, statement.location);
      const { effect } = statement.op;
      if (statement.operands.some((each) => each !== undefined && hasFunction(each)))
        notSpecializable("it calls a helper function around its product", statement.location);
      if (effect === "pure" || (mayAccess && (effect === "write" || this.#readsInput(statement)))) continue;
      notSpecializable(
        "it accesses memory around its product other than to read inputs and to write blocks",
        statement.location,
      );
    }
  }

  /**
   * A branch computes a value and may load its operands. Branching at run time would need one layout for both branches.
   * Converting a tile to that layout needs shared memory, which the ring buffer fills.
   */
  #checkBranch(statement: IfStatement): void {
    const { condition, location: at } = statement;
    if (isValue(condition) && condition.type.kind !== "constexpr")
      notSpecializable("it decides at run time around its product; use tl.where, or decide by a constexpr", at);
    for (const branch of blocksOf(statement)) {
      const write = branch.statements.find((each) => each.kind === "op" && each.op.effect === "write");
      if (write) notSpecializable("it writes in a branch; write the branch's result after it", write.location);
      this.#checkOnlyComputes(branch, [], true);
    }
  }

  #readsInput(statement: OpStatement): boolean {
    if (statement.op.effect !== "read") return false;
    const roots = rootsOf(statement.operands[0], this.#definitions);
    const inputs = paramsOf(this.ir, "tensor").filter(
      ({ role, optional, block }) => role === "in" && !optional && !block,
    );
    return roots.some((root) => inputs.some(({ value, pointer }) => root === value || root === pointer));
  }
}

/**
 * Lanes of rows and columns past the tensor's bounds contain the elements at the wrapped index, or zeros from TMA. The
 * difference must not be visible, so stores have to mask these lanes.
 *
 * @param side The axis of the product that is the operand's outer axis: 0 for rows, 1 for columns.
 */
function checkOuterLanes({ block, isSwapped }: ProductOperand, side: 0 | 1, stores: readonly BlockAccess[]): void {
  // The block axis that is the product's row or column axis. The other axis is the one that is summed over.
  const outerAxis = (side === 0) !== isSwapped ? 0 : 1;
  const outer = block.axes[outerAxis];
  const { wraps } = outer;
  if (block.axes[outerAxis === 0 ? 1 : 0].wraps !== undefined)
    notSpecializable("an index wraps along the sum", block.statement.location);
  if (wraps === undefined) return;
  if (wraps !== block.tensor.dims[axisIn(block, outerAxis)])
    notSpecializable("an index wraps at another size than its tensor's", block.statement.location);
  for (const store of stores) {
    const index = store.axes[side];
    const isMasked =
      index.wraps === undefined && isSameBlock(index, outer) && store.tensor.dims[axisIn(store, side)] === wraps;
    if (!isMasked)
      notSpecializable("an index wraps, and a store may show the lanes that it wraps", store.statement.location);
  }
}

const STATEMENT_NAMES = {
  let: "state",
  write: "state",
  for: "another loop",
  while: "a while loop",
  if: "a branch",
  exit: "an early end",
} as const;

const hasFunction = (argument: Argument): boolean =>
  isList(argument) ? argument.some(hasFunction) : "kind" in argument && argument.kind === "function";

/** The parameters from which an address is computed. */
function rootsOf(argument: Argument | undefined, definitionsOf: ReadonlyMap<Value, Statement>): readonly Value[] {
  if (!isValue(argument)) return [];
  const statement = definitionsOf.get(argument);
  if (statement?.kind !== "op") return [argument];
  return rootsOf(statement.operands[0], definitionsOf);
}

function shapeOf(argument: Argument): readonly Dim[] {
  return isValue(argument) && argument.type.kind === "tile" ? argument.type.shape : [];
}
