/** Tensor descriptors (TMA): creation in the wrapper, and scratch memory for descriptors that kernels create. */
import { hasDeviceDescriptors, descriptorsWithTunedBlocks } from "../../analysis/descriptor-tensors.js";
import type { PreconditionOf } from "../../analysis/preconditions.js";
import { type Argument, isValue, type KernelIR, type TensorParam, type Value } from "../../ir/nodes.js";
import { type KernelNames, literalNumber } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Keyword, Statement } from "../syntax/py.js";
import { argumentDisplayName, type WrapperContext } from "./checks.js";

const CHECK_DESCRIPTOR = "_check_descriptor";
const CHECK_DESCRIBED = "_check_described";
const ALLOCATE = "_allocate";
/** Triton's class for descriptors that the host creates. */
export const DESCRIPTOR_CLASS = "TensorDescriptor";

/** Rejects a tensor that a descriptor cannot address. */
export function descriptorCheck(context: WrapperContext, param: TensorParam, axis: number): Block {
  const label = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  const written = param.role === "in" ? [] : [py.keyword("is_written", py.boolean(true))];
  return [py.expression(py.call(CHECK_DESCRIPTOR, label, context.tensor(param), py.number(String(axis)), ...written))];
}

/** Rejects a raw pointer of whose memory the kernel cannot make descriptors. */
export function pointerDescriptorCheck(
  context: WrapperContext,
  { param, steps }: PreconditionOf<"pointer-descriptor">,
): Block {
  const label = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  const values = steps.map((step) => (typeof step === "number" ? py.numberLiteral(step, "int") : context.local(step)));
  return [py.expression(py.call(CHECK_DESCRIBED, label, context.tensor(param), ...values))];
}

/** Triton allocates scratch memory during a launch. The allocator is local to the calling thread's context. */
export function allocatorSetup(ir: KernelIR): Block {
  return hasDeviceDescriptors(ir) ? [py.expression(py.call("triton.set_allocator", py.name(ALLOCATE)))] : [];
}

/**
 * `a_desc = TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K])`. The config's hook sets a block shape that is tuned.
 */
export function descriptorOf(context: WrapperContext, param: TensorParam, local: (value: Value) => Expression): Block {
  if (!param.block) return [];
  const hasTunedBlock = descriptorsWithTunedBlocks(context.ir).includes(param);
  const dims = param.block.map((dim) => (hasTunedBlock ? py.number("1") : blockDim(dim, local)));
  const padding = param.padding === "nan" ? [py.keyword("padding", py.string("nan"))] : [];
  const descriptor = py.call(`${DESCRIPTOR_CLASS}.from_tensor`, context.tensor(param), py.list(...dims), ...padding);
  return [py.assign(py.name(context.names.parameters.get(param.pointer)!), descriptor)];
}

function blockDim(dim: Argument, local: (value: Value) => Expression): Expression {
  return isValue(dim) ? local(dim) : py.numberLiteral(literalNumber(dim) ?? 1, "int");
}

/** The hook of every config, if block shapes depend on the config. */
export function preHook({ blockSetter }: KernelNames): readonly Keyword[] {
  return blockSetter ? [py.keyword("pre_hook", py.name(blockSetter))] : [];
}

/** The function that {@link preHook} references: it sets the block shapes of descriptors. */
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
