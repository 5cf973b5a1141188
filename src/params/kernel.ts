/** The types of `kernel` and of its result. */
import type { Args } from "./args.js";
import type { Params } from "./param-types.js";
import type { CallArguments, CallNames, CallResults, WhyNoFunction } from "./kernel-call-types.js";
import type { Spec } from "./spec.js";

/** A kernel, as `kernel(name, spec, body)` returns it. */
export interface Kernel<out Name extends string, in out P> {
  readonly name: Name;
  readonly params: P;
  (this: WhyNoFunction, ...given: any): never;
  /**
   * Calls it inside `op(…)`. Outputs are new tensors; tensors that it updates change. An output that may be left out is
   * asked for with `true`.
   */
  call<const G extends CallNames<P>>(given: CallArguments<Name, P, G>): CallResults<P, G>;
}
/**
 * The signature of `kernel`. With the result `void` alone, the checker would accept any function; so it is a message.
 */
export type KernelFunction = <
  const Name extends string,
  const P extends Params,
  const Derived extends string = never,
  const Heuristic extends string = never,
>(
  name: Name,
  spec: Spec<P, Derived, Heuristic>,
  body: (args: NoInfer<Args<P, Derived>>) => void | "kernel: a body returns nothing; tl.store its results",
) => Kernel<Name, P>;
