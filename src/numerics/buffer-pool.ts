/**
 * Reuses the buffers of tiles. Making and collecting a typed array costs as much as a few passes over a tile, and a
 * kernel makes some for every op of every program. Inside a scope, each array from {@link allocate}, {@link allocateUninitialized} or
 * {@link zeros} belongs to the scope. When the scope ends, all of them are reused except those named as kept.
 */
import { arrayOf, type NumericDType, type TileData } from "./numeric.js";

type ArrayOf<T extends TileData> = new (length: number) => T;
/** A position in the order of allocation. */
export type PoolMark = number;

/** Arrays up to this length are cheap, because V8 stores their elements in the object; they are not pooled. */
const SMALL = 8;
/** The most bytes to pool; further arrays are left to the garbage collector. */
const MOST_BYTES = 2 ** 26;

const free = new Map<unknown, Map<number, TileData[]>>();
const taken: TileData[] = [];
let bytes = 0;
let isOpen = false;
let generation = 0;

/**
 * Changes whenever buffers are released: arrays computed before may have been overwritten. Constant outside scopes.
 */
export const poolGeneration = (): number => (isOpen ? generation : -1);

/** An array with arbitrary elements, which the caller must overwrite. */
export function allocateUninitialized<T extends TileData>(of: ArrayOf<T>, length: number): T {
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
  return allocateUninitialized(Uint8Array, length).fill(1);
}

/** Zeros of a dtype. */
export function allocate(dtype: NumericDType, length: number): TileData {
  return zeros(arrayOf(dtype), length);
}

/** Arbitrary elements of a dtype, which the caller must overwrite. */
export function allocateUnset(dtype: NumericDType, length: number): TileData {
  return allocateUninitialized(arrayOf(dtype), length);
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

/** Runs `body` in an outermost scope, which keeps nothing. Such scopes do not nest. */
export function pooled(body: () => void): void {
  // Drop arrays whose lengths only other kernels need.
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

/** Runs `body` without pooling its allocations. */
export function unpooled<T>(body: () => T): T {
  const was = isOpen;
  isOpen = false;
  try {
    return body();
  } finally {
    isOpen = was;
  }
}

/** Starts a scope inside the outermost one. */
export const mark = (): PoolMark => taken.length;

/** Ends the scope that started at `since`: releases its arrays, except those in these buffers. */
export function release(since: PoolMark, kept?: ReadonlySet<ArrayBufferLike>): void {
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
