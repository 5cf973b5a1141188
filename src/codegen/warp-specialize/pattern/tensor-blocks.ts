/** Blocks that a specialized kernel multiplies and writes. */
import {
  type Argument,
  type Block,
  isLiteral,
  isValue,
  type KernelIR,
  operandOf,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { walk } from "../../../ir/walk.js";
import { opOf } from "../../../ops/define.js";
import { dot } from "../../../ops/dot.js";
import { type DTypeName, isFp8, members } from "../../../types/dtype.js";
import type { Dim } from "../../../types/shape.js";
import { type BlockAccess, blockAccess } from "./block-access.js";
import { notSpecializable } from "./not-specializable.js";

/** `tl.dot`: its operands are the two factors and an optional addend. */
export interface DotStatement extends OpStatement {
  readonly operands: readonly [Argument, Argument, ...(readonly (Argument | undefined)[])];
  readonly results: readonly [Value];
}

export const isDot = (statement: OpStatement): statement is DotStatement => statement.op === opOf(dot);

/** @throws {@link NotSpecializable} if the product is no matrix of float32 sums, or if it has unsupported options. */
export function checkProduct(product: DotStatement): void {
  const { results, location: at } = product;
  checkOptions(product);
  const { type } = results[0];
  if (type.kind !== "tile" || type.dtype !== "float32") notSpecializable("its product is not summed in float32", at);
  if (type.shape.length !== 2) notSpecializable("its product has more than two axes", at);
}

/** The rows and columns of a product, or of one of its operands. */
export function matrixShape(argument: Argument): readonly [Dim, Dim] {
  const [rows, columns] = isValue(argument) && argument.type.kind === "tile" ? argument.type.shape : [];
  if (rows === undefined || columns === undefined) throw new Error("an operand of tl.dot is no matrix");
  return [rows, columns];
}

export const isProduct = ({ op }: OpStatement): boolean => op.facts.contracts === true;

/** The products in a block, including nested blocks. */
export function productsIn(block: Block): readonly OpStatement[] {
  const products: OpStatement[] = [];
  walk(block, (statement) => {
    if (statement.kind === "op" && isProduct(statement)) products.push(statement);
  });
  return products;
}

/** True if the tensor cores round while they sum such a product, so that it may be promoted. */
export const hasFloat8Operands = ({ operands }: DotStatement): boolean =>
  operands.slice(0, 2).every((operand) => {
    const dtype = isValue(operand) && operand.type.kind === "tile" ? operand.type.dtype : undefined;
    return dtype !== undefined && members(dtype).every(isFp8);
  });

/**
 * Rejects options of a product. `inputPrecision` has no effect on the supported dtypes, and the caller checks the
 * accumulator's dtype. A product of 8-bit floats may be promoted block by block.
 * @throws {@link NotSpecializable} if the product has another option.
 */
function checkOptions(product: DotStatement): void {
  const { op, options, operands, location: at } = product;
  const { maxNumImpreciseAcc, ...others } = options;
  const option = Object.keys(others).find((name) => name !== "inputPrecision" && name !== "outDtype");
  if (option !== undefined) notSpecializable(`tl.${op.name} with ${option} has no warp-specialized form`, at);
  if (maxNumImpreciseAcc === undefined) return;
  const [, inner] = matrixShape(operands[0]);
  const count = isLiteral(maxNumImpreciseAcc) ? maxNumImpreciseAcc.value : dimOf(maxNumImpreciseAcc);
  if (!hasFloat8Operands(product) || count !== inner)
    notSpecializable(`maxNumImpreciseAcc of a warp-specialized product is ${inner}, the length of its blocks`, at);
}

const dimOf = (argument: Argument): Dim | undefined =>
  isValue(argument) && argument.type.kind === "constexpr" ? argument.type.text : undefined;

/** Dtypes of blocks that a form multiplies. A dtype variable must have members of one group only. */
type Factors = readonly (readonly DTypeName[])[];
export const FLOAT16_FACTORS: Factors = [["float16", "bfloat16"]];
export const GEMM_FACTORS: Factors = [...FLOAT16_FACTORS, ["float8e4nv"], ["float8e5"]];

/** @throws {@link NotSpecializable} if the load is not a block of an input that the tensor cores can multiply. */
export function multipliedBlock(
  load: OpStatement,
  ir: KernelIR,
  definitionsOf: ReadonlyMap<Value, Statement>,
  factors: Factors,
): BlockAccess {
  const block = blockAccess(load, ir, definitionsOf);
  const { role, dtype, optional } = block.tensor;
  if (role !== "in" || optional)
    notSpecializable(`it multiplies ${block.tensor.name}, which is no plain input`, load.location);
  if (!factors.some((group) => members(dtype).every((each) => group.includes(each))))
    notSpecializable(
      `it multiplies ${members(dtype).join(" or ")}; the form takes ${factors.map((group) => group.join(" and ")).join(", ")}`,
      load.location,
    );
  return block;
}

/** @throws {@link NotSpecializable} if the store is not a whole block of an output. */
export function writtenBlock(
  store: OpStatement,
  ir: KernelIR,
  definitionsOf: ReadonlyMap<Value, Statement>,
): BlockAccess {
  const block = blockAccess(store, ir, definitionsOf);
  const { tensor, isSwapped } = block;
  if (tensor.role !== "out" || tensor.optional)
    notSpecializable(`it writes ${tensor.name}, which is no plain output`, store.location);
  if (isSwapped) notSpecializable("it writes a block with its axes swapped", store.location);
  if (!members(tensor.dtype).every((each) => STORABLE.has(each)))
    notSpecializable(
      `it writes ${members(tensor.dtype).join(" or ")}; the form writes float16, bfloat16 and float32`,
      store.location,
    );
  const value = storedValue(store);
  if (!isValue(value) || value.type.kind !== "tile" || value.type.shape.length !== 2)
    notSpecializable("it writes one value to a whole block", store.location);
  return block;
}

const STORABLE: ReadonlySet<string> = new Set(["float16", "bfloat16", "float32"]);

/** The operand that a store writes. */
export const storedValue = (statement: OpStatement): Argument | undefined =>
  operandOf(statement, statement.op.proof.memoryOperands?.value);

/** A store of the lowered program, with the block that it writes. Undefined for a store of one number per row. */
export interface LoweredStore<Block extends BlockAccess | undefined> {
  readonly statement: OpStatement;
  readonly value: Argument;
  readonly block: Block;
}

export const hasBlock = (store: LoweredStore<BlockAccess | undefined>): store is LoweredStore<BlockAccess> =>
  store.block !== undefined;

/** The lowered stores, with the pattern's blocks. Lowering keeps the number of stores and their order. */
export function loweredStores<Block extends BlockAccess | undefined>(
  statements: readonly Statement[],
  blocks: readonly Block[],
): ReadonlyMap<Statement, LoweredStore<Block>> {
  const writes = statements.filter((each) => each.kind === "op").filter(({ op }) => op.effect === "write");
  return new Map(
    blocks.map((block, i) => {
      const statement = writes[i];
      const value = statement && storedValue(statement);
      if (!statement || value === undefined) throw new Error("a store has no lowered form");
      return [statement, { statement, value, block }];
    }),
  );
}
