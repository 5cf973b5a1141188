/**
 * What has to hold of an imported kernel's launches, from what is open of its proofs and from the launches that were
 * noted: a condition counts only if every noted launch meets it.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { CompiledKernel, HostExpression, MissingPrecondition } from "../../compiled/compiled-kernel.js";
import { holdsForAllLaunches, type Inferred, type RecordedValues } from "../../import/launch-facts/launch-facts.js";
import { inferGrid } from "../../import/launch-facts/infer-grid.js";
import { recordedValues } from "../../import/launch-facts/recorded-values.js";
import type { LiftedTensor } from "../../import/lift/lifted-tensors.js";
import type { KernelTree } from "../../import/tree.js";

/** A kernel that was built, with its parameters by the names of the Python's. */
export interface Written {
  readonly built: CompiledKernel;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Writes and builds the kernel with what was inferred; undefined where that can't be built. */
type Write = (inferred: Inferred) => Promise<Written | undefined>;

/** Of conditions that lead to others, and of what is left out again. */
const MOST = { rounds: 4, left: 12 } as const;

/** Undefined where the launches say nothing. */
export async function inferredOf(
  tree: KernelTree,
  tensors: readonly LiftedTensor[],
  write: Write,
): Promise<Inferred | undefined> {
  const noted = recordedValues(tree, tensors);
  if (noted.length === 0 || tensors.length === 0) return undefined;
  const grid = tree.launch?.grid ? undefined : inferGrid(tree, tensors, noted);
  const start = { ...(grid && { grid }), requires: [] };
  const made = await write(start);
  return made && new Inference(noted, made).of(start);
}

class Inference {
  constructor(
    private readonly noted: RecordedValues,
    private readonly made: Written,
  ) {}

  of(start: Inferred): Inferred | undefined {
    let now = start;
    let lacks = this.#lacks(now);
    if (!lacks) return undefined;
    // What a round asks for is left out again where it shows nothing and leads to nothing.
    const steps = [now];
    for (let round = 0; round < MOST.rounds && lacks.length > 0; round++) {
      const more = this.#conditionsFor(lacks, now.requires);
      const next: Inferred = { ...now, requires: [...now.requires, ...more] };
      const left = more.length > 0 ? this.#lacks(next) : undefined;
      if (!left) break;
      if (left.length < lacks.length) steps.push(next);
      [now, lacks] = [next, left];
    }
    return this.#withoutNeedless(steps.at(-1)!);
  }

  /** What is open, in the names of the Python. */
  #lacks({ requires }: Inferred): readonly MissingPrecondition[] | undefined {
    const { built, parameters } = this.made;
    const names = new Map(Object.entries(parameters));
    const lacks = built.suggestPreconditions?.(requires.map((each) => renamed(each, names)));
    const originals = new Map([...names].map(([python, name]) => [name, python]));
    return lacks?.map((lack) => ({ ...lack, wanted: lack.wanted.map((each) => renamed(each, originals)) }));
  }

  /** For each lack the first condition that is new and holds of every launch. */
  #conditionsFor(lacks: readonly MissingPrecondition[], known: readonly HostExpression[]): readonly HostExpression[] {
    const texts = new Set(known.map((each) => cacheKey(each)));
    return lacks.flatMap(({ wanted }) => {
      const found = wanted.find((each) => !texts.has(cacheKey(each)) && holdsForAllLaunches(each, this.noted));
      if (found) texts.add(cacheKey(found));
      return found ? [found] : [];
    });
  }

  /** Without the conditions that show nothing. */
  #withoutNeedless(inferred: Inferred): Inferred {
    const open = this.#lacks(inferred)?.length ?? 0;
    let now = inferred;
    for (const condition of inferred.requires.toReversed().slice(0, MOST.left)) {
      const fewer = { ...now, requires: now.requires.filter((each) => each !== condition) };
      const lacks = this.#lacks(fewer);
      if (lacks && lacks.length <= open) now = fewer;
    }
    return now;
  }
}

function renamed(tree: HostExpression, names: ReadonlyMap<string, string>): HostExpression {
  if ("param" in tree) return { param: names.get(tree.param) ?? tree.param };
  return "op" in tree ? { ...tree, of: tree.of.map((each) => renamed(each, names)) } : tree;
}
