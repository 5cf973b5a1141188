/** An operator of PyTorch, defined out of kernels. */
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
import { type KernelIR, type Param, type TensorParam, tensorsOf } from "../ir/nodes.js";
import { type Composition, gradientOf, type OperatorIR } from "../ir/operator-ir.js";
import { type OperatorFunction, whyNoInput, whyNoResult, whyResult } from "../params/operator-types.js";
import { aliasedTensors } from "../torch/facts.js";
import { recordOf } from "../torch/functions.js";
import { isTorchNode, torchOperands, type TorchArgument, type TorchNode } from "../torch/node.js";
import type { SourceIndex } from "../ir/source.js";
import { checkTolerance } from "../compiled/declared-tolerance.js";
import { checkDescriptions, checkParts, KernelDefinition, type RawSpec, describeMissingPart } from "./definition.js";
import { isObject, kindOf } from "./spec-forms.js";
import { type AbstractTensor, includes, withLaunchRecorder } from "./kernel-call.js";
import { flagsOf, variablesOf } from "./record-spec.js";
import { type RecorderArguments, record, prefixMessages, stepsOf } from "../torch/record-author.js";
import { isRecord, type RecordedNode, nodeOf, tensorProxy } from "../torch/proxy.js";
import { trace } from "./trace.js";

type Forward = (inputs: Readonly<Record<string, unknown>>, torch: unknown) => unknown;
type Backward = (
  known: Readonly<Record<string, unknown>>,
  gradients: Readonly<Record<string, unknown>>,
  torch: unknown,
) => unknown;

/** What `op(…)` returns. */
export class OperatorDefinition {
  constructor(
    readonly name: string,
    readonly spec: Omit<RawSpec, "grid">,
    readonly forward: Forward,
    readonly backward: Backward | undefined,
    readonly at: Location | undefined,
  ) {}
}

/** The parts of an operator's spec. The rest of a kernel's says how it is launched. */
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
 * Defines an operator of PyTorch out of kernels. The build runs `forward` once: it calls kernels, `kernel.call({ x })`,
 * and torch between them, and returns the outputs that `params` declares and whatever else `backward` needs. `backward`
 * gets the inputs and all that `forward` returned, then the gradients of the outputs, and returns those of the inputs.
 * PyTorch keeps the tensors that it uses.
 *
 * @throws TileScriptError if the name is not a valid Python name, or a part is missing.
 */
export const op = ((name: string, spec: RawSpec, forward: Forward, backward?: Backward, ...further: unknown[]) => {
  const at = captureLocation();
  if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name)) fail(pythonName.invalid("op", name), at);
  if (!isObject(spec)) fail(missingPart.operatorSpec(name, kindOf(spec)), at);
  if (!isObject(spec.params)) fail(missingPart.operatorParams(name, describeMissingPart(spec.params)), at);
  checkDescriptions(name, spec.params, at);
  checkParts(name, spec, OPERATOR_PARTS, at);
  if (typeof forward !== "function") fail(missingPart.forward(name), at);
  if (backward !== undefined && typeof backward !== "function") fail(missingPart.backward(name, kindOf(backward)), at);
  if (further.length > 0) fail(missingPart.further(name, 4, kindOf(further[0])), at);
  checkTolerance(name, spec.tolerance, at);
  return new OperatorDefinition(name, spec, forward, backward, at);
}) as unknown as OperatorFunction;

/** The operator's program. `traceKernel` gives the IR of each kernel it calls. */
export function traceOperator(
  definition: OperatorDefinition,
  traceKernel: (kernel: KernelDefinition) => KernelIR,
  source?: SourceIndex,
): OperatorIR {
  const { name, spec, at } = definition;
  // Params are declared like a kernel's; the operator itself launches nothing.
  const face = trace(new KernelDefinition(name, { ...spec, grid: () => [1] }, () => undefined, at), source);
  checkParams(face);
  const recording = new Recording(definition, face, traceKernel);
  const { forward, backward } = rethrowSwallowedErrors(() => {
    const recorded = recording.forward();
    return { forward: recorded, backward: recording.backward(recorded) };
  });
  const [first] = recording.kernels;
  if (!first) fail(operatorKernels.none(name), at);
  return { face, kernels: recording.kernels, forward, backward };
}

/** An operator's params are what PyTorch can pass: tensors to read, new tensors, and numbers. */
function checkParams(face: KernelIR): void {
  const { name, params, at } = face;
  for (const param of params) {
    const problem = problemOf(param);
    if (problem) fail(operatorParams.param(name, param.name, problem), at);
  }
  if (!tensorsOf(face, "in").some((param) => !param.optional)) fail(operatorParams.noInput(name), at);
  if (tensorsOf(face, "out").length === 0) fail(operatorParams.noOutput(name), at);
}

function problemOf(param: Param): string | undefined {
  if (param.kind === "pointer") return "is a raw pointer, which PyTorch cannot hand over; declare a tensor";
  if (param.kind === "tensor" && param.role === "inout")
    return "is updated in place; an operator gives new tensors, so declare it tensor(…) and return a tensor.out(…)";
  if (param.kind === "tensor" && param.role === "out" && param.optional)
    return "is an output that may be left out; an operator always has the same results, so write one with it and one without";
  if (param.kind === "constexpr" && param.from !== "argument")
    return "is no argument; an operator has tensors, numbers and flags, and its kernels have the rest";
  return undefined;
}

class Recording {
  readonly kernels: KernelIR[] = [];
  readonly #known = new Map<KernelDefinition, KernelIR>();
  readonly #types = new Map<TorchNode, AbstractTensor>();
  readonly #described = new Map<string, AbstractTensor>();

  constructor(
    readonly definition: OperatorDefinition,
    readonly face: KernelIR,
    readonly traceKernel: (kernel: KernelDefinition) => KernelIR,
  ) {
    for (const { name, dimNames, dtype } of tensorsOf(face, "in")) this.#described.set(name, { dims: dimNames, dtype });
  }

  forward(): Composition {
    const { name, at, forward } = this.definition;
    const outputs = tensorsOf(this.face, "out");
    const given = tensorsOf(this.face, "in").map((param) => param.name);
    const known = { subject: "the operator", tensors: given, variables: variablesOf(this.face.params) };
    return this.#record(known, forward, (returned) => {
      const results = this.#results(returned, () => false);
      for (const output of outputs) {
        const node = results[output.name] ?? fail(operatorResult.rule(whyNoResult(name, output.name)), at);
        this.#checkShape(output, node, `${output.name} is declared`);
        const type = this.#describe(node);
        if (type?.dtype !== undefined && !includes(output.dtype, type.dtype))
          fail(operatorResult.dtype(name, output.name), placeOf(node) ?? at);
      }
      const declared = Object.fromEntries(outputs.map((output) => [output.name, results[output.name]!] as const));
      // Declared outputs come first, then what only `backward` needs.
      return this.definition.backward ? { ...declared, ...results } : declared;
    });
  }

  /** Compares the known part of a shape with the declared shape. */
  #checkShape({ dimNames }: TensorParam, node: TorchNode, what: string): void {
    const { name, at } = this.definition;
    const dims = this.#describe(node)?.dims;
    if (!dims) return;
    const isSame = dims.length === dimNames.length && dims.every((dim, i) => dim === undefined || dim === dimNames[i]);
    if (isSame) return;
    const shape = `[${dims.map((dim) => dim ?? "?").join(", ")}]`;
    const wanted = `[${dimNames.join(", ")}]`;
    fail(operatorResult.shape(name, what, wanted, shape), placeOf(node) ?? at);
  }

  backward(forward: Composition): Composition | undefined {
    const { name, at, backward } = this.definition;
    if (!backward) return undefined;
    const inputs = tensorsOf(this.face, "in");
    const outputs = tensorsOf(this.face, "out");
    for (const [result, node] of Object.entries(forward.results)) {
      if (inputs.some((param) => param.name === result)) fail(operatorResult.inputName(name, result), at);
      const type = this.#describe(node);
      if (type) this.#described.set(result, type);
    }
    const gradients = Object.fromEntries(
      outputs.map((param) => {
        const gradient = gradientOf(param.name);
        this.#described.set(gradient, { dims: param.dimNames, dtype: param.dtype });
        return [param.name, tensorProxy({ kind: "input", name: gradient }, at)] as const;
      }),
    );
    const given = [...inputs.map((param) => param.name), ...Object.keys(forward.results)];
    // PyTorch has the gradients of outputs in any case; an input would be kept for its dtype alone.
    const variables = variablesOf(this.face.params, dtypesOfGradients(outputs));
    const differentiable = inputs.filter(({ dtype }) => !members(dtype).some(isInt));
    const composition = this.#record(
      { subject: "the gradient", tensors: given, variables },
      (known, torch) => backward(known, gradients, torch),
      (returned) => {
        // A gradient reaches all inputs of a sum as it is. An optional input has none where it is left out.
        const isGiven = (key: string): boolean => inputs.some((param) => param.name === key && !param.optional);
        const results = this.#results(returned, (key, other) => isGiven(key) && isGiven(other));
        for (const [key, node] of Object.entries(results)) {
          const param = differentiable.find((input) => input.name === key);
          if (!inputs.some((input) => input.name === key))
            fail(operatorGradient.rule(whyNoInput(name, key)), placeOf(node) ?? at);
          if (!param) fail(operatorGradient.integers(name, key), placeOf(node) ?? at);
          this.#checkShape(param, node, `the gradient of ${key} is, as ${key} is,`);
        }
        const inOrder = differentiable.filter((param) => param.name in results);
        return Object.fromEntries(inOrder.map((param) => [param.name, results[param.name]!]));
      },
    );
    const used = valuesIn(composition);
    for (const output of outputs)
      if (isFloatElem(output.dtype) && !used.has(gradientOf(output.name)))
        fail(operatorGradient.unused(name, output.name), at);
    return composition;
  }

  #record(
    given: Pick<RecorderArguments, "subject" | "tensors" | "variables">,
    author: Forward,
    results: (returned: unknown) => Composition["results"],
  ): Composition {
    const inputs = new Set(given.tensors);
    const numbers = this.face.params.filter((param) => param.kind !== "tensor");
    const into = {
      name: this.face.name,
      kernel: (definition: KernelDefinition) => this.#kernel(definition),
      describe: (node: TorchNode) => this.#describe(node),
      describeAs: (node: TorchNode, described: AbstractTensor) => void this.#types.set(node, described),
      isInput: (node: TorchNode) => node.kind === "input" && inputs.has(node.name),
      ownedBy: (node: TorchNode) => this.#owners(node).flatMap((of) => (of.kind === "input" ? [of.name] : []))[0],
    };
    const known = { ...given, numbers: numbers.map(({ name }) => name), flags: flagsOf(numbers) };
    const { nodes: made, result } = prefixMessages(`${this.face.name}:`, () =>
      withLaunchRecorder(into, () => record(author, known, this.definition.at)),
    );
    // The operator's kernels are those that its calls name.
    return { steps: stepsOf(made as readonly RecordedNode<Composition["steps"][number]>[]), results: results(result) };
  }

  /** `mayBeOne` tells of two results whether they may be one tensor. */
  #results(returned: unknown, mayBeOne: (key: string, other: string) => boolean): Record<string, TorchNode> {
    const { name, at } = this.definition;
    if (!isRecord(returned)) fail(operatorResult.notByName(name), at);
    const results = Object.entries(returned).map(([key, value]) => {
      const node = nodeOf(value);
      if (!node || this.#isNumber(node)) return fail(operatorResult.rule(whyResult(name, key)), at);
      return [key, node] as const;
    });
    // PyTorch refuses an operator that returns memory of an input, or the same memory twice.
    const known = new Map<TorchNode, readonly [string, TorchNode]>();
    for (const [key, node] of results) {
      const place = placeOf(node) ?? at;
      for (const of of this.#owners(node)) {
        if (of.kind === "input") fail(operatorAlias(name, key, of.name), place);
        const [other, itsNode] = known.get(of) ?? [];
        if (other !== undefined && !(node === itsNode && mayBeOne(key, other)))
          fail(operatorAlias(name, key, other), place);
        known.set(of, [key, node]);
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
    return aliasedTensors(node, (each) => this.#describe(each)?.dtype);
  }

  #describe(node: TorchNode): AbstractTensor | undefined {
    return node.kind === "input" ? this.#described.get(node.name) : this.#types.get(node);
  }

  #kernel(definition: KernelDefinition): KernelIR {
    let ir = this.#known.get(definition);
    if (!ir) {
      ir = this.traceKernel(definition);
      if (this.kernels.some((other) => other.name === ir!.name))
        fail(operatorKernels.sameName(this.face.name, ir.name), definition.at);
      this.#known.set(definition, ir);
      this.kernels.push(ir);
    }
    return ir;
  }
}

/** How a gradient reads dtype variables: off the gradients of outputs of that dtype. */
function dtypesOfGradients(outputs: readonly TensorParam[]): Readonly<Record<string, TorchNode>> {
  return Object.fromEntries(
    outputs.flatMap(({ name, dtype, optional }) => {
      const of = { kind: "input", name: gradientOf(name) } as const;
      return typeof dtype === "string" || optional ? [] : [[dtype.name, { kind: "attribute", of, name: "dtype" }]];
    }),
  );
}

/** The inputs of a composition whose elements some step takes, not their dtype or device alone. */
function valuesIn({ steps, results }: Composition): ReadonlySet<string> {
  const found = new Set<string>();
  const seen = new Set<TorchNode>();
  const visit = (argument: TorchArgument): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument) || seen.has(argument)) return;
    seen.add(argument);
    if (argument.kind === "input") found.add(argument.name);
    const isAbout = argument.kind === "attribute" && aliasedTensors(argument, () => undefined)[0] === argument;
    if (!isAbout) torchOperands(argument).forEach(visit);
  };
  Object.values(results).forEach(visit);
  for (const step of steps) if (step.kind === "launch") Object.values(step.args).forEach(visit);
  return found;
}

/** Where the author made the node. */
function placeOf(node: TorchNode): Location | undefined {
  return "at" in node ? node.at : undefined;
}
