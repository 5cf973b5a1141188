/**
 * How a command builds the kernels of imported files. Such a file has its own copy of this package, and only
 * that copy knows its kernels, so each copy registers here how to recognize them.
 */
import type { Runnable } from "./command.js";

type Builder = (value: unknown) => Runnable | undefined;

const shared = globalThis as { [key: symbol]: Builder[] | undefined };
const builders = (shared[Symbol.for("tilescript.builders")] ??= []);

export function addBuilder(builder: Builder): void {
  builders.push(builder);
}

/** A kernel of any copy, as something that can be built; undefined for anything else. */
export function runnableOf(value: unknown): Runnable | undefined {
  for (const builder of builders) {
    const found = builder(value);
    if (found) return found;
  }
  return undefined;
}
