/** Expressions that are printed at their use, and the ones already used in the current statement. */
import type { Location } from "../../diagnostics/diagnostic.js";
import type { Value } from "../../ir/nodes.js";
import type { Expression } from "../syntax/py.js";
import type { WriteTarget } from "../../analysis/use-counts.js";
import { showType } from "../../types/types.js";

/** An expression without a name, to be inlined at its uses. */
export interface DeferredExpression {
  readonly expression: Expression;
  readonly reads: ReadonlySet<WriteTarget>;
  /** The author's source locations that the expression comes from. */
  readonly sites: readonly Location[];
  /** The nesting depth of deferred expressions. */
  readonly depth: number;
  /** The name of the variable if the expression must be materialized before its use. */
  readonly hint: string;
}

export class DeferredExpressions {
  readonly #pending = new Map<Value, DeferredExpression>();
  /** The number of outstanding uses of each deferred value. */
  readonly #remainingUses = new Map<Value, number>();
  #reads = new Set<WriteTarget>();
  #depth = 0;
  #sites: Location[] = [];

  /** `uses` counts the uses of each value. */
  constructor(readonly uses: ReadonlyMap<Value, number>) {}

  /** The variables and memory that the current statement reads. */
  get reads(): ReadonlySet<WriteTarget> {
    return this.#reads;
  }

  /** The greatest depth of the deferred expressions in the current statement. */
  get depth(): number {
    return this.#depth;
  }

  /** Defers a value to its uses instead of assigning it here. */
  defer(value: Value, pending: Omit<DeferredExpression, "sites" | "depth">, at: Location | undefined): void {
    const depth = this.#depth + 1;
    this.#pending.set(value, { ...pending, depth, sites: this.takeSites(at) });
  }

  /** Takes the expression of a deferred value into the current statement. */
  takeExpression(value: Value): Expression {
    const pending = this.#pending.get(value);
    if (!pending) throw new Error(`value %${value.id} is used before it is made`);
    for (const read of pending.reads) this.#reads.add(read);
    this.#depth = Math.max(this.#depth, pending.depth);
    this.#sites.push(...pending.sites);
    const remaining = (this.#remainingUses.get(value) ?? this.uses.get(value) ?? 1) - 1;
    this.#remainingUses.set(value, remaining);
    if (remaining === 0) this.#pending.delete(value);
    return pending.expression;
  }

  /** Returns the source locations of the current statement, and resets the state for the next one. */
  takeSites(at: Location | undefined): readonly Location[] {
    const sites = at ? [...this.#sites, at] : this.#sites;
    this.#sites = [];
    this.#reads = new Set();
    this.#depth = 0;
    return sites;
  }

  /** Calls `assign` for each deferred value that is due. */
  materialize(
    isDue: (value: Value, pending: DeferredExpression) => boolean,
    assign: (value: Value, pending: DeferredExpression) => void,
  ): void {
    for (const [value, pending] of this.#pending) {
      if (!isDue(value, pending)) continue;
      this.#pending.delete(value);
      const sites = this.#sites;
      this.#sites = [...pending.sites];
      assign(value, pending);
      this.#sites = sites;
    }
  }
}

// Scoped value numbering: an expression that a JavaScript helper computes again reuses the name of the first result.

interface NumberedValue {
  /** The author's name, or the hint for an unnamed value. */
  readonly name: string;
  readonly hasAuthorName: boolean;
  readonly target: Expression;
}

export class ScopedValueNumbering {
  /** One map per open block, keyed by expression and type. */
  readonly #blocks: Map<string, NumberedValue>[] = [];

  /** Runs `body` in a new scope. */
  block<T>(body: () => T): T {
    this.#blocks.push(new Map());
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }

  record(expression: Expression, name: string, value: Value, target: Expression): void {
    this.#blocks.at(-1)?.set(keyOf(expression, value), { name, hasAuthorName: !value.isAnonymous, target });
  }

  /**
   * The name that already has this value. Values with different author names stay separate. Loads are never recorded.
   */
  find(expression: Expression, name: string, value: Value): Expression | undefined {
    const key = keyOf(expression, value);
    const entry = this.#blocks.map((block) => block.get(key)).find((each) => each !== undefined);
    return entry && (entry.name === name || value.isAnonymous || !entry.hasAuthorName) ? entry.target : undefined;
  }
}

function keyOf(expression: Expression, { type }: Value): string {
  return `${showType(type)} ${JSON.stringify(expression)}`;
}
