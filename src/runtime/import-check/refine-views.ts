/**
 * Refines a kernel with views by its recorded launches: infers its grid from sizes, and its preconditions. A view that
 * is still refuted becomes a pointer again. An output that is only partly written becomes `inout`.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type {
  CompiledKernel,
  Obligation,
  HostExpression,
  MissingPrecondition,
} from "../../compiled/compiled-kernel.js";
import { liftPointers, type Lifted } from "../../import/lift/lift.js";
import type { KernelTree } from "../../import/tree.js";
import { inferGrid } from "../../import/launch-facts/infer-grid.js";
import {
  recordedValues,
  type InferredLaunchFacts,
  holdsForAllLaunches,
  type RecordedValues,
} from "../../import/launch-facts/recorded-values.js";
import type { LiftedTensor } from "../../import/lift/lifted-tensors.js";

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
      // A comparison takes less time than a proof.
      const equalKernel = await compared(lift, variant);
      const kernel = equalKernel && (await write(lift, variant));
      if (!kernel || hasImpossibleConfigs(kernel.built)) continue;
      const candidate = refutationOf(kernel, lifted);
      if (candidate.pointers.length + candidate.outputs.length === 0) return { kernel: equalKernel, lifted, refuted };
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

const obligationsOf = (built: CompiledKernel): readonly Obligation[] =>
  (built.verdicts?.() ?? built.proof()).obligations;

const refutedIn = (built: CompiledKernel): readonly Obligation[] =>
  obligationsOf(built).filter(({ verdict }) => verdict.kind === "refuted");

/** True if no launch satisfies the conditions. */
const hasImpossibleConfigs = (built: CompiledKernel): boolean =>
  obligationsOf(built).some(({ verdict }) => verdict.kind === "impossible" && verdict.configs === "all");

// Infers preconditions of an imported kernel's launches, from its proof gaps and the recorded launches. Every recorded
// launch must satisfy a condition.

/** A built kernel, with its parameters by the names of the Python parameters. */
export interface Written {
  readonly built: CompiledKernel;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Writes and builds the kernel with inferred conditions; undefined if it cannot be built. */
type Write = (inferred: InferredLaunchFacts) => Promise<Written | undefined>;

/** Limit on the obligations of a kernel whose conditions are inferred without launches. */
const MOST_OBLIGATIONS = 40;

/** Limits on the rounds in which conditions lead to others, and on the attempts to remove a condition. */
const LIMITS = { rounds: 4, removals: 12, removalsWithoutLaunch: 4 } as const;

/** Infers the grid and the preconditions; undefined if the launches give no information. */
async function inferredOf(
  tree: KernelTree,
  tensors: readonly LiftedTensor[],
  write: Write,
): Promise<InferredLaunchFacts | undefined> {
  const launches = tree.launch && recordedValues(tree, tensors);
  if (launches?.length === 0 || tensors.length === 0) return undefined;
  const grid = launches && !tree.launch?.grid ? inferGrid(tree, tensors, launches) : undefined;
  const start = { ...(grid && { grid }), requires: [] };
  const kernel = await write(start);
  // Without launches, there is no grid to infer, and each further condition costs proofs of all obligations.
  if (!launches && kernel && (kernel.built.obligationCount?.() ?? 0) > MOST_OBLIGATIONS) return undefined;
  return kernel && new Inference(launches, { ...kernel, tensors }).infer(start);
}

class Inference {
  readonly #missing = new Map<string, readonly MissingPrecondition[] | undefined>();

  constructor(
    /** Undefined if no script launches the kernel: then every condition is possible. */
    private readonly launches: RecordedValues | undefined,
    private readonly kernel: Written & { readonly tensors: readonly LiftedTensor[] },
  ) {}

  infer(start: InferredLaunchFacts): InferredLaunchFacts | undefined {
    let current = start;
    let missing = this.#missingPreconditions(current);
    if (!missing) return undefined;
    // The conditions of a round are dropped if they close no gap and lead to no further conditions.
    let best = current;
    for (let round = 0; round < LIMITS.rounds && missing.length > 0; round++) {
      const more = this.#firstNewConditions(missing, current.requires);
      const extended: InferredLaunchFacts = { ...current, requires: [...current.requires, ...more] };
      const remaining = more.length > 0 ? this.#missingPreconditions(extended) : undefined;
      if (!remaining) break;
      if (remaining.length < missing.length) best = extended;
      [current, missing] = [extended, remaining];
    }
    return this.#removeRedundant(best);
  }

  /** The missing preconditions, in the names of the Python parameters. Computed once for each list of conditions. */
  #missingPreconditions({ requires }: InferredLaunchFacts): readonly MissingPrecondition[] | undefined {
    const key = cacheKey(requires);
    if (!this.#missing.has(key)) this.#missing.set(key, this.#findMissing(requires));
    return this.#missing.get(key);
  }

  #findMissing(requires: readonly HostExpression[]): readonly MissingPrecondition[] | undefined {
    const { built, parameters } = this.kernel;
    const names = new Map(Object.entries(parameters));
    const missing = built.suggestPreconditions?.(requires.map((each) => renameParams(each, names)));
    const originals = new Map([...names].map(([python, name]) => [name, python]));
    return missing?.map(({ property, of, wanted }) => {
      // Without launches, a kernel may also write a part of an output only. Only the number of programs is unknown.
      const isFree = this.launches === undefined && property === "coverage";
      const possible = isFree
        ? wanted.filter((each) => paramsIn(each).some((name) => this.#isGridArgument(name)))
        : wanted;
      return { property, of, wanted: possible.map((each) => renameParams(each, originals)) };
    });
  }

  /** True for an argument of the wrapper that the kernel does not have. */
  #isGridArgument(name: string): boolean {
    const { tensors, parameters } = this.kernel;
    return (
      !Object.values(parameters).includes(name) && !tensors.some(({ axes }) => axes.some(({ size }) => size === name))
    );
  }

  /** For each gap, the first new condition that every recorded launch satisfies, if launches are recorded. */
  #firstNewConditions(
    missing: readonly MissingPrecondition[],
    conditions: readonly HostExpression[],
  ): readonly HostExpression[] {
    const texts = new Set(conditions.map((each) => cacheKey(each)));
    return missing.flatMap(({ wanted }) => {
      const { launches } = this;
      const condition = wanted.find(
        (each) => !texts.has(cacheKey(each)) && (launches === undefined || holdsForAllLaunches(each, launches)),
      );
      if (condition) texts.add(cacheKey(condition));
      return condition ? [condition] : [];
    });
  }

  /** Removes the conditions that close no gap. */
  #removeRedundant(inferred: InferredLaunchFacts): InferredLaunchFacts {
    const missingCount = this.#missingPreconditions(inferred)?.length ?? 0;
    let current = inferred;
    const most = this.launches ? LIMITS.removals : LIMITS.removalsWithoutLaunch;
    for (const condition of inferred.requires.toReversed().slice(0, most)) {
      const fewer = { ...current, requires: current.requires.filter((each) => each !== condition) };
      const missing = this.#missingPreconditions(fewer);
      if (missing && missing.length <= missingCount) current = fewer;
    }
    return current;
  }
}

function paramsIn(tree: HostExpression): readonly string[] {
  if ("param" in tree) return [tree.param];
  return "op" in tree ? tree.of.flatMap(paramsIn) : [];
}

function renameParams(tree: HostExpression, names: ReadonlyMap<string, string>): HostExpression {
  if ("param" in tree) return { param: names.get(tree.param) ?? tree.param };
  return "op" in tree ? { ...tree, of: tree.of.map((each) => renameParams(each, names)) } : tree;
}
