/** The Python files whose functions emitted modules contain. Bundles of this package hold their text instead. */
import { readFileSync } from "node:fs";

const read = (name: string): string =>
  readFileSync(new URL(`../../../python/runtime/${name}.py`, import.meta.url), "utf8");

/** By the name of the file, in the order in which a module contains their definitions. */
export const librarySources: Readonly<Record<string, string>> = Object.fromEntries(
  ["checks", "configs", "hopper", "hopper_device", "launch_cache"].map((name) => [name, read(name)]),
);
