/** A test case small enough for a picture, but with several programs and masked edges. */
import type { TestCase, CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase, shrinkAccepted } from "./valid-cases.js";
import { costOf, largestNumel } from "./cases.js";
import { inTurn, type Selection } from "./selection.js";

/** Limits of a case that is evaluated interactively. */
const MAX_ELEMENTS = 2 ** 14;
const MAX_LANES = 2 ** 22;
const OP_COST = 2 ** 8;

/** Sizes that show masked edges: no block divides them. They are distinct, so that axes are distinguishable. */
const PREFERRED_SIZES = [40, 56, 24, 5];

/**
 * Returns a small test case, or the reason why the kernel rejects it. Keeps the sizes of the selection. Uses the config
 * with the smallest blocks if the selection has none.
 */
export function smallCase(
  kernel: CompiledKernel,
  selection: Selection,
): { readonly at: TestCase } | { readonly refusal: string } {
  const config = selection.config ?? smallestConfig(kernel.configs);
  const base = acceptedCase(kernel, config, selection);
  if ("refusal" in base) return base;
  const start: TestCase = {
    ...base.at,
    seed: selection.seed,
    ...(selection.scalars && { scalars: { ...base.at.scalars, ...selection.scalars } }),
  };
  if (selection.sizes) return { at: start };
  const isValid = (testCase: TestCase): boolean =>
    kernel.refusal(testCase) === undefined &&
    largestNumel(kernel, testCase) <= MAX_ELEMENTS &&
    costOf(kernel, testCase, { op: OP_COST }) <= MAX_LANES;
  const smallestCase = shrinkAccepted(kernel, start, isValid);
  return {
    at: nearestAcceptedCase(kernel, { ...start, sizes: preferredSizes(kernel, config) }, smallestCase, isValid),
  };
}

function preferredSizes({ signature, configs }: CompiledKernel, config: number): Record<string, number> {
  const { sizes } = signature;
  const blocks = numbersOf(configs[config]);
  const [first, ...others] = sizes;
  if (first !== undefined && others.length === 0) return { [first]: Math.floor(2.5 * Math.max(16, ...blocks)) };
  return Object.fromEntries(sizes.map((name, i) => [name, inTurn(PREFERRED_SIZES, i)]));
}

/** The config with the smallest blocks. */
function smallestConfig(configs: readonly Config[]): number {
  const product = (config: Config): number => numbersOf(config).reduce((all, value) => all * Math.max(1, value), 1);
  const [smallest] = [...configs.entries()].sort(([i, a], [j, b]) => product(a) - product(b) || i - j);
  return smallest?.[0] ?? 0;
}

function numbersOf(config: Config | undefined): readonly number[] {
  return Object.values(config?.values ?? {}).filter((value) => typeof value === "number");
}
