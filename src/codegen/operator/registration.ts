/** Registration of functions as PyTorch operators, and its restrictions. */
import { isKeyword } from "../names/names.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { pythonName, reservedName } from "../../diagnostics/catalog/definition-codes.js";
import {
  tensorsViaDescriptor,
  hasDeviceDescriptors,
  descriptorsWithTunedBlocks,
} from "../../analysis/descriptor-tensors.js";
import { isTorchNamespace } from "../../compiled/torch-namespaces.js";
import { isInt, members } from "../../types/dtype.js";
import type { KernelIR } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Statement } from "../syntax/py.js";

export interface OpOptions {
  /** The namespace of the operator: `torch.ops.NAMESPACE.NAME`. */
  readonly namespace: string;
  /**
   * `triton_op` lets torch.compile trace into the operator and fuse around the kernel. `custom_op`, the default,
   * supports every kernel.
   */
  readonly form?: "custom_op" | "triton_op";
}

/** The decorator that registers a function as an operator. */
export function registration(
  form: NonNullable<OpOptions["form"]>,
  qualified: string,
  mutated: readonly string[] = [],
): Expression {
  const mutates = py.tuple(...mutated.map((name) => py.string(name)));
  return py.call(`torch.library.${form}`, py.string(qualified), py.keyword("mutates_args", mutates));
}

/** @throws TileScriptError if the namespace is not a valid name. */
export function checkNamespace({ name, at }: KernelIR, { namespace }: OpOptions): void {
  if (!/^[A-Za-z_]\w*$/.test(namespace)) fail(pythonName.namespace(name, namespace), at);
  const owner = isKeyword(namespace) ? "Python" : isTorchNamespace(namespace) ? "PyTorch" : undefined;
  if (owner) fail(reservedName.namespace(name, namespace, owner), at);
}

/** The reason that a kernel cannot be an operator. Undefined if it can. */
export function whyNotAnOperator({ params }: KernelIR): string | undefined {
  const hasInput = params.some((param) => param.kind === "tensor" && param.role !== "out" && !param.optional);
  return hasInput && !params.some((param) => param.kind === "pointer")
    ? undefined
    : "an operator needs a tensor that it reads, and no raw pointers";
}

/**
 * The reason that a kernel cannot be a `triton_op`. Undefined if it can. `wrap_triton` supports only configs, pruning,
 * keys, resets, and a single launch.
 */
export function whyNotTraceable(ir: KernelIR): string | undefined {
  const unsupported = (feature: string, why = "torch.compile cannot trace it"): string =>
    `triton_op cannot have ${feature}; ${why}, so emit a custom_op`;
  const { params, tuning, launch } = ir;
  if (params.some(({ kind }) => kind === "device"))
    return unsupported("a launch that depends on properties of the GPU", "a graph is made before the GPU is known");
  const heuristic = params.find((param) => param.kind === "constexpr" && param.from === "heuristic");
  if (heuristic) return unsupported(`the heuristic of ${heuristic.name}`);
  if (descriptorsWithTunedBlocks(ir).length > 0)
    return unsupported("configs with a hook, which sets the blocks of its descriptors");
  if (tensorsViaDescriptor(ir).length > 0 || hasDeviceDescriptors(ir)) return unsupported("tensor descriptors");
  const [option] = Object.entries(launch.options).filter(([, value]) => value !== false);
  if (option) return unsupported(`the launch option ${option[0]}`);
  const hasNumCtas = tuning.key === undefined && tuning.configs.some(({ numCtas }) => numCtas !== undefined);
  if (hasNumCtas) return unsupported("numCtas outside autotune.configs");
  const float = params.find((param) => param.kind === "scalar" && members(param.dtype).some((dtype) => !isInt(dtype)));
  // torch 2.11 ignores the kernel's dtype annotation.
  const reason = "torch.compile would compile the kernel for a float64 instead";
  return float && unsupported(`the float argument ${float.name}`, reason);
}

/** Functions of the library. */
const REFUSE_TANGENTS = "_refuse_tangents";
const REFUSE_RECORDING = "_refuse_recording";

/** The first statement of an operator's public function. It rejects inputs with tangents, which would be lost. */
export function tangentCheck(name: string, tensors: readonly string[]): Block {
  return tensors.length === 0
    ? []
    : [py.expression(py.call(REFUSE_TANGENTS, py.string(name), ...tensors.map(py.name)))];
}

/**
 * The statement after an operator that writes the caller's float tensors: autograd must not treat them as constants.
 */
export function recordingCheck(operator: string): Statement {
  return py.expression(py.call(REFUSE_RECORDING, py.name(operator)));
}
