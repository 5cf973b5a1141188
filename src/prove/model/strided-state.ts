/**
 * State that each turn changes by something that all programs share, and by a multiple of one number: the next block of a
 * program, counted from the first of a group, loses the blocks of the group and gains strides of so many programs. After
 * some turns it is `initial + shared(turn) + stride * multiple(program, turn)`, with two unknown functions.
 */
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
import { scalar, type Symbolic } from "./symbolic.js";
import type { Environment } from "./symbolic-environment.js";

export function stridedState(
  environment: Environment,
  { mark, initial, next }: StateSnapshot,
  turn: Term,
  holds: readonly Invariant[],
): ((turns: Term) => Symbolic) | undefined {
  if (initial.shape.length > 0 || next.shape.length > 0) return undefined;
  const apart = changesOf(environment, mark, next.at([]));
  if (!apart) return undefined;
  const { scope } = environment;
  const outer = scope.filter((each) => each !== turn);
  const named = symbolsIn(...apart.shared);
  const given = outer.filter(({ name }) => named.has(name));
  const [first, stride] = [initial.at([]), apart.stride];
  const [shared, name] = [`shared ${mark}${environment.calls}`, `multiple ${mark}${environment.calls}`];
  for (const each of [shared, name]) environment.unknowns.set(each, "state of a loop");
  const sumOf = prefixSumOfBlocks(environment, apart.shared, turn);
  environment.hold(shared, (total, args) => (sumOf ? [sumOf(total, args.at(-1)!)] : []));
  const at = (turns: Term, from: ReadonlyMap<string, Term>, multiple: Term): Term => {
    const own = given.map((each) => substitute(each, from));
    return sum(substitute(first, from), call(shared, ...own, turns), product(stride, multiple));
  };
  // Another multiple makes any number one that is not negative and below the stride, also where no program gets.
  const kept = holds.filter((each) => isWithin(each, stride));
  environment.hold(name, (multiple, args) => {
    const from = new Map(outer.map((each, i) => [each.name, args[i]!] as const));
    const value = at(args[outer.length]!, from, multiple);
    return [orTerm(below(stride, number(1)), andTerm(...kept.map((each) => each(value))))];
  });
  return (turns) => scalar(at(turns, new Map(), call(name, ...outer, turns)));
}

interface Changes {
  /** What does not depend on state. */
  readonly shared: readonly Term[];
  /** What divides all that does. */
  readonly stride: Term;
}

/** What a turn adds to state. */
function changesOf({ launch }: Environment, mark: string, next: Term): Changes | undefined {
  const parts = next.kind === "sum" ? next.parts : [next];
  const before = call(mark);
  const added = parts.filter((part) => part !== before);
  if (added.length !== parts.length - 1) return undefined;
  const hangs = added.filter((part) => [...termsIn(part)].some(isState));
  const isStride = (factor: Term): boolean =>
    factor.kind === "number" ? factor.value > 1n : factor.kind === "symbol" && launch.chosen.has(factor.name);
  const [factors, ...others] = hangs.map(({ kind, parts: of }) => (kind === "product" ? of.filter(isStride) : []));
  const stride = factors?.find((factor) => others.every((each) => each.includes(factor)));
  return stride && { shared: added.filter((part) => !hangs.includes(part)), stride };
}

/** Whether an invariant says that state is not negative, or below a number. */
function isWithin(holds: Invariant, end: Term): boolean {
  const value = symbol("probe");
  return [atLeast(value, number(0)), below(value, end)].includes(holds(value));
}
