/** Which results need each step of a composition, so that unneeded steps can be skipped. */
import type { Composition, KernelLaunch } from "../../ir/operator-ir.js";
import { isTorchNode, type Launch, partsOf, type TorchArgument, type TorchNode } from "../../torch/node.js";

export class ResultDependencies {
  readonly #of = new Map<Launch | TorchNode, Set<string>>();
  readonly #all: ReadonlySet<string>;
  /** Steps that are needed even if a step that uses them is skipped. */
  readonly #shared = new Set<Launch | TorchNode>();

  constructor({ steps, results }: Composition) {
    this.#all = new Set(Object.keys(results));
    for (const [name, node] of Object.entries(results)) this.#visit(node, name);
    for (const step of steps)
      if (step.kind === "launch" && (isUpdate(step) || !this.#of.has(step)))
        for (const name of this.#all) this.#visitLaunch(step, name);
    const known = new Set(steps);
    const share = (argument: TorchArgument, by: Launch | TorchNode): void => {
      if (Array.isArray(argument)) for (const item of argument) share(item, by);
      if (!isTorchNode(argument)) return;
      if (!known.has(argument)) for (const part of partsOf(argument)) share(part, by);
      else if (this.of(argument).size > this.of(by).size) this.#shared.add(argument);
    };
    for (const step of [...steps, ...Object.values(results)])
      for (const part of step.kind === "launch" ? Object.values(step.args) : partsOf(step)) share(part, step);
  }

  /** Names of results. */
  of(step: Launch | TorchNode): ReadonlySet<string> {
    return this.#of.get(step) ?? this.#all;
  }

  /** Results that need an input: those of every step that uses it. */
  ofInput(name: string): ReadonlySet<string> {
    const looks = [...this.#of].filter(([step]) => step.kind === "input" && step.name === name);
    return new Set(looks.flatMap(([, results]) => [...results]));
  }

  isAlways(step: Launch | TorchNode): boolean {
    return this.of(step).size === this.#all.size;
  }

  isShared(step: TorchNode): boolean {
    return this.#shared.has(step);
  }

  #visit(argument: TorchArgument, result: string): void {
    if (Array.isArray(argument)) for (const item of argument) this.#visit(item, result);
    if (!isTorchNode(argument) || !this.#add(argument, result)) return;
    for (const part of partsOf(argument)) this.#visit(part, result);
    if (argument.kind === "launched") this.#visitLaunch(argument.launch, result);
  }

  #visitLaunch(launch: Launch, result: string): void {
    if (!this.#add(launch, result)) return;
    for (const argument of Object.values(launch.args)) this.#visit(argument, result);
  }

  /** Returns whether anything changed. */
  #add(step: Launch | TorchNode, result: string): boolean {
    const known = this.#of.get(step) ?? new Set();
    if (known.has(result)) return false;
    this.#of.set(step, known.add(result));
    return true;
  }
}

/** Whether a step changes a tensor that another step may use. */
export function isUpdate(step: KernelLaunch | TorchNode): boolean {
  return (
    step.kind === "launch" && step.kernel.params.some((param) => param.kind === "tensor" && param.role === "inout")
  );
}
