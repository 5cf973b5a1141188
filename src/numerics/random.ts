/** Random numbers: Philox as in Triton, and a seeded generator. */
import { umulhi, umulhiBig } from "./numeric-int.js";

/** A small seeded random generator with the same results on every machine. */

/** Uniform in [0, 1): mulberry32 (T. Ettinger, public domain). */
export function uniform(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Normal with mean 0 and variance 1 (Box-Muller). */
export function normal(random: () => number): () => number {
  let spare: number | undefined;
  return () => {
    if (spare !== undefined) {
      const value = spare;
      spare = undefined;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    const angle = 2 * Math.PI * random();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

/** `0, 1, …, count - 1` in random order (Fisher-Yates). */
export function shuffled(count: number, random: () => number): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

/** The seed of a named stream. */
export function seedOf(seed: number, name: string): number {
  let hash = seed | 0;
  for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  return hash;
}

// The Philox generator: maps counters and keys to the same number of random words (Salmon et al., "Parallel random
// numbers", 2011).

const WORD = { keyA: 0x9e3779b9, keyB: 0xbb67ae85, roundA: 0xd2511f53, roundB: 0xcd9e8d57 };
const LONG = {
  keyA: 0x9e3779b97f4a7c15n,
  keyB: 0xbb67ae8584caa73bn,
  roundA: 0xd2e7470ee14c6c93n,
  roundB: 0xca5a826395121157n,
};

/** Four counters, or the random words that replace them. */
export type Words<Word extends number | bigint> = [Word, Word, Word, Word];

/** Replaces four counters, 32-bit words, with random words. Words may be signed. */
export function philox32(c: Words<number>, key0: number, key1: number, rounds: number): void {
  let [k0, k1] = [key0 | 0, key1 | 0];
  let [c0, c1, c2, c3] = [c[0] | 0, c[1] | 0, c[2] | 0, c[3] | 0];
  for (let i = 0; i < rounds; i++) {
    const [b, a] = [c2, c0];
    c0 = umulhi(WORD.roundB, b) ^ c1 ^ k0;
    c2 = umulhi(WORD.roundA, a) ^ c3 ^ k1;
    c1 = Math.imul(WORD.roundB, b);
    c3 = Math.imul(WORD.roundA, a);
    k0 = (k0 + WORD.keyA) | 0;
    k1 = (k1 + WORD.keyB) | 0;
  }
  c[0] = c0;
  c[1] = c1;
  c[2] = c2;
  c[3] = c3;
}

/** {@link philox32} with unsigned 64-bit words. */
export function philox64(c: Words<bigint>, key0: bigint, key1: bigint, rounds: number): void {
  let [k0, k1] = [key0, key1];
  for (let i = 0; i < rounds; i++) {
    const [c0, c1, c2, c3] = c;
    c[0] = umulhiBig(LONG.roundB, c2) ^ c1 ^ k0;
    c[2] = umulhiBig(LONG.roundA, c0) ^ c3 ^ k1;
    c[1] = BigInt.asUintN(64, LONG.roundB * c2);
    c[3] = BigInt.asUintN(64, LONG.roundA * c0);
    k0 = BigInt.asUintN(64, k0 + LONG.keyA);
    k1 = BigInt.asUintN(64, k1 + LONG.keyB);
  }
}

const f = Math.fround;
const SCALE = f(4.6566127342e-10);
const SCALE_LONG = f(1.0842020432385337e-19);

/** Maps a word to a float32 in [0, 1). */
export const uniform32 = (bits: number): number => f(f((bits | 0) < 0 ? ~(bits | 0) : bits | 0) * SCALE);

/** Maps a 64-bit word to a float32 in [0, 1). */
export function uniform64(bits: bigint): number {
  const signed = BigInt.asIntN(64, bits);
  return f(f(Number(signed < 0n ? ~signed : signed)) * SCALE_LONG);
}

/** Converts two uniform numbers to two normal ones (Box-Muller), in float32 as Triton does. */
export function normals(u1: number, u2: number): readonly [number, number] {
  const angle = f(f(6.283185307179586) * u2);
  const radius = f(Math.sqrt(f(-2 * f(Math.log(Math.max(f(1e-7), u1))))));
  return [f(radius * f(Math.cos(angle))), f(radius * f(Math.sin(angle)))];
}
