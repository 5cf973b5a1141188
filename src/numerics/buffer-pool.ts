/**
 * Reuses the buffers of tiles. Allocating and collecting a typed array costs as much as a few passes over a tile, and
 * each op of each program needs some. In a scope, each array from {@link allocate}, {@link allocateUninitialized} or
 * {@link zeros} belongs to that scope. At the end of the scope, all its arrays are reused, except explicitly retained
 * ones.
 */
import { arrayOf, type NumericDType, type TileData, type NumberData } from "./numeric-int.js";

type ArrayOf<T extends TileData> = new (length: number) => T;
/** A position in the order of allocation. */
export type PoolMark = number;

/**
 * Maximum length of arrays that are not pooled. Small arrays are cheap, because V8 stores their elements in the object.
 */
const MAX_UNPOOLED_LENGTH = 8;
/** Limit on pooled bytes. Further arrays are left to the garbage collector. */
const MAX_POOLED_BYTES = 2 ** 26;

const freeArrays = new Map<unknown, Map<number, TileData[]>>();
const usedArrays: TileData[] = [];
let bytes = 0;
let isOpen = false;
let generation = 0;

/** Changes whenever buffers are released, because earlier arrays may then be overwritten. Constant outside scopes. */
export const poolGeneration = (): number => (isOpen ? generation : -1);

/** An array with arbitrary elements, which the caller must overwrite. */
export function allocateUninitialized<T extends TileData>(arrayType: ArrayOf<T>, length: number): T {
  if (!isOpen || length <= MAX_UNPOOLED_LENGTH) return new arrayType(length);
  return (takeFree(arrayType, length) as T | undefined) ?? allocateNew(arrayType, length);
}

/** An array of zeros. */
export function zeros<T extends TileData>(arrayType: ArrayOf<T>, length: number): T {
  if (!isOpen || length <= MAX_UNPOOLED_LENGTH) return new arrayType(length);
  const array = takeFree(arrayType, length) as T | undefined;
  if (array === undefined) return allocateNew(arrayType, length);
  if (array instanceof BigInt64Array || array instanceof BigUint64Array) array.fill(0n);
  else array.fill(0);
  return array;
}

/** An array of ones, such as a mask whose lanes are all active. */
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

function takeFree(arrayType: unknown, length: number): TileData | undefined {
  const array = freeArrays.get(arrayType)?.get(length)?.pop();
  if (array !== undefined) usedArrays.push(array);
  return array;
}

function allocateNew<T extends TileData>(arrayType: ArrayOf<T>, length: number): T {
  const array = new arrayType(length);
  if (bytes + array.byteLength > MAX_POOLED_BYTES) return array;
  bytes += array.byteLength;
  usedArrays.push(array);
  return array;
}

/** Calls `body` in an outermost scope, which retains nothing. These scopes do not nest. */
export function pooled(body: () => void): void {
  // Drops arrays whose lengths only other kernels need.
  if (bytes > MAX_POOLED_BYTES / 2) {
    freeArrays.clear();
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

/** Calls `body` without pooling its allocations. */
export function unpooled<T>(body: () => T): T {
  const wasOpen = isOpen;
  isOpen = false;
  try {
    return body();
  } finally {
    isOpen = wasOpen;
  }
}

/** Starts a scope in the outermost one. */
export const mark = (): PoolMark => usedArrays.length;

/** Ends the scope that started at `start`: releases its arrays, except those in these buffers. */
export function release(start: PoolMark, retained?: ReadonlySet<ArrayBufferLike>): void {
  if (usedArrays.length === start) return;
  generation++;
  let next = start;
  for (let i = start; i < usedArrays.length; i++) {
    const array = usedArrays[i]!;
    if (retained?.has(array.buffer)) usedArrays[next++] = array;
    else returnToPool(array);
  }
  usedArrays.length = next;
}

function returnToPool(array: TileData): void {
  let lengths = freeArrays.get(array.constructor);
  if (lengths === undefined) freeArrays.set(array.constructor, (lengths = new Map()));
  const list = lengths.get(array.length);
  if (list === undefined) lengths.set(array.length, [array]);
  else list.push(array);
}

// Compiles a separate loop for each elementwise function. V8 inlines a function if its loop has only ever called that
// function. Such a loop is four times as fast as one shared by all ops (measured, Node 20).

/** A function gets its own loop at this many calls. For fewer, compiling does not pay off. */
const MIN_CALLS_TO_COMPILE = 4;

/**
 * Returns `loopOf(f)`, as a separate copy for each frequently used `f`. `loopOf` is compiled from its source text, so
 * it may only refer to `f` and its own variables.
 */
export function loopsOf<F extends object, Loop>(loopOf: (f: F) => Loop): (f: F) => Loop {
  const loops = new WeakMap<F, { calls: number; loop: Loop }>();
  return (f) => {
    let entry = loops.get(f);
    if (entry === undefined) loops.set(f, (entry = { calls: 0, loop: loopOf(f) }));
    if (++entry.calls === MIN_CALLS_TO_COMPILE) entry.loop = copyOf(loopOf)(f);
    return entry.loop;
  };
}

/** The constructor of an array. Loops that only move elements are compiled once per kind. */
type KindOf = new (length: number) => TileData;
export const kindOf = (data: TileData): KindOf => data.constructor as KindOf;

/** A view for copying elements. float32 is viewed as bits, because conversion to a number may lose bits of a NaN. */
export function copyView(data: TileData): NumberData {
  return data instanceof Float32Array
    ? new Uint32Array(data.buffer, data.byteOffset, data.length)
    : (data as NumberData);
}

let copies = 0;

/**
 * A copy of a function that V8 treats as a different one. The function itself if a page's policy forbids `new
 * Function`.
 */
function copyOf<Make>(make: Make): Make {
  try {
    // V8 shares type feedback between functions of the same text, so each copy needs a unique text.
    // oxlint-disable-next-line no-new-func, typescript/no-implied-eval
    return new Function(`return ${String(make)} // ${copies++}`)() as Make;
  } catch {
    return make;
  }
}
