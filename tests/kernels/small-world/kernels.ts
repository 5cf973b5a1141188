/** The kernels that are tried in the small world: examples, those of seeded mistakes, ports, and random ones. */
import { definitionOf, KernelDefinition } from "../../../src/dsl/definition.js";
import { OperatorDefinition } from "../../../src/dsl/operator.js";
import { trace } from "../../../src/dsl/trace.js";
import { limitsOf } from "../../../src/types/limits.js";
import { examples } from "../../support/examples.js";
import * as moves from "../mutants/sources/moves.js";
import * as norms from "../mutants/sources/norms.js";
import * as updates from "../mutants/sources/updates.js";
import * as groupQuant from "../ports/group-quant.js";
import * as rotaryCache from "../ports/rotary-cache.js";
import * as statePassing from "../ports/state-passing.js";
import * as topPeers from "../ports/topk-peers.js";
import { build } from "../random/build.js";
import { recipeOf } from "../random/draw.js";
import * as hardKernels from "./hard-kernels.js";
import { SmallKernel, smallKernels, withLimits } from "./small-kernel.js";

/** The widths of int32 that are tried. */
export const WIDTHS = [8, 10, 12] as const;

export interface Source {
  readonly name: string;
  readonly definition: KernelDefinition | OperatorDefinition;
}

const definitionsIn = (module: object): readonly Source[] =>
  Object.entries(module).flatMap(([name, definition]) =>
    definition instanceof KernelDefinition || definition instanceof OperatorDefinition ? [{ name, definition }] : [],
  );

export const sources: readonly Source[] = [
  ...examples.map(({ name, kernel }) => ({ name, definition: kernel })),
  ...[moves, norms, updates, groupQuant, rotaryCache, statePassing, topPeers, hardKernels].flatMap(definitionsIn),
];

/** The kernels of a source, in each world that they fit, the narrowest first. */
export const worldsOf = ({ definition }: Source): readonly (readonly SmallKernel[])[] =>
  WIDTHS.map((bits) => smallKernels(definition, bits)).filter((kernels) => kernels.length > 0);

const narrowest = new Map<Source, readonly SmallKernel[]>();

/** The kernels of a source in the narrowest world that they fit. */
export function narrowestOf(source: Source): readonly SmallKernel[] {
  let kernels = narrowest.get(source);
  for (const bits of WIDTHS) kernels = kernels?.length ? kernels : smallKernels(source.definition, bits);
  narrowest.set(source, kernels ?? []);
  return kernels ?? [];
}

/** A random kernel, whose tiles keep their shapes. Undefined if it does not fit. */
export function randomKernel(seed: number): SmallKernel | undefined {
  const ir = withLimits(trace(definitionOf(build(recipeOf(seed)).kernel)), limitsOf(12), [(value) => value]);
  return ir && new SmallKernel(`recipe ${seed}`, ir);
}
