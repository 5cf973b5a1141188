/** The options fixed on the command line, and the configs that remain. */
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { configsFor } from "../../compiled/configs-by-gpu.js";
import type { Architecture } from "../../compiled/kernel-targets.js";

export interface Selection {
  readonly sizes?: Readonly<Record<string, number>>;
  /** Requires `sizes`. */
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  readonly dtypes?: Readonly<Record<string, string>>;
  readonly config?: number;
  /** The GPU in use, which determines the configs of a list by GPU. */
  readonly on?: Architecture | null | undefined;
  readonly seed: number;
}

/** The item at an index, counting round and round. */
export function inTurn<Item>(items: readonly Item[], index: number): Item {
  const item = items.at(index % items.length);
  if (item === undefined) throw new Error("there are no items to take in turn");
  return item;
}

/** The indices of the configs to try. */
export function configsOf(
  { configs }: CompiledKernel,
  { config, on }: { readonly config?: number | undefined; readonly on?: Selection["on"] },
): readonly number[] {
  return config === undefined ? configsFor(configs, on) : [config];
}
