/**
 * Infers preconditions of an imported kernel's launches, from its proof gaps and the recorded launches. Every recorded
 * launch must satisfy a condition.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { CompiledKernel, HostExpression, MissingPrecondition } from "../../compiled/compiled-kernel.js";
import {
  holdsForAllLaunches,
  type InferredLaunchFacts,
  type RecordedValues,
} from "../../import/launch-facts/launch-facts.js";
import { inferGrid } from "../../import/launch-facts/infer-grid.js";
import { recordedValues } from "../../import/launch-facts/recorded-values.js";
import type { LiftedTensor } from "../../import/lift/lifted-tensors.js";
import type { KernelTree } from "../../import/tree.js";

/** A built kernel, with its parameters by the names of the Python parameters. */
export interface Written {
  readonly built: CompiledKernel;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Writes and builds the kernel with inferred conditions; undefined if it cannot be built. */
type Write = (inferred: InferredLaunchFacts) => Promise<Written | undefined>;

/** Limits on the rounds in which conditions lead to others, and on the attempts to remove a condition. */
const LIMITS = { rounds: 4, removals: 12 } as const;

/** Infers the grid and the preconditions; undefined if the launches give no information. */
export async function inferredOf(
  tree: KernelTree,
  tensors: readonly LiftedTensor[],
  write: Write,
): Promise<InferredLaunchFacts | undefined> {
  const launches = recordedValues(tree, tensors);
  if (launches.length === 0 || tensors.length === 0) return undefined;
  const grid = tree.launch?.grid ? undefined : inferGrid(tree, tensors, launches);
  const start = { ...(grid && { grid }), requires: [] };
  const kernel = await write(start);
  return kernel && new Inference(launches, kernel).infer(start);
}

class Inference {
  constructor(
    private readonly launches: RecordedValues,
    private readonly kernel: Written,
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

  /** The missing preconditions, in the names of the Python parameters. */
  #missingPreconditions({ requires }: InferredLaunchFacts): readonly MissingPrecondition[] | undefined {
    const { built, parameters } = this.kernel;
    const names = new Map(Object.entries(parameters));
    const missing = built.suggestPreconditions?.(requires.map((each) => renameParams(each, names)));
    const originals = new Map([...names].map(([python, name]) => [name, python]));
    return missing?.map((precondition) => ({
      ...precondition,
      wanted: precondition.wanted.map((each) => renameParams(each, originals)),
    }));
  }

  /** For each gap, the first new condition that every recorded launch satisfies. */
  #firstNewConditions(
    missing: readonly MissingPrecondition[],
    conditions: readonly HostExpression[],
  ): readonly HostExpression[] {
    const texts = new Set(conditions.map((each) => cacheKey(each)));
    return missing.flatMap(({ wanted }) => {
      const condition = wanted.find((each) => !texts.has(cacheKey(each)) && holdsForAllLaunches(each, this.launches));
      if (condition) texts.add(cacheKey(condition));
      return condition ? [condition] : [];
    });
  }

  /** Removes the conditions that close no gap. */
  #removeRedundant(inferred: InferredLaunchFacts): InferredLaunchFacts {
    const missingCount = this.#missingPreconditions(inferred)?.length ?? 0;
    let current = inferred;
    for (const condition of inferred.requires.toReversed().slice(0, LIMITS.removals)) {
      const fewer = { ...current, requires: current.requires.filter((each) => each !== condition) };
      const missing = this.#missingPreconditions(fewer);
      if (missing && missing.length <= missingCount) current = fewer;
    }
    return current;
  }
}

function renameParams(tree: HostExpression, names: ReadonlyMap<string, string>): HostExpression {
  if ("param" in tree) return { param: names.get(tree.param) ?? tree.param };
  return "op" in tree ? { ...tree, of: tree.of.map((each) => renameParams(each, names)) } : tree;
}
