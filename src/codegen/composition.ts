/** The calls of an operator's function as Python: kernels' wrappers, and torch between them. */
import type { KernelIR, TensorParam } from "../ir/nodes.js";
import type { Composition } from "../ir/operator.js";
import {
  isTorchNode,
  type Launch,
  type Launched,
  partsOf,
  type TorchArgument,
  type TorchNode,
} from "../ir/reference.js";
import type { SourceIndex } from "../ir/source.js";
import { callOrder } from "./call-order.js";
import type { KernelNames } from "./kernel-names.js";
import * as py from "./py-build.js";
import type { Argument, Block, Expression, Statement } from "./py.js";
import { TorchPython } from "./torch-python.js";

/** A kernel that an operator calls, as it stands in the module. */
export interface Called {
  readonly names: KernelNames;
  /** The function that gives its outputs without values. */
  readonly fake: string;
}

export interface CompositionOptions {
  /** The operator's face. */
  readonly ir: KernelIR;
  /** With a name for every tensor that the function may look at. */
  readonly names: KernelNames;
  readonly called: ReadonlyMap<KernelIR, Called>;
  readonly source: SourceIndex | undefined;
  readonly device: Expression;
  readonly taken: ReadonlySet<string>;
  /** Whether it is for tensors without values. */
  readonly fake: boolean;
}

export interface WrittenComposition {
  readonly statements: Block;
  readonly results: readonly Expression[];
  /** Names of arguments that were used. */
  readonly used: ReadonlySet<string>;
}

export function writeComposition({ steps, results }: Composition, options: CompositionOptions): WrittenComposition {
  const nodes = Object.values(results);
  const launches = steps.filter((step) => step.kind === "launch");
  // Without values only shapes matter: what leads to no result is left out.
  const written = options.fake ? launches.filter((launch) => takenOf(nodes).has(launch)) : launches;
  const roots = [...nodes, ...written.flatMap(({ args }) => Object.values(args).filter(isTorchNode))];
  const taken = takenOf(roots);
  const python = new TorchPython(roots, options);
  steps.forEach((step, i) => {
    if (step.kind === "launch") {
      if (written.includes(step)) python.statements.push(...writeLaunch(step, python, taken, options));
    } else if (python.isUsed(step) && steps.slice(i).some(isUpdate)) python.settle(step);
  });
  const expressions = nodes.map((node) => python.expression(node));
  return { statements: python.statements, results: expressions, used: python.used };
}

function writeLaunch(
  launch: Launch,
  python: TorchPython,
  taken: Taken,
  { called, fake, source }: CompositionOptions,
): readonly Statement[] {
  const { kernel, args, at } = launch;
  const { names, fake: fakeName } = called.get(kernel)!;
  const given = callArguments(kernel, names, args, python);
  const call = py.call(fake ? fakeName : names.wrapper, ...given);
  const made = kernel.params.filter(
    (param): param is TensorParam => param.kind === "tensor" && (fake ? param.role === "out" : param.role !== "in"),
  );
  const outputs = made.map(({ name }) => taken.get(launch)?.get(name));
  const comments = fake ? [] : ((at && source?.site(at)?.comments) ?? []).map((text) => py.comment(text));
  if (outputs.every((output) => output === undefined)) return [...comments, py.expression(call)];
  const targets = python.launched(outputs);
  return [...comments, py.assign(targets.length === 1 ? targets[0]! : py.tuple(...targets), call)];
}

/** The outputs of each call that something takes. */
type Taken = ReadonlyMap<Launch, ReadonlyMap<string, Launched>>;

/** What these expressions are made of, through the calls that they need. */
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

/** Whether a step changes a tensor that another step may look at. */
function isUpdate(step: Launch | TorchNode): boolean {
  return (
    step.kind === "launch" && step.kernel.params.some((param) => param.kind === "tensor" && param.role === "inout")
  );
}

/** By position as far as none is left out, then by name. */
function callArguments(
  kernel: KernelIR,
  names: KernelNames,
  args: Launch["args"],
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
