/** Emits the body of an operator's function: calls of kernel wrappers and torch functions. */
import { type KernelIR, tensorsOf, type Composition, gradientOf, type KernelLaunch } from "../../ir/nodes.js";
import {
  isTorchNode,
  type Launch,
  type Launched,
  torchOperands,
  type TorchArgument,
  type TorchNode,
} from "../../torch/node.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { type KernelNames, callOrder } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Argument, Block, Expression, Statement } from "../syntax/py.js";
import type { OperatorFunctionNames } from "../wrapper/wrapper.js";
import { TorchPython } from "../reference/expressions.js";

/** A kernel of an operator, as emitted into the module. */
export interface EmittedKernel {
  readonly names: KernelNames;
  readonly functions: OperatorFunctionNames;
  /** Names of tensors whose strides the kernel fixes. */
  readonly contiguous: ReadonlySet<string>;
}

export interface CompositionOptions {
  /** The face kernel of the operator. */
  readonly ir: KernelIR;
  /** The names of all tensors that the function may use. */
  readonly names: KernelNames;
  readonly emittedKernels: ReadonlyMap<KernelIR, EmittedKernel>;
  readonly source: SourceIndex | undefined;
  readonly device: Expression;
  readonly reservedNames: ReadonlySet<string>;
  /** True for a fake implementation, which computes only shapes and dtypes. */
  readonly isFake: boolean;
  /** If results may be skipped: their flags, and a tensor as the template for empty results. */
  readonly requests?: { readonly flags: ReadonlyMap<string, string>; readonly like: Expression };
}

export interface EmittedComposition {
  readonly statements: Block;
  readonly results: readonly Expression[];
  /** Names of the used arguments, including flags. */
  readonly usedNames: ReadonlySet<string>;
}

export function emitComposition(composition: Composition, options: CompositionOptions): EmittedComposition {
  const { steps, results } = composition;
  const launches = steps.filter((step) => step.kind === "launch");
  const nodes = Object.values(results);
  const roots = [...nodes, ...launches.flatMap(({ args }) => Object.values(args).filter(isTorchNode))];
  const usedOutputs = findUsedOutputs(roots);
  const python = new TorchPython(roots, options);
  const emitter = new CompositionEmitter(python, new ResultDependencies(composition), options.requests);
  steps.forEach((step, i) => {
    if (step.kind === "launch") {
      emitter.emitStep(step, () => python.statements.push(...emitLaunch(step, python, usedOutputs, options)));
    } else if (python.uses(step) > 0 && (emitter.isShared(step) || steps.slice(i).some(isUpdate)))
      emitter.emitStep(step, () => python.materialize(step));
  });
  const expressions = Object.entries(results).map(([name, node]) => emitter.emitResult(name, node));
  return {
    statements: emitter.statements(),
    results: expressions,
    usedNames: new Set([...python.usedNames, ...emitter.flags]),
  };
}

interface Segment {
  /** Results of which at least one must be requested. Undefined if the segment always runs. */
  readonly wantedBy: ReadonlySet<string> | undefined;
  readonly statements: Statement[];
  /** Names of results that this segment assigns. */
  readonly definitions: Expression[];
}

/** Emits a composition. Steps that only some results need are guarded by flags. */
class CompositionEmitter {
  readonly flags = new Set<string>();
  readonly #segments: Segment[] = [];

  constructor(
    readonly python: TorchPython,
    readonly dependencies: ResultDependencies,
    readonly requests: CompositionOptions["requests"],
  ) {}

  isShared(step: TorchNode): boolean {
    return this.requests !== undefined && this.dependencies.isShared(step);
  }

  /** Moves the statements that `write` emits to the segment of the step. */
  emitStep<R>(step: KernelLaunch | TorchNode, write: () => R): R {
    const result = write();
    const statements = this.python.statements.splice(0);
    if (statements.length === 0) return result;
    const wantedBy =
      this.requests && !this.dependencies.isNeededByAll(step) ? this.dependencies.resultsOf(step) : undefined;
    const last = this.#segments.at(-1);
    if (last && isSameSet(last.wantedBy, wantedBy)) last.statements.push(...statements);
    else this.#segments.push({ wantedBy, statements, definitions: [] });
    return result;
  }

  emitResult(name: string, node: TorchNode): Expression {
    if (!this.requests || this.dependencies.isNeededByAll(node))
      return this.emitStep(node, () => this.python.expression(node));
    this.emitStep(node, () => this.python.materialize(node, gradientOf(name)));
    const value = this.python.expression(node);
    this.#segments
      .find(({ statements }) => statements.some((each) => isAssignmentTo(each, value)))!
      .definitions.push(value);
    return value;
  }

  statements(): Block {
    return this.#segments.flatMap(({ wantedBy, statements, definitions }): Block => {
      if (!wantedBy) return statements;
      const { flags, like } = this.requests!;
      const names = [...flags].filter(([result]) => wantedBy.has(result)).map(([, flag]) => flag);
      for (const name of names) this.flags.add(name);
      const none = py.call(py.attribute(like, "new_empty"), py.number("0"));
      const emptyResults = definitions.length > 0 ? definitions.map((value) => py.assign(value, none)) : undefined;
      const test = py.boolOp("or", ...names.map(py.name));
      return [{ kind: "if", branches: [{ test, body: statements }], otherwise: emptyResults }];
    });
  }
}

function isSameSet(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.size === b.size && [...a].every((name) => b.has(name)));
}

function isAssignmentTo(statement: Statement, value: Expression): boolean {
  if (statement.kind !== "assign" || value.kind !== "name") return false;
  const isValueName = (target: Expression): boolean =>
    target.kind === "tuple"
      ? target.items.some((item) => isValueName(item as Expression))
      : target.kind === "name" && target.id === value.id;
  return statement.targets.some(isValueName);
}

function emitLaunch(
  launch: KernelLaunch,
  python: TorchPython,
  usedOutputs: UsedOutputs,
  { emittedKernels, isFake, source }: CompositionOptions,
): readonly Statement[] {
  const { kernel, args, at } = launch;
  const { names, functions } = emittedKernels.get(kernel)!;
  const params = tensorsOf(kernel, "out", ...(isFake ? [] : (["inout"] as const)));
  const outputs = params.map(({ name }) => usedOutputs.get(launch)?.get(name));
  const requests = tensorsOf(kernel, "out").flatMap((param) =>
    param.optional && args[param.name] === true ? [py.keyword(names.tensors.get(param.name)!, py.boolean(true))] : [],
  );
  const call = py.call(
    isFake ? functions.meta : functions.launch,
    ...callArguments(kernel, names, args, python),
    ...requests,
  );
  const comments = isFake ? [] : ((at && source?.site(at)?.comments) ?? []).map((text) => py.comment(text));
  if (outputs.every((output) => output === undefined)) return [...comments, py.expression(call)];
  return [...comments, py.assign(py.tupleOrSingle(python.outputTargets(outputs)), call)];
}

/** The used outputs of each launch. */
type UsedOutputs = ReadonlyMap<Launch, ReadonlyMap<string, Launched>>;

/** The launch outputs on which these expressions depend, transitively. */
function findUsedOutputs(roots: readonly TorchArgument[]): UsedOutputs {
  const outputsByLaunch = new Map<Launch, Map<string, Launched>>();
  const visit = (argument: TorchArgument): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument)) return;
    torchOperands(argument).forEach(visit);
    if (argument.kind !== "launched") return;
    const { launch, output } = argument;
    const outputs = outputsByLaunch.get(launch);
    if (outputs) outputs.set(output, argument);
    else {
      outputsByLaunch.set(launch, new Map([[output, argument]]));
      Object.values(launch.args).forEach(visit);
    }
  };
  roots.forEach(visit);
  return outputsByLaunch;
}

/** Positional arguments up to the first omitted one, then keyword arguments. */
function callArguments(
  kernel: KernelIR,
  names: KernelNames,
  args: KernelLaunch["args"],
  python: TorchPython,
): readonly Argument[] {
  const callArgs: Argument[] = [];
  let hasOmitted = false;
  for (const param of callOrder(kernel)) {
    const value = args[param.name];
    if (value === undefined || value === null) {
      hasOmitted = true;
      continue;
    }
    const name = names.tensors.get(param.name) ?? names.parameters.get(param.value)!;
    const expression = python.argument(value);
    callArgs.push(hasOmitted ? py.keyword(name, expression) : expression);
  }
  return callArgs;
}

// The results that depend on each step of a composition, to skip steps that no requested result needs.

export class ResultDependencies {
  readonly #results = new Map<Launch | TorchNode, Set<string>>();
  readonly #all: ReadonlySet<string>;
  /** Steps that other results need even if a step that uses them is skipped. */
  readonly #shared = new Set<Launch | TorchNode>();

  constructor({ steps, results }: Composition) {
    this.#all = new Set(Object.keys(results));
    for (const [name, node] of Object.entries(results)) this.#visit(node, name);
    for (const step of steps)
      if (step.kind === "launch" && (isUpdate(step) || !this.#results.has(step)))
        for (const name of this.#all) this.#visitLaunch(step, name);
    const stepSet = new Set(steps);
    const markShared = (argument: TorchArgument, user: Launch | TorchNode): void => {
      if (Array.isArray(argument)) for (const item of argument) markShared(item, user);
      if (!isTorchNode(argument)) return;
      if (!stepSet.has(argument)) for (const part of torchOperands(argument)) markShared(part, user);
      else if (this.resultsOf(argument).size > this.resultsOf(user).size) this.#shared.add(argument);
    };
    for (const step of [...steps, ...Object.values(results)])
      for (const part of step.kind === "launch" ? Object.values(step.args) : torchOperands(step))
        markShared(part, step);
  }

  /** The names of the results that depend on a step. */
  resultsOf(step: Launch | TorchNode): ReadonlySet<string> {
    return this.#results.get(step) ?? this.#all;
  }

  /** The names of the results that depend on an input. */
  resultsOfInput(name: string): ReadonlySet<string> {
    const entries = [...this.#results].filter(([step]) => step.kind === "input" && step.name === name);
    return new Set(entries.flatMap(([, results]) => [...results]));
  }

  isNeededByAll(step: Launch | TorchNode): boolean {
    return this.resultsOf(step).size === this.#all.size;
  }

  isShared(step: TorchNode): boolean {
    return this.#shared.has(step);
  }

  #visit(argument: TorchArgument, result: string): void {
    if (Array.isArray(argument)) for (const item of argument) this.#visit(item, result);
    if (!isTorchNode(argument) || !this.#add(argument, result)) return;
    for (const part of torchOperands(argument)) this.#visit(part, result);
    if (argument.kind === "launched") this.#visitLaunch(argument.launch, result);
  }

  #visitLaunch(launch: Launch, result: string): void {
    if (!this.#add(launch, result)) return;
    for (const argument of Object.values(launch.args)) this.#visit(argument, result);
  }

  /** Returns true if the dependency is new. */
  #add(step: Launch | TorchNode, result: string): boolean {
    const resultNames = this.#results.get(step) ?? new Set();
    if (resultNames.has(result)) return false;
    this.#results.set(step, resultNames.add(result));
    return true;
  }
}

/** True if a step updates a tensor in place, which another step may use. */
function isUpdate(step: KernelLaunch | TorchNode): boolean {
  return (
    step.kind === "launch" && step.kernel.params.some((param) => param.kind === "tensor" && param.role === "inout")
  );
}
