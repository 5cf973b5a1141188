/** Support for tensor descriptors in a module: making those of the wrapper, and scratch memory for those of kernels. */
import { makesDescriptors, descriptorsWithTunedBlocks } from "../../analysis/descriptor-tensors.js";
import { type Argument, isValue, type KernelIR, type TensorParam, type Value } from "../../ir/nodes.js";
import { type KernelNames, literalNumber } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Keyword, Statement } from "../syntax/py.js";
import type { WrapperContext } from "./scope.js";
import { argumentDisplayName } from "./checks.js";

export const CHECK_DESCRIPTOR = "_check_descriptor";
export const ALLOCATE = "_allocate";
/** Triton's class of descriptors that are made before a launch. */
export const DESCRIPTOR_CLASS = "TensorDescriptor";

/** Refuses a tensor that a descriptor cannot describe. */
export function descriptorCheck(context: WrapperContext, param: TensorParam, axis: number): Block {
  const what = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  return [py.expression(py.call(CHECK_DESCRIPTOR, what, context.tensor(param), py.number(String(axis))))];
}

/** Triton asks for scratch memory while it launches. The allocator belongs to the context of the calling thread. */
export function scratch(ir: KernelIR): Block {
  return makesDescriptors(ir) ? [py.expression(py.call("triton.set_allocator", py.name(ALLOCATE)))] : [];
}

/** `a_desc = TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K])`; a block that a config decides is set by its hook. */
export function descriptorOf(context: WrapperContext, param: TensorParam, local: (value: Value) => Expression): Block {
  if (!param.block) return [];
  const isOpen = descriptorsWithTunedBlocks(context.ir).includes(param);
  const dims = param.block.map((dim) => (isOpen ? py.number("1") : blockDim(dim, local)));
  const padding = param.padding === "nan" ? [py.keyword("padding", py.string("nan"))] : [];
  const made = py.call(`${DESCRIPTOR_CLASS}.from_tensor`, context.tensor(param), py.list(...dims), ...padding);
  return [py.assign(py.name(context.names.parameters.get(param.pointer)!), made)];
}

function blockDim(dim: Argument, local: (value: Value) => Expression): Expression {
  return isValue(dim) ? local(dim) : py.numberLiteral(literalNumber(dim) ?? 1, "int");
}

/** The hook of every config, where blocks depend on it. */
export function setsBlocks({ blockSetter }: KernelNames): readonly Keyword[] {
  return blockSetter ? [py.keyword("pre_hook", py.name(blockSetter))] : [];
}

/** The function that it names. */
export function blockSetter(ir: KernelIR, names: KernelNames): Block {
  const args = py.name("args");
  const body = descriptorsWithTunedBlocks(ir).map(({ pointer, block = [] }): Statement => {
    const descriptor = py.subscript(args, py.string(names.parameters.get(pointer)!));
    const dims = block.map((dim) =>
      blockDim(dim, (value) => py.subscript(args, py.string(names.parameters.get(value)!))),
    );
    return py.assign(py.attribute(descriptor, "block_shape"), py.list(...dims));
  });
  if (body.length === 0) return [];
  const docstring = "Gives each descriptor the block of the config that is to run.";
  return [{ kind: "function", name: names.blockSetter, decorators: [], params: [{ name: "args" }], docstring, body }];
}
