/**
 * Buffers of tiles, used again. Making a typed array and collecting it costs as much as a few passes over a tile, and a
 * kernel makes some for every op of every program. Inside a scope, what {@link allocate} and its kin give belongs to the
 * scope: where that ends, all of it is handed out again but what is said to live on.
 */
import type { TileData } from "./numeric.js";

type ArrayOf<T extends TileData> = new (length: number) => T;
/** A place in the order in which buffers were handed out. */
export type Mark = number;

/** Up to so many elements an array costs next to nothing: V8 keeps them beside the object. */
const SMALL = 8;
/** Beyond so many bytes the garbage collector has them. */
const MOST_BYTES = 2 ** 26;

const free = new Map<unknown, Map<number, TileData[]>>();
const taken: TileData[] = [];
let bytes = 0;
let isOpen = false;
let generation = 0;

/**
 * Changes whenever buffers are taken back: what was computed before may have lost its elements. Always the same outside
 * of scopes.
 */
export const poolGeneration = (): number => (isOpen ? generation : -1);

/** An array with any elements: for what is overwritten entirely. */
export function unset<T extends TileData>(of: ArrayOf<T>, length: number): T {
  if (!isOpen || length <= SMALL) return new of(length);
  return (reused(of, length) as T | undefined) ?? fresh(of, length);
}

/** An array of zeros. */
export function zeros<T extends TileData>(of: ArrayOf<T>, length: number): T {
  if (!isOpen || length <= SMALL) return new of(length);
  const again = reused(of, length) as T | undefined;
  if (again === undefined) return fresh(of, length);
  if (again instanceof BigInt64Array || again instanceof BigUint64Array) again.fill(0n);
  else again.fill(0);
  return again;
}

/** An array of ones, such as a mask with every lane on. */
export function ones(length: number): Uint8Array {
  return unset(Uint8Array, length).fill(1);
}

function reused(of: unknown, length: number): TileData | undefined {
  const array = free.get(of)?.get(length)?.pop();
  if (array !== undefined) taken.push(array);
  return array;
}

function fresh<T extends TileData>(of: ArrayOf<T>, length: number): T {
  const array = new of(length);
  if (bytes + array.byteLength > MOST_BYTES) return array;
  bytes += array.byteLength;
  taken.push(array);
  return array;
}

/** Runs `body` in a scope of its own, at whose end nothing lives on. Scopes of this kind do not nest. */
export function pooled(body: () => void): void {
  // Other kernels may have left arrays of other lengths.
  if (bytes > MOST_BYTES / 2) {
    free.clear();
    bytes = 0;
  }
  isOpen = true;
  try {
    body();
  } finally {
    release(0);
    isOpen = false;
  }
}

/** Runs `body` where what is allocated belongs to nobody. */
export function unpooled<T>(body: () => T): T {
  const was = isOpen;
  isOpen = false;
  try {
    return body();
  } finally {
    isOpen = was;
  }
}

/** Where a scope inside the outermost one begins. */
export const mark = (): Mark => taken.length;

/** Takes back what was handed out since, but for the arrays on these buffers. */
export function release(since: Mark, kept?: ReadonlySet<ArrayBufferLike>): void {
  if (taken.length === since) return;
  generation++;
  let next = since;
  for (let i = since; i < taken.length; i++) {
    const array = taken[i]!;
    if (kept?.has(array.buffer)) taken[next++] = array;
    else giveBack(array);
  }
  taken.length = next;
}

function giveBack(array: TileData): void {
  let lengths = free.get(array.constructor);
  if (lengths === undefined) free.set(array.constructor, (lengths = new Map()));
  const list = lengths.get(array.length);
  if (list === undefined) lengths.set(array.length, [array]);
  else list.push(array);
}
