/** The order in which programs run. */
import type { ProgramOrder } from "../compiled/compiled-kernel.js";
import { seedOf, shuffled, uniform } from "../numerics/seeded-random.js";

/**
 * Maps each turn to the program that runs then. Programs are numbered from 0 with the grid's first axis fastest.
 *
 * @throws RangeError if a list does not name each program once.
 */
export function programOrder(count: number, order: ProgramOrder = "sequential", seed = 0): (turn: number) => number {
  if (order === "sequential") return (turn) => turn;
  if (order === "reversed") return (turn) => count - 1 - turn;
  const numbers = order === "shuffled" ? shuffled(count, uniform(seedOf(seed, "order"))) : Array.from(order);
  const named = new Set(numbers);
  const isWhole = numbers.length === count && Array.from({ length: count }, (_, i) => i).every((i) => named.has(i));
  if (!isWhole)
    throw new RangeError(
      `order is ${JSON.stringify(order)}; it is "sequential", "reversed", "shuffled", or each program from 0 to ${count - 1} once`,
    );
  return (turn) => numbers[turn]!;
}
