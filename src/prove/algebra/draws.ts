/** A seeded pseudorandom source, so that results are reproducible. */
export class RandomSource {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = (seed + 1) * 0x9e3779b1;
  }

  #below(end: number): number {
    this.#state = (Math.imul(this.#state, 0x19660d) + 0x3c6ef35f) | 0;
    return (this.#state >>> 8) % end;
  }

  #choose(...choices: readonly [number, ...number[]]): number {
    return choices[this.#below(choices.length)] ?? choices[0];
  }

  /** A few integers of a range, including its ends. Empty if the range is empty. */
  sampleRange(lower: number, upper: number): readonly number[] {
    if (lower > upper) return [];
    const from = Number.isFinite(lower) ? lower : Math.min(upper, 0);
    const to = Math.min(upper, from + this.#choose(4, 100, 1000));
    const interior = from + this.#below(to - from + 1);
    // Sizes 0 and 1 are special. Facts that are refuted at larger sizes are more general.
    if (this.seed % 2 === 0 && upper === Infinity) return [...new Set([interior, to, from])];
    const end = Number.isFinite(upper) ? upper : to;
    return [...new Set([this.#choose(from, interior, to, end), interior, from, end])];
  }
}
