/** Numbers that look random and follow from a seed, so that what is found with them is found again. */
export class RandomSource {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = (seed + 1) * 0x9e3779b1;
  }

  #below(end: number): number {
    this.#state = (Math.imul(this.#state, 0x19660d) + 0x3c6ef35f) | 0;
    return (this.#state >>> 8) % end;
  }

  /** A few integers of a range, some of them at its ends; none if it is empty. */
  between(least: number, most: number): readonly number[] {
    if (least > most) return [];
    const from = Number.isFinite(least) ? least : Math.min(most, 0);
    const to = Math.min(most, from + [4, 100, 1000][this.#below(3)]!);
    const inside = from + this.#below(to - from + 1);
    // Sizes of 0 and 1 are special; what is found of others holds of more.
    if (this.seed % 2 === 0 && most === Infinity) return [...new Set([inside, to, from])];
    const end = Number.isFinite(most) ? most : to;
    return [...new Set([[from, inside, to, end][this.#below(4)]!, inside, from, end])];
  }
}
