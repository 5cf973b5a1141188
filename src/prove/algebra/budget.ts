/**
 * How much work proofs may take. It counts steps and never time, so a verdict is the same on every machine: a question
 * whether something is at least zero is a step, and so is each condition of a linear system.
 */
export class Budget {
  #spare: number;
  #given: number;
  #left: number;

  /** Obligations that stay open share `limit`; where that is used up, each of the next ones has `least`. */
  constructor(
    readonly limit: number,
    readonly least = limit,
  ) {
    this.#spare = this.#given = this.#left = limit;
  }

  /** Starts again, for another obligation. */
  refill(): void {
    this.#given = this.#left = Math.max(this.least, this.#spare);
  }

  /** Says that what was spent since led to nothing. */
  lose(): void {
    this.#spare -= this.#given - this.#left;
  }

  /** Takes steps, and says whether there were as many. */
  spend(steps: number): boolean {
    this.#left -= steps;
    return !this.spent;
  }

  get left(): number {
    return this.#left;
  }

  get spent(): boolean {
    return this.#left < 0;
  }
}
