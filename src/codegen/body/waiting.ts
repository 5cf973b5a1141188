/** Expressions that wait to be written where they are used, and what the statement that is being written is made of. */
import type { Location } from "../../diagnostics/diagnostic.js";
import type { Value } from "../../ir/nodes.js";
import type { Expression } from "../python/py.js";
import type { Written } from "./usage.js";

/** An expression that waits. */
export interface Pending {
  readonly expression: Expression;
  readonly reads: ReadonlySet<Written>;
  /** The author's places that it comes from. */
  readonly sites: readonly Location[];
  /** What it would be called if it had to be written before its use. */
  readonly hint: string;
}

export class Waiting {
  readonly #pending = new Map<Value, Pending>();
  /** How many uses of a value that waits are still to come. */
  readonly #left = new Map<Value, number>();
  #reads = new Set<Written>();
  #sites: Location[] = [];

  /** `uses` says how often each value is used. */
  constructor(readonly uses: ReadonlyMap<Value, number>) {}

  /** What the statement that is being written reads. */
  get reads(): ReadonlySet<Written> {
    return this.#reads;
  }

  /** Lets a value wait, in place of a statement at this place. */
  put(value: Value, pending: Omit<Pending, "sites">, at: Location | undefined): void {
    this.#pending.set(value, { ...pending, sites: this.takeSites(at) });
  }

  /** The expression of a value that waits: what is being written is made of it now. */
  use(value: Value): Expression {
    const pending = this.#pending.get(value);
    if (!pending) throw new Error(`value %${value.id} is used before it is made`);
    for (const read of pending.reads) this.#reads.add(read);
    this.#sites.push(...pending.sites);
    const left = (this.#left.get(value) ?? this.uses.get(value) ?? 1) - 1;
    this.#left.set(value, left);
    if (left === 0) this.#pending.delete(value);
    return pending.expression;
  }

  /** The places that the statement at `at` is made of; the next one begins with none. */
  takeSites(at: Location | undefined): readonly Location[] {
    const sites = at ? [...this.#sites, at] : this.#sites;
    this.#sites = [];
    this.#reads = new Set();
    return sites;
  }

  /** Hands each value that is due to `write`, which writes a statement of its own. */
  writeOut(isDue: (value: Value, pending: Pending) => boolean, write: (value: Value, pending: Pending) => void): void {
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
