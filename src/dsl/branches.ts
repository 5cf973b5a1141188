/** Branches of the kernel, and early exit. */
import { typeOfArgument } from "../ir/walk.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import {
  branchCondition,
  branchOrder,
  branchValues,
  GIVE_DTYPE,
  misplacedExit,
  type STATE_IN_ARMS,
  type STATE_OUTSIDE,
} from "../diagnostics/catalog/control-codes.js";
import { type Builder, builder } from "../ir/builder.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type Body, type ResultForm, runBody, repeatResults } from "../ir/retrace.js";
import { Handle } from "../ir/handle.js";
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
import { atAxis } from "../types/dims.js";
import { sameElem } from "../types/dtype.js";
import { showShape } from "../types/shape.js";
import type { Type } from "../types/types.js";
import type { SentenceOf } from "../diagnostics/message.js";
import { wrongBranchValues } from "../diagnostics/catalog/rule-codes.js";
import { armResults, CONDITION, whyAssign, whyCondition, type WhyWhen } from "../rules/control-rules.js";
import { toArgument } from "../ops/define.js";
import { fullOp, MutHandle, argumentOf, failIf, checkArity } from "./loops.js";
import type { El, StateLike, TileLike, TruthOf } from "../types/tile.js";

type Arm = () => unknown;

/** A branch to which further arms can be added. `otherwise` returns its value. */
export interface When<R> {
  /** The next arm, if no earlier condition is true. */
  elseWhen<const C, const S = R>(
    condition: Validate<C, WhyWhen<C, "elseWhen">>,
    body: () => ArmResult<R, S>,
  ): When<MergedResult<R, S>>;
  /** The arm that runs if no condition is true. Returns the results. */
  otherwise<const S = R>(body: LastArm<R, S>): WritableResult<MergedResult<R, S>>;
  /** The arm's result, which may be state. Usable only in arms whose constexpr conditions imply that this arm runs. */
  readonly value: WritableResult<R>;
}
/** The last arm. It must return values of the same types as the other arms, and no state. */
type LastArm<R, S> = (R extends readonly unknown[] ? R[number] : R) extends StateLike
  ? `${typeof STATE_IN_ARMS}; ${typeof STATE_OUTSIDE}`
  : () => ArmResult<R, S>;
/**
 * The allowed results of an arm after one that returned R: the same types, or numbers in their place. After numbers, S
 * sets the dtypes. The types do not check lists that contain numbers any further; the build does.
 */
type ArmResult<R, S> =
  HasNumber<R> extends false ? OrNumbers<R> : R extends readonly unknown[] ? S : Validate<S, WhyUntyped<S>>;
type BareLiteral = number | boolean;
type HasNumber<R> = [Extract<R extends readonly unknown[] ? R[number] : R, BareLiteral>] extends [never] ? false : true;
const untypedArm = () => wrongBranchValues("when: a number has no dtype", GIVE_DTYPE);
type WhyUntyped<S> = S extends BareLiteral ? SentenceOf<typeof untypedArm> : "";
type OrNumbers<R> = R extends readonly unknown[] ? { [K in keyof R]: OrNumber<R[K]> } : OrNumber<R>;
type OrNumber<X> = X extends TileLike ? X | number | TruthOf<X[El]> : X;
type MergedResult<R, S> =
  HasNumber<R> extends false
    ? R
    : R extends readonly unknown[]
      ? { [K in keyof R]: R[K] extends BareLiteral ? (K extends keyof S ? S[K] : R[K]) : R[K] }
      : S;
/** Removes the `readonly` that a const type parameter infers for an arm's list. */
type WritableResult<R> = R extends readonly unknown[] ? { -readonly [K in keyof R]: R[K] } : R;

interface WhenHandle {
  elseWhen(condition: unknown, body: Arm, ...extraArgs: unknown[]): WhenHandle;
  otherwise(body: Arm, ...extraArgs: unknown[]): unknown;
  readonly value: unknown;
}

interface Branch {
  readonly statement: Mutable<IfStatement>;
  readonly form: ResultForm;
  /** The loads in the condition of `elseWhen`, which run only if no earlier arm does. */
  readonly reads: readonly Statement[];
  /** The values that the arm returns. The branch has results only if every arm returns them. */
  readonly yields: readonly Argument[];
  /** See {@link Body}. */
  readonly states: readonly (Variable | undefined)[];
  /** Returned values that exist only under a condition inside the arm. */
  readonly conditionalValues: readonly Argument[];
  /** The path conditions of the next arm, as canonical texts; undefined if one of them is unknown at compile time. */
  readonly elseConditions: readonly string[] | undefined;
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A branch of the kernel: `tl.when(condition, () => { … }).otherwise(() => { … })`. Both arms are traced, and the
 * kernel runs one. If both arms return tiles of the same types, or numbers in their place, the branch returns those of
 * the arm that runs. If the condition is a constexpr, Triton evaluates it at compile time, and values of the arm are
 * visible in a later arm whose condition implies this one.
 */
export const when = ((condition: unknown, body: Arm, ...extraArgs: unknown[]): WhenHandle => {
  const location = captureLocation();
  checkArity("when", 2, extraArgs, WHEN_USAGE);
  const recorder = builder("tl.when");
  const branch = openBranch(recorder, condition, body, 0, [], location);
  recorder.append(branch.statement);
  return whenHandle(recorder, [branch]);
}) as unknown as <const C, const R = void>(
  condition: Validate<C, WhyWhen<C>>,
  body: () => R,
  other?: "when: the other arm is no argument; write tl.when(condition, () => { … }).otherwise(() => { … })",
) => When<R>;

type Branches = readonly [Branch, ...Branch[]];

/** `pathConditions` are the conditions under which no earlier arm runs. */
function openBranch(
  recorder: Builder,
  condition: unknown,
  body: Arm,
  index: number,
  pathConditions: readonly string[] | undefined,
  location: Location | undefined,
): Branch {
  if (typeof condition === "boolean") fail(branchCondition.boolean(), location);
  const argument = argumentOf(recorder, condition, "when", CONDITION, location);
  failIf(whyCondition(typeOfArgument(argument)), location);
  const text = constexprText(argument);
  const { block, form, states, conditionalValues } = traceArm(
    recorder,
    body,
    index,
    withCondition(pathConditions, text),
    location,
  );
  const then = { ...block, yields: [] };
  const statement = { kind: "if" as const, condition: argument, then, otherwise: EMPTY_BLOCK, results: [], location };
  return {
    statement,
    form,
    reads: [],
    yields: block.yields,
    states,
    conditionalValues,
    elseConditions: withCondition(pathConditions, text && negate(text)),
  };
}

/** The canonical text of a constexpr condition. */
function constexprText(condition: Argument): string | undefined {
  return isValue(condition) && condition.type.kind === "constexpr" ? condition.type.text : undefined;
}

function negate(text: string): string {
  return text.startsWith("not ") ? text.slice("not ".length) : `not ${text}`;
}

function withCondition(
  pathConditions: readonly string[] | undefined,
  text: string | undefined,
): readonly string[] | undefined {
  return pathConditions === undefined || text === undefined ? undefined : [...pathConditions, text];
}

const WHEN_USAGE = "tl.when(condition, () => { … }).otherwise(() => { … })";
const EMPTY_BLOCK: Block = { statements: [], yields: [] };

function traceArm(
  recorder: Builder,
  runArm: Arm,
  index: number,
  pathConditions: readonly string[] | undefined,
  location: Location | undefined,
): Body & Pick<Branch, "conditionalValues"> {
  if (typeof runArm !== "function") fail(branchCondition.arm(), location);
  const conditionalValues: Argument[] = [];
  const body = runBody(
    recorder,
    { label: "this branch", kind: "branch", location, arm: index, conditions: pathConditions },
    () => {
      const returned = runArm();
      if (returned === undefined) return { yields: [], form: "nothing" };
      const items = Array.isArray(returned) ? returned : [returned];
      const states = items.map((item) => (item instanceof MutHandle ? MutHandle.variableOf(item) : undefined));
      const yields = items
        .filter((item) => !(item instanceof MutHandle))
        .map((item) => {
          const argument = toArgument(item, location);
          if (argument === undefined || pathConditions === undefined || recorder.isVisible(argument))
            return argumentOf(recorder, item, "when", "an arm returns tiles, state or nothing", location);
          conditionalValues.push(argument);
          return argument;
        });
      return { yields, form: Array.isArray(returned) ? "list" : "one", states };
    },
  );
  return { ...body, conditionalValues };
}

function whenHandle(recorder: Builder, branches: Branches): WhenHandle {
  const [first, ...others] = branches;
  const last = others.at(-1) ?? first;
  return {
    elseWhen(condition, body, ...extraArgs) {
      checkArity("elseWhen", 2, extraArgs, WHEN_USAGE);
      const location = captureLocation();
      const reads = moveBranchToEnd(recorder, first, "elseWhen");
      const opened = openBranch(recorder, condition, body, branches.length, last.elseConditions, location);
      const branch = { ...opened, reads };
      recorder.enclose(reads, "this condition", location);
      last.statement.otherwise = { statements: [...reads, branch.statement], yields: [] };
      return whenHandle(recorder, [...branches, branch]);
    },
    otherwise(body, ...extraArgs) {
      const location = captureLocation();
      checkArity("otherwise", 1, extraArgs, WHEN_USAGE);
      moveBranchToEnd(recorder, first, "otherwise");
      const { block, form, states, conditionalValues } = traceArm(
        recorder,
        body,
        branches.length,
        last.elseConditions,
        location,
      );
      for (const argument of [...branches, { conditionalValues }].flatMap((branch) => branch.conditionalValues))
        recorder.checkUse(argument, location);
      if ([...branches, { states }].some((branch) => branch.states.some(Boolean))) fail(branchValues.state(), location);
      last.statement.otherwise = { ...block, yields: [] };
      if (branches.every((branch) => branch.form === "nothing") && form === "nothing") return undefined;
      if (branches.some((branch) => branch.form !== form)) fail(branchValues.count(), location);
      return mergeArms(recorder, branches, block, form, location);
    },
    get value() {
      if (branches.length > 1) fail(branchValues.chain(), captureLocation());
      const values = last.yields.values();
      const handles = last.states.map((state) => {
        if (state) return new MutHandle(state);
        const argument = values.next().value;
        return isValue(argument) ? new Handle(argument) : argument;
      });
      return last.form === "list" ? handles : handles[0];
    },
  };
}

/**
 * Moves the branch behind pure statements, such as those of a later condition. For `elseWhen` it removes and returns
 * those from the first load on. Fails if other statements follow the branch.
 */
function moveBranchToEnd(recorder: Builder, branch: Branch, name: "elseWhen" | "otherwise"): readonly Statement[] {
  const { statements } = recorder;
  const index = statements.indexOf(branch.statement);
  const between = statements.slice(index + 1);
  const firstRead = between.findIndex((statement) => !isPure(statement));
  const reads = name === "elseWhen" && firstRead >= 0 ? between.slice(firstRead) : [];
  const pure = between.slice(0, between.length - reads.length);
  const isCondition = (s: Statement) => isPure(s) || (s.kind === "op" && s.op.effect === "read");
  if (index < 0 || !pure.every(isPure) || !reads.every(isCondition)) fail(branchOrder(name), captureLocation());
  statements.splice(index, statements.length, ...pure, branch.statement);
  return reads;
}

const isPure = (s: Statement): boolean => s.kind === "read" || (s.kind === "op" && s.op.effect === "pure");

/** Reports different shapes of the arms of a constexpr branch. The remedy is a named constexpr for the size. */
function checkShapes(armType: Type, resultType: Type, condition: Argument, location: Location | undefined): void {
  if (armType.kind !== "tile" || resultType.kind !== "tile" || typeOfArgument(condition).kind !== "constexpr") return;
  const axis = armType.shape.findIndex((dim, i) => dim !== resultType.shape[i]);
  const hasDifferentShape = axis >= 0 || armType.shape.length !== resultType.shape.length;
  if (!hasDifferentShape || !sameElem(armType.dtype, resultType.dtype)) return;
  const shapes = [showShape(armType.shape), showShape(resultType.shape)] as const;
  if (armType.shape.length !== resultType.shape.length) fail(branchValues.ranks(...shapes), location);
  fail(branchValues.shapes(...shapes, [atAxis(armType.shape, axis), atAxis(resultType.shape, axis)]), location);
}

/** Adds the results to every branch of the chain. */
function mergeArms(
  recorder: Builder,
  branches: Branches,
  otherwise: Block,
  form: ResultForm,
  location: Location | undefined,
): unknown {
  const armYields = [...branches.map(({ yields }) => yields), otherwise.yields];
  const types = otherwise.yields.map((fallback, i) => {
    const tile = armYields.map((yields) => yields[i]).findLast((argument) => argument && !isNumber(argument));
    const type = typeOfArgument(tile ?? fallback);
    for (const [n, yields] of armYields.entries()) {
      const argument = yields[i];
      const condition = branches[n]?.statement.condition;
      if (argument !== undefined && condition) checkShapes(typeOfArgument(argument), type, condition, location);
      if (argument === undefined || yields.length !== otherwise.yields.length)
        fail(wrongBranchValues("when: the arms return different numbers of values"), location);
      failIf(
        type.kind === "constexpr" ? untypedArm() : whyAssign(type, typeOfArgument(argument), armResults),
        location,
      );
    }
    return type;
  });
  let results: readonly Value[] = [];
  const [first, ...others] = branches;
  const last = others.at(-1) ?? first;
  last.statement.otherwise = convertYields(recorder, otherwise, otherwise.yields, types, location);
  for (const [i, { statement, reads, yields }] of [...branches.entries()].reverse()) {
    results = types.map((type) => recorder.value(type, location));
    statement.results = results;
    statement.then = convertYields(recorder, statement.then, yields, types, location);
    const parent = branches[i - 1];
    if (parent) parent.statement.otherwise = { statements: [...reads, statement], yields: results };
  }
  repeatResults(recorder, results);
  const handles = results.map((value) => new Handle(value));
  return form === "one" ? handles[0] : handles;
}

const isNumber = (argument: Argument): boolean => typeOfArgument(argument).kind === "constexpr";

/** Converts numbers that an arm yields to tiles of the branch's types: Triton would infer another dtype. */
function convertYields(
  recorder: Builder,
  { statements }: Block,
  operands: readonly Argument[],
  types: readonly Type[],
  location: Location | undefined,
): Block {
  const conversions: Statement[] = [];
  const yields = operands.map((argument, i) => {
    const type = types[i];
    if (type?.kind !== "tile" || !isNumber(argument)) return argument;
    const result = recorder.withoutNames(() => recorder.value(type, location));
    conversions.push({ kind: "op", ...fullOp(recorder, type, argument), options: {}, results: [result], location });
    return result;
  });
  return { statements: [...statements, ...conversions], yields };
}

// ---- early exit -----------------------------------------------------------------------------------------------------

/**
 * Ends the program early: `tl.when(pid.ge(count), () => tl.exit())` becomes `if pid >= count: return`. It must be in a
 * branch of the kernel itself, outside loops and helper functions.
 */
export function exit(): void {
  const location = captureLocation();
  const recorder = builder("tl.exit");
  const kinds = recorder.scopes.map(({ kind }) => kind);
  if (kinds.includes("helper")) fail(misplacedExit.helper(), location);
  if (kinds.includes("loop")) fail(misplacedExit.loop(), location);
  if (!kinds.includes("branch")) fail(misplacedExit.always(), location);
  recorder.append({ kind: "exit", location });
}
