/**
 * Compiles a separate loop for each elementwise function. V8 inlines a function if its loop has only ever called that
 * function. Such a loop is four times as fast as one shared by all ops (measured, Node 20).
 */
import type { NumberData, TileData } from "./numeric.js";

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
export type KindOf = new (length: number) => TileData;
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
