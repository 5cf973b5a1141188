/** The shared context of an operator's functions: names, sizes, and the emission of compositions. */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorGradient } from "../../diagnostics/catalog/operator-codes.js";
import { type KernelIR, type TensorParam, tensorsOf, type Composition, type OperatorIR } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import {
  type EmittedKernel,
  type CompositionOptions,
  emitComposition,
  type EmittedComposition,
} from "./composition.js";
import type { KernelNames } from "../names/kernel-names.js";
import { type Names, isKeyword } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Parameter, Statement } from "../syntax/py.js";
import type { Binding } from "../wrapper/numbers.js";
import { inputParameters, returnType, withoutAnnotations } from "../wrapper/docstring.js";
import { pythonName, reservedName } from "../../diagnostics/catalog/definition-codes.js";
import {
  tensorsViaDescriptor,
  hasDeviceDescriptors,
  descriptorsWithTunedBlocks,
} from "../../analysis/descriptor-tensors.js";
import { isTorchNamespace } from "../../compiled/versions.js";
import { isInt, members } from "../../types/dtype.js";

// Registration of functions as PyTorch operators, and its restrictions.

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

/** A function before its registration as a PyTorch operator. */
export interface OperatorFunction {
  readonly params: readonly Parameter[];
  readonly real: EmittedComposition;
  readonly fake: EmittedComposition;
}

export class OperatorContext {
  /** The parameters of the public function, without outputs. */
  readonly params: readonly Parameter[];
  readonly inputs: readonly TensorParam[];
  readonly outputs: readonly TensorParam[];
  /** Names of the forward function's results: outputs, then tensors that only the gradient needs. */
  readonly results: readonly string[];
  readonly #privateNames = new Map<string, string>();

  constructor(
    readonly operator: OperatorIR,
    readonly names: KernelNames,
    /** The names in use in the module. */
    readonly module: Names,
    readonly emittedKernels: ReadonlyMap<KernelIR, EmittedKernel>,
    /** The expression of each size in terms of the input shapes. */
    readonly sizes: readonly Binding[],
    readonly source: SourceIndex | undefined,
    readonly op: OpOptions,
  ) {
    this.params = inputParameters(operator.signature, names);
    this.inputs = tensorsOf(operator.signature, "in");
    this.outputs = tensorsOf(operator.signature, "out");
    this.results = Object.keys(operator.forward.results);
  }

  /** The Python name of an argument. */
  parameter(name: string): string {
    const { signature: face } = this.operator;
    return this.names.tensors.get(name) ?? this.names.parameters.get(face.params.find((p) => p.name === name)!.value)!;
  }

  /** The name of a private function of the module, the same for each call. A kernel may have the obvious one. */
  privateName(suffix: string): string {
    const name = this.#privateNames.get(suffix) ?? this.module.take(`_${this.names.wrapper}_${suffix}`);
    this.#privateNames.set(suffix, name);
    return name;
  }

  /** The device of the first required input, for new tensors. */
  device(): Expression {
    const holder = this.inputs.find((param) => !param.optional)!;
    return py.attribute(py.name(this.parameter(holder.name)), "device");
  }

  emitComposition(
    composition: Composition,
    options: Pick<CompositionOptions, "device" | "isFake" | "requests"> & { readonly names?: KernelNames },
  ): EmittedComposition {
    const { names = this.names, requests } = options;
    const reservedNames = new Set(["device", ...names.tensors.values(), ...names.parameters.values()]);
    // Locals may reuse the names of outputs.
    for (const param of this.outputs) reservedNames.delete(names.tensors.get(param.name)!);
    for (const name of requests?.flags.values() ?? []) reservedNames.add(name);
    const { emittedKernels, source } = this;
    return emitComposition(composition, {
      ir: this.operator.signature,
      emittedKernels,
      source,
      reservedNames,
      ...options,
      names,
    });
  }

  /** Assignments of the sizes in use. */
  bindings(usedNames: ReadonlySet<string>, sizes: readonly Binding[]): Block {
    const { signature: face } = this.operator;
    for (const param of face.params) {
      if (param.kind !== "size" || !usedNames.has(this.names.parameters.get(param.value)!)) continue;
      if (!sizes.some(({ name }) => name === this.names.parameters.get(param.value)))
        fail(operatorGradient.size(face.name, param.name), face.at);
    }
    return sizes.filter(({ name }) => usedNames.has(name)).map(({ name, value }) => py.assign(py.name(name), value));
  }

  /** Definitions of a PyTorch operator and its fake implementation for torch.compile. */
  register(name: string, qualified: string, { params, real, fake }: OperatorFunction, count: number): Block {
    const { namespace, form = "custom_op" } = this.op;
    return [
      {
        kind: "function",
        name,
        decorators: [registration(form, `${namespace}::${qualified}`)],
        params,
        returns: returnType(count),
        origin: this.operator.signature.at,
        body: withReturn(real),
      },
      {
        kind: "function",
        name: "_",
        decorators: [py.dotted(`${name}.register_fake`)],
        params: withoutAnnotations(params),
        body: withReturn(fake),
      },
    ];
  }
}

/**
 * Appends a return of the results. If the last statement assigns exactly the results, its value is returned directly.
 */
function withReturn({ statements, results }: EmittedComposition): Block {
  const last = statements.at(-1);
  const value = py.tupleOrSingle(results);
  if (last?.kind === "assign" && last.value && hasSameNames(last.targets[0]!, value))
    return [...statements.slice(0, -1), py.returns(last.value)];
  return [...statements, py.returns(value)];
}

function hasSameNames(a: Expression, b: Expression): boolean {
  if (a.kind === "tuple" && b.kind === "tuple")
    return (
      a.items.length === b.items.length &&
      a.items.every((item, i) => hasSameNames(item as Expression, b.items[i] as Expression))
    );
  return a.kind === "name" && b.kind === "name" && a.id === b.id;
}
