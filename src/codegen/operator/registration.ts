/** Registration of functions as PyTorch operators, and what PyTorch cannot register. */
import { isKeyword } from "../names/names.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { pythonName, reservedName } from "../../diagnostics/catalog/definition-codes.js";
import {
  tensorsViaDescriptor,
  makesDescriptors,
  descriptorsWithTunedBlocks,
} from "../../analysis/descriptor-tensors.js";
import { isTorchNamespace } from "../../compiled/torch-namespaces.js";
import { isInt, members } from "../../types/dtype.js";
import type { KernelIR } from "../../ir/nodes.js";
import type { KernelNames } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import { REFUSE_FORWARD_MODE, REFUSE_RECORDING } from "../wrapper/gradient-helpers.js";

export interface OpOptions {
  /** The first part of the operator's name: `torch.ops.NAMESPACE.NAME`. */
  readonly namespace: string;
  /**
   * `triton_op` lets torch.compile see into it, and fuse around the kernel; `custom_op`, the default, takes any kernel.
   */
  readonly form?: "custom_op" | "triton_op";
}

/** The decorator that makes a function an operator. */
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

/** Why PyTorch cannot register it as an operator. */
export function notAnOperator({ params }: KernelIR): string | undefined {
  const isRead = params.some((param) => param.kind === "tensor" && param.role !== "out" && !param.optional);
  return isRead && !params.some((param) => param.kind === "pointer")
    ? undefined
    : "an operator needs a tensor that it reads, and no raw pointers";
}

/** Why `triton_op` cannot handle it: `wrap_triton` supports configs, pruning, keys, resets, and a single launch. */
export function notTraceable(ir: KernelIR): string | undefined {
  const cannot = (what: string, why = "torch.compile cannot trace it"): string =>
    `triton_op cannot have ${what}; ${why}, so emit a custom_op`;
  const { params, tuning, launch } = ir;
  if (params.some(({ kind }) => kind === "device"))
    return cannot("a launch that depends on properties of the GPU", "a graph is made before the GPU is known");
  const computed = params.find((param) => param.kind === "constexpr" && param.from === "heuristic");
  if (computed) return cannot(`the heuristic of ${computed.name}`);
  if (descriptorsWithTunedBlocks(ir).length > 0)
    return cannot("configs with a hook, which sets the blocks of its descriptors");
  if (tensorsViaDescriptor(ir).length > 0 || makesDescriptors(ir)) return cannot("tensor descriptors");
  const [option] = Object.entries(launch.options).filter(([, value]) => value !== false);
  if (option) return cannot(`the launch option ${option[0]}`);
  const isPassed = tuning.key === undefined && tuning.configs.some(({ numCtas }) => numCtas !== undefined);
  if (isPassed) return cannot("numCtas outside autotune.configs");
  const float = params.find((param) => param.kind === "scalar" && members(param.dtype).some((dtype) => !isInt(dtype)));
  // Observed with torch 2.11: the kernel's own annotation is ignored.
  const widened = "torch.compile would compile the kernel for a float64 instead";
  return float && cannot(`the float argument ${float.name}`, widened);
}

/** The line with which an operator's function starts: it has no tangent of its results, and must not drop one. */
export function forwardModeCheck(qualified: string, tensors: readonly string[]): Statement {
  return py.expression(py.call(REFUSE_FORWARD_MODE, py.string(qualified), ...tensors.map(py.name)));
}

/** The line after an operator that writes floats of its caller: PyTorch must not take them for constants. */
export function recordingCheck(operator: string): Statement {
  return py.expression(py.call(REFUSE_RECORDING, py.name(operator)));
}

/** `ns::gemm_out` writes and updates the caller's tensors, and returns nothing. */
export function writingOperator(
  names: KernelNames,
  params: readonly Parameter[],
  outputs: readonly string[],
  updated: readonly string[],
  body: Block,
  isFloat: boolean,
  { namespace, form = "custom_op" }: OpOptions,
): Block {
  const annotation = py.dotted("torch.Tensor");
  const qualified = `${names.wrapper}_out`;
  const tensors = params.map(({ name }) => name).filter((name) => [...names.tensors.values()].includes(name));
  const isOptional = (param: Parameter): boolean => param.default !== undefined;
  const definition: FunctionDef = {
    kind: "function",
    name: names.opOut,
    decorators: [registration(form, `${namespace}::${qualified}`, [...updated, ...outputs])],
    // PyTorch refuses keyword-only tensors.
    params: [
      ...params.filter((param) => !isOptional(param)),
      ...outputs.map((name) => ({ name, annotation })),
      ...params.filter(isOptional),
    ],
    returns: py.none,
    docstring: `${names.wrapper} into tensors of the caller, as torch.ops.${namespace}.${qualified}.`,
    body: [forwardModeCheck(qualified, [...tensors, ...outputs]), ...body],
  };
  const check = isFloat ? [recordingCheck(names.opOut)] : [];
  // A custom_op without results needs no fake implementation; for a triton_op PyTorch would run the wrapper.
  if (form === "custom_op") return [definition, ...check];
  const fake: FunctionDef = {
    kind: "function",
    name: `_${names.opOut}_fake`,
    decorators: [py.dotted(`${names.opOut}.register_fake`)],
    params: withoutAnnotations(definition.params),
    docstring: `What torch.compile sees of ${names.opOut}: nothing new.`,
    body: [],
  };
  return [definition, fake, ...check];
}

export function withoutAnnotations(params: readonly Parameter[]): readonly Parameter[] {
  return params.map(({ name, default: initial }) => ({ name, ...(initial && { default: initial }) }));
}
