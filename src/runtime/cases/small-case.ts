/** A case that is small enough for a picture, and large enough to show several programs and masked edges. */
import type { TestCase, CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase, shrinkAccepted } from "./valid-cases.js";
import { costOf, largestTensor } from "./cases.js";
import type { Selection } from "./selection.js";

/** Limits of a case that is evaluated while someone waits for a picture. */
const ELEMENTS = 2 ** 14;
const LANES = 2 ** 22;
const OP = 2 ** 8;

/** Sizes of a tensor that a picture shows well: no block divides them. Distinct, so that axes are told apart. */
const SIZES = [40, 56, 24, 5];

/**
 * A small case: of the selection's sizes if it has some, with the smallest blocks if it names no config; or why the
 * kernel refuses those.
 */
export function smallCase(
  kernel: CompiledKernel,
  selection: Selection,
): { readonly at: TestCase } | { readonly refusal: string } {
  const config = selection.config ?? smallest(kernel.configs);
  const base = acceptedCase(kernel, config, selection);
  if ("refusal" in base) return base;
  const from: TestCase = {
    ...base.at,
    seed: selection.seed,
    ...(selection.scalars && { scalars: { ...base.at.scalars, ...selection.scalars } }),
  };
  if (selection.sizes) return { at: from };
  const isRight = (at: TestCase): boolean =>
    kernel.refusal(at) === undefined &&
    largestTensor(kernel, at) <= ELEMENTS &&
    costOf(kernel, at, { op: OP }) <= LANES;
  const least = shrinkAccepted(kernel, from, isRight);
  return { at: nearestAcceptedCase(kernel, { ...from, sizes: wantedSizes(kernel, config) }, least, isRight) };
}

function wantedSizes({ signature, configs }: CompiledKernel, config: number): Record<string, number> {
  const { sizes } = signature;
  const blocks = numbersOf(configs[config]);
  const [only, ...others] = sizes;
  if (only !== undefined && others.length === 0) return { [only]: Math.floor(2.5 * Math.max(16, ...blocks)) };
  return Object.fromEntries(sizes.map((name, i) => [name, SIZES[i % SIZES.length]!]));
}

/** The config with the smallest blocks. */
function smallest(configs: readonly Config[]): number {
  const product = (config: Config): number => numbersOf(config).reduce((all, value) => all * Math.max(1, value), 1);
  const [first] = [...configs.keys()].sort((a, b) => product(configs[a]!) - product(configs[b]!) || a - b);
  return first ?? 0;
}

function numbersOf(config: Config | undefined): readonly number[] {
  return Object.values(config?.values ?? {}).filter((value) => typeof value === "number");
}
