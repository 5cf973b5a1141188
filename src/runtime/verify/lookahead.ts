/**
 * Prefetches results for a consumer that takes them in order, so that several workers are busy. The order of results
 * does not depend on the number of workers.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import { withDeadline } from "../system/deadline.js";

/** The time that unneeded work in progress has to finish before it is stopped. */
const DRAIN_MS = 2_000;

export class Lookahead<Item, Result> {
  readonly #start: (item: Item, index: number) => Promise<Result>;
  readonly #concurrency: number;
  #items: readonly Item[] = [];
  #started: { readonly item: Item; readonly result: Promise<Result>; isDone: boolean }[] = [];
  #takenCount = 0;

  /** `concurrency` is the number of items in progress at a time. If it is 1, nothing starts before it is taken. */
  constructor(concurrency: number, start: (item: Item, index: number) => Promise<Result>) {
    this.#concurrency = concurrency;
    this.#start = start;
  }

  /** Announces the items that `take` will request, in this order. */
  expect(items: readonly Item[]): void {
    this.#items = items;
    this.#started = [];
    this.#takenCount = 0;
    this.#fill();
  }

  /** Returns the result of an item. Starts it now if it was not expected at this index. */
  async take(item: Item, index: number): Promise<Result> {
    const entry = this.#started[index];
    this.#takenCount = Math.max(this.#takenCount, index + 1);
    this.#fill();
    return entry && isSame(entry.item, item) ? entry.result : this.#start(item, index);
  }

  /** Waits for work in progress. If that takes too long, calls `end`, which must stop the work. */
  async drop(end: () => Promise<void>): Promise<void> {
    this.#items = [];
    const pending = this.#started.filter(({ isDone }) => !isDone).map(({ result }) => result);
    if (pending.length > 0 && (await withDeadline(Promise.allSettled(pending), DRAIN_MS)) === "late") await end();
  }

  /** Starts work until all workers are busy. Results may be at most that far ahead of the consumer again. */
  #fill(): void {
    if (this.#concurrency < 2) return;
    const limit = Math.min(this.#items.length, this.#takenCount + 2 * this.#concurrency);
    while (this.#started.length < limit && this.#started.filter(({ isDone }) => !isDone).length < this.#concurrency) {
      const item = this.#items[this.#started.length]!;
      const entry = { item, result: this.#start(item, this.#started.length), isDone: false };
      this.#started.push(entry);
      const onSettled = (): void => {
        entry.isDone = true;
        this.#fill();
      };
      entry.result.then(onSettled, onSettled);
    }
  }
}

/** Compares by value, because fast-check generates equal cases again. */
function isSame(lhs: unknown, rhs: unknown): boolean {
  return lhs === rhs || cacheKey(lhs) === cacheKey(rhs);
}
