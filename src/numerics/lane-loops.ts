/**
 * Loops over elements, one for each function that they call. V8 compiles a loop for the functions that it has called:
 * where that is a single one it is inlined, and the loop runs four times as fast (measured, Node 20) as one that every
 * op shares.
 */
import type { NumberData, TileData } from "./numeric.js";

/** After this many calls a function gets a loop of its own: one that is made for a single use is not worth compiling for. */
const WORTH_COMPILING = 4;

/**
 * `loopOf(f)`, with a copy of the loop for each `f` that comes again. `loopOf` is compiled from its own text, so it must
 * use nothing but `f` and what it makes itself.
 */
export function loopsOf<F extends object, Loop>(loopOf: (f: F) => Loop): (f: F) => Loop {
  const made = new WeakMap<F, { calls: number; loop: Loop }>();
  return (f) => {
    let known = made.get(f);
    if (known === undefined) made.set(f, (known = { calls: 0, loop: loopOf(f) }));
    if (++known.calls === WORTH_COMPILING) known.loop = copyOf(loopOf)(f);
    return known.loop;
  };
}

/** What an array is to V8: loops that only move elements are made once for each. */
export type KindOf = new (length: number) => TileData;
export const kindOf = (data: TileData): KindOf => data.constructor as KindOf;

/** Elements as they are moved: a float32 that goes through a number may lose bits of a NaN. Bigints move like numbers. */
export function movable(data: TileData): NumberData {
  return data instanceof Float32Array
    ? new Uint32Array(data.buffer, data.byteOffset, data.length)
    : (data as NumberData);
}

let copies = 0;

/** The same function to V8's eyes another one; the function itself where a page's policy forbids making code. */
function copyOf<Make>(make: Make): Make {
  try {
    // V8 keeps one record of what a text was called with: each copy needs a text of its own.
    // oxlint-disable-next-line no-new-func, typescript/no-implied-eval
    return new Function(`return ${String(make)} // ${copies++}`)() as Make;
  } catch {
    return make;
  }
}
