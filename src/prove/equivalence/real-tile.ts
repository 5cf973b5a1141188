/** Tiles of real values: an expression for each lane. */
import { isInt, members } from "../../types/dtype.js";
import type { Type } from "../../types/types.js";
import type { OpStatement } from "../../ir/nodes.js";
import type { Term } from "../../symbolic/term.js";
import { broadcastLane, broadcastShape } from "../model/symbolic.js";
import { NoRule, noRule } from "./no-rule.js";
import { literalReal, type Real, real } from "./real.js";
import { rational, rationalOf } from "./rational.js";

/** A tile of real values, or a scalar. */
export interface RealTile {
  readonly shape: readonly Term[];
  at(lane: readonly Term[]): Real;
  /** The largest absolute value of integers that are shown not to wrap. */
  readonly largest?: Term | undefined;
}

/** One of two values in each lane, by a condition. */
export interface TruthTile {
  readonly shape: readonly Term[];
  pick(lane: readonly Term[], then: Real, otherwise: Real): Real;
}

export const at = (tile: RealTile, lane: readonly Term[]): Real => tile.at(broadcastLane(tile.shape, lane));

/** A tile that computes each lane once. */
export function tileOf(shape: readonly Term[], laneAt: (lane: readonly Term[]) => Real): RealTile {
  const lanes = new Map<string, Real>();
  return {
    shape,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let value = lanes.get(key);
      if (value === undefined) lanes.set(key, (value = laneAt(lane)));
      return value;
    },
  };
}

export const lanewise = (tiles: readonly RealTile[], compute: (...values: readonly Real[]) => Real): RealTile =>
  tileOf(broadcastShape(...tiles.map(({ shape }) => shape)), (lane) => compute(...tiles.map((tile) => at(tile, lane))));

export const scalarTile = (value: Real): RealTile => ({ shape: [], at: () => value });
/** A tile whose use has no rule. */
export const unknownTile = (why: string): RealTile => ({ shape: [], at: () => noRule(why) });

export const isIntegerType = (type: Type): boolean => type.kind === "tile" && members(type.dtype).every(isInt);

export function literalOf(value: number | bigint | boolean | string): Real {
  if (typeof value === "number") return literalReal(value, rationalOf);
  if (typeof value === "bigint") return real(rational(value));
  return typeof value === "boolean" ? real(rational(Number(value))) : noRule("a text");
}

/** The tile of a rule, or a tile whose use is unknown. */
export function attempt(compute: () => RealTile): RealTile {
  try {
    return compute();
  } catch (error) {
    if (error instanceof NoRule) return unknownTile(error.message);
    throw error;
  }
}

/** A tile whose values know the author's line. */
export function located({ location }: OpStatement, tile: RealTile): RealTile {
  if (!location) return tile;
  const { at } = tileOf(tile.shape, (lane) => {
    const value = tile.at(lane);
    return value.at ? value : { ...value, at: location };
  });
  return { ...tile, at };
}
