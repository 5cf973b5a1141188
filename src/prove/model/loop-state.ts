/** Analyzes the variables that a loop assigns. A trial execution of its body shows how an iteration changes them. */
import type { Variable } from "../../ir/nodes.js";
import {
  type Term,
  andTerm,
  atLeast,
  below,
  call,
  number,
  product,
  orTerm,
  substitute,
  sum,
  symbol,
  symbolsIn,
  termsIn,
  conditionsOf,
  difference,
  iteTerm,
  isTruth,
  type TermKind,
} from "../../symbolic/term.js";
import { zip } from "../algebra/zip.js";
import {
  type Environment,
  type Symbolic,
  UNKNOWN,
  laneReplacements,
  scalar,
  at,
  broadcastShape,
  type TermTile,
  tile,
} from "./symbolic-environment.js";
import { atAxis } from "../../types/dims.js";
import { prefixSumOfBlocks, type Invariant, inferInvariants, type StateSnapshot, factsInLoop } from "./partitions.js";
import { Budget } from "../algebra/budget.js";
import { assume, entails } from "../algebra/interpret.js";
import type { SymbolicLaunch } from "./launch.js";

/** A loop whose iterations count from 0. */
export interface Loop {
  readonly variables: readonly Variable[];
  /** The state before the first iteration. */
  readonly initial: ReadonlyMap<Variable, Symbolic>;
  readonly iteration: Term;
  /** Runs the body with the state at the start of an iteration, and calls `look` at its end. */
  readonly trial: (start: (variable: Variable) => Symbolic, look: () => void) => void;
  /** For a loop without a count: the condition of an iteration, in the last trial. */
  readonly condition: (() => Term) | undefined;
}

/**
 * The limit on nested trials. In a loop nested more deeply, the state is unknown, because each level would multiply the
 * work.
 */
const MAX_NESTED_TRIALS = 4;

export interface LoopState {
  /** The closed form of the state after a number of iterations, if there is one. */
  readonly formulas: ReadonlyMap<Variable, (iterations: Term) => Symbolic | undefined>;
  /** The invariants of the other state. */
  readonly invariants: ReadonlyMap<Variable, readonly Invariant[]>;
  /** True if a loop with a condition is shown to end. */
  readonly ends: boolean;
}

export function stateOfLoop(environment: Environment, loop: Loop): LoopState {
  const { variables, initial, iteration, trial, condition } = loop;
  const tracked = variables.flatMap((variable) => {
    const from = initial.get(variable);
    const isTracked = from?.kind === "terms" || from?.kind === "pointer";
    return isTracked ? [{ variable, from, functionName: `state ${environment.nameOf(variable)}` }] : [];
  });
  const formulas = new Map<Variable, (iterations: Term) => Symbolic | undefined>();
  const invariants = new Map<Variable, readonly Invariant[]>();
  const start = (variable: Variable): Symbolic => {
    const state = tracked.find((each) => each.variable === variable);
    return formulas.get(variable)?.(iteration) ?? (state ? iterationStart(environment, state) : UNKNOWN);
  };
  const findFormulas = (): void => {
    const newFormulas = tracked.flatMap(({ variable, from, functionName }) => {
      if (formulas.has(variable)) return [];
      const next = environment.state.get(variable) ?? UNKNOWN;
      const increment = incrementOf(environment, next, variable, functionName, iteration);
      const formula = increment
        ? (iterations: Term) => affineState(from, increment, iterations)
        : previousIteration(from, next, iteration);
      return formula ? [[variable, formula] as const] : [];
    });
    for (const [variable, formula] of newFormulas) formulas.set(variable, formula);
  };
  const findInvariants = (): void => {
    const snapshots = tracked.flatMap(({ variable, from, functionName }) => {
      const next = environment.state.get(variable) ?? UNKNOWN;
      const hasNoFormula = !formulas.has(variable) && isInteger(from) && isInteger(next);
      return hasNoFormula ? [{ variable, mark: functionName, initial: from, next }] : [];
    });
    if (snapshots.length === 0) return;
    const inferred = inferInvariants(environment, snapshots, environment.path);
    for (const [snapshot, variableInvariants] of zip(snapshots, inferred)) {
      const { variable } = snapshot;
      invariants.set(variable, variableInvariants);
      const formula = stridedState(environment, snapshot, iteration, variableInvariants);
      if (formula) formulas.set(variable, formula);
    }
  };
  if (tracked.length === 0 || environment.trial >= MAX_NESTED_TRIALS) return { formulas, invariants, ends: false };
  trial(start, findFormulas);
  // Variables without a formula may depend on those with one, so a second trial uses the formulas found.
  if (formulas.size < tracked.length)
    trial(start, () => {
      findFormulas();
      findInvariants();
    });
  return {
    formulas,
    invariants,
    ends: condition !== undefined && environment.trial === 0 && isShownToEnd(environment, loop, tracked),
  };
}

interface TrackedVariable {
  readonly variable: Variable;
  readonly from: Symbolic;
  readonly functionName: string;
}

/** True if a loop with a condition is shown to end. Closed forms of its variables are not used. */
function isShownToEnd(
  environment: Environment,
  { iteration, trial, condition }: Loop,
  tracked: readonly TrackedVariable[],
): boolean {
  let ends = false;
  const start = (variable: Variable): Symbolic => {
    const state = tracked.find((each) => each.variable === variable);
    return state ? iterationStart(environment, state) : UNKNOWN;
  };
  trial(start, () => {
    const snapshots = tracked.flatMap(({ variable, from, functionName: mark }) => {
      const next = environment.state.get(variable) ?? UNKNOWN;
      return isInteger(from) && isInteger(next) ? [{ mark, initial: from, next }] : [];
    });
    ends =
      condition !== undefined && hasDecreasingMeasure(environment, { continues: condition(), iteration, snapshots });
  });
  return ends;
}

/**
 * State that each iteration changes by an amount that all programs share plus a multiple of one number, or by the blocks
 * of a partition's row. An example is a program's block in a grouped product: it loses the blocks of a group, and a
 * persistent program gains strides of the number of programs. After some iterations it is `initial + shared(iteration)`, or that plus
 * `stride * multiple(program, iteration)`, with uninterpreted functions.
 */
function stridedState(
  environment: Environment,
  { mark, initial, next }: StateSnapshot,
  iteration: Term,
  invariants: readonly Invariant[],
): ((iterations: Term) => Symbolic) | undefined {
  if (initial.shape.length > 0 || next.shape.length > 0) return undefined;
  const changes = changesOf(environment, mark, next.at([]));
  if (!changes) return undefined;
  const { shared: increments, stride } = changes;
  const { scope } = environment;
  const outer = scope.filter((variable) => variable !== iteration);
  const sharedSymbols = symbolsIn(...increments);
  const sharedVariables = outer.filter(({ name }) => sharedSymbols.has(name));
  const first = initial.at([]);
  const [shared, name] = [`shared ${mark}${environment.calls}`, `multiple ${mark}${environment.calls}`];
  for (const functionName of [shared, name]) environment.unknowns.set(functionName, "state of a loop");
  const boundSum = prefixSumOfBlocks(environment, increments, iteration);
  environment.setInvariants(shared, (total, args) =>
    boundSum ? [boundSum(total, atAxis(args, args.length - 1))] : [],
  );
  const stateAt = (iterations: Term, values: ReadonlyMap<string, Term>, multiple: Term): Term => {
    const args = sharedVariables.map((each) => substitute(each, values));
    return sum(substitute(first, values), call(shared, ...args, iterations), product(stride ?? number(0), multiple));
  };
  // Of other amounts nothing is known, and the bounds of the state say more.
  if (!stride) return boundSum && ((iterations) => scalar(stateAt(iterations, new Map(), number(0))));
  // These invariants are satisfiable for any number, also at points that no program reaches: some multiple moves it
  // into the range from 0 to the stride.
  const rangeInvariants = invariants.filter((each) => isRangeBound(each, stride));
  environment.setInvariants(name, (multiple, args) => {
    const value = stateAt(atAxis(args, args.length - 1), laneReplacements(outer, args.slice(0, -1)), multiple);
    return [orTerm(below(stride, number(1)), andTerm(...rangeInvariants.map((each) => each(value))))];
  });
  return (iterations) => scalar(stateAt(iterations, new Map(), call(name, ...outer, iterations)));
}

interface Changes {
  /** The summands that do not depend on state. */
  readonly shared: readonly Term[];
  /** A common factor of the summands that depend on state. Undefined if none does. */
  readonly stride: Term | undefined;
}

/** The increment of state in an iteration. */
function changesOf({ launch }: Environment, functionName: string, next: Term): Changes | undefined {
  const operands = next.kind === "sum" ? next.operands : [next];
  const current = call(functionName);
  const summands = operands.filter((part) => part !== current);
  if (summands.length !== operands.length - 1) return undefined;
  const stateSummands = summands.filter((part) => [...termsIn(part)].some(isState));
  const isStride = (factor: Term): boolean =>
    factor.kind === "number" ? factor.value > 1n : factor.kind === "symbol" && launch.chosen.has(factor.name);
  const [factors, ...others] = stateSummands.map(({ kind, operands }) =>
    kind === "product" ? operands.filter(isStride) : [],
  );
  const stride = factors?.find((factor) => others.every((each) => each.includes(factor)));
  if (!stride && stateSummands.length > 0) return undefined;
  return { shared: summands.filter((part) => !stateSummands.includes(part)), stride };
}

/** True if an invariant states that the value is nonnegative, or less than `end`. */
function isRangeBound(invariant: Invariant, end: Term): boolean {
  const value = symbol("probe");
  return [atLeast(value, number(0)), below(value, end)].includes(invariant(value));
}

// Termination of `while` loops. A loop ends if each iteration decreases an integer that its condition bounds from
// below: `high - low` of `low < high`.

interface LoopStep {
  /** The condition at the start of an iteration. */
  readonly continues: Term;
  readonly iteration: Term;
  readonly snapshots: readonly StateSnapshot[];
}

const STEPS = 4_000;

/** True if an iteration decreases a measure. `environment` is at the end of an iteration. */
function hasDecreasingMeasure(environment: Environment, { continues, iteration, snapshots }: LoopStep): boolean {
  const invariants = zip(snapshots, inferInvariants(environment, snapshots, environment.path));
  const assumed = invariants.flatMap(([{ mark }, ofState]) => ofState.map((invariant) => ({ mark, invariant })));
  const facts = factsInLoop(environment, new Budget(STEPS), assumed);
  for (const condition of environment.path) assume(facts, condition);
  const next = new Map(
    [...termsIn(continues)].flatMap((term) => {
      const state = snapshots.find(({ mark, next }) => term.name === mark && next.shape.length === 0);
      return state ? [[term, state.next.at([])] as const] : [];
    }),
  );
  const nextIteration = new Map([[iteration.name, sum(iteration, number(1))]]);
  return measuresOf(continues).some((measure) => {
    // Other state may change in any way.
    if ([...termsIn(measure)].some((term) => isState(term) && !next.has(term))) return false;
    const decrease = difference(measure, substitute(measure, nextIteration, new Map(next)));
    return entails(facts, atLeast(decrease, number(1)));
  });
}

/** Integers that are not negative while the condition holds. */
const measuresOf = (condition: Term): readonly Term[] =>
  conditionsOf(condition).flatMap(({ kind, operands }) =>
    kind === "atMost" ? [difference(operands[1], operands[0])] : [],
  );

// Closed forms of loop-carried variables: an induction variable is `start + iteration * step`. A variable whose next
// value depends on no state is the value from the previous iteration.

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
function iterationStart(
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
function incrementOf(
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
const isState = ({ name }: Term): boolean => name.startsWith("state ");

function affineState(value: Symbolic, increment: TermTile, iterations: Term): Symbolic | undefined {
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
function previousIteration(
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
const isInteger = (value: Symbolic): value is TermTile =>
  value.kind === "terms" && !isTruth(value.at(value.shape.map(() => number(0))));
