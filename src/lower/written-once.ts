/** Values that lowering writes once, for every access that can see them. */
import type { Handle } from "../ir/handle.js";

export class WrittenOnce {
  /** By what they are, in each block that is open. */
  readonly #blocks: Map<string, Handle>[] = [];

  /** Runs `body`, in which a block is open. */
  block<T>(body: () => T): T {
    this.#blocks.push(new Map());
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }

  /** The value of this key, made where it is not there yet: in the innermost block, or in the one at `depth`. */
  once(key: string, make: () => Handle, depth = this.#blocks.length): Handle {
    for (const known of this.#blocks.slice(0, depth)) {
      const value = known.get(key);
      if (value) return value;
    }
    const made = make();
    this.#blocks[depth - 1]!.set(key, made);
    return made;
  }
}
