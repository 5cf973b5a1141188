/** Operators whose kernels update tensors in place, as compositions in which each update is another value. */
import { type Composition, type KernelLaunch, kernelsOf, tensorsOf } from "../../ir/nodes.js";
import {
  isCallNode,
  isTorchNode,
  type Launch,
  mapTorchArgument,
  mapTorchOperands,
  reachableNodes,
  type TorchArgument,
  type TorchNode,
  torchOperands,
} from "../../torch/node.js";
import { NoRule, noRule } from "./rational.js";

/** Calls that allocate their result. */
const ALLOCATIONS: ReadonlySet<string> = new Set(
  ["empty", "full", "ones", "zeros"].flatMap((name) => [name, `${name}_like`]).concat("clone"),
);

/** The most launches that are put into one another; each costs as much as a kernel. */
const MAX_LAUNCHES = 16;

/**
 * The composition with a launched output in each place that sees an update.
 *
 * @throws NoRule if a tensor may share the memory of one that is updated, or for too many launches.
 */
export function withoutUpdates(composition: Composition): Composition {
  const isUpdated = kernelsOf(composition).some((kernel) => tensorsOf(kernel, "inout").length > 0);
  if (!isUpdated) return composition;
  const launches = composition.steps.filter(({ kind }) => kind === "launch").length;
  if (launches > MAX_LAUNCHES) noRule(`${launches} launches, of kernels that update tensors, are too many`);
  return new Versions().rewrite(composition);
}

/** True if an update may change several tensors, which the evaluator does not follow either. */
export function mayShareUpdates(composition: Composition): boolean {
  try {
    new Versions().rewrite(composition);
    return false;
  } catch (error) {
    if (error instanceof NoRule) return true;
    throw error;
  }
}

class Versions {
  /** Tensors at this point, by the nodes that the author's code names them by. */
  readonly #current = new Map<TorchNode, TorchNode>();
  readonly #launches = new Map<Launch, KernelLaunch>();
  /** Tensors that may share memory with one that was updated after they were computed. */
  readonly #stale = new Set<TorchNode>();

  rewrite({ steps, results }: Composition): Composition {
    return {
      steps: steps.map((step) => (step.kind === "launch" ? this.#launch(step) : this.#compute(step))),
      results: Object.fromEntries(Object.entries(results).map(([name, node]) => [name, this.#node(node)])),
    };
  }

  #compute(step: TorchNode): TorchNode {
    const value = mapTorchOperands(step, (operand) => this.#node(operand));
    this.#current.set(step, value);
    return value;
  }

  #launch(step: KernelLaunch): KernelLaunch {
    const args = Object.entries(step.args).map(
      ([name, argument]) => [name, mapTorchArgument(argument, (node) => this.#node(node))] as const,
    );
    const launch = { ...step, args: Object.fromEntries(args) };
    this.#launches.set(step, launch);
    for (const { name: output } of tensorsOf(step.kernel, "inout")) {
      const updated = step.args[output];
      if (!isTorchNode(updated)) continue;
      this.#update(updated, step, output);
      this.#current.set(updated, { kind: "launched", launch, output });
    }
    return launch;
  }

  #update(updated: TorchNode, { args, kernel }: KernelLaunch, output: string): void {
    const isOwner = updated.kind === "launched" || isAllocation(updated);
    const others = Object.entries(args).flatMap(([name, argument]) => (name === output ? [] : [argument]));
    if (!isOwner || others.some((argument) => sharesMemory(argument, updated)))
      noRule(`${kernel.name} updates ${output}, which may share memory with another tensor`);
    for (const node of this.#current.keys()) if (node !== updated && sharesMemory(node, updated)) this.#stale.add(node);
  }

  #node(node: TorchNode): TorchNode {
    if (this.#stale.has(node)) return noRule("a tensor that may share memory with one that is updated later");
    const current = this.#current.get(node);
    if (current) return current;
    if (node.kind !== "launched") return mapTorchOperands(node, (operand) => this.#node(operand));
    const output: TorchNode = { ...node, launch: this.#launches.get(node.launch) ?? node.launch };
    this.#current.set(node, output);
    return output;
  }
}

const isAllocation = (node: TorchNode): boolean => isCallNode(node) && ALLOCATIONS.has(node.name);

/** True unless a value certainly has its own memory. Any call may return a view of its operands. */
const sharesMemory = (argument: TorchArgument | undefined, tensor: TorchNode): boolean =>
  reachableNodes([argument], (node) => (isAllocation(node) ? [] : torchOperands(node))).has(tensor);
