/**
 * Makes a separate loop over elements for each function that it calls. V8 inlines the function if a loop has called
 * only one; such a loop runs four times as fast as one that all ops share (measured, Node 20).
 */
import type { NumberData, TileData } from "./numeric.js";

/** After this many calls a function gets its own loop; for fewer, compiling it does not pay. */
const WORTH_COMPILING = 4;

/**
 * Returns `loopOf(f)`, as a separate copy for each `f` that is used repeatedly. `loopOf` is compiled from its own
 * source text, so it must not refer to anything except `f` and its own variables.
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

/** The class of an array. Loops that only move elements are made once for each class. */
export type KindOf = new (length: number) => TileData;
export const kindOf = (data: TileData): KindOf => data.constructor as KindOf;

/** The array to copy elements through: float32 as bits, because a conversion to a number may lose bits of a NaN. */
export function copyView(data: TileData): NumberData {
  return data instanceof Float32Array
    ? new Uint32Array(data.buffer, data.byteOffset, data.length)
    : (data as NumberData);
}

let copies = 0;

/**
 * A copy of a function that V8 treats as another one; the function itself if a page's policy forbids `new Function`.
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
