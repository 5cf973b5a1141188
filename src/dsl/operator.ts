/** A PyTorch operator, defined by kernels. */
import { OPTIONAL_OUTPUT } from "../params/kernel-call-types.js";
import { fail, rethrowSwallowedErrors, type Location } from "../diagnostics/diagnostic.js";
import { missingPart, pythonName } from "../diagnostics/catalog/definition-codes.js";
import {
  operatorAlias,
  operatorGradient,
  operatorKernels,
  operatorParams,
  operatorResult,
} from "../diagnostics/catalog/operator-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { isFloatElem, isInt, members } from "../types/dtype.js";
import {
  type KernelIR,
  type Param,
  type TensorParam,
  tensorsOf,
  type Composition,
  gradientOf,
  type OperatorIR,
} from "../ir/nodes.js";
import { type OperatorFunction, whyNoInput, whyNoResult, whyResult } from "../params/operator-types.js";
import { recordOf, aliasedTensors } from "../torch/functions.js";
import { inputsOf, torchOperands, type TorchNode } from "../torch/node.js";
import type { SourceIndex } from "../ir/source-index.js";
import { checkTolerance } from "../compiled/tolerance.js";
import {
  checkDescriptions,
  checkParts,
  KernelDefinition,
  describeMissingPart,
  type AbstractTensor,
  isAllowedElem,
  withLaunchRecorder,
} from "./definition.js";
import { flagsOf, variablesOf } from "./record-spec.js";
import { type RecorderArguments, record, prefixMessages, stepsOf } from "../torch/record-author.js";
import { isRecord, type RecordedNode, nodeOf, tensorProxy } from "../torch/proxy.js";
import { trace } from "./trace.js";
import { isObject, kindOf } from "./raw-values.js";
import type { RawSpec } from "./spec-schema.js";

type Forward = (inputs: Readonly<Record<string, unknown>>, torch: unknown) => unknown;
type Backward = (
  tensors: Readonly<Record<string, unknown>>,
  gradients: Readonly<Record<string, unknown>>,
  torch: unknown,
) => unknown;

/** The result of `op(…)`. */
export class OperatorDefinition {
  constructor(
    readonly name: string,
    readonly spec: Omit<RawSpec, "grid">,
    readonly forward: Forward,
    readonly backward: Backward | undefined,
    readonly at: Location | undefined,
  ) {}
}

/** The parts of an operator's spec. The other parts of a kernel's spec describe its launch. */
const OPERATOR_PARTS: readonly (keyof RawSpec)[] = [
  "doc",
  "params",
  "dims",
  "inputs",
  "reference",
  "shapes",
  "tolerance",
];

/**
 * Defines a PyTorch operator by kernels. The build traces `forward`, which calls kernels, `kernel.call({ x })`, and
 * torch functions. It returns the outputs that `params` declares, and tensors that `backward` needs. `backward` gets
 * the inputs and results of `forward`, then the gradients of the outputs, and returns the gradients of the inputs.
 * PyTorch saves the tensors that `backward` uses.
 *
 * @throws TileScriptError if the name is not a valid Python name, or a part is missing.
 */
export const op = ((name: string, spec: RawSpec, forward: Forward, backward?: Backward, ...extraArgs: unknown[]) => {
  const location = captureLocation();
  if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name)) fail(pythonName.invalid("op", name), location);
  if (!isObject(spec)) fail(missingPart.operatorSpec(name, kindOf(spec)), location);
  if (!isObject(spec.params)) fail(missingPart.operatorParams(name, describeMissingPart(spec.params)), location);
  checkDescriptions(name, spec.params, location);
  checkParts(name, spec, OPERATOR_PARTS, location);
  if (typeof forward !== "function") fail(missingPart.forward(name), location);
  if (backward !== undefined && typeof backward !== "function")
    fail(missingPart.backward(name, kindOf(backward)), location);
  if (extraArgs.length > 0) fail(missingPart.extraArgument(name, 4, kindOf(extraArgs[0])), location);
  checkTolerance(name, spec.tolerance, location);
  return new OperatorDefinition(name, spec, forward, backward, location);
}) as unknown as OperatorFunction;

/** Traces the operator. `traceKernel` returns the IR of a kernel that it calls. */
export function traceOperator(
  definition: OperatorDefinition,
  traceKernel: (kernel: KernelDefinition) => KernelIR,
  source?: SourceIndex,
): OperatorIR {
  const { name, spec, at: location } = definition;
  // The params are those of a kernel with an empty body.
  const face = trace(new KernelDefinition(name, { ...spec, grid: () => [1] }, () => undefined, location), source);
  checkParams(face);
  const recorder = new OperatorRecorder(definition, face, traceKernel);
  const { forward, backward } = rethrowSwallowedErrors(() => {
    const composition = recorder.forward();
    return { forward: composition, backward: recorder.backward(composition) };
  });
  const [first] = recorder.kernels;
  if (!first) fail(operatorKernels.none(name), location);
  return { signature: face, kernels: recorder.kernels, forward, backward };
}

/** An operator's params are limited to what PyTorch can pass: input tensors, new output tensors, and numbers. */
function checkParams(face: KernelIR): void {
  const { name, params, at: location } = face;
  for (const param of params) {
    const problem = problemOf(param);
    if (problem) fail(operatorParams.param(name, param.name, problem), location);
  }
  if (!tensorsOf(face, "in").some((param) => !param.optional)) fail(operatorParams.noInput(name), location);
  if (tensorsOf(face, "out").length === 0) fail(operatorParams.noOutput(name), location);
}

function problemOf(param: Param): string | undefined {
  if (param.kind === "pointer") return "is a raw pointer, which PyTorch cannot hand over; declare a tensor";
  if (param.kind === "tensor" && param.role === "inout")
    return "is updated in place; an operator gives new tensors, so declare it tensor(…) and return a tensor.out(…)";
  if (param.kind === "tensor" && param.role === "out" && param.optional)
    return `${OPTIONAL_OUTPUT}; an operator always has the same results, so write one with it and one without`;
  if (param.kind === "constexpr" && param.from !== "argument")
    return "is no argument; an operator has tensors, numbers and flags, and its kernels have the rest";
  return undefined;
}

class OperatorRecorder {
  readonly kernels: KernelIR[] = [];
  readonly #kernelCache = new Map<KernelDefinition, KernelIR>();
  readonly #nodeTypes = new Map<TorchNode, AbstractTensor>();
  readonly #inputTypes = new Map<string, AbstractTensor>();

  constructor(
    readonly definition: OperatorDefinition,
    readonly face: KernelIR,
    readonly traceKernel: (kernel: KernelDefinition) => KernelIR,
  ) {
    for (const { name, dimNames, dtype } of tensorsOf(face, "in"))
      this.#inputTypes.set(name, { dims: dimNames, dtype });
  }

  forward(): Composition {
    const { name, at: location, forward } = this.definition;
    const outputs = tensorsOf(this.face, "out");
    const inputNames = tensorsOf(this.face, "in").map((param) => param.name);
    const recorderArguments = {
      subject: "the operator",
      tensors: inputNames,
      variables: variablesOf(this.face.params),
    };
    return this.#record(recorderArguments, forward, (returned) => {
      const results = this.#results(returned, () => false);
      const declared: Record<string, TorchNode> = {};
      for (const output of outputs) {
        const node = results[output.name] ?? fail(whyNoResult(name, output.name), location);
        this.#checkShape(output, node, `${output.name} is declared`);
        const type = this.#typeOf(node);
        if (type?.dtype !== undefined && !isAllowedElem(output.dtype, type.dtype))
          fail(operatorResult.dtype(name, output.name), locationOf(node) ?? location);
        declared[output.name] = node;
      }
      // Declared outputs come first, then the tensors that only `backward` needs.
      return this.definition.backward ? { ...declared, ...results } : declared;
    });
  }

  /** Compares the statically known dims with the declared shape. */
  #checkShape({ dimNames }: TensorParam, node: TorchNode, subject: string): void {
    const { name, at: location } = this.definition;
    const dims = this.#typeOf(node)?.dims;
    if (!dims) return;
    const isSame = dims.length === dimNames.length && dims.every((dim, i) => dim === undefined || dim === dimNames[i]);
    if (isSame) return;
    const shape = `[${dims.map((dim) => dim ?? "?").join(", ")}]`;
    const expected = `[${dimNames.join(", ")}]`;
    fail(operatorResult.shape(name, subject, expected, shape), locationOf(node) ?? location);
  }

  backward(forward: Composition): Composition | undefined {
    const { name, at: location, backward } = this.definition;
    if (!backward) return undefined;
    const inputs = tensorsOf(this.face, "in");
    const outputs = tensorsOf(this.face, "out");
    for (const [result, node] of Object.entries(forward.results)) {
      if (inputs.some((param) => param.name === result)) fail(operatorResult.inputName(name, result), location);
      const type = this.#typeOf(node);
      if (type) this.#inputTypes.set(result, type);
    }
    const gradients = Object.fromEntries(
      outputs.map((param) => {
        const gradient = gradientOf(param.name);
        this.#inputTypes.set(gradient, { dims: param.dimNames, dtype: param.dtype });
        return [param.name, tensorProxy({ kind: "input", name: gradient }, location)] as const;
      }),
    );
    const tensorNames = [...inputs.map((param) => param.name), ...Object.keys(forward.results)];
    // Gradients of outputs are available anyway. An input would have to be saved only for its dtype.
    const variables = variablesOf(this.face.params, dtypesOfGradients(outputs));
    const differentiable = inputs.filter(({ dtype }) => !members(dtype).some(isInt));
    const composition = this.#record(
      { subject: "the gradient", tensors: tensorNames, variables },
      (tensors, torch) => backward(tensors, gradients, torch),
      (returned) => {
        // The gradient of a sum is one tensor for all its inputs. An omitted optional input has no gradient.
        const isRequiredInput = (key: string): boolean => inputs.some((param) => param.name === key && !param.optional);
        const results = this.#results(returned, (key, otherKey) => isRequiredInput(key) && isRequiredInput(otherKey));
        for (const [key, node] of Object.entries(results)) {
          const param = differentiable.find((input) => input.name === key);
          if (!inputs.some((input) => input.name === key)) fail(whyNoInput(name, key), locationOf(node) ?? location);
          if (!param) fail(operatorGradient.integers(name, key), locationOf(node) ?? location);
          this.#checkShape(param, node, `the gradient of ${key} is, as ${key} is,`);
        }
        const gradientEntries = differentiable.flatMap((param) => {
          const node = results[param.name];
          return node ? [[param.name, node] as const] : [];
        });
        return Object.fromEntries(gradientEntries);
      },
    );
    const usedInputs = inputsUsedIn(composition);
    for (const output of outputs)
      if (isFloatElem(output.dtype) && !usedInputs.has(gradientOf(output.name)))
        fail(operatorGradient.unused(name, output.name), location);
    return composition;
  }

  #record(
    authorArguments: Pick<RecorderArguments, "subject" | "tensors" | "variables">,
    author: Forward,
    results: (returned: unknown) => Composition["results"],
  ): Composition {
    const inputs = new Set(authorArguments.tensors);
    const numbers = this.face.params.filter((param) => param.kind !== "tensor");
    const launchRecorder = {
      name: this.face.name,
      traceKernel: (definition: KernelDefinition) => this.#kernelIR(definition),
      typeOf: (node: TorchNode) => this.#typeOf(node),
      setType: (node: TorchNode, type: AbstractTensor) => void this.#nodeTypes.set(node, type),
      isInput: (node: TorchNode) => node.kind === "input" && inputs.has(node.name),
      aliasedInput: (node: TorchNode) =>
        this.#owners(node).flatMap((owner) => (owner.kind === "input" ? [owner.name] : []))[0],
    };
    const recorderArguments = { ...authorArguments, numbers: numbers.map(({ name }) => name), flags: flagsOf(numbers) };
    const { nodes, result } = prefixMessages(`${this.face.name}:`, () =>
      withLaunchRecorder(launchRecorder, () => record(author, recorderArguments, this.definition.at)),
    );
    // All recorded launches are of this operator's kernels, so the cast is safe.
    return { steps: stepsOf(nodes as readonly RecordedNode<Composition["steps"][number]>[]), results: results(result) };
  }

  /** `mayAlias` is true for two results that may be one tensor. */
  #results(returned: unknown, mayAlias: (key: string, otherKey: string) => boolean): Record<string, TorchNode> {
    const { name, at: operatorLocation } = this.definition;
    if (!isRecord(returned)) fail(operatorResult.notByName(name), operatorLocation);
    const results = Object.entries(returned).map(([key, value]) => {
      const node = nodeOf(value);
      if (!node || this.#isNumber(node)) return fail(whyResult(name, key), operatorLocation);
      return [key, node] as const;
    });
    // PyTorch rejects an operator that returns memory of an input, or the same memory twice.
    const resultByOwner = new Map<TorchNode, readonly [string, TorchNode]>();
    for (const [key, node] of results) {
      const location = locationOf(node) ?? operatorLocation;
      for (const owner of this.#owners(node)) {
        if (owner.kind === "input") fail(operatorAlias(name, key, owner.name), location);
        const [otherKey, otherNode] = resultByOwner.get(owner) ?? [];
        if (otherKey !== undefined && !(node === otherNode && mayAlias(key, otherKey)))
          fail(operatorAlias(name, key, otherKey), location);
        resultByOwner.set(owner, [key, node]);
      }
    }
    return Object.fromEntries(results);
  }

  #isNumber(node: TorchNode): boolean {
    const { params } = this.face;
    if (node.kind === "input") return params.some((param) => param.kind !== "tensor" && param.name === node.name);
    return node.kind === "arithmetic" || (node.kind === "method" && recordOf(node)?.isPythonNumber === true);
  }

  #owners(node: TorchNode): readonly TorchNode[] {
    return aliasedTensors(node, (each) => this.#typeOf(each)?.dtype);
  }

  #typeOf(node: TorchNode): AbstractTensor | undefined {
    return node.kind === "input" ? this.#inputTypes.get(node.name) : this.#nodeTypes.get(node);
  }

  #kernelIR(definition: KernelDefinition): KernelIR {
    const cached = this.#kernelCache.get(definition);
    if (cached) return cached;
    const ir = this.traceKernel(definition);
    if (this.kernels.some((kernel) => kernel.name === ir.name))
      fail(operatorKernels.sameName(this.face.name, ir.name), definition.at);
    this.#kernelCache.set(definition, ir);
    this.kernels.push(ir);
    return ir;
  }
}

/** Expressions for dtype variables in `backward`: the dtypes of the outputs' gradients. */
function dtypesOfGradients(outputs: readonly TensorParam[]): Readonly<Record<string, TorchNode>> {
  return Object.fromEntries(
    outputs.flatMap(({ name, dtype, optional }) => {
      const input = { kind: "input", name: gradientOf(name) } as const;
      return typeof dtype === "string" || optional
        ? []
        : [[dtype.name, { kind: "attribute", of: input, name: "dtype" }]];
    }),
  );
}

/** The inputs whose elements a step reads. Metadata such as the dtype or the device does not count. */
function inputsUsedIn({ steps, results }: Composition): ReadonlySet<string> {
  const isMetadata = (node: TorchNode): boolean =>
    node.kind === "attribute" && aliasedTensors(node, () => undefined)[0] === node;
  const launchArguments = steps.flatMap((step) => (step.kind === "launch" ? Object.values(step.args) : []));
  return inputsOf([...Object.values(results), ...launchArguments], (node) =>
    isMetadata(node) ? [] : torchOperands(node),
  );
}

function locationOf(node: TorchNode): Location | undefined {
  return "at" in node ? node.at : undefined;
}
