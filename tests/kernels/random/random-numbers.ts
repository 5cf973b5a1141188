/** Numbers and choices that follow from a seed. */

export interface Draw {
  readonly pick: <T>(list: readonly T[]) => T;
  readonly chance: (p: number) => boolean;
  /** A whole number from `from` to `to`. */
  readonly whole: (from: number, to: number) => number;
}

export function drawFrom(seed: number): Draw {
  const random = randomFrom(seed);
  return {
    pick: (list) => list[Math.floor(random() * list.length)]!,
    chance: (p) => random() < p,
    whole: (from, to) => from + Math.floor(random() * (to - from + 1)),
  };
}

/** mulberry32 */
function randomFrom(seed: number) {
  let state = seed >>> 0;
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A random kernel that has a warp-specialized form. */
export interface RandomKernel {
  readonly name: string;
  readonly kernel: unknown;
  readonly dtype: "float16" | "bfloat16";
  /** What was drawn, for reports. */
  readonly words: string;
  /** Sizes to compare it at. */
  readonly sizes: readonly Readonly<Record<string, number>>[];
  /** Whether its inputs' axes lie in memory in another order, the last one apart. */
  readonly isStrided: boolean;
}
