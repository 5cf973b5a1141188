/**
 * Values that lowering writes once, for every access that can see them. A kernel is lowered twice: the first time notes where
 * each value is used, the second time writes it into the innermost block around all of these places.
 */
import type { Builder } from "../ir/builder.js";
import type { Handle } from "../ir/handle.js";
import { type Argument, type Block, isValue, type Value } from "../ir/nodes.js";
import { walk } from "../ir/walk.js";

/** The blocks around a place, outermost first. */
type Path = readonly Block[];

/** The blocks around all uses of each value. */
export type Places = ReadonlyMap<string, Path>;

export class WrittenOnce {
  readonly #recorder: Builder;
  readonly #planned: Places;
  /** By what they are, in each block that is open. */
  readonly #blocks: { readonly block: Block; readonly values: Map<string, Handle> }[] = [];
  /** How many functions were begun. */
  #roots = 0;
  readonly #places = new Map<string, Path>();
  /** The blocks around what makes each value of the author's. */
  readonly #made = new Map<Value, Path>();

  /** The bodies of loops over a range. */
  readonly #loops = new Set<Block>();

  /** `planned` is what an earlier run noted. */
  constructor(recorder: Builder, bodies: readonly Block[], planned: Places = new Map()) {
    this.#recorder = recorder;
    this.#planned = planned;
    for (const body of bodies)
      walk(body, (statement) => {
        if (statement.kind === "for") this.#loops.add(statement.body);
      });
  }

  /** Where the values of this run are used. */
  get places(): Places {
    return this.#places;
  }

  get #path(): Path {
    return this.#blocks.map(({ block }) => block);
  }

  /** Runs `body`, in which a block of the author's is open. */
  block<T>(block: Block, body: () => T): T {
    if (this.#blocks.length === 0) this.#roots++;
    this.#blocks.push({ block, values: new Map() });
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }

  /** Notes that the author's program makes these values here. */
  makes(values: readonly Value[]): void {
    for (const value of values) this.#made.set(value, this.#path);
  }

  /** Lets a value of the author's stand for what lowering would write. */
  give(key: string, handle: Handle): void {
    this.#blocks.at(-1)!.values.set(this.#own(key), handle);
  }

  /** The value of this key, made of these arguments where it is not there yet. */
  once(key: string, from: readonly Argument[], make: () => Handle): Handle {
    return this.at(key, this.#placed(key, from).length, make);
  }

  /** The same, before all loops in which it does not change. */
  beforeLoops(key: string, from: readonly Argument[], make: () => Handle): Handle {
    let path = this.#placed(key, from);
    while (this.#loops.has(path.at(-1)!) && this.#isSeen(from, path.slice(0, -1))) path = path.slice(0, -1);
    return this.at(key, path.length, make);
  }

  /** The innermost block around all uses; this one, where what it is made of is unknown outside. */
  #placed(key: string, from: readonly Argument[]): Path {
    const path = this.around(key);
    return this.#isSeen(from, path) ? path : this.#path;
  }

  #isSeen(from: readonly Argument[], path: Path): boolean {
    return from.every((argument) => !isValue(argument) || isAround(this.#made.get(argument) ?? [], path));
  }

  /** The same, made in the block at `depth`. */
  at(key: string, depth: number, make: () => Handle): Handle {
    const own = this.#own(key);
    for (const { values } of this.#blocks) {
      const value = values.get(own);
      if (value) return value;
    }
    const made = this.#recorder.outside(depth, make);
    this.#blocks[depth - 1]!.values.set(own, made);
    return made;
  }

  /** Notes that something is used here, and gives the blocks around all its uses as far as they are known. */
  around(key: string): Path {
    const own = this.#own(key);
    this.#note(own);
    return this.#planned.get(own) ?? this.#path;
  }

  #note(key: string): void {
    const [path, known] = [this.#path, this.#places.get(key)];
    this.#places.set(key, known ? path.filter((block, depth) => known[depth] === block) : path);
  }

  /** Functions share the kernel's sizes, but not the values made of them. */
  #own(key: string): string {
    return `${this.#roots}:${key}`;
  }
}

function isAround(outer: Path, path: Path): boolean {
  return outer.every((block, depth) => path[depth] === block);
}
