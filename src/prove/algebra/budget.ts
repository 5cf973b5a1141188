/**
 * The budget of proof steps. It counts steps instead of time, so a verdict is the same on every machine. A query
 * whether a polynomial is nonnegative costs a step, and so does each condition of a linear system.
 */
export class Budget {
  #spare: number;
  #granted: number;
  #remaining: number;

  /** Unproved obligations share `limit`. Once it is used up, each further obligation gets `least`. */
  constructor(
    readonly limit: number,
    readonly minimum = limit,
  ) {
    this.#spare = this.#granted = this.#remaining = limit;
  }

  /** Starts the budget of another obligation. */
  refill(): void {
    this.#granted = this.#remaining = Math.max(this.minimum, this.#spare);
  }

  /** Deducts the steps of an unproved obligation from the shared limit. */
  chargeShared(): void {
    this.#spare -= this.#granted - this.#remaining;
  }

  /** Spends steps. Returns false if the budget is exhausted. */
  spend(steps: number): boolean {
    this.#remaining -= steps;
    return !this.isExhausted;
  }

  get remaining(): number {
    return this.#remaining;
  }

  get isExhausted(): boolean {
    return this.#remaining < 0;
  }
}
