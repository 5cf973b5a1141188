/** How much work a proof may take. It counts steps and never time, so a verdict is the same on every machine. */

export interface Limits {
  /** Questions whether something is at least zero. */
  readonly questions: number;
  /** Linear systems. */
  readonly linear: number;
}

export class Budget {
  #left: { questions: number; linear: number };

  constructor(readonly limits: Limits) {
    this.#left = { ...limits };
  }

  /** All of it again, for another obligation. */
  refill(): void {
    this.#left = { ...this.limits };
  }

  /** Whether a step of this kind is left; it is then taken. */
  spend(kind: keyof Limits): boolean {
    return --this.#left[kind] >= 0;
  }

  get spent(): boolean {
    return this.#left.questions < 0 || this.#left.linear < 0;
  }
}
