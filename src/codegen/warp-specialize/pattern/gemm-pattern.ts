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
import type { Location } from "../../../diagnostics/diagnostic.js";
import { argumentsOf, blocksOf, definitions, valuesIn, walk } from "../../../ir/walk.js";
import { type Elem, members } from "../../../types/dtype.js";
import type { Dim } from "../../../types/shape.js";
import { backwardSlice, flattenStatements } from "./backward-slice.js";
import { axisIn, type BlockAccess, checkSameShape, checkRank, type RowAccess } from "./block-access.js";
import { isSameBlock } from "./block-index.js";
import {
  checkProduct,
  GEMM_FACTORS,
  type DotStatement,
  hasFloat8Operands,
  isDot,
  matrixShape,
  multipliedBlock,
  productsIn,
  storedValue,
  writtenBlock,
} from "./tensor-blocks.js";
import { notSpecializable } from "./not-specializable.js";
import { rowScalesIn } from "./row-scales.js";
import { type Widening, wideningOf } from "./widening.js";

export interface GemmPattern {
  /** The author's loop over tiles. Undefined if each program computes one tile. */
  readonly tileLoop: ForStatement | undefined;
  /** The loop over blocks of the inner dimension. */
  readonly kLoop: ForStatement;
  readonly product: DotStatement;
  readonly accumulation: Accumulation;
  readonly accumulator: LetStatement;
  /** The operands of the product, rows first. */
  readonly operands: readonly [ProductOperand, ProductOperand];
  /** The scales of the rows, if the ring buffer takes them as well. */
  readonly rowScales?: RowAccess | undefined;
  /** The computation of the second factor, if the kernel does not load it. Its operand is then the packed block. */
  readonly widening?: Widening | undefined;
  /** In program order. */
  readonly stores: readonly BlockAccess[];
  /** Rows, columns and inner dimension of the product. */
  readonly shape: readonly [Dim, Dim, Dim];
}

/** How products are added up. A constexpr may decide between two ways. */
export interface Accumulation {
  readonly condition?: Argument;
  readonly arms: readonly [SumOfProducts, SumOfProducts?];
}

export interface SumOfProducts {
  /** True if registers add each product to the sum. Otherwise the tensor cores add up all of them. */
  readonly isPromoted: boolean;
  /** Numbers, or numbers for each row, that a product is multiplied by before it is added. */
  readonly factors: readonly Argument[];
}

export const mayPromote = ({ arms }: Accumulation): boolean => arms.some((arm) => arm?.isPromoted);

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

type PlacedProduct = readonly [DotStatement, Block];

interface LoopNest {
  readonly tileLoop: ForStatement | undefined;
  readonly kLoop: ForStatement;
  /** The only product, or that of each arm of `choice`, with the block that it stands in. */
  readonly products: readonly [PlacedProduct, PlacedProduct?];
  /** The branch of the loop that decides how the product is summed, see {@link sumChoice}. */
  readonly choice: IfStatement | undefined;
  /** The statements of one tile. */
  readonly tile: Block;
}

function loopNestOf(ir: KernelIR): LoopNest {
  const [product, other] = productsIn(ir.body);
  if (!product) return notSpecializable("it multiplies no matrices", ir.at);
  if (!isDot(product)) return notSpecializable(`tl.${product.op.name} has no warp-specialized form`, product.location);
  const loopIn = ({ statements }: Block): ForStatement | undefined =>
    statements.find((each) => each.kind === "for" && containsStatement(each.body, product)) as ForStatement | undefined;
  const outer = loopIn(ir.body);
  if (!outer) return notSpecializable("its product is not in a loop over blocks", product.location);
  const inner = loopIn(outer.body);
  const kLoop = inner ?? outer;
  const choice = sumChoice(ir);
  if (!kLoop.body.statements.includes(choice ?? product))
    return notSpecializable("its product stands in a branch or a third loop", product.location);
  if (kLoop.unrolled || (inner && outer.unrolled)) return notSpecializable("its loop is unrolled", kLoop.location);
  const products = choice && other ? productsOf(choice, product, other) : ([[product, kLoop.body]] as const);
  return { tileLoop: inner && outer, kLoop, products, choice, tile: inner ? outer.body : ir.body };
}

function productsOf(
  { then, otherwise, location }: IfStatement,
  first: DotStatement,
  second: OpStatement,
): LoopNest["products"] {
  if (!isDot(second)) return notSpecializable("an arm of its loop has another product than tl.dot", location);
  return [
    [first, then],
    [second, otherwise],
  ];
}

/** The branch on a constexpr whose two arms have the kernel's only products. */
export function sumChoice(ir: KernelIR): IfStatement | undefined {
  const [first, second, extra] = productsIn(ir.body);
  if (!first || !second || extra) return undefined;
  let choice: IfStatement | undefined;
  walk(ir.body, (statement) => {
    if (statement.kind !== "if" || !isValue(statement.condition)) return;
    const { condition, then, otherwise } = statement;
    const hasBoth = then.statements.includes(first) && otherwise.statements.includes(second);
    if (condition.type.kind === "constexpr" && hasBoth) choice = statement;
  });
  return choice;
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
    const { tileLoop, kLoop, products, tile } = this.nest;
    const [[product]] = products;
    if (tileLoop) this.#checkOnlyComputes(this.ir.body, [tileLoop]);
    const { accumulation, accumulator } = this.#sum();
    const widening = this.#widening(accumulation);
    const operands = this.#operands(widening);
    this.#checkIteration(operands, widening);
    const stores = this.#stores(tile, accumulator);
    const shape = productShape(product);
    const rowScales = this.#rowScales(accumulation, operands[0]);
    const pattern = {
      tileLoop,
      kLoop,
      product,
      accumulation,
      accumulator,
      operands,
      rowScales,
      widening,
      stores,
      shape,
    };
    checkOuterLanes(operands[0], 0, stores);
    checkOuterLanes(operands[1], 1, stores);
    for (const { axes, statement } of stores)
      if (axes.some(({ wraps }) => wraps !== undefined)) notSpecializable("a store's index wraps", statement.location);
    return pattern;
  }

  /** The variable to which the product is added, and by what. Nothing else may change it. */
  #sum(): Pick<GemmPattern, "accumulation" | "accumulator"> {
    const { choice, kLoop, products } = this.nest;
    const stray = choice && kLoop.body.statements.find((each) => each.kind === "write");
    if (stray) notSpecializable(OTHER_STATE, stray.location);
    const [placed, otherwise] = products;
    const { accumulator, ...sum } = this.#sumIn(placed);
    const other = otherwise && this.#sumIn(otherwise);
    if (!choice || !other) return { accumulator, accumulation: { arms: [sum] } };
    if (other.accumulator !== accumulator) notSpecializable(OTHER_STATE, choice.location);
    return { accumulator, accumulation: { condition: choice.condition, arms: [sum, other] } };
  }

  #sumIn([product, block]: PlacedProduct): SumOfProducts & { readonly accumulator: LetStatement } {
    const { tile } = this.nest;
    const isFloat8 = hasFloat8Operands(product);
    checkProduct(product);
    const [sum] = product.results;
    const writes = block.statements.filter((each) => each.kind === "write");
    const [write, extra] = writes;
    if (!write) return notSpecializable("its loop adds up no product", product.location);
    if (extra) return notSpecializable(OTHER_STATE, extra.location);
    const { addend, factors } = this.#addition(write.value, sum);
    const carried = product.operands[2] ?? addend;
    if (product.operands[2] ? write.value !== sum : carried === undefined)
      return notSpecializable("its loop carries more than the sum of products", write.location);
    const read = isValue(carried) ? this.#definitions.get(carried) : undefined;
    if (read?.kind !== "read" || read.variable !== write.variable || !block.statements.includes(read))
      return notSpecializable("its product is not added to the state that the loop carries", product.location);
    const accumulator = tile.statements.find((each) => each.kind === "let" && each.variable === write.variable);
    if (accumulator?.kind !== "let")
      return notSpecializable("the sum of products does not start anew for each tile", write.location);
    for (const factor of factors) {
      checkFactor(factor, productShape(product), write.location);
      this.#checkIsComputed(factor);
    }
    // The tensor cores add up products of 16-bit floats in float32.
    const isImprecise = isFloat8 && (product.operands[2] === undefined || "maxNumImpreciseAcc" in product.options);
    return { accumulator, isPromoted: isImprecise || factors.length > 0, factors };
  }

  #rowScales({ condition, arms: [{ factors }] }: Accumulation, rows: ProductOperand): RowAccess | undefined {
    if (condition !== undefined) return undefined;
    const { statements } = this.nest.kLoop.body;
    const scaling = backwardSlice(factors, statements);
    return rowScalesIn(this.ir, scaling, rows.block.axes[rows.isSwapped ? 1 : 0], this.#definitions);
  }

  /** Checks that a factor follows from statements before the loop and of the loop itself, apart from its branches. */
  #checkIsComputed(factor: Argument): void {
    const { kLoop } = this.nest;
    const inLoop = new Set(flattenStatements(kLoop.body.statements));
    for (const value of valuesIn(factor)) {
      const definition = this.#definitions.get(value);
      if (!definition || !inLoop.has(definition)) continue;
      if (definition.kind !== "op" || !kLoop.body.statements.includes(definition))
        return notSpecializable("it scales its product by state, or by what a branch loads", definition.location);
      argumentsOf(definition).forEach((argument) => this.#checkIsComputed(argument));
    }
  }

  /** The parts of `addend + (a @ b) * factor * factor`. */
  #addition(value: Argument, product: Value): { readonly addend?: Argument; readonly factors: readonly Argument[] } {
    for (const [scaled, addend] of this.#pairs(value, "sum")) {
      const factors = this.#factorsOf(scaled, product);
      if (factors) return { addend, factors };
    }
    return { factors: [] };
  }

  /** The factors of `product * factor * factor`. Undefined for another value. */
  #factorsOf(value: Argument, product: Value): readonly Argument[] | undefined {
    if (value === product) return [];
    for (const [scaled, factor] of this.#pairs(value, "product")) {
      const factors = this.#factorsOf(scaled, product);
      if (factors) return [...factors, factor];
    }
    return undefined;
  }

  /** The operands of a sum or a product, in both orders. */
  #pairs(value: Argument, kind: "sum" | "product"): readonly (readonly [Argument, Argument])[] {
    const definition = isValue(value) ? this.#definitions.get(value) : undefined;
    if (definition?.kind !== "op" || definition.op.facts.integer !== kind) return [];
    const [left, right] = definition.operands;
    return left && right
      ? [
          [left, right],
          [right, left],
        ]
      : [];
  }

  #widening(accumulation: Accumulation): Widening | undefined {
    const { products, kLoop } = this.nest;
    const [[product], other] = products;
    const widening = wideningOf(product, kLoop.body.statements, this.ir, this.#definitions);
    if (widening && (other || mayPromote(accumulation)))
      notSpecializable("it scales or chooses a product whose factor it computes in the loop", product.location);
    return widening;
  }

  #operands(widening: Widening | undefined): GemmPattern["operands"] {
    const [[product], other] = this.nest.products;
    const left = this.#operand(product.operands[0]);
    if (widening) return [left, { block: widening.packed, isSwapped: false }];
    const right = this.#operand(product.operands[1]);
    if (other && [left, right].some((each, i) => !isSameOperand(each, this.#operand(other[0].operands[i]))))
      notSpecializable("its branch multiplies other blocks in each arm", other[0].location);
    if (!isSameDType(left.block.tensor.dtype, right.block.tensor.dtype))
      notSpecializable("it multiplies two different dtypes", product.location);
    const isSummedLast = !left.isSwapped && right.isSwapped;
    if (hasFloat8Operands(product) && !isSummedLast)
      notSpecializable(
        "the tensor cores multiply 8-bit floats along the last axis of both tensors; pass the second one as [columns, inner]",
        product.location,
      );
    return [left, right];
  }

  #operand(operand: Argument | undefined): ProductOperand {
    const { products, kLoop } = this.nest;
    const [[product]] = products;
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
    const block = multipliedBlock(definition, this.ir, this.#definitions, GEMM_FACTORS);
    checkRank(block);
    return { block, isSwapped: block.isSwapped };
  }

  /** An iteration may only load both blocks, multiply them, and scale the product by what inputs contain. */
  #checkIteration(operands: GemmPattern["operands"], widening: Widening | undefined): void {
    const { kLoop, choice } = this.nest;
    const loads: Statement[] = [
      ...operands.map(({ block }) => block.statement),
      ...(widening ? backwardSlice([widening.tile], kLoop.body.statements) : []),
    ];
    const statements = kLoop.body.statements.flatMap((each) =>
      each === choice ? blocksOf(choice).flatMap((arm) => arm.statements) : [each],
    );
    // What is computed from the blocks: their transposes, the products, and sums of scaled products.
    const tiles = new Set<Value>([
      ...operands.flatMap(({ block }) => block.statement.results),
      ...(widening ? [widening.tile] : []),
    ]);
    for (const statement of statements) {
      if (statement.kind === "read" || statement.kind === "write" || loads.includes(statement)) continue;
      if (statement.kind !== "op" || (statement.op.effect !== "pure" && !this.#readsInput(statement)))
        return notSpecializable("its loop does more than load two blocks and multiply them", statement.location);
      if (
        !argumentsOf(statement)
          .flatMap(valuesIn)
          .some((value) => tiles.has(value))
      )
        continue;
      const { integer } = statement.op.facts;
      const isAllowed =
        isDot(statement) || statement.op.lowering?.permutes || integer === "sum" || integer === "product";
      if (!isAllowed)
        notSpecializable("its loop computes with the blocks before it multiplies them", statement.location);
      for (const result of statement.results) tiles.add(result);
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

const OTHER_STATE = "its loop carries state besides the sum of products";

const isSameDType = (one: Elem, other: Elem): boolean => members(one).join() === members(other).join();

const isSameOperand = (one: ProductOperand, other: ProductOperand): boolean =>
  one.block.statement === other.block.statement && one.isSwapped === other.isSwapped;

/** A factor has one row or as many as the product, and one column. */
function checkFactor(factor: Argument, [rows]: GemmPattern["shape"], location: Location | undefined): void {
  const [factorRows = 1, columns = 1] = shapeOf(factor);
  if (columns !== 1 || (factorRows !== 1 && factorRows !== rows))
    notSpecializable(
      "it scales its product for each column in the loop; the form scales rows and whole blocks",
      location,
    );
}

function productShape({ operands: [a, b] }: DotStatement): GemmPattern["shape"] {
  const [rows, inner] = matrixShape(a);
  const [, columns] = matrixShape(b);
  return [rows, columns, inner];
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
