/**
 * Values that lowering writes once, for every access that can see them. A kernel is lowered twice: the first time notes where
 * each value is used, the second time writes it into the innermost block around all of these places.
 */
import type { Builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import { type Argument, type Block, isValue, type OpStatement, type Statement, type Value } from "../ir/nodes.js";
import { walk } from "../ir/walk.js";

/** The blocks around a place, outermost first. */
type Path = readonly Block[];

/** What a run notes of the author's program. */
export interface PlacementPlan {
  /** The blocks around all uses of each value. */
  readonly places: ReadonlyMap<string, Path>;
  /** Statements of the author's that compute one of them. */
  readonly authored: ReadonlyMap<string, OpStatement>;
}

export class ValuePlacement {
  readonly #recorder: Builder;
  readonly #planned: PlacementPlan | undefined;
  /** By what they are, in each block that is open. */
  readonly #blocks: { readonly block: Block; readonly values: Map<string, Handle> }[] = [];
  /** How many functions were begun. */
  #roots = 0;
  readonly #places = new Map<string, Path>();
  readonly #authored = new Map<string, OpStatement>();
  /** Statements of the author's that were written before their place. */
  readonly #early = new Set<Statement>();
  /** Statements of the author's that stand at their place. */
  readonly #inPlace = new Set<Statement>();
  /** The blocks around what makes each value of the author's. */
  readonly #made = new Map<Value, Path>();

  /** The bodies of loops over a range. */
  readonly #loops = new Set<Block>();

  /** `planned` is what an earlier run noted. */
  constructor(recorder: Builder, bodies: readonly Block[], planned?: PlacementPlan) {
    this.#recorder = recorder;
    this.#planned = planned;
    for (const body of bodies)
      walk(body, (statement) => {
        if (statement.kind === "for") this.#loops.add(statement.body);
      });
  }

  get plan(): PlacementPlan {
    return { places: this.#places, authored: this.#authored };
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

  /** Notes that the author's program makes these values here, unless they stand earlier. */
  recordDefinition(values: readonly Value[]): void {
    for (const value of values) if (!this.#made.has(value)) this.#made.set(value, this.#path);
  }

  /** Whether a statement of the author's stands already where its value was first needed. */
  isHoisted(statement: Statement): boolean {
    return this.#early.has(statement);
  }

  /** Lets a statement of the author's stand for what lowering would write; of these arguments, it may stand earlier. */
  registerAuthored(key: string, from: readonly Argument[], statement: OpStatement): void {
    const own = this.#own(key);
    this.#note(own);
    this.#inPlace.add(statement);
    const isMovable = statement.operands.every((operand) => operand === undefined || from.includes(operand));
    if (isMovable && !this.#authored.has(own)) this.#authored.set(own, statement);
    this.#blocks.at(-1)!.values.set(own, new Handle(statement.results[0]!));
  }

  /** The value of this key, made of these arguments where it is not there yet. */
  getOrCreate(key: string, from: readonly Argument[], make: () => Handle): Handle {
    const path = this.#placed(key, from);
    const own = this.#own(key);
    const authored = path === this.#planned?.places.get(own) ? this.#planned.authored.get(own) : undefined;
    // One that stands in a block before this place, such as a loop's body, cannot be seen here and stays where it is.
    const isLater = authored !== undefined && !this.#inPlace.has(authored);
    return this.at(key, path.length, isLater ? () => this.#writeEarly(authored, path) : make);
  }

  /** All operands are there: what needs the value is made of them too. */
  #writeEarly(statement: OpStatement, path: Path): Handle {
    this.#early.add(statement);
    for (const value of statement.results) this.#made.set(value, path);
    this.#recorder.append(statement);
    return new Handle(statement.results[0]!);
  }

  /** The value of this key, made in this block where no block around it has it. */
  getOrCreateInBlock(key: string, make: () => Handle): Handle {
    return this.at(key, this.#path.length, make);
  }

  /** The value that all uses share, or one for this block, before all loops in which it does not change. */
  getOrHoist(key: string, from: readonly Argument[], make: () => Handle, isOwn = false): Handle {
    let path = isOwn ? this.#path : this.#placed(key, from);
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
    return this.#planned?.places.get(own) ?? this.#path;
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
