/**
 * The second factor of a mixed product: a tile that an iteration computes from one block of integers, such as packed
 * weights, and from numbers for its columns or rows. The widener, a separate partition, computes the tile in registers.
 */
import {
  type Argument,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { floorDivText } from "../../../types/constexpr-text.js";
import { type DTypeName, members } from "../../../types/dtype.js";
import type { Dim } from "../../../types/shape.js";
import { backwardSlice } from "./backward-slice.js";
import { type BlockAccess, blockAccess, checkRank } from "./block-access.js";
import { extentDim } from "./block-index.js";
import { notSpecializable } from "./not-specializable.js";
import { isLoad, registerLoadsIn } from "./register-loads.js";
import { type DotStatement, FLOAT16_FACTORS, matrixShape } from "./tensor-blocks.js";
import { rankOf, WideningLayouts } from "./widening-layouts.js";

export interface Widening {
  /** The block of integers: the product's columns are its last axis. */
  readonly packed: BlockAccess;
  /** The number of rows of the factor that an element of the block contains: its other axis is shorter by it. */
  readonly packing: number;
  /** The computed tile, and whether the product takes it with its axes swapped. */
  readonly tile: Value;
  readonly isSwapped: boolean;
}

type Definitions = ReadonlyMap<Value, Statement>;

const INTEGERS: readonly DTypeName[] = ["int8", "uint8", "int16", "int32"];

/**
 * @param iteration The statements of the loop.
 * @returns Undefined if the factor follows from no block of integers.
 * @throws {@link NotSpecializable} if it does, in another way.
 */
export function wideningOf(
  product: DotStatement,
  iteration: readonly Statement[],
  ir: KernelIR,
  definitionsOf: Definitions,
): Widening | undefined {
  const [tile, isSwapped] = unswapped(product.operands[1], definitionsOf);
  const slice = backwardSlice(tile ? [tile] : [], iteration);
  const blocks = slice.filter(isLoad).filter(({ results: [block] }) => rankOf(block) === 2);
  const load = blocks.find(isInteger);
  if (!tile || !load || load.results[0] === tile) return undefined;
  const extra = blocks.find((each) => each !== load);
  if (extra)
    return notSpecializable("it computes a factor from several blocks; the form widens one block", extra.location);
  const packed = packedBlock(load, ir, definitionsOf);
  const [inner, columns] = matrixShape(product.operands[1]);
  const [first, last] = packed.axes;
  const packing = PACKINGS.find((count) => quotientOf(inner, count) === String(extentDim(first.extent)));
  if (extentDim(last.extent) !== columns || packing === undefined)
    return notSpecializable(
      `the block that it widens is not [${inner}, ${columns}], nor has it fewer rows by a power of two`,
      load.location,
    );
  for (const statement of slice) if (statement !== load) checkStatement(statement, ir, definitionsOf);
  const lanes = new WideningLayouts(load, columns, definitionsOf).lanesOf(tile);
  if (lanes?.columnAxis !== (isSwapped ? 0 : 1))
    return notSpecializable("the columns of the block that it widens become rows", product.location);
  checkFactorDType(tile, product);
  return { packed, packing, tile, isSwapped };
}

function checkStatement(statement: Statement, ir: KernelIR, definitionsOf: Definitions): void {
  const { location } = statement;
  if (statement.kind !== "op") return notSpecializable("it computes a factor by a branch or by state", location);
  const { op } = statement;
  if (op.effect === "read" && !isLoad(statement))
    notSpecializable(`it computes a factor from numbers that tl.${op.name} reads; read them with tl.load`, location);
  registerLoadsIn(statement, ir, definitionsOf);
}

/** Numbers of an integer have two bits at least. */
const PACKINGS = [1, 2, 4, 8, 16];

function quotientOf(dim: Dim, count: number): string {
  if (typeof dim === "number") return String(dim / count);
  return count === 1 ? dim : floorDivText(dim, String(count));
}

/** The value whose axes `tl.trans` swaps, and whether they are swapped in the end. */
function unswapped(
  operand: Argument,
  definitionsOf: Definitions,
  isSwapped = false,
): readonly [Value | undefined, boolean] {
  if (!isValue(operand)) return [undefined, isSwapped];
  const definition = definitionsOf.get(operand);
  if (definition?.kind !== "op" || !definition.op.lowering?.permutes) return [operand, isSwapped];
  const [inner] = definition.operands;
  const swaps = definition.op.lowering.permutes(definition.operands, 2)[0] === 1;
  return inner === undefined ? [undefined, isSwapped] : unswapped(inner, definitionsOf, isSwapped !== swaps);
}

/** @throws {@link NotSpecializable} if TMA cannot copy the block, or if its view swaps axes. */
function packedBlock(load: OpStatement, ir: KernelIR, definitionsOf: Definitions): BlockAccess {
  const block = blockAccess(load, ir, definitionsOf);
  checkRank(block);
  const { tensor, isSwapped } = block;
  if (tensor.role !== "in" || tensor.optional)
    notSpecializable(`it widens ${tensor.name}, which is no plain input`, load.location);
  if (isSwapped) notSpecializable("it widens a block with its axes swapped", load.location);
  return block;
}

/** @throws {@link NotSpecializable} unless the tensor cores multiply the tile and sum in float32. */
function checkFactorDType({ type }: Value, { location }: DotStatement): void {
  const dtypes = type.kind === "tile" ? members(type.dtype) : [];
  if (!FLOAT16_FACTORS.some((group) => dtypes.every((each) => group.includes(each))))
    notSpecializable(`it widens to ${dtypes.join(" or ")}; the form widens to float16 and bfloat16`, location);
}

function isInteger({ results: [block] }: OpStatement): boolean {
  const { type } = block ?? {};
  return type?.kind === "tile" && members(type.dtype).every((each) => INTEGERS.includes(each));
}
