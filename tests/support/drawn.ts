/** Numbers in [0, 1) that a seed determines. */
export function drawn(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}
