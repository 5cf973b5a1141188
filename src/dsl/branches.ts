/** Branches of the kernel, and its early exit. */
import { typeOfArgument } from "../ir/typed.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { branchCondition, branchOrder, branchValues, misplacedExit } from "../diagnostics/catalog/control-codes.js";
import { type Builder, builder } from "../ir/builder.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type Body, type ResultForm, runBody } from "../ir/retrace.js";
import { Handle } from "../ir/handle.js";
import { repeatResults } from "../ir/retrace-matcher.js";
import {
  type Argument,
  type Block,
  type IfStatement,
  isValue,
  type Statement,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import type { Validate } from "../types/rule-error.js";
import { sameElem } from "../types/dtype.js";
import { showShape } from "../types/shape.js";
import type { Type } from "../types/types.js";
import { whyAssign, whyCondition, type WhyWhen } from "../rules/control-rules.js";
import { toArgument } from "../ops/define.js";
import { argumentOf, failIf, checkArity } from "./argument.js";
import { fullOp, MutHandle } from "./state.js";
import type { El, StateLike, TileLike, TruthOf } from "../types/tile.js";

type Arm = () => unknown;

/** What `tl.when` returns: a branch that takes further arms. `otherwise` gives its value. */
export interface When<R> {
  /** The next condition, tested if none before it holds. */
  elseWhen<const C, const S = R>(
    condition: Validate<C, WhyWhen<C, "elseWhen">>,
    body: () => Beside<R, S>,
  ): When<Merged<R, S>>;
  /** The arm that runs if no condition holds. Gives what the arms return. */
  otherwise<const S = R>(body: Joined<R, S>): Returned<Merged<R, S>>;
  /** What the arm returns, which may be state. Only arms under whose constexpr conditions this one runs may use it. */
  readonly value: Returned<R>;
}
/** The last arm: it returns what the others do, which is no state. */
type Joined<R, S> = (R extends readonly unknown[] ? R[number] : R) extends StateLike
  ? "when: the arms return state, which has no common variable; make it before the branch, or take one arm's .value"
  : () => Beside<R, S>;
/**
 * What an arm may return after one that returned R: the same, or numbers for it. After numbers S has the dtypes; of lists
 * with numbers only the build compares the rest.
 */
type Beside<R, S> =
  HasNumber<R> extends false ? OrNumbers<R> : R extends readonly unknown[] ? S : Validate<S, WhyTyped<S>>;
type Bare = number | boolean;
type HasNumber<R> = [Extract<R extends readonly unknown[] ? R[number] : R, Bare>] extends [never] ? false : true;
type WhyTyped<S> = S extends Bare ? "when: a number has no dtype; return tl.full([], x, dtype)" : "";
type OrNumbers<R> = R extends readonly unknown[] ? { [K in keyof R]: OrNumber<R[K]> } : OrNumber<R>;
type OrNumber<X> = X extends TileLike ? X | number | TruthOf<X[El]> : X;
type Merged<R, S> =
  HasNumber<R> extends false
    ? R
    : R extends readonly unknown[]
      ? { [K in keyof R]: R[K] extends Bare ? (K extends keyof S ? S[K] : R[K]) : R[K] }
      : S;
/** An arm's list has the author's own type, as if it were no constant. */
type Returned<R> = R extends readonly unknown[] ? { -readonly [K in keyof R]: R[K] } : R;

interface WhenHandle {
  elseWhen(condition: unknown, body: Arm, ...more: unknown[]): WhenHandle;
  otherwise(body: Arm, ...more: unknown[]): unknown;
  readonly value: unknown;
}

interface Branch {
  readonly statement: Mutable<IfStatement>;
  readonly form: ResultForm;
  /** What the arm returns. The branch has a result only if every arm returns one. */
  readonly returned: readonly Argument[];
  /** As in `Body`. */
  readonly states: readonly (Variable | undefined)[];
  /** What it returns that exists only under a condition inside it. */
  readonly narrower: readonly Argument[];
  /** The conditions under which neither this arm nor one before it runs; undefined if only the program knows. */
  readonly otherwise: readonly string[] | undefined;
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A branch of the kernel: `tl.when(condition, () => { … }).otherwise(() => { … })`. Both arms are traced; one runs.
 * Triton decides a constexpr condition when it compiles; later arms whose conditions say that this arm runs can then use
 * what it makes. Arms may return tiles of the same types, or numbers beside them, and the chain gives them.
 */
export const when = ((condition: unknown, body: Arm, ...more: unknown[]): WhenHandle => {
  const at = captureLocation();
  checkArity("when", 2, more, CHAIN);
  const recorder = builder("tl.when");
  const branch = openBranch(recorder, condition, body, 0, [], at);
  recorder.append(branch.statement);
  return chain(recorder, [branch]);
}) as unknown as <const C, const R = void>(
  condition: Validate<C, WhyWhen<C>>,
  body: () => R,
  other?: "when: the other arm is no argument; write tl.when(condition, () => { … }).otherwise(() => { … })",
) => When<R>;

/** `before` are the conditions under which no earlier arm runs. */
function openBranch(
  recorder: Builder,
  condition: unknown,
  body: Arm,
  index: number,
  before: readonly string[] | undefined,
  at: Location | undefined,
): Branch {
  if (typeof condition === "boolean") fail(branchCondition.boolean(), at);
  const argument = argumentOf(recorder, condition, "when: the condition is a scalar of int1 or a constexpr", at);
  failIf(whyCondition(typeOfArgument(argument)), at);
  const text = textOf(argument);
  const { block, form, states, narrower } = arm(recorder, body, index, both(before, text), at);
  const then = { ...block, yields: [] };
  const statement = { kind: "if" as const, condition: argument, then, otherwise: EMPTY, results: [], at };
  return { statement, form, returned: block.yields, states, narrower, otherwise: both(before, text && negated(text)) };
}

/** The canonical text of a condition that Triton knows. */
function textOf(condition: Argument): string | undefined {
  return isValue(condition) && condition.type.kind === "constexpr" ? condition.type.text : undefined;
}

function negated(text: string): string {
  return text.startsWith("not ") ? text.slice("not ".length) : `not ${text}`;
}

function both(before: readonly string[] | undefined, text: string | undefined): readonly string[] | undefined {
  return before === undefined || text === undefined ? undefined : [...before, text];
}

/** How a branch is written. */
const CHAIN = "tl.when(condition, () => { … }).otherwise(() => { … })";
const EMPTY: Block = { statements: [], yields: [] };

function arm(
  recorder: Builder,
  work: Arm,
  index: number,
  conditions: readonly string[] | undefined,
  at: Location | undefined,
): Body & Pick<Branch, "narrower"> {
  if (typeof work !== "function") fail(branchCondition.arm(), at);
  const narrower: Argument[] = [];
  const body = runBody(recorder, { what: "this branch", kind: "branch", at, arm: index, conditions }, () => {
    const given = work();
    if (given === undefined) return { yields: [], form: "nothing" };
    const items = Array.isArray(given) ? given : [given];
    const states = items.map((item) => (item instanceof MutHandle ? MutHandle.of(item) : undefined));
    const yields = items
      .filter((item) => !(item instanceof MutHandle))
      .map((item) => {
        const argument = toArgument(item, at);
        if (argument === undefined || conditions === undefined || recorder.sees(argument))
          return argumentOf(recorder, item, "when: an arm returns tiles, state or nothing", at);
        narrower.push(argument);
        return argument;
      });
    return { yields, form: Array.isArray(given) ? "list" : "one", states };
  });
  return { ...body, narrower };
}

function chain(recorder: Builder, branches: readonly Branch[]): WhenHandle {
  const last = branches.at(-1)!;
  return {
    elseWhen(condition, body, ...more) {
      checkArity("elseWhen", 2, more, CHAIN);
      settle(recorder, branches[0]!, "elseWhen");
      const branch = openBranch(recorder, condition, body, branches.length, last.otherwise, captureLocation());
      last.statement.otherwise = { statements: [branch.statement], yields: [] };
      return chain(recorder, [...branches, branch]);
    },
    otherwise(body, ...more) {
      const here = captureLocation();
      checkArity("otherwise", 1, more, CHAIN);
      settle(recorder, branches[0]!, "otherwise");
      const { block, form, states, narrower } = arm(recorder, body, branches.length, last.otherwise, here);
      for (const argument of [...branches, { narrower }].flatMap((branch) => branch.narrower))
        recorder.use(argument, here);
      if ([...branches, { states }].some((branch) => branch.states.some(Boolean))) fail(branchValues.state(), here);
      last.statement.otherwise = { ...block, yields: [] };
      if (branches.every((branch) => branch.form === "nothing") && form === "nothing") return undefined;
      if (branches.some((branch) => branch.form !== form)) fail(branchValues.count(), here);
      return join(recorder, branches, block, form, here);
    },
    get value() {
      if (branches.length > 1) fail(branchValues.chain(), captureLocation());
      const values = last.returned.values();
      const handles = last.states.map((state) => {
        if (state) return new MutHandle(state);
        const argument = values.next().value;
        return isValue(argument) ? new Handle(argument) : argument;
      });
      return last.form === "list" ? handles : handles[0];
    },
  };
}

/** The branch must be the last statement. Pure values that a condition needed move in front of it. */
function settle(recorder: Builder, first: Branch, name: string): void {
  const { statements } = recorder;
  const position = statements.indexOf(first.statement);
  const between = statements.slice(position + 1);
  const inOrder =
    position >= 0 && between.every((s) => s.kind === "read" || (s.kind === "op" && s.op.effect === "pure"));
  if (!inOrder) fail(branchOrder(name), captureLocation());
  statements.splice(position, 1);
  statements.push(first.statement);
}

/** Arms of a condition that Triton knows may be meant to differ in shape: a size that it chooses has a name. */
function checkShapes(one: Type, other: Type, condition: Argument, at: Location | undefined): void {
  if (one.kind !== "tile" || other.kind !== "tile" || typeOfArgument(condition).kind !== "constexpr") return;
  const axis = one.shape.findIndex((dim, i) => dim !== other.shape[i]);
  const isOther = axis >= 0 || one.shape.length !== other.shape.length;
  if (!isOther || !sameElem(one.dtype, other.dtype)) return;
  const shapes = [showShape(one.shape), showShape(other.shape)] as const;
  if (one.shape.length !== other.shape.length) fail(branchValues.ranks(...shapes), at);
  fail(branchValues.shapes(...shapes, [one.shape[axis]!, other.shape[axis]!]), at);
}

/** Gives every arm of the chain the results that the arms return. */
function join(
  recorder: Builder,
  branches: readonly Branch[],
  otherwise: Block,
  form: ResultForm,
  at: Location | undefined,
): unknown {
  const arms = [...branches.map(({ returned }) => returned), otherwise.yields];
  const types = otherwise.yields.map((_, i) => {
    const type = typeOfArgument((arms.findLast((each) => each[i] && !isNumber(each[i])) ?? otherwise.yields)[i]!);
    for (const [n, returned] of arms.entries()) {
      const other = returned[i];
      const condition = branches[n]?.statement.condition;
      if (other !== undefined && condition) checkShapes(typeOfArgument(other), type, condition, at);
      const why =
        other === undefined || returned.length !== otherwise.yields.length
          ? "when: the arms return different numbers of values"
          : type.kind === "constexpr"
            ? "when: a number has no dtype; return tl.full([], x, dtype)"
            : whyAssign(type, typeOfArgument(other));
      failIf(
        why.replace("value: the variable holds", "when: one arm returns").replace("the new value is", "another"),
        at,
      );
    }
    return type;
  });
  let results: readonly Value[] = [];
  branches.at(-1)!.statement.otherwise = typed(recorder, otherwise, otherwise.yields, types, at);
  for (const [i, { statement, returned }] of [...branches.entries()].reverse()) {
    results = types.map((type) => recorder.value(type, at));
    statement.results = results;
    statement.then = typed(recorder, statement.then, returned, types, at);
    const parent = branches[i - 1];
    if (parent) parent.statement.otherwise = { statements: [statement], yields: results };
  }
  repeatResults(recorder, results);
  const handles = results.map((value) => new Handle(value));
  return form === "one" ? handles[0] : handles;
}

const isNumber = (argument: Argument): boolean => typeOfArgument(argument).kind === "constexpr";

/** An arm that gives its values the types of the branch: Triton would take a bare number for another dtype. */
function typed(
  recorder: Builder,
  { statements }: Block,
  returned: readonly Argument[],
  types: readonly Type[],
  at: Location | undefined,
): Block {
  const filled: Statement[] = [];
  const yields = returned.map((argument, i) => {
    const type = types[i]!;
    if (type.kind !== "tile" || !isNumber(argument)) return argument;
    const result = recorder.unnamed(() => recorder.value(type, at));
    filled.push({ kind: "op", ...fullOp(recorder, type, argument), options: {}, results: [result], at });
    return result;
  });
  return { statements: [...statements, ...filled], yields };
}

// ---- leaving ----------------------------------------------------------------------------------------------------------

/**
 * Ends the program if a condition holds: `tl.when(pid.ge(count), () => tl.exit())` is `if pid >= count: return`.
 * Triton allows it outside loops, in the kernel itself.
 */
export function exit(): void {
  const at = captureLocation();
  const recorder = builder("tl.exit");
  const kinds = recorder.scopes.map(({ kind }) => kind);
  if (kinds.includes("helper")) fail(misplacedExit.helper(), at);
  if (kinds.includes("loop")) fail(misplacedExit.loop(), at);
  if (!kinds.includes("branch")) fail(misplacedExit.always(), at);
  recorder.append({ kind: "exit", at });
}
