/** What the lanes of a value hold. */
import type { Term } from "../terms/term.js";
import type { Diagram } from "./diagrams.js";
import { broadcastLane } from "./symbolic.js";

export interface HeldTile {
  readonly shape: readonly Term[];
  at(lane: readonly Term[]): Diagram;
}

/** A tile whose lanes are computed once each. */
export function heldTile(shape: readonly Term[], at: (lane: readonly Term[]) => Diagram): HeldTile {
  const known = new Map<string, Diagram>();
  return {
    shape,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let diagram = known.get(key);
      if (!diagram) known.set(key, (diagram = at(lane)));
      return diagram;
    },
  };
}

/** What an operand holds beside a lane of the result that it broadcasts to. */
export const heldAt = (x: HeldTile, lane: readonly Term[]): Diagram => x.at(broadcastLane(x.shape, lane));
