/** Expressions that wait to be written at their use, and the parts of the statement being written. */
import type { Location } from "../../diagnostics/diagnostic.js";
import type { Value } from "../../ir/nodes.js";
import type { Expression } from "../syntax/py.js";
import type { Written } from "../../analysis/use-counts.js";

/** A waiting expression. */
export interface DeferredExpression {
  readonly expression: Expression;
  readonly reads: ReadonlySet<Written>;
  /** The author's places that it comes from. */
  readonly sites: readonly Location[];
  /** How many expressions that waited are inside each other in it. */
  readonly depth: number;
  /** Its name if it has to be written before its use. */
  readonly hint: string;
}

export class DeferredExpressions {
  readonly #pending = new Map<Value, DeferredExpression>();
  /** The number of outstanding uses of each waiting value. */
  readonly #left = new Map<Value, number>();
  #reads = new Set<Written>();
  #depth = 0;
  #sites: Location[] = [];

  /** `uses` says how often each value is used. */
  constructor(readonly uses: ReadonlyMap<Value, number>) {}

  /** The state that the statement being written reads. */
  get reads(): ReadonlySet<Written> {
    return this.#reads;
  }

  /** How deep the expressions are that the statement being written has used. */
  get depth(): number {
    return this.#depth;
  }

  /** Lets a value wait instead of writing a statement here. */
  defer(value: Value, pending: Omit<DeferredExpression, "sites" | "depth">, at: Location | undefined): void {
    const depth = this.#depth + 1;
    this.#pending.set(value, { ...pending, depth, sites: this.takeSites(at) });
  }

  /** The expression of a waiting value, which becomes part of the statement being written. */
  takeExpression(value: Value): Expression {
    const pending = this.#pending.get(value);
    if (!pending) throw new Error(`value %${value.id} is used before it is made`);
    for (const read of pending.reads) this.#reads.add(read);
    this.#depth = Math.max(this.#depth, pending.depth);
    this.#sites.push(...pending.sites);
    const left = (this.#left.get(value) ?? this.uses.get(value) ?? 1) - 1;
    this.#left.set(value, left);
    if (left === 0) this.#pending.delete(value);
    return pending.expression;
  }

  /** The author's places of the statement at `at`; resets them for the next statement. */
  takeSites(at: Location | undefined): readonly Location[] {
    const sites = at ? [...this.#sites, at] : this.#sites;
    this.#sites = [];
    this.#reads = new Set();
    this.#depth = 0;
    return sites;
  }

  /** Passes each value that is due to `write`, which writes it as a statement. */
  writeOut(
    isDue: (value: Value, pending: DeferredExpression) => boolean,
    write: (value: Value, pending: DeferredExpression) => void,
  ): void {
    for (const [value, pending] of this.#pending) {
      if (!isDue(value, pending)) continue;
      this.#pending.delete(value);
      const sites = this.#sites;
      this.#sites = [...pending.sites];
      write(value, pending);
      this.#sites = sites;
    }
  }
}
