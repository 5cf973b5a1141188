/** What the lanes of a value hold. */
import type { Term } from "../../../symbolic/term.js";
import type { Diagram } from "./decision-diagrams.js";
import { broadcastLane } from "../../model/symbolic.js";

export interface AbstractTile {
  readonly shape: readonly Term[];
  /** How many tiles may be asked one after the other for a lane. */
  readonly depth: number;
  at(lane: readonly Term[]): Diagram;
}

/** A deeper tile is computed at once, for any lane: JavaScript's stack is as deep as the tiles that ask one another. */
export const MAX_LAZY_DEPTH = 200;

/** The tile, as deep as what it is made of says. */
export const withDepth = (tile: AbstractTile, ...of: readonly (AbstractTile | undefined)[]): AbstractTile => ({
  ...tile,
  depth: 1 + Math.max(0, ...of.map((each) => each?.depth ?? 0)),
});

/** A tile whose lanes are computed once each. */
export function heldTile(shape: readonly Term[], at: (lane: readonly Term[]) => Diagram): AbstractTile {
  const known = new Map<string, Diagram>();
  return {
    shape,
    depth: 0,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let diagram = known.get(key);
      if (!diagram) known.set(key, (diagram = at(lane)));
      return diagram;
    },
  };
}

/** What an operand holds beside a lane of the result that it broadcasts to. */
export const broadcastAbstractLane = (x: AbstractTile, lane: readonly Term[]): Diagram =>
  x.at(broadcastLane(x.shape, lane));
