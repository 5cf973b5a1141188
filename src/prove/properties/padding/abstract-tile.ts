/** The abstract value of a tile in the padding analysis. */
import type { Term } from "../../../symbolic/term.js";
import type { Diagram } from "./decision-diagrams.js";
import { broadcastLane } from "../../model/symbolic.js";

export interface AbstractTile {
  readonly shape: readonly Term[];
  /** The length of the chain of tiles that evaluating a lane may recurse through. */
  readonly depth: number;
  at(lane: readonly Term[]): Diagram;
}

/**
 * The limit on {@link AbstractTile.depth}. A deeper tile is evaluated eagerly, for a symbolic lane, because lazy
 * evaluation recurses on JavaScript's stack.
 */
export const MAX_LAZY_DEPTH = 200;

/** The tile, one level deeper than its operands. */
export const withDepth = (tile: AbstractTile, ...operands: readonly (AbstractTile | undefined)[]): AbstractTile => ({
  ...tile,
  depth: 1 + Math.max(0, ...operands.map((each) => each?.depth ?? 0)),
});

/** A tile that memoizes its lanes. */
export function memoizedTile(shape: readonly Term[], laneAt: (lane: readonly Term[]) => Diagram): AbstractTile {
  const cache = new Map<string, Diagram>();
  return {
    shape,
    depth: 0,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let diagram = cache.get(key);
      if (!diagram) cache.set(key, (diagram = laneAt(lane)));
      return diagram;
    },
  };
}

/** The lane of an operand that broadcasts to a lane of the result. */
export const broadcastAbstractLane = (x: AbstractTile, lane: readonly Term[]): Diagram =>
  x.at(broadcastLane(x.shape, lane));
