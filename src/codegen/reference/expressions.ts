/** Emits recorded torch expressions as Python: one statement for each value that the author named. */
import type { KernelIR } from "../../ir/nodes.js";
import { recordOf } from "../../torch/functions.js";
import {
  isTorchNode,
  type Launched,
  numberComparisons,
  numberOperators,
  torchOperands,
  type TorchArgument,
  type TorchCall,
  type TorchNode,
  type Reference,
} from "../../torch/node.js";
import type { Site, SourceIndex } from "../../ir/source-index.js";
import { type KernelNames, parameterName, tensorName } from "../names/kernel-names.js";
import { Names, snakeCase } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Expression, Statement, FunctionDef, Parameter } from "../syntax/py.js";
import { torchDType, defaultDevice, DEVICE_PARAMETER, deviceHolder } from "../wrapper/checks.js";
import { type Binding, neededBindings } from "../wrapper/numbers.js";
import { withoutAnnotations } from "../wrapper/docstring.js";

export interface TorchPythonOptions {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  readonly source: SourceIndex | undefined;
  /** The device of tensors that are not created from another tensor. */
  readonly device: Expression;
  /** The names of the function's parameters and of the sizes that it binds. */
  readonly reservedNames: ReadonlySet<string>;
}

export class TorchPython {
  /** The statements before the current expression. */
  readonly statements: Statement[] = [];
  /** The names of the used arguments. */
  readonly usedNames = new Set<string>();
  readonly #options: TorchPythonOptions;
  readonly #locals = new Names();
  readonly #uses = new Map<TorchNode, number>();
  readonly #expressions = new Map<TorchNode, Expression>();
  /** The targets of results that the author destructured. */
  readonly #items = new Map<TorchNode, readonly Expression[]>();

  /** `roots` are all expressions that will be emitted. */
  constructor(roots: readonly TorchNode[], options: TorchPythonOptions) {
    this.#options = options;
    for (const name of options.reservedNames) this.#locals.take(name);
    roots.forEach((root) => this.#count(root));
  }

  /** The number of uses of an expression in the roots. */
  uses(node: TorchNode): number {
    return this.#uses.get(node) ?? 0;
  }

  /** Assigns the value to a name, so that later statements cannot change it: the author's name, or else `hint`. */
  materialize(node: TorchNode, hint = "value"): void {
    const value = this.expression(node);
    if (!this.#expressions.has(node)) this.#assign(node, py.name(this.#locals.take(hint)), value);
  }

  #assign(node: TorchNode, target: Expression, value: Expression): Expression {
    this.statements.push(py.assign(target, value));
    this.#expressions.set(node, target);
    return target;
  }

  #count(argument: TorchArgument): void {
    if (Array.isArray(argument)) argument.forEach((item) => this.#count(item));
    if (!isTorchNode(argument)) return;
    const uses = this.#uses.get(argument) ?? 0;
    this.#uses.set(argument, uses + 1);
    if (uses === 0) torchOperands(argument).forEach((part) => this.#count(part));
  }

  /** Several results as one expression: the call that returns exactly these, or a tuple. */
  results(nodes: readonly TorchNode[]): Expression {
    const [first, ...others] = nodes;
    if (first && others.length === 0) return this.expression(first);
    const source = first?.kind === "item" ? first.of : undefined;
    const isWhole = nodes.every((node, i) => node.kind === "item" && node.of === source && node.index === i);
    if (source && isWhole && !hasName(this.#site(source))) return this.#compute(source);
    return py.tuple(...nodes.map((node) => this.expression(node)));
  }

  /** The targets for the outputs of a launch: the author's names, or `_` for unused outputs. */
  outputTargets(outputs: readonly (Launched | undefined)[]): readonly Expression[] {
    return outputs.map((output) => {
      if (!output) return py.name("_");
      const name = this.#authorName(this.#site(output)) ?? output.output;
      const target = py.name(this.#locals.take(name));
      this.#expressions.set(output, target);
      return target;
    });
  }

  expression(node: TorchNode): Expression {
    const existing = this.#expressions.get(node);
    if (existing) return existing;
    const site = this.#site(node);
    const isShared = (node.kind === "call" || node.kind === "method") && this.uses(node) > 1;
    const value = this.#compute(node);
    const items = site?.names?.map((name) => py.name(name === undefined ? "_" : this.#locals.take(name)));
    if (items) {
      this.#items.set(node, items);
      // Python unpacks all values or none, so a single target takes the value at index 0.
      const [single, ...others] = items;
      return single && others.length === 0
        ? this.#assign(node, single, py.subscript(value, py.number("0")))
        : this.#assign(node, py.tuple(...items), value);
    }
    const name = this.#authorName(site) ?? (isShared ? "value" : undefined);
    return name === undefined ? value : this.#assign(node, py.name(this.#locals.take(name)), value);
  }

  /** The author's name, unless it would shadow an argument. */
  #authorName(site: Site | undefined): string | undefined {
    const isShadowing = site?.name !== undefined && this.#options.reservedNames.has(snakeCase(site.name));
    return isShadowing ? undefined : site?.name;
  }

  #site(node: TorchNode): Site | undefined {
    const at = node.kind === "call" || node.kind === "method" || node.kind === "launched" ? node.at : undefined;
    return at && this.#options.source?.site(at);
  }

  /** PyTorch refuses an integer beyond int64, so a whole number there is a float. */
  argument(argument: TorchArgument): Expression {
    if (isTorchNode(argument)) return this.expression(argument);
    if (argument === null) return py.none;
    if (typeof argument === "object") return py.list(...argument.map((item) => this.argument(item)));
    if (typeof argument === "number" && Math.abs(argument) >= 2 ** 63) return py.numberLiteral(argument, "float");
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
        const value = this.expression(node.of);
        return this.#items.get(node.of)?.[node.index] ?? py.subscript(value, py.number(String(node.index)));
      }
      case "arithmetic": {
        const [left, right] = node.args;
        return py.binary(this.argument(left), numberOperators[node.operator], this.argument(right));
      }
      case "comparison": {
        const [left, right] = node.args;
        return py.compare(this.argument(left), [numberComparisons[node.operator], this.argument(right)]);
      }
      case "choice":
        return py.conditional(this.argument(node.then), this.expression(node.condition), this.argument(node.otherwise));
      case "launched":
        throw new Error(`${node.output} is asked for before its kernel is launched`);
      case "otherwise": {
        const value = this.expression(node.of);
        return py.conditional(this.argument(node.fallback), py.compare(value, ["is", py.none]), value);
      }
      case "call":
      case "method":
        return this.#call(node);
      default:
        return node satisfies never;
    }
  }

  #call(call: TorchCall): Expression {
    const { kind, name, args, keywords: keywordArguments } = call;
    const needsDevice = recordOf(call)?.isFactory === true && !("device" in keywordArguments);
    const values = args.map((argument) => this.argument(argument));
    const keywords = [
      ...Object.entries(keywordArguments).map(([key, value]) => py.keyword(key, this.argument(value))),
      ...py.keywords({ device: needsDevice ? this.#options.device : undefined }),
    ];
    const [receiver, ...otherArguments] = values;
    if (kind === "call" || !receiver) return py.call(`torch.${name}`, ...values, ...keywords);
    return py.call(py.attribute(receiver, name), ...otherArguments, ...keywords);
  }

  #input(name: string): Expression {
    const { ir, names } = this.#options;
    const python = names.tensors.get(name) ?? parameterName(ir, names, name);
    this.usedNames.add(python);
    return py.name(python);
  }
}

function hasName(site: Site | undefined): boolean {
  return site?.name !== undefined || site?.names !== undefined;
}

// `reference_fn`: the author's reference in plain PyTorch.

/**
 * The function of the reference or of a provider. `params` are the parameters of the wrapper without outputs, `numbers`
 * the bindings of all other numbers.
 */
export function referenceFunction(
  { name, reference }: { readonly name: string; readonly reference: Reference },
  ir: KernelIR,
  names: KernelNames,
  params: readonly Parameter[],
  numbers: readonly Binding[],
  source: SourceIndex | undefined,
): FunctionDef {
  const hasInputs = deviceHolder({ ir }) !== undefined;
  const head = {
    kind: "function",
    name,
    decorators: [],
    params: withoutAnnotations(hasInputs ? params : [...params, { name: "*" }, DEVICE_PARAMETER]),
    origin: reference.at,
  } as const;
  if (reference.kind === "python") return { ...head, body: [{ kind: "verbatim", text: reference.source }] };
  const holder = deviceHolder({ ir });
  const device = holder ? py.attribute(py.name(tensorName(names, holder)), "device") : py.name("device");
  const python = new TorchPython(reference.outputs, {
    ir,
    names,
    source,
    device,
    reservedNames: new Set(["device", ...params.map(({ name }) => name), ...numbers.map(({ name }) => name)]),
  });
  const result = python.results(reference.outputs);
  const usedBindings = neededBindings(numbers, python.usedNames);
  const bindings = usedBindings.map(({ name, value }) => py.assign(py.name(name), value));
  return {
    ...head,
    body: [...(holder ? [] : defaultDevice([])), ...bindings, ...python.statements, py.returns(result)],
  };
}
