/** The gradient of an operator composed of kernels: a separate operator, and the tensors that PyTorch saves for it. */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorGradient } from "../../diagnostics/catalog/operator-codes.js";
import { type TensorParam, type Composition, gradientOf } from "../../ir/nodes.js";
import { isFloatElem } from "../../types/dtype.js";
import { ResultDependencies } from "./composition.js";
import { type KernelNames, callOrder, type InputParam, type NumberParam, numberParams } from "../names/kernel-names.js";
import { Names, snakeCase } from "../names/names.js";
import { isTorchNode } from "../../torch/node.js";
import { type OperatorContext, type OperatorFunction } from "./context.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import type { Binding } from "../wrapper/numbers.js";
import { annotationOf } from "../wrapper/docstring.js";

export function gradientDefinitions(context: OperatorContext, backward: Composition): Block {
  return new GradientEmitter(context, backward).emit();
}

/** A tensor that PyTorch saves for the gradient. */
interface SavedTensor {
  readonly name: string;
  /** The tensor is saved only if one of these flags is set. Empty: it is always saved. */
  readonly flags: readonly string[];
}

class GradientEmitter {
  /**
   * The composition of the operator. A tensor that is the gradient of several inputs is one result, named by the first.
   */
  readonly backward: Composition;
  /** For each input, the input that names its gradient in the operator. */
  readonly #owners: ReadonlyMap<string, string>;
  /** The names of the face kernel, the forward function's results, and the gradients of outputs. */
  readonly #names: KernelNames;
  /** For each input, the flag that is true if PyTorch needs its gradient. */
  readonly #flags: ReadonlyMap<string, string>;
  readonly #results: readonly string[];
  /** Gradients of outputs that the author uses. */
  readonly #outputGradients: readonly string[];
  readonly #saved: readonly SavedTensor[];
  readonly #numbers: readonly NumberParam[];
  /** The flags that are parameters of the operator. */
  readonly #usedFlags: ReadonlyMap<string, string>;
  readonly #sizes: readonly Binding[];

  constructor(
    readonly context: OperatorContext,
    { steps, results }: Composition,
  ) {
    const { signature: face } = context.operator;
    const first = new Map(
      Object.entries(results)
        .toReversed()
        .map(([name, node]) => [node, name]),
    );
    this.#owners = new Map(Object.entries(results).map(([name, node]) => [name, first.get(node)!]));
    this.#results = Object.keys(results).filter((name) => this.#owners.get(name) === name);
    this.backward = { steps, results: Object.fromEntries(this.#results.map((name) => [name, results[name]!])) };
    const { backward } = this;
    const gradients = context.outputs.map((param) => gradientOf(param.name));
    this.#names = addTensors(context.names, [...context.results, ...gradients]);
    this.#flags = this.#takeFlags();
    // PyTorch saves exactly the tensors that the gradient uses.
    const { usedNames } = context.emitComposition(backward, { ...this.#options(py.none), isFake: false });
    const isUsed = (tensor: string): boolean => usedNames.has(this.#local(tensor));
    this.#outputGradients = gradients.filter(isUsed);
    this.#numbers = numberParams(face).filter((param) => usedNames.has(this.#names.parameters.get(param.value)!));
    this.#usedFlags = new Map([...this.#flags].filter(([, flag]) => usedNames.has(flag)));
    const usedTensors = [...context.inputs.map((param) => param.name), ...context.results].filter(isUsed);
    const flagsByTensor = new Map(usedTensors.map((name) => [name, this.#flagsOf(name)] as const));
    // Sizes are preferably read from tensors that are always present.
    const alwaysSaved = [
      ...this.#outputGradients,
      ...usedTensors.filter((name) => flagsByTensor.get(name)!.length === 0),
    ];
    const sizes = this.#sizesOf([...alwaysSaved, ...usedTensors]).filter(({ name }) => usedNames.has(name));
    const holders = new Set([alwaysSaved[0] ?? usedTensors[0], ...sizes.map(({ holder }) => holder)]);
    this.#sizes = sizes;
    this.#saved = usedTensors.map((name) => ({ name, flags: holders.has(name) ? [] : flagsByTensor.get(name)! }));
  }

  emit(): Block {
    const { context } = this;
    const name = context.module.take(`${context.operator.signature.name}_backward_op`);
    return [
      ...context.register(name, `${context.names.wrapper}_backward`, this.#operatorFunction(), this.#results.length),
      this.#setupContext(),
      this.#backwardFunction(name),
      py.expression(
        py.call(
          `${context.names.op}.register_autograd`,
          py.name(context.privateName("backward")),
          py.keyword("setup_context", py.name(context.privateName("setup_context"))),
        ),
      ),
    ];
  }

  #local(tensor: string): string {
    return this.#names.tensors.get(tensor)!;
  }

  #takeFlags(): ReadonlyMap<string, string> {
    const locals = new Names();
    for (const name of [...this.#names.tensors.values(), ...this.#names.parameters.values()]) locals.take(name);
    const inputs = callOrder(this.context.operator.signature).filter(({ name }) => this.#results.includes(name));
    return new Map(inputs.map(({ name }) => [name, locals.take(`needs_${this.context.parameter(name)}`)]));
  }

  /** The flags of the gradients that need a tensor. Empty if all gradients need it. */
  #flagsOf(tensor: string): readonly string[] {
    const dependents = new ResultDependencies(this.backward).resultsOfInput(tensor);
    if (dependents.size === this.#results.length) return [];
    return [...this.#flags].filter(([result]) => dependents.has(result)).map(([, flag]) => flag);
  }

  #options(like: Expression) {
    const device = py.attribute(like, "device");
    return { names: this.#names, device, requests: { flags: this.#flags, like } };
  }

  // ---- the operator -------------------------------------------------------------------------------------------------

  /** Parameters: gradients of outputs, then saved tensors, numbers and flags. */
  #operatorFunction(): OperatorFunction {
    const { context, backward } = this;
    const tensor = py.dotted("torch.Tensor");
    const isOptional = (saved: SavedTensor): boolean =>
      saved.flags.length > 0 || context.inputs.some((param) => param.name === saved.name && param.optional);
    const params: readonly Parameter[] = [
      ...this.#outputGradients.map((name) => ({ name: this.#local(name), annotation: tensor })),
      ...this.#saved.map((saved) => ({
        name: this.#local(saved.name),
        annotation: isOptional(saved) ? py.binary(tensor, "|", py.none) : tensor,
      })),
      ...this.#numbers.map((param) => ({
        name: this.#names.parameters.get(param.value)!,
        annotation: py.dotted(annotationOf(param)),
      })),
      ...[...this.#usedFlags.values()].map((name) => ({ name, annotation: py.name("bool") })),
    ];
    const requiredTensors = [
      ...this.#outputGradients,
      ...this.#saved.filter((saved) => !isOptional(saved)).map(({ name }) => name),
    ];
    const { name, at } = context.operator.signature;
    const like = requiredTensors[0] ?? fail(operatorGradient.noTensor(name), at);
    const emit = (isFake: boolean) => {
      const composition = context.emitComposition(backward, { ...this.#options(py.name(this.#local(like))), isFake });
      const statements = [...context.bindings(composition.usedNames, this.#sizes), ...composition.statements];
      return { ...composition, statements: [...this.#makeContiguous(isOptional), ...statements] };
    };
    return { params, real: emit(false), fake: emit(true) };
  }

  /**
   * Makes tensors contiguous for kernels with fixed strides. Gradients from autograd may have any strides, such as 0
   * after a sum, and the forward function may accept inputs in any layout.
   */
  #makeContiguous(isOptional: (saved: SavedTensor) => boolean): Block {
    const { emittedKernels, inputs } = this.context;
    const strictArguments = this.backward.steps.flatMap((step) =>
      step.kind === "launch" ? [...emittedKernels.get(step.kernel)!.contiguous].map((name) => step.args[name]) : [],
    );
    const isStrict = (name: string): boolean =>
      strictArguments.some((node) => isTorchNode(node) && node.kind === "input" && node.name === name);
    const assignContiguous = (name: string): Statement => {
      const tensor = py.name(this.#local(name));
      return py.assign(tensor, py.call(py.attribute(tensor, "contiguous")));
    };
    const strictSaved = this.#saved.filter(({ name }) => isStrict(name) && inputs.some((param) => param.name === name));
    return [
      ...this.#outputGradients.filter(isStrict).map(assignContiguous),
      ...strictSaved.map((each): Statement => {
        const isPresent = py.compare(py.name(this.#local(each.name)), ["is not", py.none]);
        const body = [assignContiguous(each.name)];
        return isOptional(each) ? { kind: "if", branches: [{ test: isPresent, body }] } : body[0]!;
      }),
    ];
  }

  /** Raises an error if PyTorch needs a gradient that the author did not write. */
  #missingGradientChecks(): Block {
    const { signature: face } = this.context.operator;
    return callOrder(face).flatMap((param, i): Statement[] => {
      if (param.kind !== "tensor" || this.#owners.has(param.name) || !isFloatElem(param.dtype)) return [];
      const name = this.context.parameter(param.name);
      const text = py.string(`${this.context.names.wrapper} has no gradient of ${name}; call it with ${name}.detach()`);
      const body = [py.raise(py.call("RuntimeError", text))];
      return [{ kind: "if", branches: [{ test: needsGradient(param, i), body }] }];
    });
  }

  /** The bindings of sizes: each is read from the first of these tensors that has it. */
  #sizesOf(tensors: readonly string[]): readonly (Binding & { readonly holder: string })[] {
    const { operator, inputs, outputs } = this.context;
    const shapes = new Map<string, TensorParam["dimNames"]>([
      ...inputs.map(({ name, dimNames }) => [name, dimNames] as const),
      ...outputs.flatMap(({ name, dimNames }) => [[name, dimNames] as const, [gradientOf(name), dimNames] as const]),
    ]);
    const bindings = new Map<string, Binding & { readonly holder: string }>();
    for (const holder of tensors)
      shapes.get(holder)?.forEach((dim, axis) => {
        const param = operator.signature.params.find((other) => other.name === dim);
        if (!param || param.kind === "tensor" || bindings.has(param.name)) return;
        const shape = py.attribute(py.name(this.#local(holder)), "shape");
        const value = py.subscript(shape, py.number(String(axis)));
        bindings.set(param.name, { name: this.#names.parameters.get(param.value)!, value, holder });
      });
    return [...bindings.values()];
  }

  // ---- what PyTorch calls -------------------------------------------------------------------------------------------

  #setupContext(): FunctionDef {
    const { operator, outputs, results: allResults } = this.context;
    const isSaved = (tensor: string): boolean => this.#saved.some(({ name }) => name === tensor);
    const inputs = callOrder(operator.signature).map((param) => {
      const isUsed = param.kind === "tensor" ? isSaved(param.name) : this.#numbers.some((number) => number === param);
      return py.name(isUsed ? this.context.parameter(param.name) : "_");
    });
    const intermediates = allResults.filter((name) => !outputs.some((param) => param.name === name));
    const results = allResults.map((name) =>
      py.name(isSaved(name) || intermediates.includes(name) ? this.#local(name) : "_"),
    );
    const unpack = (targets: readonly (Expression & { id: string })[], from: string): Statement[] =>
      targets.every(({ id }) => id === "_") ? [] : [py.assign(py.tupleOrSingle(targets, true), py.name(from))];
    const single = results.length === 1 && results[0]!.id !== "_" ? [py.assign(results[0]!, py.name("output"))] : [];
    const flags = new Set(this.#saved.flatMap((saved) => saved.flags));
    const savedExpressions = this.#saved.map(({ name, flags: tensorFlags }) => {
      const tensor = py.name(this.#local(name));
      return tensorFlags.length === 0
        ? tensor
        : py.conditional(tensor, py.boolOp("or", ...tensorFlags.map(py.name)), py.none);
    });
    return {
      kind: "function",
      name: this.context.privateName("setup_context"),
      decorators: [],
      params: [{ name: "ctx" }, { name: "inputs" }, { name: "output" }],
      body: [
        ...unpack(inputs, "inputs"),
        ...(results.length === 1 ? single : unpack(results, "output")),
        ...this.#flagAssignments((flag) => flags.has(flag)),
        py.expression(py.call("ctx.save_for_backward", ...savedExpressions)),
        ...this.#numbers.map((param) =>
          py.assign(
            py.dotted(`ctx.${this.context.parameter(param.name)}`),
            py.name(this.context.parameter(param.name)),
          ),
        ),
        ...(intermediates.length > 0
          ? [
              py.expression(
                py.call("ctx.mark_non_differentiable", ...intermediates.map((name) => py.name(this.#local(name)))),
              ),
            ]
          : []),
      ],
    };
  }

  #backwardFunction(operator: string): FunctionDef {
    const { context } = this;
    const inputs = callOrder(context.operator.signature);
    const parameters = context.results.map((name) => {
      const gradient = gradientOf(name);
      return this.#outputGradients.includes(gradient) ? this.#local(gradient) : undefined;
    });
    const last = parameters.findLastIndex((name) => name !== undefined);
    const params = [
      { name: "ctx" },
      ...parameters.slice(0, last + 1).map((name, i) => ({ name: name ?? `_${i}` })),
      ...(last + 1 < parameters.length ? [{ name: "*_" }] : []),
    ];
    const savedNames = this.#saved.map(({ name }) => this.#local(name));
    const gradients = this.#results.map((name) => py.name(`grad_${context.parameter(name)}`));
    const call = py.call(
      operator,
      ...[...this.#outputGradients.map((name) => this.#local(name)), ...savedNames].map(py.name),
      ...this.#numbers.map((param) => py.dotted(`ctx.${context.parameter(param.name)}`)),
      ...[...this.#usedFlags.values()].map(py.name),
    );
    const usedFlags = new Set(this.#usedFlags.values());
    const optional = new Set(inputs.filter(isOptionalTensor).flatMap(({ name }) => this.#flags.get(name) ?? []));
    const inputGradients = inputs.map((param) => {
      const owner = this.#owners.get(param.name);
      if (owner === undefined) return py.none;
      const gradient = gradients[this.#results.indexOf(owner)]!;
      const flag = this.#flags.get(owner)!;
      return optional.has(flag) ? py.conditional(gradient, py.name(flag), py.none) : gradient;
    });
    return {
      kind: "function",
      name: context.privateName("backward"),
      decorators: [],
      params,
      body: [
        ...this.#missingGradientChecks(),
        ...(savedNames.length > 0
          ? [py.assign(py.tupleOrSingle(savedNames.map(py.name), true), py.dotted("ctx.saved_tensors"))]
          : []),
        ...this.#flagAssignments((flag) => usedFlags.has(flag) || optional.has(flag)),
        py.assign(py.tupleOrSingle(gradients), call),
        py.returns(py.tupleOrSingle(inputGradients)),
      ],
    };
  }

  /** Assignments of the selected flags. */
  #flagAssignments(isSelected: (flag: string) => boolean): Block {
    return [...this.#flags].flatMap(([owner, flag]) => {
      if (!isSelected(flag)) return [];
      const conditions = callOrder(this.context.operator.signature).flatMap((param, i) =>
        this.#owners.get(param.name) === owner ? [needsGradient(param, i)] : [],
      );
      return [py.assign(py.name(flag), conditions.length === 1 ? conditions[0]! : py.boolOp("or", ...conditions))];
    });
  }
}

/**
 * A condition that is true if PyTorch needs an input's gradient. An input that is None has no entry in
 * `needs_input_grad`.
 */
function needsGradient(param: InputParam, i: number): Expression {
  const [index, next] = [py.number(String(i)), py.number(String(i + 1))];
  const all = py.dotted("ctx.needs_input_grad");
  return isOptionalTensor(param) ? py.call("any", py.subscript(all, py.slice(index, next))) : py.subscript(all, index);
}

const isOptionalTensor = (param: InputParam): boolean => param.kind === "tensor" && param.optional;

function addTensors(names: KernelNames, tensorNames: readonly string[]): KernelNames {
  const tensors = new Map(names.tensors);
  for (const name of tensorNames) if (!tensors.has(name)) tensors.set(name, snakeCase(name));
  return { ...names, tensors };
}
