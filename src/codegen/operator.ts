/**
 * An operator made of kernels: `torch.library.custom_op` for it and for its gradient, each with a fake implementation,
 * joined by `register_autograd`; and the function that PyTorch code calls.
 */
import { fail } from "../diagnostics.js";
import type { KernelIR, TensorParam } from "../ir/nodes.js";
import { type Composition, gradientOf, type OperatorIR } from "../ir/operator.js";
import type { SourceIndex } from "../ir/source.js";
import { callOrder, type InputParam, type NumberParam, numberParams } from "./call-order.js";
import { type Called, type CompositionOptions, writeComposition, type WrittenComposition } from "./composition.js";
import type { KernelNames } from "./kernel-names.js";
import { Names, snakeCase } from "./names.js";
import {
  checkNamespace,
  notAnOperator,
  type OpOptions,
  registration,
  returnType,
  withoutAnnotations,
} from "./op-module.js";
import * as py from "./py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "./py.js";
import type { Binding } from "./reference.js";
import { annotationOf, argumentLines, inputParameters, tensorWords } from "./wrapper-words.js";

export type { Called };

export interface OperatorPart {
  readonly definitions: Block;
  /** Of the function that PyTorch code calls. */
  readonly params: readonly Parameter[];
}

/** `sizes` say where each size is read off the inputs. */
export function operatorDefinitions(
  operator: OperatorIR,
  names: KernelNames,
  module: Names,
  called: ReadonlyMap<KernelIR, Called>,
  sizes: readonly Binding[],
  source: SourceIndex | undefined,
  op: OpOptions,
): OperatorPart {
  const { face } = operator;
  checkNamespace(face, op);
  if (op.form === "triton_op")
    fail("op", `${face.name}: triton_op is for one kernel; an operator of several is a custom_op`, face.at);
  for (const kernel of operator.kernels) {
    const why = notAnOperator(kernel);
    if (why) fail("op", `${face.name}: its kernel ${kernel.name} cannot be part of it; ${why}`, kernel.at);
  }
  const emitter = new OperatorEmitter(operator, names, module, called, sizes, source, op.namespace);
  return { definitions: emitter.emit(), params: emitter.params };
}

/** A function of the module before it is an operator: what it takes, and its calls. */
interface Part {
  readonly params: readonly Parameter[];
  readonly real: WrittenComposition;
  readonly fake: WrittenComposition;
}

class OperatorEmitter {
  readonly params: readonly Parameter[];
  readonly #outputs: readonly TensorParam[];
  /** Names of what the forward function gives, in order: outputs, then what only the gradient needs. */
  readonly #results: readonly string[];

  constructor(
    readonly operator: OperatorIR,
    readonly names: KernelNames,
    readonly module: Names,
    readonly called: ReadonlyMap<KernelIR, Called>,
    readonly sizes: readonly Binding[],
    readonly source: SourceIndex | undefined,
    readonly namespace: string,
  ) {
    this.params = inputParameters(operator.face, names);
    this.#outputs = tensorsOf(operator.face, "out");
    this.#results = Object.keys(operator.forward.results);
  }

  emit(): Block {
    const { operator, names } = this;
    const forward = this.#forward();
    const definitions = this.#registered(names.op, names.wrapper, forward, this.#results.length);
    return [...definitions, ...(operator.backward ? this.#autograd(operator.backward) : []), this.#callable()];
  }

  // ---- forward ------------------------------------------------------------------------------------------------------

  #forward(): Part {
    const write = (fake: boolean) => this.#write(this.operator.forward, this.names, this.#device(), fake);
    const bound = (written: WrittenComposition): WrittenComposition => ({
      ...written,
      statements: [...this.#bindings(written, this.sizes), ...written.statements],
    });
    return { params: this.params, real: bound(write(false)), fake: bound(write(true)) };
  }

  /** Tensors that torch makes go where the first input is. */
  #device(): Expression {
    const holder = tensorsOf(this.operator.face, "in").find((param) => !param.optional)!;
    return py.attribute(py.name(this.names.tensors.get(holder.name)!), "device");
  }

  // ---- backward -----------------------------------------------------------------------------------------------------

  #autograd(backward: Composition): Block {
    const { face } = this.operator;
    const name = this.module.take(`${face.name}_backward_op`);
    const gradients = this.#outputs.map((param) => gradientOf(param.name));
    const names = this.#namesWith([...this.#results, ...gradients]);
    const local = (tensor: string): string => names.tensors.get(tensor)!;
    const flags = this.#flags(backward, names);
    // What it looks at decides what PyTorch keeps.
    const { used } = this.#write(backward, names, py.name("device"), false, { flags, like: py.none });
    const given = gradients.filter((gradient) => used.has(local(gradient)));
    const known = [...tensorsOf(face, "in").map((param) => param.name), ...this.#results];
    const kept = known.filter((tensor) => used.has(local(tensor)));
    const numbers = numberParams(face).filter((param) => used.has(names.parameters.get(param.value)!));
    const asked = new Map([...flags].filter(([, flag]) => used.has(flag)));
    const part = this.#backwardPart(backward, names, [...given, ...kept].map(local), numbers, asked);
    const results = Object.keys(backward.results);
    return [
      ...this.#registered(name, `${this.names.wrapper}_backward`, part, results.length),
      this.#setUp(kept, numbers, local),
      this.#gradients(name, results, given, kept.map(local), numbers, flags, asked, local),
      py.expression(
        py.call(
          `${this.names.op}.register_autograd`,
          py.name(this.#ownName("backward")),
          py.keyword("setup_context", py.name(this.#ownName("setup_context"))),
        ),
      ),
    ];
  }

  #backwardPart(
    backward: Composition,
    names: KernelNames,
    tensors: readonly string[],
    numbers: readonly NumberParam[],
    flags: ReadonlyMap<string, string>,
  ): Part {
    const annotation = py.dotted("torch.Tensor");
    const params: readonly Parameter[] = [
      ...tensors.map((name) => ({ name, annotation })),
      ...numbers.map((param) => ({
        name: names.parameters.get(param.value)!,
        annotation: py.dotted(annotationOf(param)),
      })),
      ...[...flags.values()].map((name) => ({ name, annotation: py.name("bool") })),
    ];
    const like = py.name(tensors[0]!);
    const device = py.attribute(like, "device");
    const sizes = this.#sizesOf(names, tensors);
    const write = (fake: boolean): WrittenComposition => {
      const written = this.#write(backward, names, device, fake, { flags, like });
      return { ...written, statements: [...this.#bindings(written, sizes), ...written.statements] };
    };
    return { params, real: write(false), fake: write(true) };
  }

  /** Sizes off the inputs and the gradients that the function is given. */
  #sizesOf(names: KernelNames, tensors: readonly string[]): readonly Binding[] {
    const { face } = this.operator;
    const shaped = [
      ...tensorsOf(face, "in").map(({ name, dimNames }) => ({ name, dimNames })),
      ...this.#outputs.flatMap(({ name, dimNames }) => [
        { name: gradientOf(name), dimNames },
        { name, dimNames },
      ]),
    ].filter(({ name }) => tensors.includes(names.tensors.get(name)!));
    const found = new Map<string, Binding>();
    for (const { name, dimNames } of shaped)
      dimNames.forEach((dim, axis) => {
        const param = face.params.find((other) => other.name === dim);
        if (!param || param.kind === "tensor" || found.has(param.name)) return;
        const shape = py.attribute(py.name(names.tensors.get(name)!), "shape");
        const value = py.subscript(shape, py.number(String(axis)));
        found.set(param.name, { name: names.parameters.get(param.value)!, value });
      });
    return [...found.values()];
  }

  #setUp(kept: readonly string[], numbers: readonly NumberParam[], local: (tensor: string) => string): FunctionDef {
    const { face } = this.operator;
    const inputs = callOrder(face).map((param) => {
      const isUsed = param.kind === "tensor" ? kept.includes(param.name) : numbers.some((number) => number === param);
      return py.name(isUsed ? this.#parameter(param.name) : "_");
    });
    const only = this.#results.filter((name) => !this.#outputs.some((param) => param.name === name));
    const results = this.#results.map((name) =>
      py.name(kept.includes(name) || only.includes(name) ? local(name) : "_"),
    );
    const unpack = (targets: readonly (Expression & { id: string })[], from: string): Statement[] =>
      targets.every(({ id }) => id === "_") ? [] : [py.assign(tupled(targets, true), py.name(from))];
    const single = results.length === 1 && results[0]!.id !== "_" ? [py.assign(results[0]!, py.name("output"))] : [];
    return {
      kind: "function",
      name: this.#ownName("setup_context"),
      decorators: [],
      params: [{ name: "ctx" }, { name: "inputs" }, { name: "output" }],
      docstring: `Keeps what the gradient of ${this.names.wrapper} needs.`,
      body: [
        ...unpack(inputs, "inputs"),
        ...(results.length === 1 ? single : unpack(results, "output")),
        py.expression(py.call("ctx.save_for_backward", ...kept.map((name) => py.name(local(name))))),
        ...numbers.map((param) =>
          py.assign(py.dotted(`ctx.${this.#parameter(param.name)}`), py.name(this.#parameter(param.name))),
        ),
        ...(only.length > 0
          ? [py.expression(py.call("ctx.mark_non_differentiable", ...only.map((name) => py.name(local(name)))))]
          : []),
      ],
    };
  }

  #gradients(
    operator: string,
    results: readonly string[],
    given: readonly string[],
    kept: readonly string[],
    numbers: readonly NumberParam[],
    flags: ReadonlyMap<string, string>,
    asked: ReadonlyMap<string, string>,
    local: (tensor: string) => string,
  ): FunctionDef {
    const inputs = callOrder(this.operator.face);
    const parameters = this.#results.map((name) => {
      const gradient = gradientOf(name);
      return { name: given.includes(gradient) ? local(gradient) : undefined };
    });
    const last = parameters.findLastIndex(({ name }) => name !== undefined);
    const params = [
      { name: "ctx" },
      ...parameters.slice(0, last + 1).map(({ name }, i) => ({ name: name ?? `_${i}` })),
      ...(last + 1 < parameters.length ? [{ name: "*_" }] : []),
    ];
    const gradients = results.map((name) => py.name(`grad_${this.#parameter(name)}`));
    const call = py.call(
      operator,
      ...[...given.map(local), ...kept].map(py.name),
      ...numbers.map((param) => py.dotted(`ctx.${this.#parameter(param.name)}`)),
      ...[...asked.values()].map(py.name),
    );
    const mayBeLeftOut = (param: InputParam): boolean => param.kind === "tensor" && param.optional;
    const needed = inputs.flatMap((param, i) => {
      if (!asked.has(param.name) && !(flags.has(param.name) && mayBeLeftOut(param))) return [];
      // PyTorch does not count what is left out, and takes no gradient for it.
      const [index, next] = [py.number(String(i)), py.number(String(i + 1))];
      const all = py.dotted("ctx.needs_input_grad");
      const value = mayBeLeftOut(param)
        ? py.call("any", py.subscript(all, py.slice(index, next)))
        : py.subscript(all, index);
      return [py.assign(py.name(flags.get(param.name)!), value)];
    });
    const inOrder = inputs.map((param) => {
      const gradient = gradients[results.indexOf(param.name)];
      if (!gradient) return py.none;
      return mayBeLeftOut(param) ? py.conditional(gradient, py.name(flags.get(param.name)!), py.none) : gradient;
    });
    return {
      kind: "function",
      name: this.#ownName("backward"),
      decorators: [],
      params,
      docstring: `The gradients of the inputs of ${this.names.wrapper}.`,
      body: [
        ...(kept.length > 0 ? [py.assign(tupled(kept.map(py.name), true), py.dotted("ctx.saved_tensors"))] : []),
        ...needed,
        py.assign(tupled(gradients), call),
        py.returns(tupled(inOrder)),
      ],
    };
  }

  // ---- both ---------------------------------------------------------------------------------------------------------

  #registered(name: string, qualified: string, { params, real, fake }: Part, count: number): Block {
    const full = `${this.namespace}.${qualified}`;
    return [
      {
        kind: "function",
        name,
        decorators: [registration("custom_op", `${this.namespace}::${qualified}`)],
        params,
        returns: returnType(count),
        origin: this.operator.face.at,
        docstring: `torch.ops.${full}.`,
        body: returning(real),
      },
      {
        kind: "function",
        name: `_${name}_fake`,
        decorators: [py.dotted(`${name}.register_fake`)],
        params: withoutAnnotations(params),
        docstring: `What torch.compile sees of ${name}: shapes and dtypes.`,
        body: returning(fake),
      },
    ];
  }

  /** What PyTorch code calls: outputs only. */
  #callable(): FunctionDef {
    const { face } = this.operator;
    const call = py.call(this.names.op, ...this.params.map(({ name }) => py.name(name)));
    const outputs = this.#outputs.map((param) => py.name(this.names.tensors.get(param.name)!));
    const targets = this.#results.map((_, i) => outputs[i] ?? py.name("_"));
    const isWhole = this.#results.length === outputs.length;
    const gives = this.#outputs.map((param) => `    ${param.name}: ${tensorWords(param)}.`);
    return {
      kind: "function",
      name: this.names.wrapper,
      decorators: [],
      origin: face.at,
      params: this.params,
      returns: returnType(outputs.length),
      docstring: [
        face.doc ?? `The operator ${this.names.wrapper}.`,
        "",
        "Args:",
        ...argumentLines(face, this.names),
        "",
        "Returns:",
        ...gives,
        "",
        "Raises:",
        "    ValueError: a shape, stride, device or size that a kernel cannot take.",
        "    TypeError: a dtype that a kernel cannot take.",
      ].join("\n"),
      body: isWhole ? [py.returns(call)] : [py.assign(py.tuple(...targets), call), py.returns(tupled(outputs))],
    };
  }

  #write(
    composition: Composition,
    names: KernelNames,
    device: Expression,
    fake: boolean,
    asked?: CompositionOptions["asked"],
  ): WrittenComposition {
    const { face: ir } = this.operator;
    const taken = new Set(["device", ...names.tensors.values(), ...names.parameters.values()]);
    for (const param of this.#outputs) taken.delete(names.tensors.get(param.name)!);
    for (const flag of asked?.flags.values() ?? []) taken.add(flag);
    const { called, source } = this;
    return writeComposition(composition, { ir, names, called, source, device, taken, fake, ...(asked && { asked }) });
  }

  /** What says whether each gradient is asked for. */
  #flags({ results }: Composition, names: KernelNames): ReadonlyMap<string, string> {
    const locals = new Names();
    for (const name of [...names.tensors.values(), ...names.parameters.values()]) locals.take(name);
    const inputs = callOrder(this.operator.face).filter(({ name }) => name in results);
    return new Map(inputs.map(({ name }) => [name, locals.take(`needs_${this.#parameter(name)}`)]));
  }

  #bindings(written: WrittenComposition, sizes: readonly Binding[]): Block {
    const { face } = this.operator;
    for (const param of face.params) {
      if (param.kind !== "size" || !written.used.has(this.names.parameters.get(param.value)!)) continue;
      if (!sizes.some(({ name }) => name === this.names.parameters.get(param.value)))
        fail("op", `${face.name}: no tensor that is looked at has the size ${param.name}; use one that has`, face.at);
    }
    return sizes.filter(({ name }) => written.used.has(name)).map(({ name, value }) => py.assign(py.name(name), value));
  }

  /** The names of the face's params, and of more tensors. */
  #namesWith(more: readonly string[]): KernelNames {
    const tensors = new Map(this.names.tensors);
    for (const name of more) if (!tensors.has(name)) tensors.set(name, snakeCase(name));
    return { ...this.names, tensors };
  }

  #parameter(name: string): string {
    const { face } = this.operator;
    return this.names.tensors.get(name) ?? this.names.parameters.get(face.params.find((p) => p.name === name)!.value)!;
  }

  #ownName(what: string): string {
    return `_${this.names.wrapper}_${what}`;
  }
}

function tensorsOf({ params }: KernelIR, role: TensorParam["role"]): readonly TensorParam[] {
  return params.filter((param): param is TensorParam => param.kind === "tensor" && param.role === role);
}

/** The statements with the results returned: at once, where the last line makes just these. */
function returning({ statements, results }: WrittenComposition): Block {
  const last = statements.at(-1);
  const value = tupled(results);
  if (last?.kind === "assign" && last.value && isSame(last.targets[0]!, value))
    return [...statements.slice(0, -1), py.returns(last.value)];
  return [...statements, py.returns(value)];
}

/** Whether both are the same names. */
function isSame(a: Expression, b: Expression): boolean {
  if (a.kind === "tuple" && b.kind === "tuple")
    return (
      a.items.length === b.items.length &&
      a.items.every((item, i) => isSame(item as Expression, b.items[i] as Expression))
    );
  return a.kind === "name" && b.kind === "name" && a.id === b.id;
}

/** One expression, or a tuple of several; `always` where even one is taken out of a tuple. */
function tupled(items: readonly Expression[], always = false): Expression {
  return items.length === 1 && !always ? items[0]! : py.tuple(...items);
}
