/**
 * A kernel with views, settled by the launches that were noted: its grid by sizes, and what a launch has to meet. A view
 * that a proof refutes even so becomes a pointer again, and an output that is not all written is the caller's.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { CompiledKernel, Obligation } from "../../compiled/compiled-kernel.js";
import { liftPointers, type Lifted } from "../../import/lift/lift.js";
import type { Inferred } from "../../import/launch-facts/launch-facts.js";
import type { KernelTree } from "../../import/tree.js";
import { inferredOf, type Written } from "./inference.js";

/** How a kernel is written, and compared with the original. */
export interface RefinementTools<Kernel> {
  readonly tree: KernelTree;
  /** The pointers that became tensors, and those of them that keep their masks. */
  readonly kept: readonly string[];
  readonly masked: readonly string[];
  write(lift: Lifted, inferred: Inferred | undefined): Promise<Written | undefined>;
  /** Undefined where the IR differs. */
  compared(lift: Lifted, inferred: Inferred | undefined): Promise<Kernel | undefined>;
}

export interface RefinedKernel<Kernel> {
  /** Undefined where the kernel is best as it was. */
  readonly kernel: Kernel | undefined;
  readonly kept: readonly string[];
  /** Pointers of which a proof found an access outside of their tensors. */
  readonly refuted: ReadonlySet<string>;
}

/** Pointers again, and outputs of the caller: each may show something else. */
const MOST_ROUNDS = 4;

export async function refineViews<Kernel>(settling: RefinementTools<Kernel>): Promise<RefinedKernel<Kernel>> {
  const { tree, masked, write, compared } = settling;
  const refuted = new Set<string>();
  const given = new Set<string>();
  let { kept } = settling;
  for (let round = 0; round < MOST_ROUNDS && kept.length > 0; round++) {
    const lift = withGiven(liftPointers(tree, new Set(kept), new Set(masked)), given);
    const inferred = await inferredOf(tree, lift.tensors, (found) => write(lift, found));
    let wrong: Wrong | undefined;
    for (const each of waysOf(inferred)) {
      const made = await write(lift, each);
      if (!made) continue;
      const found = wrongIn(made, kept);
      const isRight = found.pointers.length + found.outputs.length === 0;
      const kernel = isRight ? await compared(lift, each) : undefined;
      if (kernel !== undefined) return { kernel, kept, refuted };
      if (isRight) continue;
      // What is refuted of some launches is of more of them.
      wrong = found;
      break;
    }
    if (!wrong) break;
    const { pointers, outputs } = wrong;
    for (const each of outputs) given.add(each);
    for (const each of pointers) refuted.add(each);
    kept = kept.filter((each) => !pointers.includes(each));
  }
  // Without any view there is nothing to refute.
  for (const each of kept) refuted.add(each);
  return { kernel: await compared(liftPointers(tree, new Set()), undefined), kept: [], refuted };
}

/** With all that was inferred, or with less of it: a mask that always holds then is left out, and the IR may differ. */
function waysOf(inferred: Inferred | undefined): readonly (Inferred | undefined)[] {
  if (!inferred) return [undefined];
  const requires = inferred.requires.filter((each) => !("op" in each && each.op === "eq"));
  const ways = [inferred, { ...inferred, requires }, { ...inferred, requires: [] }, undefined];
  return [...new Map(ways.map((way) => [cacheKey(way), way])).values()];
}

/** Outputs that the caller gives. */
const withGiven = (lift: Lifted, given: ReadonlySet<string>): Lifted => ({
  ...lift,
  tensors: lift.tensors.map((each) => (given.has(each.param) ? { ...each, role: "inout" } : each)),
});

interface Wrong {
  readonly pointers: readonly string[];
  readonly outputs: readonly string[];
}

/** What a proof refutes: of an output that is not all written, the output; else the pointer, or all of them. */
function wrongIn({ built, parameters }: Written, kept: readonly string[]): Wrong {
  const refuted = refutedIn(built);
  const isOutput = ({ property }: Obligation): boolean => property === "coverage";
  const others = refuted.filter((each) => !isOutput(each));
  const named = others.map(({ of }) => kept.find((python) => of.endsWith(` ${parameters[python]}`)));
  const outputs = refuted.filter(isOutput).flatMap(({ of }) => kept.find((each) => parameters[each] === of) ?? []);
  const found = named.flatMap((each) => each ?? []);
  return { outputs, pointers: found.length > 0 || others.length === 0 ? [...new Set(found)] : kept };
}

const refutedIn = (built: CompiledKernel): readonly Obligation[] =>
  built.proof().obligations.filter(({ verdict }) => verdict.kind === "refuted");
