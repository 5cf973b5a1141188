/** The types of `kernel` and of its result. */
import type { Args } from "./args.js";
import type { Params } from "./param-types.js";
import type { CallArguments, CallNames, CallResults, WhyNoFunction } from "./kernel-call-types.js";
import type { Spec } from "./spec.js";

/** A kernel, as `kernel(name, spec, body)` returns it. */
export interface Kernel<out Name extends string, in out P> {
  readonly name: Name;
  readonly params: P;
  (this: WhyNoFunction, ...args: any): never;
  /**
   * Calls the kernel inside `op(…)`. Outputs are new tensors. `inout` tensors are modified. To request an optional
   * output, pass `true` for it.
   */
  call<const G extends CallNames<P>>(args: CallArguments<Name, P, G>): CallResults<P, G>;
}
/**
 * The signature of `kernel`. With `void` alone as the body's result, TypeScript would accept any function, so the union
 * adds an error message.
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
