/** The common parts of an operator's functions: names, and how compositions are written. */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorGradient } from "../../diagnostics/catalog/operator-codes.js";
import { type KernelIR, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import type { Composition, OperatorIR } from "../../ir/operator-ir.js";
import type { SourceIndex } from "../../ir/source.js";
import {
  type EmittedKernel,
  type CompositionOptions,
  writeComposition,
  type WrittenComposition,
} from "./composition.js";
import type { KernelNames } from "../names/kernel-names.js";
import type { Names } from "../names/names.js";
import { forwardModeCheck, type OpOptions, registration, withoutAnnotations } from "./registration.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Parameter } from "../syntax/py.js";
import type { Binding } from "../reference/number-bindings.js";
import { inputParameters, returnType } from "../wrapper/docstring.js";

/** A function of the module before registration: its parameters and its calls. */
export interface Part {
  readonly params: readonly Parameter[];
  /** Those that are tensors, by their Python names. */
  readonly tensors: readonly string[];
  readonly real: WrittenComposition;
  readonly fake: WrittenComposition;
}

export class OperatorContext {
  /** Of the function that PyTorch code calls, outputs apart. */
  readonly params: readonly Parameter[];
  readonly inputs: readonly TensorParam[];
  readonly outputs: readonly TensorParam[];
  /** Names of the forward function's results, in order: outputs, then tensors that only the gradient needs. */
  readonly results: readonly string[];

  constructor(
    readonly operator: OperatorIR,
    readonly names: KernelNames,
    /** Names of the module. */
    readonly module: Names,
    readonly called: ReadonlyMap<KernelIR, EmittedKernel>,
    /** The input that gives each size. */
    readonly sizes: readonly Binding[],
    readonly source: SourceIndex | undefined,
    readonly op: OpOptions,
  ) {
    this.params = inputParameters(operator.face, names);
    this.inputs = tensorsOf(operator.face, "in");
    this.outputs = tensorsOf(operator.face, "out");
    this.results = Object.keys(operator.forward.results);
  }

  /** The Python name of an argument. */
  parameter(name: string): string {
    const { face } = this.operator;
    return this.names.tensors.get(name) ?? this.names.parameters.get(face.params.find((p) => p.name === name)!.value)!;
  }

  /** A private function of the module. */
  ownName(what: string): string {
    return `_${this.names.wrapper}_${what}`;
  }

  /** torch makes new tensors on the device of the first input. */
  device(): Expression {
    const holder = this.inputs.find((param) => !param.optional)!;
    return py.attribute(py.name(this.parameter(holder.name)), "device");
  }

  write(
    composition: Composition,
    options: Pick<CompositionOptions, "device" | "fake" | "asked" | "into"> & { readonly names?: KernelNames },
  ): WrittenComposition {
    const { names = this.names, asked, into } = options;
    const taken = new Set(["device", ...names.tensors.values(), ...names.parameters.values()]);
    // Locals may have the names of outputs unless the caller passes the outputs.
    for (const param of this.outputs) taken.delete(names.tensors.get(param.name)!);
    for (const name of [...(asked?.flags.values() ?? []), ...(into?.values() ?? [])]) taken.add(name);
    const { called, source } = this;
    return writeComposition(composition, { ir: this.operator.face, called, source, taken, ...options, names });
  }

  /** The lines that compute the sizes in use. */
  bindings(used: ReadonlySet<string>, sizes: readonly Binding[]): Block {
    const { face } = this.operator;
    for (const param of face.params) {
      if (param.kind !== "size" || !used.has(this.names.parameters.get(param.value)!)) continue;
      if (!sizes.some(({ name }) => name === this.names.parameters.get(param.value)))
        fail(operatorGradient.size(face.name, param.name), face.at);
    }
    return sizes.filter(({ name }) => used.has(name)).map(({ name, value }) => py.assign(py.name(name), value));
  }

  /** A PyTorch operator with its fake implementation for torch.compile. */
  registered(name: string, qualified: string, { params, tensors, real, fake }: Part, count: number): Block {
    const { namespace, form = "custom_op" } = this.op;
    return [
      {
        kind: "function",
        name,
        decorators: [registration(form, `${namespace}::${qualified}`)],
        params,
        returns: returnType(count),
        origin: this.operator.face.at,
        docstring: `torch.ops.${namespace}.${qualified}.`,
        body: [forwardModeCheck(qualified, tensors), ...returning(real)],
      },
      {
        kind: "function",
        name: fakeName(name),
        decorators: [py.dotted(`${name}.register_fake`)],
        params: withoutAnnotations(params),
        docstring: `What torch.compile sees of ${name}: shapes and dtypes.`,
        body: returning(fake),
      },
    ];
  }
}

export const fakeName = (operator: string): string => `_${operator}_fake`;

/** The statements with a return of the results; a last line that only makes the results returns them directly. */
function returning({ statements, results }: WrittenComposition): Block {
  const last = statements.at(-1);
  const value = py.tupled(results);
  if (last?.kind === "assign" && last.value && isSame(last.targets[0]!, value))
    return [...statements.slice(0, -1), py.returns(last.value)];
  return [...statements, py.returns(value)];
}

/** Whether both have the same names. */
function isSame(a: Expression, b: Expression): boolean {
  if (a.kind === "tuple" && b.kind === "tuple")
    return (
      a.items.length === b.items.length &&
      a.items.every((item, i) => isSame(item as Expression, b.items[i] as Expression))
    );
  return a.kind === "name" && b.kind === "name" && a.id === b.id;
}
