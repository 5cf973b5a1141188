/**
 * State that follows from the number of turns: what a loop advances by the same amount in every turn is
 * `start + turn * amount`, and what does not depend on state is what the turn before made of it.
 */
import type { Variable } from "../../ir/nodes.js";
import {
  atLeast,
  call,
  iteTerm,
  isTruth,
  number,
  product,
  substitute,
  sum,
  symbol,
  symbolsIn,
  type Term,
  type TermKind,
  termsIn,
} from "../../symbolic/term.js";
import type { SymbolicLaunch } from "./launch.js";
import type { Environment } from "./symbolic-environment.js";
import { at, broadcastShape, UNKNOWN, type Symbolic, type TermTile, tile } from "./symbolic.js";

/** What is not negative where none of its numbers is. */
const KEEPS_SIGN: ReadonlySet<TermKind> = new Set<TermKind>([
  "sum",
  "product",
  "quotient",
  "floorQuotient",
  "least",
  "greatest",
  "choice",
]);

/** Whether a loop counts up or down. A step of 0 counts up: the loop then never ends, and nothing after it runs. */
export function stepSign(step: Term, { facts, grid }: SymbolicLaunch): "up" | "down" | undefined {
  if (step.kind === "number") return step.value >= 0n ? "up" : "down";
  const isNatural = (term: Term): boolean =>
    (term.kind === "number" && term.value >= 0n) ||
    (KEEPS_SIGN.has(term.kind) && term.parts.every((part) => isTruth(part) || isNatural(part))) ||
    // A program is one of the grid.
    grid.includes(term) ||
    facts.some(
      ({ kind, parts: [from, to] }) => kind === "atMost" && to === term && from!.kind === "number" && from!.value >= 0n,
    );
  return isNatural(step) ? "up" : undefined;
}

/** State at the start of a turn, as a function of its own that can be found again. */
export function iterationStart(
  environment: Environment,
  value: Symbolic,
  mark: string | undefined,
  { type }: Variable,
): Symbolic {
  if (mark === undefined) return UNKNOWN;
  const shape = environment.shape(type);
  const terms = tile(shape, (lane) => call(mark, ...lane));
  if (value.kind === "pointer") return { ...value, offsets: terms };
  return isInteger(value) ? terms : UNKNOWN;
}

/** What a turn adds to state, if it adds the same to it in every turn. */
export function incrementOf(
  environment: Environment,
  next: Symbolic,
  { type }: Variable,
  mark: string,
  turn: Term,
): TermTile | undefined {
  const terms = next.kind === "pointer" ? next.offsets : next.kind === "terms" ? next : undefined;
  if (!terms) return undefined;
  const shape = environment.shape(type);
  const probes = shape.map((_, axis) => symbol(`probe ${axis}`));
  const term = at(terms, probes);
  const before = call(mark, ...probes);
  const parts = term.kind === "sum" ? term.parts : [term];
  if (parts.filter((part) => part === before).length !== 1) return undefined;
  const by = sum(...parts.filter((part) => part !== before));
  const changes = symbolsIn(by).has(turn.name) || [...termsIn(by)].some(isState);
  if (changes) return undefined;
  return tile(shape, (lane) => substitute(by, new Map(probes.map((probe, axis) => [probe.name, lane[axis]!]))));
}

/** In a term that is too large to follow, a symbol stands for it. */
export const isState = ({ name }: Term): boolean => name.startsWith("state ");

export function affineState(value: Symbolic, by: TermTile, times: Term): Symbolic | undefined {
  const move = (from: TermTile): TermTile =>
    tile(broadcastShape(from.shape, by.shape), (lane) => sum(at(from, lane), product(at(by, lane), times)));
  if (value.kind === "pointer") return { ...value, offsets: move(value.offsets) };
  return value.kind === "terms" ? move(value) : undefined;
}

/** State that a turn gives a value which depends on no state: that of the last turn, or what it was before the first. */
export function previousIteration(
  initial: Symbolic,
  next: Symbolic,
  turn: Term,
): ((turns: Term) => Symbolic) | undefined {
  if (!isInteger(initial) || next.kind !== "terms") return undefined;
  const shape = broadcastShape(initial.shape, next.shape);
  const probe = at(
    next,
    shape.map((_, axis) => symbol(`probe ${axis}`)),
  );
  if (isTruth(probe) || [...termsIn(probe)].some(isState)) return undefined;
  const last = (lane: readonly Term[], turns: Term): Term =>
    substitute(at(next, lane), new Map([[turn.name, sum(turns, number(-1))]]));
  return (turns) => tile(shape, (lane) => iteTerm(atLeast(turns, number(1)), last(lane, turns), at(initial, lane)));
}

/** Whether a value is a number or a tile of integers. */
export const isInteger = (value: Symbolic): value is TermTile =>
  value.kind === "terms" && !isTruth(value.at(value.shape.map(() => number(0))));
