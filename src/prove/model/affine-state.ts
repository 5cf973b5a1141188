/**
 * Closed forms of loop-carried variables: an induction variable is `start + iteration * step`. A variable whose next
 * value depends on no state is the value from the previous iteration.
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
import { at, broadcastShape, laneReplacements, UNKNOWN, type Symbolic, type TermTile, tile } from "./symbolic.js";

/** Operators whose result is nonnegative if all of their operands are. */
const PRESERVES_NON_NEGATIVITY: ReadonlySet<TermKind> = new Set<TermKind>([
  "sum",
  "product",
  "quotient",
  "floorQuotient",
  "least",
  "greatest",
  "choice",
]);

/** The sign of a loop's step. A step of 0 counts as up: that loop never ends, so nothing after it runs. */
export function stepSign(step: Term, { facts, grid }: SymbolicLaunch): "up" | "down" | undefined {
  if (step.kind === "number") return step.value >= 0n ? "up" : "down";
  const isNonNegative = (term: Term): boolean =>
    isNonNegativeNumber(term) ||
    (PRESERVES_NON_NEGATIVITY.has(term.kind) && term.operands.every((part) => isTruth(part) || isNonNegative(part))) ||
    // The grid has at least one program along each axis.
    grid.includes(term) ||
    facts.some(({ kind, operands }) => kind === "atMost" && operands[1] === term && isNonNegativeNumber(operands[0]));
  return isNonNegative(step) ? "up" : undefined;
}

const isNonNegativeNumber = ({ kind, value }: Term): boolean => kind === "number" && value >= 0n;

/**
 * The value of a loop-carried variable at the start of an iteration, as an uninterpreted function with a recognizable
 * name.
 */
export function iterationStart(
  environment: Environment,
  {
    variable,
    from,
    functionName,
  }: { readonly variable: Variable; readonly from: Symbolic; readonly functionName: string },
): Symbolic {
  const shape = environment.shape(variable.type);
  const terms = tile(shape, (lane) => call(functionName, ...lane));
  if (from.kind === "pointer") return { ...from, offsets: terms };
  return isInteger(from) ? terms : UNKNOWN;
}

/** The increment of a variable in an iteration, if it is loop-invariant. */
export function incrementOf(
  environment: Environment,
  next: Symbolic,
  { type }: Variable,
  functionName: string,
  iteration: Term,
): TermTile | undefined {
  if (next.kind !== "pointer" && next.kind !== "terms") return undefined;
  const terms = next.kind === "pointer" ? next.offsets : next;
  const shape = environment.shape(type);
  const probes = shape.map((_, axis) => symbol(`probe ${axis}`));
  const term = at(terms, probes);
  const current = call(functionName, ...probes);
  const operands: readonly Term[] = term.kind === "sum" ? term.operands : [term];
  if (operands.filter((part) => part === current).length !== 1) return undefined;
  const increment = sum(...operands.filter((part) => part !== current));
  const isVariant = symbolsIn(increment).has(iteration.name) || [...termsIn(increment)].some(isState);
  if (isVariant) return undefined;
  return tile(shape, (lane) => substitute(increment, laneReplacements(probes, lane)));
}

/** A term that is too large is represented by a symbol, so the name is tested instead of the kind. */
export const isState = ({ name }: Term): boolean => name.startsWith("state ");

export function affineState(value: Symbolic, increment: TermTile, iterations: Term): Symbolic | undefined {
  const advance = (from: TermTile): TermTile =>
    tile(broadcastShape(from.shape, increment.shape), (lane) =>
      sum(at(from, lane), product(at(increment, lane), iterations)),
    );
  if (value.kind === "pointer") return { ...value, offsets: advance(value.offsets) };
  return value.kind === "terms" ? advance(value) : undefined;
}

/**
 * The value from the previous iteration, or the initial value before the first. Undefined if the next value depends on
 * state.
 */
export function previousIteration(
  initial: Symbolic,
  next: Symbolic,
  iteration: Term,
): ((iterations: Term) => Symbolic) | undefined {
  if (!isInteger(initial) || next.kind !== "terms") return undefined;
  const shape = broadcastShape(initial.shape, next.shape);
  const probe = at(
    next,
    shape.map((_, axis) => symbol(`probe ${axis}`)),
  );
  if (isTruth(probe) || [...termsIn(probe)].some(isState)) return undefined;
  const previous = (lane: readonly Term[], iterations: Term): Term =>
    substitute(at(next, lane), new Map([[iteration.name, sum(iterations, number(-1))]]));
  return (iterations) =>
    tile(shape, (lane) => iteTerm(atLeast(iterations, number(1)), previous(lane, iterations), at(initial, lane)));
}

/** True for a number or a tile of integers. */
export const isInteger = (value: Symbolic): value is TermTile =>
  value.kind === "terms" && !isTruth(value.at(value.shape.map(() => number(0))));
