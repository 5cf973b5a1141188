/**
 * Work whose results are taken in order, begun early so that several workers have some. What is taken does not depend
 * on how many there are.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import { withDeadline } from "../system/deadline.js";

/** Work in progress that nobody will ask for ends within this time, or is ended. */
const REST_MS = 2_000;

export class Lookahead<Item, Result> {
  readonly #begin: (item: Item, place: number) => Promise<Result>;
  readonly #lanes: number;
  #items: readonly Item[] = [];
  #begun: { readonly item: Item; readonly result: Promise<Result>; isDone: boolean }[] = [];
  #taken = 0;

  /** `lanes` is how much is done at a time; with one lane nothing is begun before it is asked for. */
  constructor(lanes: number, begin: (item: Item, place: number) => Promise<Result>) {
    this.#lanes = lanes;
    this.#begin = begin;
  }

  /** Says what `take` will ask for, in this order. */
  expect(items: readonly Item[]): void {
    this.#items = items;
    this.#begun = [];
    this.#taken = 0;
    this.#fill();
  }

  /** The result of an item, which is begun now if it was not expected at this place. */
  async take(item: Item, place: number): Promise<Result> {
    const begun = this.#begun[place];
    this.#taken = Math.max(this.#taken, place + 1);
    this.#fill();
    return begun && isSame(begun.item, item) ? begun.result : this.#begin(item, place);
  }

  /** Waits for what is in progress; `end` is called if that takes long, and ends it. */
  async drop(end: () => Promise<void>): Promise<void> {
    this.#items = [];
    const left = this.#begun.filter(({ isDone }) => !isDone).map(({ result }) => result);
    if (left.length > 0 && (await withDeadline(Promise.allSettled(left), REST_MS)) === "late") await end();
  }

  /** Begins work until every lane has some. The one who takes results may be behind by as much again. */
  #fill(): void {
    if (this.#lanes < 2) return;
    const most = Math.min(this.#items.length, this.#taken + 2 * this.#lanes);
    while (this.#begun.length < most && this.#begun.filter(({ isDone }) => !isDone).length < this.#lanes) {
      const item = this.#items[this.#begun.length]!;
      const begun = { item, result: this.#begin(item, this.#begun.length), isDone: false };
      this.#begun.push(begun);
      const done = (): void => {
        begun.isDone = true;
        this.#fill();
      };
      begun.result.then(done, done);
    }
  }
}

/** A case is drawn anew each time it is asked for. */
function isSame(left: unknown, right: unknown): boolean {
  return left === right || cacheKey(left) === cacheKey(right);
}
