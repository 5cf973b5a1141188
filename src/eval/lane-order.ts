/**
 * Which lanes of one program access an element between barriers. Triton divides lanes among threads, which run apart:
 * only accesses of the same lane of tiles of one shape are certainly in the program's order.
 */
import { coordinates } from "./findings.js";

/** A lane of a tile: the shape's number, and the lane's place in row-major order. */
type Key = number;

/** Triton's tiles have up to 2^20 lanes. */
const LANES = 2 ** 20;
/** Of more shapes than fit into 32 bits, some share a number: an access may go unnoticed, and none is noticed wrongly. */
const MOST_SHAPES = 2 ** 11 - 1;

const shapes: (readonly number[])[] = [];
const numbers = new Map<string, number>();

/** The key of a tile's first lane; the others follow. */
export function firstKey(shape: readonly number[]): Key {
  const text = shape.join();
  let number = numbers.get(text);
  if (number === undefined) {
    number = numbers.size % MOST_SHAPES;
    shapes[number] = shape;
    numbers.set(text, number);
  }
  return number * LANES;
}

/** `lane (3) of a [64] tile` */
export function nameOfLane(key: Key): string {
  if (key === MULTIPLE_READERS) return "several lanes";
  const shape = shapes[Math.floor(key / LANES)]!;
  if (shape.length === 0) return "a scalar access";
  return `lane (${coordinates(shape, key % LANES).join(", ")}) of a [${shape.join(", ")}] tile`;
}

/** Stands for the lanes of an element that more than one has read. */
export const MULTIPLE_READERS: Key = -1;
