/**
 * Value numbering across all accesses of a kernel. A kernel is lowered twice: the first pass records the uses of each
 * value, and the second emits each value in the innermost block that contains all of its uses.
 */
import type { Builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import { type Argument, type Block, isValue, type OpStatement, type Statement, type Value } from "../ir/nodes.js";
import { onlyResult, walk } from "../ir/walk.js";

/** The blocks that enclose a program point, outermost first. */
type BlockPath = readonly Block[];

/** The result of the first pass. */
export interface PlacementPlan {
  /** The blocks that enclose all uses of each value. */
  readonly paths: ReadonlyMap<string, BlockPath>;
  /** Authored statements that compute one of the values. */
  readonly authored: ReadonlyMap<string, OpStatement>;
}

export class ValuePlacement {
  readonly #recorder: Builder;
  readonly #plan: PlacementPlan | undefined;
  /** The open blocks, with the values that each defines. */
  readonly #blocks: { readonly block: Block; readonly values: Map<string, Handle> }[] = [];
  /** The number of function bodies visited so far. */
  #roots = 0;
  readonly #paths = new Map<string, BlockPath>();
  readonly #authored = new Map<string, OpStatement>();
  /** Authored statements that were hoisted. */
  readonly #hoisted = new Set<Statement>();
  /** Authored statements that stay at their original position. */
  readonly #inPlace = new Set<Statement>();
  /** The blocks that enclose the definition of each authored value. */
  readonly #definitionPaths = new Map<Value, BlockPath>();

  /** The bodies of `for` loops. */
  readonly #loops = new Set<Block | undefined>();

  /** @param planned The plan of an earlier pass. */
  constructor(recorder: Builder, bodies: readonly Block[], planned?: PlacementPlan) {
    this.#recorder = recorder;
    this.#plan = planned;
    for (const body of bodies)
      walk(body, (statement) => {
        if (statement.kind === "for") this.#loops.add(statement.body);
      });
  }

  get plan(): PlacementPlan {
    return { paths: this.#paths, authored: this.#authored };
  }

  get #path(): BlockPath {
    return this.#blocks.map(({ block }) => block);
  }

  /** Runs `body` while an authored block is open. */
  block<T>(block: Block, body: () => T): T {
    if (this.#blocks.length === 0) this.#roots++;
    this.#blocks.push({ block, values: new Map() });
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }

  /** Records that the author's program defines these values here, unless they were hoisted. */
  recordDefinition(values: readonly Value[]): void {
    for (const value of values) if (!this.#definitionPaths.has(value)) this.#definitionPaths.set(value, this.#path);
  }

  /** True if an authored statement was already emitted at the first use of its value. */
  isHoisted(statement: Statement): boolean {
    return this.#hoisted.has(statement);
  }

  /** Registers an authored statement as the value for this key. It may be hoisted if its operands are all in `movableOperands`. */
  registerAuthored(key: string, movableOperands: readonly Argument[], statement: OpStatement): void {
    const scopedKey = this.#scopedKey(key);
    this.#recordPath(scopedKey);
    this.#inPlace.add(statement);
    const isMovable = statement.operands.every((operand) => operand === undefined || movableOperands.includes(operand));
    if (isMovable && !this.#authored.has(scopedKey)) this.#authored.set(scopedKey, statement);
    this.#valuesAt(this.#blocks.length).set(scopedKey, new Handle(onlyResult(statement)));
  }

  /** The value of this key. `make` is called if no visible block defines it yet. */
  getOrCreate(key: string, operands: readonly Argument[], make: () => Handle): Handle {
    const path = this.#placementPath(key, operands);
    const scopedKey = this.#scopedKey(key);
    const authored = path === this.#plan?.paths.get(scopedKey) ? this.#plan.authored.get(scopedKey) : undefined;
    // A statement that was already emitted in a nested block, such as a loop's body, is not visible here and stays
    // there.
    const isNotYetEmitted = authored !== undefined && !this.#inPlace.has(authored);
    return this.getOrCreateAt(key, path.length, isNotYetEmitted ? () => this.#hoist(authored, path) : make);
  }

  /** Hoists an authored statement. Its operands are visible, because users of the value depend on them as well. */
  #hoist(statement: OpStatement, path: BlockPath): Handle {
    this.#hoisted.add(statement);
    for (const value of statement.results) this.#definitionPaths.set(value, path);
    this.#recorder.append(statement);
    return new Handle(onlyResult(statement));
  }

  /** The value of this key, defined in this block if no enclosing block defines it. */
  getOrCreateInBlock(key: string, make: () => Handle): Handle {
    return this.getOrCreateAt(key, this.#path.length, make);
  }

  /**
   * The value of this key, hoisted out of all loops in which it is invariant. With `isPrivate`, it is not shared with other
   * blocks.
   */
  getOrHoist(key: string, operands: readonly Argument[], make: () => Handle, isPrivate = false): Handle {
    let path = isPrivate ? this.#path : this.#placementPath(key, operands);
    while (this.#loops.has(path.at(-1)) && this.#areVisible(operands, path.slice(0, -1))) path = path.slice(0, -1);
    return this.getOrCreateAt(key, path.length, make);
  }

  /** The innermost block that encloses all uses, or the current block if the operands are not visible there. */
  #placementPath(key: string, operands: readonly Argument[]): BlockPath {
    const path = this.recordUse(key);
    return this.#areVisible(operands, path) ? path : this.#path;
  }

  #areVisible(operands: readonly Argument[], path: BlockPath): boolean {
    return operands.every(
      (argument) => !isValue(argument) || isPrefix(this.#definitionPaths.get(argument) ?? [], path),
    );
  }

  /** The value of this key, defined in the block at `depth` if no open block defines it. */
  getOrCreateAt(key: string, depth: number, make: () => Handle): Handle {
    const scopedKey = this.#scopedKey(key);
    for (const { values } of this.#blocks) {
      const value = values.get(scopedKey);
      if (value) return value;
    }
    const created = this.#recorder.inOuterBlock(depth, make);
    this.#valuesAt(depth).set(scopedKey, created);
    return created;
  }

  /** The values that the open block at this depth defines. */
  #valuesAt(depth: number): Map<string, Handle> {
    const open = this.#blocks[depth - 1];
    if (!open) throw new Error(`no block is open at depth ${depth}`);
    return open.values;
  }

  /** Records a use here. Returns the blocks that enclose all recorded uses. */
  recordUse(key: string): BlockPath {
    const scopedKey = this.#scopedKey(key);
    this.#recordPath(scopedKey);
    return this.#plan?.paths.get(scopedKey) ?? this.#path;
  }

  #recordPath(key: string): void {
    const [path, recordedPath] = [this.#path, this.#paths.get(key)];
    this.#paths.set(key, recordedPath ? path.filter((block, depth) => recordedPath[depth] === block) : path);
  }

  /**
   * Scopes a key to the current function. Functions share the kernel's sizes, but not the values computed from them.
   */
  #scopedKey(key: string): string {
    return `${this.#roots}:${key}`;
  }
}

function isPrefix(outer: BlockPath, path: BlockPath): boolean {
  return outer.every((block, depth) => path[depth] === block);
}
