/** Whether every active lane of an access lies in its tensor. */
import { atLeast, below, number, type Term } from "../terms/term.js";
import type { Contexts } from "./contexts.js";
import { proves } from "./interpret.js";
import type { Access } from "./reaching.js";

/** One side of one axis of an access, which the emitted code does not compare. */
export interface Bound {
  readonly axis: number;
  readonly side: "lower" | "upper";
  readonly claimed: boolean;
  readonly holds: Term;
}

/** The bounds that a proof has to show. What a mask compares holds of active lanes. */
export function boundsOf({ axes }: Access): readonly Bound[] {
  return axes.flatMap(({ index, size, masks, claimed }, axis): Bound[] => [
    ...(masks.lower ? [] : [{ axis, side: "lower", claimed, holds: atLeast(index, number(0)) } as const]),
    ...(masks.upper ? [] : [{ axis, side: "upper", claimed, holds: below(index, size) } as const]),
  ]);
}

/** The first bound that could not be shown. */
export function openBound(contexts: Contexts, access: Access): Bound | undefined {
  return boundsOf(access).find(({ holds }) => !proves(contexts.active(access), holds));
}
