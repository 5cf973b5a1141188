/**
 * Refines a kernel with views by its recorded launches: infers its grid from sizes, and its preconditions. A view that
 * is still refuted becomes a pointer again. An output that is only partly written becomes `inout`.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { CompiledKernel, Obligation } from "../../compiled/compiled-kernel.js";
import { liftPointers, type Lifted } from "../../import/lift/lift.js";
import type { InferredLaunchFacts } from "../../import/launch-facts/launch-facts.js";
import type { KernelTree } from "../../import/tree.js";
import { inferredOf, type Written } from "./inference.js";

/** Writes a kernel and compares it with the original. */
export interface RefinementTools<Kernel> {
  readonly tree: KernelTree;
  /** The pointers that became tensors, and those among them with explicit masks. */
  readonly lifted: readonly string[];
  readonly maskedParams: readonly string[];
  write(lift: Lifted, inferred: InferredLaunchFacts | undefined): Promise<Written | undefined>;
  /** Undefined if the IR differs. */
  compare(lift: Lifted, inferred: InferredLaunchFacts | undefined): Promise<Kernel | undefined>;
}

export interface RefinedKernel<Kernel> {
  /** Undefined if the kernel was better without refinement. */
  readonly kernel: Kernel | undefined;
  readonly lifted: readonly string[];
  /** Pointers with an access that is out of bounds by proof. */
  readonly refuted: ReadonlySet<string>;
}

/** Limit on rounds: each changed pointer or output may reveal further refutations. */
const MOST_ROUNDS = 4;

export async function refineViews<Kernel>(tools: RefinementTools<Kernel>): Promise<RefinedKernel<Kernel>> {
  const { tree, maskedParams: masked, write, compare: compared } = tools;
  const refuted = new Set<string>();
  const inouts = new Set<string>();
  let { lifted } = tools;
  for (let round = 0; round < MOST_ROUNDS && lifted.length > 0; round++) {
    const lift = withInouts(liftPointers(tree, new Set(lifted), new Set(masked)), inouts);
    const inferred = await inferredOf(tree, lift.tensors, (conditions) => write(lift, conditions));
    let refutation: Refutation | undefined;
    for (const variant of inferenceVariants(inferred)) {
      const kernel = await write(lift, variant);
      if (!kernel) continue;
      const candidate = refutationOf(kernel, lifted);
      const isUnrefuted = candidate.pointers.length + candidate.outputs.length === 0;
      const equalKernel = isUnrefuted ? await compared(lift, variant) : undefined;
      if (equalKernel !== undefined) return { kernel: equalKernel, lifted, refuted };
      if (isUnrefuted) continue;
      // Variants with fewer conditions allow more launches, so the refutation applies to them too.
      refutation = candidate;
      break;
    }
    if (!refutation) break;
    const { pointers, outputs } = refutation;
    for (const each of outputs) inouts.add(each);
    for (const each of pointers) refuted.add(each);
    lifted = lifted.filter((each) => !pointers.includes(each));
  }
  // Without views, nothing can be refuted.
  for (const each of lifted) refuted.add(each);
  return { kernel: await compared(liftPointers(tree, new Set()), undefined), lifted: [], refuted };
}

/**
 * Variants with all or fewer of the inferred conditions. A condition may remove a mask that is always true, and so
 * change the IR.
 */
function inferenceVariants(inferred: InferredLaunchFacts | undefined): readonly (InferredLaunchFacts | undefined)[] {
  if (!inferred) return [undefined];
  const requires = inferred.requires.filter((each) => !("op" in each && each.op === "eq"));
  const variants = [inferred, { ...inferred, requires }, { ...inferred, requires: [] }, undefined];
  return [...new Map(variants.map((variant) => [cacheKey(variant), variant])).values()];
}

/** Marks outputs that the kernel only partly writes as `inout`. */
const withInouts = (lift: Lifted, inouts: ReadonlySet<string>): Lifted => ({
  ...lift,
  tensors: lift.tensors.map((each) => (inouts.has(each.param) ? { ...each, role: "inout" } : each)),
});

interface Refutation {
  readonly pointers: readonly string[];
  readonly outputs: readonly string[];
}

/**
 * The outputs and pointers that the proof refutes: for coverage the output, otherwise the pointer, or all pointers if
 * unknown.
 */
function refutationOf({ built, parameters }: Written, lifted: readonly string[]): Refutation {
  const refuted = refutedIn(built);
  const isOutput = ({ property }: Obligation): boolean => property === "coverage";
  const others = refuted.filter((each) => !isOutput(each));
  const namedParams = others.map(({ of }) => lifted.find((python) => of.endsWith(` ${parameters[python]}`)));
  const outputs = refuted.filter(isOutput).flatMap(({ of }) => lifted.find((each) => parameters[each] === of) ?? []);
  const pointers = namedParams.flatMap((each) => each ?? []);
  return { outputs, pointers: pointers.length > 0 || others.length === 0 ? [...new Set(pointers)] : lifted };
}

const refutedIn = (built: CompiledKernel): readonly Obligation[] =>
  built.proof().obligations.filter(({ verdict }) => verdict.kind === "refuted");
