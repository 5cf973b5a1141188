/** Recorded torch expressions as Python: one line for each value that the author named. */
import type { KernelIR } from "../../ir/nodes.js";
import { recordOf } from "../../torch/functions.js";
import {
  isTorchNode,
  type Launched,
  numberComparisons,
  numberOperators,
  partsOf,
  type TorchArgument,
  type TorchCall,
  type TorchNode,
} from "../../torch/node.js";
import type { Site, SourceIndex } from "../../ir/source.js";
import { type KernelNames, parameterName } from "../names/kernel-names.js";
import { Names, snakeCase } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Expression, Statement } from "../syntax/py.js";
import { torchDType } from "../wrapper/checks.js";

export interface TorchPythonOptions {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  readonly source: SourceIndex | undefined;
  /** The device of tensors that are not made from another tensor. */
  readonly device: Expression;
  /** Names of the function's parameters and of the sizes that it binds. */
  readonly taken: ReadonlySet<string>;
}

export class TorchPython {
  /** Lines that come before the expressions. */
  readonly statements: Statement[] = [];
  /** Names of arguments that were used. */
  readonly used = new Set<string>();
  readonly #options: TorchPythonOptions;
  readonly #locals = new Names();
  readonly #uses = new Map<TorchNode, number>();
  readonly #written = new Map<TorchNode, Expression>();
  /** Results that the author destructured. */
  readonly #items = new Map<TorchNode, readonly Expression[]>();

  /** `roots` are all the expressions that will be asked for. */
  constructor(roots: readonly TorchNode[], options: TorchPythonOptions) {
    this.#options = options;
    for (const name of options.taken) this.#locals.take(name);
    roots.forEach((root) => this.#count(root));
  }

  /** How often an expression is part of what will be asked for. */
  uses(node: TorchNode): number {
    return this.#uses.get(node) ?? 0;
  }

  /** Assigns the value to a name, so that later lines cannot change it: `wanted`, unless the author named it. */
  settle(node: TorchNode, wanted = "value"): void {
    const value = this.expression(node);
    if (this.#written.has(node)) return;
    const target = py.name(this.#locals.take(wanted));
    this.statements.push(py.assign(target, value));
    this.#written.set(node, target);
  }

  #count(argument: TorchArgument): void {
    if (Array.isArray(argument)) argument.forEach((item) => this.#count(item));
    if (!isTorchNode(argument)) return;
    const uses = this.#uses.get(argument) ?? 0;
    this.#uses.set(argument, uses + 1);
    if (uses === 0) partsOf(argument).forEach((part) => this.#count(part));
  }

  /** Several results as one: a call that gives just these, or a tuple. */
  results(nodes: readonly TorchNode[]): Expression {
    const [first] = nodes;
    if (nodes.length === 1) return this.expression(first!);
    const whole = first?.kind === "item" ? first.of : undefined;
    const isWhole = nodes.every((node, i) => node.kind === "item" && node.of === whole && node.index === i);
    if (isWhole && !hasName(this.#site(whole!))) return this.#compute(whole!);
    return py.tuple(...nodes.map((node) => this.expression(node)));
  }

  /** Targets for the outputs of a kernel's call: the author's names, or `_` for unused outputs. */
  launched(outputs: readonly (Launched | undefined)[]): readonly Expression[] {
    return outputs.map((output) => {
      if (!output) return py.name("_");
      const name = this.#ownName(this.#site(output)) ?? output.output;
      const target = py.name(this.#locals.take(name));
      this.#written.set(output, target);
      return target;
    });
  }

  expression(node: TorchNode): Expression {
    const known = this.#written.get(node);
    if (known) return known;
    const site = this.#site(node);
    const isShared = (node.kind === "call" || node.kind === "method") && this.uses(node) > 1;
    const value = this.#compute(node);
    const items = site?.names?.map((name) => py.name(name === undefined ? "_" : this.#locals.take(name)));
    const name = this.#ownName(site) ?? (isShared ? "value" : undefined);
    if (items) this.#items.set(node, items);
    else if (name === undefined) return value;
    // Python unpacks all values or none, so a single wanted value is picked by its index.
    const [only, ...others] = items ?? [];
    const picked = only && others.length === 0 ? only : undefined;
    const target = picked ?? (items ? py.tuple(...items) : py.name(this.#locals.take(name!)));
    this.statements.push(py.assign(target, picked ? py.subscript(value, py.number("0")) : value));
    this.#written.set(node, target);
    return target;
  }

  /** The author's name, unless it would hide an argument. */
  #ownName(site: Site | undefined): string | undefined {
    const isHiding = site?.name !== undefined && this.#options.taken.has(snakeCase(site.name));
    return isHiding ? undefined : site?.name;
  }

  #site(node: TorchNode): Site | undefined {
    const at = node.kind === "call" || node.kind === "method" || node.kind === "launched" ? node.at : undefined;
    return at && this.#options.source?.site(at);
  }

  /** An argument of a call. */
  argument(argument: TorchArgument): Expression {
    if (isTorchNode(argument)) return this.expression(argument);
    if (argument === null) return py.none;
    if (typeof argument === "object") return py.list(...argument.map((item) => this.argument(item)));
    return py.constant(argument);
  }

  #compute(node: TorchNode): Expression {
    switch (node.kind) {
      case "input":
        return this.#input(node.name);
      case "dtype":
        return torchDType(node.name);
      case "attribute":
        return py.attribute(this.expression(node.of), node.name);
      case "item": {
        const of = this.expression(node.of);
        return this.#items.get(node.of)?.[node.index] ?? py.subscript(of, py.number(String(node.index)));
      }
      case "arithmetic": {
        const [left, right] = node.args.map((side) => this.argument(side));
        return py.binary(left!, numberOperators[node.operator], right!);
      }
      case "comparison": {
        const [left, right] = node.args.map((side) => this.argument(side));
        return py.compare(left!, [numberComparisons[node.operator], right!]);
      }
      case "choice":
        return py.conditional(this.argument(node.then), this.expression(node.condition), this.argument(node.otherwise));
      case "launched":
        throw new Error(`${node.output} is asked for before its kernel is launched`);
      case "otherwise": {
        const of = this.expression(node.of);
        return py.conditional(this.argument(node.fallback), py.compare(of, ["is", py.none]), of);
      }
      case "call":
      case "method":
        return this.#call(node);
      default:
        return node satisfies never;
    }
  }

  #call(call: TorchCall): Expression {
    const { kind, name, args, keywords: given } = call;
    const needsDevice = recordOf(call)?.makes === true && !("device" in given);
    const values = args.map((argument) => this.argument(argument));
    const keywords = [
      ...Object.entries(given).map(([key, value]) => py.keyword(key, this.argument(value))),
      ...py.keywords({ device: needsDevice ? this.#options.device : undefined }),
    ];
    if (kind === "call") return py.call(`torch.${name}`, ...values, ...keywords);
    const [receiver, ...rest] = values;
    return py.call(py.attribute(receiver!, name), ...rest, ...keywords);
  }

  #input(name: string): Expression {
    const { ir, names } = this.#options;
    const python = names.tensors.get(name) ?? parameterName(ir, names, name);
    this.used.add(python);
    return py.name(python);
  }
}

function hasName(site: Site | undefined): boolean {
  return site?.name !== undefined || site?.names !== undefined;
}
