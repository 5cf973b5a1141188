/** The results that depend on each step of a composition, to skip steps that no requested result needs. */
import type { Composition, KernelLaunch } from "../../ir/operator-ir.js";
import { isTorchNode, type Launch, torchOperands, type TorchArgument, type TorchNode } from "../../torch/node.js";

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
export function isUpdate(step: KernelLaunch | TorchNode): boolean {
  return (
    step.kind === "launch" && step.kernel.params.some((param) => param.kind === "tensor" && param.role === "inout")
  );
}
