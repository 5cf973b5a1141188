/**
 * A registry of builders for the kernels of imported files. A kernel file may import its own copy of this package, and
 * only that copy recognizes its kernels, so each copy registers a builder here.
 */
import type { Runnable } from "./command.js";

type Builder = (value: unknown) => Runnable | undefined;

const shared = globalThis as { [key: symbol]: Builder[] | undefined };
const builders = (shared[Symbol.for("tilescript.builders")] ??= []);

export function addBuilder(builder: Builder): void {
  builders.push(builder);
}

/** Wraps a kernel of any copy of the package; undefined for any other value. */
export function runnableOf(value: unknown): Runnable | undefined {
  for (const builder of builders) {
    const runnable = builder(value);
    if (runnable) return runnable;
  }
  return undefined;
}
