/** Blocks that a specialized kernel multiplies and writes. */
import {
  type Argument,
  type Block,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { walk } from "../../../ir/walk.js";
import { members } from "../../../types/dtype.js";
import { type BlockAccess, blockAccess } from "./block-access.js";
import { notSpecializable } from "./not-specializable.js";

export const isProduct = ({ op }: OpStatement): boolean => op.facts.contracts === true;

/** The products in a block, including nested blocks. */
export function productsIn(block: Block): readonly OpStatement[] {
  const products: OpStatement[] = [];
  walk(block, (statement) => {
    if (statement.kind === "op" && isProduct(statement)) products.push(statement);
  });
  return products;
}

/**
 * Rejects options of a product. `inputPrecision` has no effect on the supported dtypes, and the caller checks the
 * accumulator's dtype.
 * @throws {@link NotSpecializable} if the product has another option.
 */
export function checkOptions({ op, options, location: at }: OpStatement): void {
  const option = Object.keys(options).find((name) => name !== "inputPrecision" && name !== "outDtype");
  if (option !== undefined) notSpecializable(`tl.${op.name} with ${option} has no warp-specialized form`, at);
}

/** @throws {@link NotSpecializable} if the load is not a block of an input that the tensor cores can multiply. */
export function multipliedBlock(
  load: OpStatement,
  ir: KernelIR,
  definitionsOf: ReadonlyMap<Value, Statement>,
): BlockAccess {
  const block = blockAccess(load, ir, definitionsOf);
  const { role, dtype, optional } = block.tensor;
  if (role !== "in" || optional)
    notSpecializable(`it multiplies ${block.tensor.name}, which is no plain input`, load.location);
  if (!members(dtype).every((each) => each === "float16" || each === "bfloat16"))
    notSpecializable(
      `it multiplies ${members(dtype).join(" or ")}; the form takes float16 and bfloat16`,
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
export function storedValue(statement: OpStatement): Argument | undefined {
  const name = statement.op.proof.memoryOperands?.value;
  return name === undefined ? undefined : statement.operands[Object.keys(statement.op.operands).indexOf(name)];
}
