/**
 * State that each iteration changes by an amount that all programs share plus a multiple of one number. An example is a
 * persistent program's next block: it loses the blocks of a group and gains strides of the number of programs. After
 * some iterations it is `initial + shared(iteration) + stride * multiple(program, iteration)`, with two uninterpreted
 * functions.
 */
import { atAxis } from "../../types/axis.js";
import {
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
  type Term,
  termsIn,
} from "../../symbolic/term.js";
import { isState } from "./affine-state.js";
import { prefixSumOfBlocks } from "./block-prefix-sum.js";
import type { Invariant, StateSnapshot } from "./invariants.js";
import { laneReplacements, scalar, type Symbolic } from "./symbolic.js";
import type { Environment } from "./symbolic-environment.js";

export function stridedState(
  environment: Environment,
  { mark, initial, next }: StateSnapshot,
  iteration: Term,
  invariants: readonly Invariant[],
): ((iterations: Term) => Symbolic) | undefined {
  if (initial.shape.length > 0 || next.shape.length > 0) return undefined;
  const changes = changesOf(environment, mark, next.at([]));
  if (!changes) return undefined;
  const { scope } = environment;
  const outer = scope.filter((variable) => variable !== iteration);
  const sharedSymbols = symbolsIn(...changes.shared);
  const sharedVariables = outer.filter(({ name }) => sharedSymbols.has(name));
  const [first, stride] = [initial.at([]), changes.stride];
  const [shared, name] = [`shared ${mark}${environment.calls}`, `multiple ${mark}${environment.calls}`];
  for (const functionName of [shared, name]) environment.unknowns.set(functionName, "state of a loop");
  const boundSum = prefixSumOfBlocks(environment, changes.shared, iteration);
  environment.setInvariants(shared, (total, args) =>
    boundSum ? [boundSum(total, atAxis(args, args.length - 1))] : [],
  );
  const stateAt = (iterations: Term, values: ReadonlyMap<string, Term>, multiple: Term): Term => {
    const args = sharedVariables.map((each) => substitute(each, values));
    return sum(substitute(first, values), call(shared, ...args, iterations), product(stride, multiple));
  };
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
  /** A common factor of the summands that depend on state. */
  readonly stride: Term;
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
  return stride && { shared: summands.filter((part) => !stateSummands.includes(part)), stride };
}

/** True if an invariant states that the value is nonnegative, or less than `end`. */
function isRangeBound(invariant: Invariant, end: Term): boolean {
  const value = symbol("probe");
  return [atLeast(value, number(0)), below(value, end)].includes(invariant(value));
}
