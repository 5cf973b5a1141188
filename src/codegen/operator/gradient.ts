/** The gradient of an operator made of kernels: an operator of its own, and what PyTorch keeps for it. */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorGradient } from "../../diagnostics/catalog/operator-codes.js";
import type { TensorParam } from "../../ir/nodes.js";
import { isFloatElem } from "../../types/dtype.js";
import { type Composition, gradientOf } from "../../ir/operator-ir.js";
import { callOrder, type InputParam, type NumberParam, numberParams } from "../names/call-order.js";
import { ResultDependencies } from "./result-dependencies.js";
import type { KernelNames } from "../names/kernel-names.js";
import { Names, snakeCase } from "../names/names.js";
import { isTorchNode } from "../../torch/node.js";
import { type OperatorContext, type Part } from "./context.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import type { Binding } from "../reference/number-bindings.js";
import { annotationOf } from "../wrapper/docstring.js";

export function gradientDefinitions(context: OperatorContext, backward: Composition): Block {
  return new GradientEmitter(context, backward).emit();
}

/** A tensor that PyTorch saves for the gradient. */
interface Kept {
  readonly name: string;
  /** It is saved only if one of these flags is set; if there are none, always. */
  readonly flags: readonly string[];
}

class GradientEmitter {
  /** What the operator returns: a tensor that is the gradient of several inputs once, by the first of them. */
  readonly backward: Composition;
  /** The input whose name the gradient of an input has in the operator. */
  readonly #owners: ReadonlyMap<string, string>;
  /** The face's names, with the forward function's results and the gradients of outputs. */
  readonly #names: KernelNames;
  /** The flag that tells whether each gradient is wanted, by the input's name. */
  readonly #flags: ReadonlyMap<string, string>;
  readonly #results: readonly string[];
  /** Gradients of outputs that the author uses. */
  readonly #given: readonly string[];
  readonly #kept: readonly Kept[];
  readonly #numbers: readonly NumberParam[];
  /** The flags that the operator takes. */
  readonly #asked: ReadonlyMap<string, string>;
  readonly #sizes: readonly Binding[];

  constructor(
    readonly context: OperatorContext,
    { steps, results }: Composition,
  ) {
    const { face } = context.operator;
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
    this.#names = withTensors(context.names, [...context.results, ...gradients]);
    this.#flags = this.#takeFlags();
    // What the gradient uses decides what PyTorch saves.
    const { used } = context.write(backward, { ...this.#options(py.none), fake: false });
    const isUsed = (tensor: string): boolean => used.has(this.#local(tensor));
    this.#given = gradients.filter(isUsed);
    this.#numbers = numberParams(face).filter((param) => used.has(this.#names.parameters.get(param.value)!));
    this.#asked = new Map([...this.#flags].filter(([, flag]) => used.has(flag)));
    const looked = [...context.inputs.map((param) => param.name), ...context.results].filter(isUsed);
    const needed = new Map(looked.map((name) => [name, this.#flagsOf(name)] as const));
    // Sizes are read off what is there in any case, as far as that has them.
    const always = [...this.#given, ...looked.filter((name) => needed.get(name)!.length === 0)];
    const sizes = this.#sizesOf([...always, ...looked]).filter(({ name }) => used.has(name));
    const holders = new Set([always[0] ?? looked[0], ...sizes.map(({ holder }) => holder)]);
    this.#sizes = sizes;
    this.#kept = looked.map((name) => ({ name, flags: holders.has(name) ? [] : needed.get(name)! }));
  }

  emit(): Block {
    const { context } = this;
    const name = context.module.take(`${context.operator.face.name}_backward_op`);
    return [
      ...context.registered(name, `${context.names.wrapper}_backward`, this.#part(), this.#results.length),
      this.#setUp(),
      this.#function(name),
      py.expression(
        py.call(
          `${context.names.op}.register_autograd`,
          py.name(context.ownName("backward")),
          py.keyword("setup_context", py.name(context.ownName("setup_context"))),
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
    const inputs = callOrder(this.context.operator.face).filter(({ name }) => this.#results.includes(name));
    return new Map(inputs.map(({ name }) => [name, locals.take(`needs_${this.context.parameter(name)}`)]));
  }

  /** The flags of the gradients that need a tensor; none if all do. */
  #flagsOf(tensor: string): readonly string[] {
    const needed = new ResultDependencies(this.backward).ofInput(tensor);
    if (needed.size === this.#results.length) return [];
    return [...this.#flags].filter(([result]) => needed.has(result)).map(([, flag]) => flag);
  }

  #options(like: Expression) {
    const device = py.attribute(like, "device");
    return { names: this.#names, device, asked: { flags: this.#flags, like } };
  }

  // ---- the operator -------------------------------------------------------------------------------------------------

  /** Gradients first, then saved tensors, numbers and flags. */
  #part(): Part {
    const { context, backward } = this;
    const tensor = py.dotted("torch.Tensor");
    const isOptional = (kept: Kept): boolean =>
      kept.flags.length > 0 || context.inputs.some((param) => param.name === kept.name && param.optional);
    const params: readonly Parameter[] = [
      ...this.#given.map((name) => ({ name: this.#local(name), annotation: tensor })),
      ...this.#kept.map((kept) => ({
        name: this.#local(kept.name),
        annotation: isOptional(kept) ? py.binary(tensor, "|", py.none) : tensor,
      })),
      ...this.#numbers.map((param) => ({
        name: this.#names.parameters.get(param.value)!,
        annotation: py.dotted(annotationOf(param)),
      })),
      ...[...this.#asked.values()].map((name) => ({ name, annotation: py.name("bool") })),
    ];
    const there = [...this.#given, ...this.#kept.filter((kept) => !isOptional(kept)).map(({ name }) => name)];
    const { name, at } = context.operator.face;
    const like = there[0] ?? fail(operatorGradient.noTensor(name), at);
    const write = (fake: boolean) => {
      const written = context.write(backward, { ...this.#options(py.name(this.#local(like))), fake });
      const statements = [...context.bindings(written.used, this.#sizes), ...written.statements];
      return { ...written, statements: fake ? statements : [...this.#inRows(isOptional), ...statements] };
    };
    const tensors = [...this.#given, ...this.#kept.map(({ name }) => name)].map((name) => this.#local(name));
    return { params, tensors, real: write(false), fake: write(true) };
  }

  /**
   * Lays out what a kernel takes with certain strides only: autograd gives gradients of any, 0 after a sum, and the
   * forward function may have taken an input in any layout.
   */
  #inRows(isOptional: (kept: Kept) => boolean): Block {
    const { called, inputs } = this.context;
    const strict = this.backward.steps.flatMap((step) =>
      step.kind === "launch" ? [...called.get(step.kernel)!.strict].map((name) => step.args[name]) : [],
    );
    const isStrict = (name: string): boolean =>
      strict.some((node) => isTorchNode(node) && node.kind === "input" && node.name === name);
    const laidOut = (name: string): Statement => {
      const tensor = py.name(this.#local(name));
      return py.assign(tensor, py.call(py.attribute(tensor, "contiguous")));
    };
    const kept = this.#kept.filter(({ name }) => isStrict(name) && inputs.some((param) => param.name === name));
    return [
      ...this.#given.filter(isStrict).map(laidOut),
      ...kept.map((each): Statement => {
        const isThere = py.compare(py.name(this.#local(each.name)), ["is not", py.none]);
        const body = [laidOut(each.name)];
        return isOptional(each) ? { kind: "if", branches: [{ test: isThere, body }] } : body[0]!;
      }),
    ];
  }

  /** Refuses to leave out a gradient that PyTorch wants and the author has not written. */
  #unwritten(): Block {
    const { face } = this.context.operator;
    return callOrder(face).flatMap((param, i): Statement[] => {
      if (param.kind !== "tensor" || this.#owners.has(param.name) || !isFloatElem(param.dtype)) return [];
      const name = this.context.parameter(param.name);
      const text = py.string(`${this.context.names.wrapper} has no gradient of ${name}; call it with ${name}.detach()`);
      const body = [py.raise(py.call("RuntimeError", text))];
      return [{ kind: "if", branches: [{ test: isAsked(param, i), body }] }];
    });
  }

  /** Reads each size from the first of these tensors that has it. */
  #sizesOf(tensors: readonly string[]): readonly (Binding & { readonly holder: string })[] {
    const { operator, inputs, outputs } = this.context;
    const shapes = new Map<string, TensorParam["dimNames"]>([
      ...inputs.map(({ name, dimNames }) => [name, dimNames] as const),
      ...outputs.flatMap(({ name, dimNames }) => [[name, dimNames] as const, [gradientOf(name), dimNames] as const]),
    ]);
    const found = new Map<string, Binding & { readonly holder: string }>();
    for (const holder of tensors)
      shapes.get(holder)?.forEach((dim, axis) => {
        const param = operator.face.params.find((other) => other.name === dim);
        if (!param || param.kind === "tensor" || found.has(param.name)) return;
        const shape = py.attribute(py.name(this.#local(holder)), "shape");
        const value = py.subscript(shape, py.number(String(axis)));
        found.set(param.name, { name: this.#names.parameters.get(param.value)!, value, holder });
      });
    return [...found.values()];
  }

  // ---- what PyTorch calls -------------------------------------------------------------------------------------------

  #setUp(): FunctionDef {
    const { operator, names, outputs, results: all } = this.context;
    const isKept = (tensor: string): boolean => this.#kept.some(({ name }) => name === tensor);
    const inputs = callOrder(operator.face).map((param) => {
      const isUsed = param.kind === "tensor" ? isKept(param.name) : this.#numbers.some((number) => number === param);
      return py.name(isUsed ? this.context.parameter(param.name) : "_");
    });
    const only = all.filter((name) => !outputs.some((param) => param.name === name));
    const results = all.map((name) => py.name(isKept(name) || only.includes(name) ? this.#local(name) : "_"));
    const unpack = (targets: readonly (Expression & { id: string })[], from: string): Statement[] =>
      targets.every(({ id }) => id === "_") ? [] : [py.assign(py.tupled(targets, true), py.name(from))];
    const single = results.length === 1 && results[0]!.id !== "_" ? [py.assign(results[0]!, py.name("output"))] : [];
    const flags = new Set(this.#kept.flatMap((kept) => kept.flags));
    const kept = this.#kept.map(({ name, flags: any }) => {
      const tensor = py.name(this.#local(name));
      return any.length === 0 ? tensor : py.conditional(tensor, py.boolOp("or", ...any.map(py.name)), py.none);
    });
    return {
      kind: "function",
      name: this.context.ownName("setup_context"),
      decorators: [],
      params: [{ name: "ctx" }, { name: "inputs" }, { name: "output" }],
      docstring: `Keeps what the gradient of ${names.wrapper} needs.`,
      body: [
        ...unpack(inputs, "inputs"),
        ...(results.length === 1 ? single : unpack(results, "output")),
        ...this.#needed((flag) => flags.has(flag)),
        py.expression(py.call("ctx.save_for_backward", ...kept)),
        ...this.#numbers.map((param) =>
          py.assign(
            py.dotted(`ctx.${this.context.parameter(param.name)}`),
            py.name(this.context.parameter(param.name)),
          ),
        ),
        ...(only.length > 0
          ? [py.expression(py.call("ctx.mark_non_differentiable", ...only.map((name) => py.name(this.#local(name)))))]
          : []),
      ],
    };
  }

  #function(operator: string): FunctionDef {
    const { context } = this;
    const inputs = callOrder(context.operator.face);
    const parameters = context.results.map((name) => {
      const gradient = gradientOf(name);
      return this.#given.includes(gradient) ? this.#local(gradient) : undefined;
    });
    const last = parameters.findLastIndex((name) => name !== undefined);
    const params = [
      { name: "ctx" },
      ...parameters.slice(0, last + 1).map((name, i) => ({ name: name ?? `_${i}` })),
      ...(last + 1 < parameters.length ? [{ name: "*_" }] : []),
    ];
    const kept = this.#kept.map(({ name }) => this.#local(name));
    const gradients = this.#results.map((name) => py.name(`grad_${context.parameter(name)}`));
    const call = py.call(
      operator,
      ...[...this.#given.map((name) => this.#local(name)), ...kept].map(py.name),
      ...this.#numbers.map((param) => py.dotted(`ctx.${context.parameter(param.name)}`)),
      ...[...this.#asked.values()].map(py.name),
    );
    const asked = new Set(this.#asked.values());
    const optional = new Set(inputs.filter(mayBeLeftOut).flatMap(({ name }) => this.#flags.get(name) ?? []));
    const inOrder = inputs.map((param) => {
      const owner = this.#owners.get(param.name);
      if (owner === undefined) return py.none;
      const gradient = gradients[this.#results.indexOf(owner)]!;
      const flag = this.#flags.get(owner)!;
      return optional.has(flag) ? py.conditional(gradient, py.name(flag), py.none) : gradient;
    });
    return {
      kind: "function",
      name: context.ownName("backward"),
      decorators: [],
      params,
      docstring: `The gradients of the inputs of ${context.names.wrapper}.`,
      body: [
        ...this.#unwritten(),
        ...(kept.length > 0 ? [py.assign(py.tupled(kept.map(py.name), true), py.dotted("ctx.saved_tensors"))] : []),
        ...this.#needed((flag) => asked.has(flag) || optional.has(flag)),
        py.assign(py.tupled(gradients), call),
        py.returns(py.tupled(inOrder)),
      ],
    };
  }

  /** The lines that set flags. */
  #needed(isWanted: (flag: string) => boolean): Block {
    return [...this.#flags].flatMap(([owner, flag]) => {
      if (!isWanted(flag)) return [];
      const asked = callOrder(this.context.operator.face).flatMap((param, i) =>
        this.#owners.get(param.name) === owner ? [isAsked(param, i)] : [],
      );
      return [py.assign(py.name(flag), asked.length === 1 ? asked[0]! : py.boolOp("or", ...asked))];
    });
  }
}

/** Whether PyTorch wants the gradient of an input, of which it does not count those that are left out. */
function isAsked(param: InputParam, i: number): Expression {
  const [index, next] = [py.number(String(i)), py.number(String(i + 1))];
  const all = py.dotted("ctx.needs_input_grad");
  return mayBeLeftOut(param) ? py.call("any", py.subscript(all, py.slice(index, next))) : py.subscript(all, index);
}

const mayBeLeftOut = (param: InputParam): boolean => param.kind === "tensor" && param.optional;

function withTensors(names: KernelNames, more: readonly string[]): KernelNames {
  const tensors = new Map(names.tensors);
  for (const name of more) if (!tensors.has(name)) tensors.set(name, snakeCase(name));
  return { ...names, tensors };
}
