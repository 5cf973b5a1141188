/** The body of an operator's function as Python: calls of kernels' wrappers and of torch. */
import { type KernelIR, tensorsOf } from "../../ir/nodes.js";
import { type Composition, gradientOf, type KernelLaunch } from "../../ir/operator-ir.js";
import {
  isTorchNode,
  type Launch,
  type Launched,
  partsOf,
  type TorchArgument,
  type TorchNode,
} from "../../torch/node.js";
import type { SourceIndex } from "../../ir/source.js";
import { callOrder } from "../names/call-order.js";
import { isUpdate, ResultDependencies } from "./result-dependencies.js";
import { type KernelNames, outputName } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Argument, Block, Expression, Statement } from "../syntax/py.js";
import { TorchPython } from "../reference/expressions.js";

/** A kernel that an operator calls, as it stands in the module. */
export interface EmittedKernel {
  readonly names: KernelNames;
  /** The function that returns its outputs without values. */
  readonly fake: string;
  /** Names of tensors that it takes with certain strides only. */
  readonly strict: ReadonlySet<string>;
}

export interface CompositionOptions {
  /** The operator's face. */
  readonly ir: KernelIR;
  /** Has a name for every tensor that the function may use. */
  readonly names: KernelNames;
  readonly called: ReadonlyMap<KernelIR, EmittedKernel>;
  readonly source: SourceIndex | undefined;
  readonly device: Expression;
  readonly taken: ReadonlySet<string>;
  /** Whether it computes tensors without values. */
  readonly fake: boolean;
  /** If results may be skipped: flags that tell which are wanted, and a tensor to model empty ones on. */
  readonly asked?: { readonly flags: ReadonlyMap<string, string>; readonly like: Expression };
  /** If the caller passes tensors for results: their names, by result. */
  readonly into?: ReadonlyMap<string, string>;
}

export interface WrittenComposition {
  readonly statements: Block;
  readonly results: readonly Expression[];
  /** Names of arguments that were used, flags among them. */
  readonly used: ReadonlySet<string>;
}

export function writeComposition(composition: Composition, options: CompositionOptions): WrittenComposition {
  const { steps, results } = composition;
  const written = writtenLaunches(composition, options);
  const nodes = Object.values(results);
  const roots = [...nodes, ...written.flatMap(({ args }) => Object.values(args).filter(isTorchNode))];
  const taken = takenOf(roots);
  const python = new TorchPython(roots, options);
  const body = new Body(python, new ResultDependencies(composition), options.asked);
  const direct = directResults(results, python, options.into);
  steps.forEach((step, i) => {
    if (step.kind === "launch") {
      if (written.includes(step))
        body.write(step, () => python.statements.push(...writeLaunch(step, python, taken, direct, options)));
    } else if (python.uses(step) > 0 && (body.isShared(step) || steps.slice(i).some(isUpdate)))
      body.write(step, () => python.settle(step));
  });
  const remaining = Object.entries(results).filter(([, node]) => !direct.has(node));
  const expressions = remaining.map(([name, node]) => body.result(name, node));
  const copies = remaining.flatMap(([name], i) => {
    const target = options.into?.get(name);
    return target === undefined ? [] : [py.expression(py.call(`${target}.copy_`, expressions[i]!))];
  });
  const statements = [...body.statements(), ...copies];
  return { statements, results: expressions, used: new Set([...python.used, ...body.flags]) };
}

/**
 * All calls of the author. A body without values, or one that writes the caller's tensors, only has the calls it needs.
 */
function writtenLaunches({ steps, results }: Composition, { fake, into }: CompositionOptions): readonly KernelLaunch[] {
  const launches = steps.filter((step) => step.kind === "launch");
  if (!fake && !into) return launches;
  // Without values only shapes matter.
  const updates = fake ? [] : launches.filter(isUpdate);
  const taken = takenOf([...Object.values(results), ...updates.flatMap(({ args }) => Object.values(args))]);
  return launches.filter((launch) => taken.has(launch) || updates.includes(launch));
}

/** Results that their kernel can write directly because no step uses them: the tensors to write to. */
function directResults(
  results: Composition["results"],
  python: TorchPython,
  into: CompositionOptions["into"],
): ReadonlyMap<TorchNode, string> {
  const direct = Object.entries(results).flatMap(([name, node]) => {
    const target = into?.get(name);
    const isDirect = node.kind === "launched" && python.uses(node) === 1;
    return target !== undefined && isDirect ? [[node, target] as const] : [];
  });
  return new Map(direct);
}

interface Segment {
  /** Results of which at least one must be wanted; undefined if the step always runs. */
  readonly needed: ReadonlySet<string> | undefined;
  readonly statements: Statement[];
  /** Results that this body makes. */
  readonly made: Expression[];
}

/** The lines of a composition. Steps that only some results need run under flags. */
class Body {
  readonly flags = new Set<string>();
  readonly #segments: Segment[] = [];

  constructor(
    readonly python: TorchPython,
    readonly needs: ResultDependencies,
    readonly asked: CompositionOptions["asked"],
  ) {}

  isShared(step: TorchNode): boolean {
    return this.asked !== undefined && this.needs.isShared(step);
  }

  /** Keeps what `write` adds to the lines of Python, in the place that the step has. */
  write<R>(step: KernelLaunch | TorchNode, write: () => R): R {
    const result = write();
    const statements = this.python.statements.splice(0);
    if (statements.length === 0) return result;
    const needed = this.asked && !this.needs.isAlways(step) ? this.needs.of(step) : undefined;
    const last = this.#segments.at(-1);
    if (last && isSameSet(last.needed, needed)) last.statements.push(...statements);
    else this.#segments.push({ needed, statements, made: [] });
    return result;
  }

  result(name: string, node: TorchNode): Expression {
    if (!this.asked || this.needs.isAlways(node)) return this.write(node, () => this.python.expression(node));
    this.write(node, () => this.python.settle(node, gradientOf(name)));
    const value = this.python.expression(node);
    this.#segments.find(({ statements }) => statements.some((each) => makes(each, value)))!.made.push(value);
    return value;
  }

  statements(): Block {
    return this.#segments.flatMap(({ needed, statements, made }): Block => {
      if (!needed) return statements;
      const { flags, like } = this.asked!;
      const names = [...flags].filter(([result]) => needed.has(result)).map(([, flag]) => flag);
      for (const name of names) this.flags.add(name);
      const none = py.call(py.attribute(like, "new_empty"), py.number("0"));
      const otherwise = made.length > 0 ? made.map((value) => py.assign(value, none)) : undefined;
      const test = py.boolOp("or", ...names.map(py.name));
      return [{ kind: "if", branches: [{ test, body: statements }], otherwise }];
    });
  }
}

function isSameSet(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.size === b.size && [...a].every((name) => b.has(name)));
}

/** Whether a line gives a value to this name. */
function makes(statement: Statement, value: Expression): boolean {
  if (statement.kind !== "assign" || value.kind !== "name") return false;
  const isIt = (target: Expression): boolean =>
    target.kind === "tuple"
      ? target.items.some((item) => isIt(item as Expression))
      : target.kind === "name" && target.id === value.id;
  return statement.targets.some(isIt);
}

function writeLaunch(
  launch: KernelLaunch,
  python: TorchPython,
  taken: Taken,
  direct: ReadonlyMap<TorchNode, string>,
  { called, fake, source }: CompositionOptions,
): readonly Statement[] {
  const { kernel, args, at } = launch;
  const { names, fake: fakeName } = called.get(kernel)!;
  const made = tensorsOf(kernel, "out", ...(fake ? [] : (["inout"] as const)));
  const outputs = made.map(({ name }) => taken.get(launch)?.get(name));
  const written = tensorsOf(kernel, "out").flatMap((param) => {
    const output = taken.get(launch)?.get(param.name);
    const target = output && direct.get(output);
    const isAsked = param.optional && !fake && args[param.name] === true;
    const value = target === undefined ? isAsked && py.boolean(true) : py.name(target);
    return value ? [py.keyword(outputName(kernel, names, param), value)] : [];
  });
  const call = py.call(fake ? fakeName : names.wrapper, ...callArguments(kernel, names, args, python), ...written);
  const comments = fake ? [] : ((at && source?.site(at)?.comments) ?? []).map((text) => py.comment(text));
  const targets = outputs.map((output) => (output && direct.has(output) ? undefined : output));
  if (targets.every((output) => output === undefined)) return [...comments, py.expression(call)];
  const taking = python.launched(targets);
  return [...comments, py.assign(py.tupled(taking), call)];
}

/** The used outputs of each call. */
type Taken = ReadonlyMap<Launch, ReadonlyMap<string, Launched>>;

/** Everything that these expressions depend on, through the calls that they need. */
function takenOf(roots: readonly TorchArgument[]): Taken {
  const found = new Map<Launch, Map<string, Launched>>();
  const visit = (argument: TorchArgument): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument)) return;
    partsOf(argument).forEach(visit);
    if (argument.kind !== "launched") return;
    const { launch, output } = argument;
    const known = found.get(launch);
    if (known) known.set(output, argument);
    else {
      found.set(launch, new Map([[output, argument]]));
      Object.values(launch.args).forEach(visit);
    }
  };
  roots.forEach(visit);
  return found;
}

/** Positional up to the first omitted argument, then by name. */
function callArguments(
  kernel: KernelIR,
  names: KernelNames,
  args: KernelLaunch["args"],
  python: TorchPython,
): readonly Argument[] {
  const made: Argument[] = [];
  let isLeftOut = false;
  for (const param of callOrder(kernel)) {
    const value = args[param.name];
    if (value === undefined || value === null) {
      isLeftOut = true;
      continue;
    }
    const name = names.tensors.get(param.name) ?? names.parameters.get(param.value)!;
    const expression = python.argument(value);
    made.push(isLeftOut ? py.keyword(name, expression) : expression);
  }
  return made;
}
