/** The elements of an operand, relative to the lanes of a result. */
import { broadcastTo } from "../numerics/array.js";
import { isTile } from "../values/operands.js";
import type { Runtime } from "../values/runtime-values.js";

export type Lanes = (lane: number) => number | bigint;

/** An operand lane by lane, broadcast to a shape. */
export function lanesOf(operand: Runtime | undefined, shape: readonly number[]): Lanes {
  if (!isTile(operand)) return () => operand as number;
  const { data } = operand.data.length === 1 ? operand : broadcastTo(operand, shape);
  const step = data.length === 1 ? 0 : 1;
  return (lane) => data[lane * step]!;
}
