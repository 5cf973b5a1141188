/** `reference_fn`: the same result in plain PyTorch. */
import type { KernelIR } from "../ir/nodes.js";
import { isTorchNode, type TorchArgument, type TorchItem, type TorchNode } from "../ir/reference.js";
import type { Site, SourceIndex } from "../ir/source.js";
import { type KernelNames, parameterName } from "./kernel-names.js";
import { Names } from "./names.js";
import * as py from "./py-build.js";
import type { Expression, FunctionDef, Parameter, Statement } from "./py.js";
import { defaultDevice, DEVICE_PARAMETER, torchDType } from "./wrapper-checks.js";

/** A size, and the expression that reads it off the inputs. */
export interface Binding {
  readonly name: string;
  readonly value: Expression;
}

/** `params` are the wrapper's, outputs left out. Undefined without a reference. */
export function referenceFunction(
  ir: KernelIR,
  names: KernelNames,
  params: readonly Parameter[],
  sizes: readonly Binding[],
  source: SourceIndex | undefined,
  hasInputs = true,
): FunctionDef | undefined {
  const { reference } = ir;
  if (!reference) return undefined;
  const head = {
    kind: "function",
    name: "reference_fn",
    decorators: [],
    params: hasInputs ? params : [...params, { name: "*" }, DEVICE_PARAMETER],
    docstring: `What ${names.wrapper} computes, in PyTorch.`,
  } as const;
  if (reference.kind === "python") return { ...head, body: [{ kind: "verbatim", text: reference.source }] };
  const said = new ReferenceEmitter(reference.outputs, ir, names, source);
  const results = reference.outputs.map((node) => said.expression(node));
  const outputs = hasInputs ? results : results.map((result) => py.call(py.attribute(result, "to"), py.name("device")));
  const bindings = sizes
    .filter(({ name }, i) => said.inputs.has(name) && sizes.findIndex((size) => size.name === name) === i)
    .map(({ name, value }) => py.assign(py.name(name), value));
  const device = hasInputs ? [] : defaultDevice([]);
  const result = py.returns(outputs.length === 1 ? outputs[0] : py.tuple(...outputs));
  return { ...head, body: [...device, ...bindings, ...said.statements, result] };
}

/** Torch expressions in Python. What the author named, and what is used more than once, is written once under a name. */
class ReferenceEmitter {
  /** Arguments that the result is computed from, by Python name. */
  readonly inputs = new Set<string>();
  readonly statements: Statement[] = [];
  readonly #uses: ReadonlyMap<TorchNode, number>;
  readonly #items: readonly TorchItem[];
  readonly #written = new Map<TorchNode, Expression>();
  readonly #locals = new Names();

  constructor(
    outputs: readonly TorchNode[],
    readonly ir: KernelIR,
    readonly names: KernelNames,
    readonly source: SourceIndex | undefined,
  ) {
    this.#uses = usesOf(outputs);
    this.#items = [...this.#uses.keys()].filter((node) => node.kind === "item");
    for (const name of [...names.parameters.values(), ...names.tensors.values(), "device"]) this.#locals.take(name);
  }

  expression(node: TorchNode): Expression {
    const known = this.#written.get(node);
    if (known) return known;
    if (node.kind === "item") return this.#item(node);
    const expression = this.#spelled(node);
    const named = this.#site(node)?.name;
    const isShared = this.#uses.get(node)! > 1;
    if (node.kind !== "call" && node.kind !== "method") return expression;
    return named === undefined && !isShared ? expression : this.#assign(node, named ?? node.name, expression);
  }

  /** `values, indices = torch.sort(x)`, or `torch.sort(x)[0]` where the author named none of them. */
  #item(item: TorchItem): Expression {
    const names = this.#site(item.of)?.names;
    if (!names) return py.subscript(this.expression(item.of), py.number(String(item.index)));
    const call = this.#spelled(item.of);
    const targets = names.map((wanted, index) => {
      const own = this.#items.filter((other) => other.of === item.of && other.index === index);
      const target = py.name(own.length > 0 && wanted !== undefined ? this.#locals.take(wanted) : "_");
      for (const other of own) this.#written.set(other, target);
      return target;
    });
    this.statements.push(py.assign(py.tuple(...targets), call));
    return this.#written.get(item)!;
  }

  #assign(node: TorchNode, wanted: string, expression: Expression): Expression {
    const target = py.name(this.#locals.take(wanted));
    this.#written.set(node, target);
    this.statements.push(py.assign(target, expression));
    return target;
  }

  #site(node: TorchNode): Site | undefined {
    return (node.kind === "call" || node.kind === "method") && node.at ? this.source?.site(node.at) : undefined;
  }

  #spelled(node: TorchNode): Expression {
    switch (node.kind) {
      case "input":
        return this.#input(node.name);
      case "dtype":
        return torchDType(node.name);
      case "attribute":
        return py.attribute(this.expression(node.of), node.name);
      case "item":
        return this.#item(node);
      default: {
        const args = node.args.map((argument) => this.#argument(argument));
        const keywords = Object.entries(node.keywords).map(([key, value]) => py.keyword(key, this.#argument(value)));
        if (node.kind === "call") return py.call(`torch.${node.name}`, ...args, ...keywords);
        return py.call(py.attribute(args[0]!, node.name), ...args.slice(1), ...keywords);
      }
    }
  }

  #input(author: string): Expression {
    const name = this.names.tensors.get(author) ?? parameterName(this.ir, this.names, author);
    this.inputs.add(name);
    return py.name(name);
  }

  #argument(argument: TorchArgument): Expression {
    if (isTorchNode(argument)) return this.expression(argument);
    if (argument === null) return py.none;
    if (typeof argument === "boolean") return py.boolean(argument);
    if (typeof argument === "string") return py.string(argument);
    if (typeof argument === "number") return py.numberLiteral(argument, Number.isInteger(argument) ? "int" : "float");
    return py.list(...argument.map((item) => this.#argument(item)));
  }
}

/** How often each node is used: by others, or as an output. */
function usesOf(outputs: readonly TorchNode[]): ReadonlyMap<TorchNode, number> {
  const uses = new Map<TorchNode, number>();
  const visit = (argument: TorchArgument): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument)) return;
    const before = uses.get(argument) ?? 0;
    uses.set(argument, before + 1);
    if (before > 0) return;
    if (argument.kind === "attribute" || argument.kind === "item") visit(argument.of);
    if (argument.kind === "call" || argument.kind === "method")
      [...argument.args, ...Object.values(argument.keywords)].forEach(visit);
  };
  outputs.forEach(visit);
  return uses;
}
