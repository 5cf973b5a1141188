/**
 * Traces and retraces the author's bodies of loops, branches and helper functions.
 *
 * JavaScript runs each body while the kernel is traced, regardless of how often the kernel executes it. JavaScript
 * state that a body changes would therefore become part of the program. To detect it, each body is retraced after it
 * was recorded and must produce the same statements. The retraces include the nested bodies, then one arm of each
 * branch at a time, then no nested bodies.
 */
import {
  probe,
  type Diagnostic,
  fail,
  type Location,
  errorDiagnostic,
  TileScriptError,
} from "../diagnostics/diagnostic.js";
import { changedState, earlyExit } from "../diagnostics/catalog/control-codes.js";
import { tracedCondition } from "../diagnostics/catalog/source-codes.js";
import { captureLocation, locationOfError } from "../diagnostics/callsite.js";
import type { Builder } from "./builder.js";
import { type Handle, withFalsyHandles, hasFalsyObjects } from "./handle.js";
import {
  type Argument,
  type Block,
  isValue,
  type ScopeKind,
  type Value,
  type Variable,
  type FunctionIR,
  type OpStatement,
  type Statement,
} from "./nodes.js";
import {
  firstDifference,
  type ArgumentEquality,
  type Definition,
  sameArgument,
  sameArguments,
  sameOptions,
} from "./same-statements.js";
import type { Op } from "./op.js";
import { sameType } from "../types/types.js";

/** The form of a body's return value, as the author sees it. */
export type ResultForm = "nothing" | "one" | "list";

/** A recorded body. */
export interface Body {
  readonly head: BodyHead;
  /** A loop's index, or a helper function's parameters. */
  readonly params: readonly Value[];
  readonly block: Block;
  readonly form: ResultForm;
  /** The loop-carried variables among the values that an arm returns, by index. */
  readonly states: readonly (Variable | undefined)[];
  /** The nested bodies, in the order in which they were traced. */
  readonly inner: readonly Body[];
  readonly callsHelpers: boolean;
  /** The number of unique texts before and after it. */
  readonly textCounts: readonly [number, number];
}

export interface BodyHead {
  /** The body's name in messages: `the loop`. */
  readonly label: string;
  readonly kind: ScopeKind;
  readonly location: Location | undefined;
  /** For an arm of a branch: its index, and whether it is the last one, the target of all further conditions. */
  readonly arm?: number;
  readonly isLast?: boolean;
  /** For a constexpr branch, the conditions that hold inside, as canonical texts. */
  readonly conditions?: readonly string[] | undefined;
}

/** Runs the author's code of a body once, and yields to it in a loop. */
export type BodyRunner = () => Generator<Handle, BodyResult>;

export interface BodyResult {
  readonly params?: readonly Value[];
  readonly yields: readonly Argument[];
  readonly form: ResultForm;
  readonly states?: readonly (Variable | undefined)[];
}

/** A body that is being traced or retraced. */
export interface BodyRetrace {
  readonly head: BodyHead;
  readonly inner: Body[];
  callsHelpers: boolean;
  /** Set during a retrace. */
  readonly retrace: Retrace | undefined;
}

interface Retrace {
  readonly recorded: Body;
  readonly round: Round;
  readonly matcher: RetraceMatcher;
  /**
   * Results of nested bodies that this retrace skips. They are the recorded ones, although the code around them is
   * retraced.
   */
  readonly skippedResults: Set<Value | Variable>;
  /** The index of the next nested body in `recorded.inner`. */
  nextIndex: number;
  /** The last retraced helper function. Consecutive calls of one function retrace it once. */
  lastHelper: Body | undefined;
  /**
   * The number of retraces of each helper function in this round. Functions that call one another twice would otherwise
   * double it at each level.
   */
  readonly entryCounts: Map<Body, number>;
}

const MAX_ENTRIES = 8;

/** The nested bodies to include in one retrace. */
interface Round {
  readonly entersLoops: boolean;
  entersArm(arm: number): boolean;
}

const ALL_BODIES: Round = { entersLoops: true, entersArm: () => true };
const NO_BODIES: Round = { entersLoops: false, entersArm: () => false };
/** The maximum number of arms that are retraced separately. Longer chains retrace several arms at a time. */
const MAX_ARMS = 8;

function roundsOf(body: Body): readonly Round[] {
  if (body.inner.length === 0 && !body.callsHelpers) return [ALL_BODIES];
  const arms = Math.min(longestChain(body), MAX_ARMS);
  const single = Array.from({ length: arms < 2 ? 0 : arms }, (_, i): Round => {
    return { entersLoops: true, entersArm: (arm) => arm % MAX_ARMS === i };
  });
  return [ALL_BODIES, ...single, NO_BODIES];
}

function longestChain({ head, inner }: Body): number {
  return Math.max(head.arm === undefined ? 0 : head.arm + 1, ...inner.map(longestChain));
}

/** Records a body and retraces it. During a retrace, retraces the body or skips it. */
export function* traceBodyTwice(recorder: Builder, head: BodyHead, runner: BodyRunner): Generator<Handle, Body> {
  const outer = recorder.entry;
  if (outer?.retrace) {
    const recorded = nextRecordedBody(outer.retrace, head);
    const { round, skippedResults } = outer.retrace;
    const isEntered = head.arm === undefined ? round.entersLoops : round.entersArm(head.arm);
    if (isEntered) return yield* traceBody(recorder, head, runner, nestedRetrace(recorded, outer.retrace));
    recorder.textCount = recorded.textCounts[1];
    for (const each of [...recorded.block.yields.filter(isValue), ...recorded.states])
      if (each) skippedResults.add(each);
    return recorded;
  }
  const body = yield* traceBody(recorder, head, runner);
  outer?.inner.push(body);
  for (const round of roundsOf(body)) yield* retraceBody(recorder, body, round, runner);
  return body;
}

/** Like {@link traceBodyTwice}, for a body that is not a loop. */
export function runBody(recorder: Builder, head: BodyHead, runner: () => BodyResult): Body {
  return runToEnd(traceBodyTwice(recorder, head, asGenerator(runner)));
}

/** Schedules a body for {@link retraceWithFalsyHandles}. */
export function retraceBodyWithFalsyHandles(recorder: Builder, body: Body, runner: () => BodyResult): void {
  recorder.pendingRetraces.push({
    run: () => runToEnd(retraceBody(recorder, body, ALL_BODIES, asGenerator(runner))),
    at: body.head.location,
  });
}

/**
 * Retraces the author's code with truth values that JavaScript converts to false. Different statements, including an
 * error, show that JavaScript tests a traced value for truth somewhere. Only V8 supports this. The builder cannot be
 * used afterwards.
 */
export function retraceWithFalsyHandles(recorder: Builder): Diagnostic | undefined {
  if (!hasFalsyObjects()) return undefined;
  for (const { run, at: location } of recorder.pendingRetraces) {
    try {
      probe(() => withFalsyHandles(run));
    } catch (error) {
      const [first] = error instanceof TileScriptError ? error.diagnostics : [];
      return errorDiagnostic(tracedCondition.truthiness(), first?.at ?? locationOfError(error as Error) ?? location);
    }
  }
  return undefined;
}

/**
 * Records a helper function, once for all calls of one signature. `recorded` is the function if it was recorded before.
 * If the caller is being retraced, so is the function.
 */
export function runHelper(
  recorder: Builder,
  head: BodyHead,
  recorded: Body | undefined,
  isLibrary: boolean,
  runner: () => BodyResult,
): Body {
  const { entry } = recorder;
  // The first call consumed the function's unique texts. A retrace of that call must skip them, so that later
  // statements get the same texts.
  if (recorded && entry?.retrace && recorder.textCount === recorded.textCounts[0])
    recorder.textCount = recorded.textCounts[1];
  if (isLibrary) return recorded ?? runToEnd(traceBody(recorder, head, asGenerator(runner)));
  if (entry) entry.callsHelpers = true;
  if (!recorded) {
    const body = runToEnd(traceBody(recorder, head, asGenerator(runner)));
    if (!entry?.retrace)
      for (const round of roundsOf(body)) runToEnd(retraceBody(recorder, body, round, asGenerator(runner)));
    return body;
  }
  const retrace = entry?.retrace;
  if (retrace?.round.entersLoops && retrace.lastHelper !== recorded) {
    retrace.lastHelper = recorded;
    const entryCount = retrace.entryCounts.get(recorded) ?? 0;
    retrace.entryCounts.set(recorded, entryCount + 1);
    if (entryCount < MAX_ENTRIES)
      runToEnd(retraceBody(recorder, recorded, retrace.round, asGenerator(runner), retrace.entryCounts));
  }
  return recorded;
}

function asGenerator(runner: () => BodyResult): BodyRunner {
  // Only loop bodies yield to the author.
  // eslint-disable-next-line require-yield
  return function* () {
    return runner();
  };
}

function runToEnd<T>(body: Generator<Handle, T>): T {
  const step = body.next();
  if (!step.done) throw new Error("only a loop yields");
  return step.value;
}

function nestedRetrace(
  recorded: Body,
  { round, matcher, skippedResults, entryCounts }: Omit<Retrace, "recorded" | "nextIndex" | "lastHelper">,
): Retrace {
  return { recorded, round, matcher, skippedResults, entryCounts, nextIndex: 0, lastHelper: undefined };
}

/** Retraces a recorded body and fails if its statements differ. */
function* retraceBody(
  recorder: Builder,
  recorded: Body,
  round: Round,
  runner: BodyRunner,
  entryCounts: Retrace["entryCounts"] = new Map(),
): Generator<Handle, void> {
  const rollback = recorder.checkpoint();
  recorder.textCount = recorded.textCounts[0];
  const skippedResults = new Set<Value | Variable>();
  const retraced = yield* traceBody(
    recorder,
    recorded.head,
    runner,
    nestedRetrace(recorded, { round, matcher: new RetraceMatcher(), skippedResults, entryCounts }),
  );
  rollback();
  const difference = firstDifference(recorded, retraced, skippedResults);
  if (!difference) return;
  const { label, location } = recorded.head;
  const message = difference.at ? changedState.differs(label) : changedState.results(label);
  fail(message, difference.at ?? location, {
    related: location && difference.at && [{ message: `${label} starts here`, at: location }],
  });
}

function* traceBody(recorder: Builder, head: BodyHead, runner: BodyRunner, retrace?: Retrace): Generator<Handle, Body> {
  const outer = recorder.entry;
  const entry: BodyRetrace = { head, inner: [], callsHelpers: false, retrace };
  const textsBefore = recorder.textCount;
  recorder.entry = entry;
  recorder.open(head.label, head.location, head.kind, head.conditions);
  const depth = recorder.depth;
  const { params = [], yields, form, states = [] } = yield* runner();
  if (recorder.depth !== depth) fail(earlyExit.leftInside(), head.location);
  const block = recorder.close(yields);
  recorder.entry = outer;
  return {
    head,
    params,
    block,
    form,
    states,
    inner: entry.inner,
    callsHelpers: entry.callsHelpers,
    textCounts: [textsBefore, recorder.textCount],
  };
}

/** The recorded body that corresponds to the next nested body of a retrace. */
function nextRecordedBody(retrace: Retrace, head: BodyHead): Body {
  const recorded = retrace.recorded.inner[retrace.nextIndex++];
  const isSame = recorded && recorded.head.kind === head.kind && recorded.head.arm === head.arm;
  return isSame
    ? recorded
    : fail(changedState.differs(retrace.recorded.head.label), head.location ?? captureLocation());
}

// Matches the statements of a retrace against the recorded ones.
//
// A matching statement reuses the recorded location and types. Capturing a location from JavaScript's stack and
// applying a type rule cost far more than comparing the arguments. Only statements that differ need a new location.
// `same-statements.ts` compares the whole body when it ends.

/** The definitions that have been retraced so far, each with its recorded counterpart. */
class RetraceMatcher implements ArgumentEquality {
  readonly #recorded = new Map<Definition, Definition>();

  pair(recorded: Definition, retraced: Definition): void {
    this.#recorded.set(retraced, recorded);
  }

  /** True if both are the same definition from outside the body, or if they have been paired. */
  isMatch(recorded: Definition, retraced: Definition): boolean {
    return recorded === retraced ? !recorded.scope.isClosed : this.#recorded.get(retraced) === recorded;
  }

  sameValue(recorded: Value, retraced: Value): boolean {
    return this.isMatch(recorded, retraced);
  }

  sameFunction(recorded: FunctionIR, retraced: FunctionIR): boolean {
    return recorded === retraced;
  }
}

/** The recorded statement at the current position, if it is of this kind. */
function recordedStatement<K extends Statement["kind"]>(recorder: Builder, kind: K) {
  const retrace = recorder.entry?.retrace;
  const recorded = retrace?.recorded.block.statements[recorder.statements.length];
  if (!retrace || recorded?.kind !== kind) return undefined;
  return { recorded: recorded as Extract<Statement, { kind: K }>, matcher: retrace.matcher };
}

/** Appends an op and returns its results if it matches the recorded statement. */
export function repeatOp(
  recorder: Builder,
  op: Op,
  operands: OpStatement["operands"],
  options: OpStatement["options"],
): readonly Value[] | undefined {
  const match = recordedStatement(recorder, "op");
  if (match?.recorded.op !== op) return undefined;
  const { recorded, matcher } = match;
  if (!sameArguments(recorded.operands, operands, matcher) || !sameOptions(recorded.options, options, matcher)) {
    return undefined;
  }
  const types = recorded.results.map(({ type }) => type);
  const results = recorder.op(op, operands, options, types, recorded.location);
  pairAll(matcher, recorded.results, results);
  return results;
}

/** Appends a `let` and returns its variable if it matches the recorded statement. */
export function repeatLet(recorder: Builder, initial: Argument | undefined): Variable | undefined {
  const match = recordedStatement(recorder, "let");
  if (!match || !initial) return undefined;
  const { recorded, matcher } = match;
  if (!sameArgument(recorded.initial, initial, matcher)) return undefined;
  const variable = recorder.variable(recorded.variable.type, recorded.location);
  recorder.append({ kind: "let", variable, initial, location: recorded.location });
  matcher.pair(recorded.variable, variable);
  return variable;
}

/** Appends a read and returns its result if it matches the recorded statement. */
export function repeatRead(recorder: Builder, variable: Variable): Value | undefined {
  const match = recordedStatement(recorder, "read");
  if (!match) return undefined;
  const { recorded, matcher } = match;
  if (!matcher.isMatch(recorded.variable, variable)) return undefined;
  const result = recorder.value(variable.type, recorded.location);
  recorder.append({ kind: "read", variable, result, location: recorded.location });
  matcher.pair(recorded.result, result);
  return result;
}

/** Appends a write if it matches the recorded statement. Returns true if it did. */
export function repeatWrite(recorder: Builder, variable: Variable, value: Argument | undefined): boolean {
  const match = recordedStatement(recorder, "write");
  if (!match || !value) return false;
  const { recorded, matcher } = match;
  if (!matcher.isMatch(recorded.variable, variable) || !sameArgument(recorded.value, value, matcher)) return false;
  recorder.append({ kind: "write", variable, value, location: recorded.location });
  return true;
}

/** Pairs a loop's index or a helper function's parameters with the recorded ones. */
export function repeatParams(recorder: Builder, params: readonly Value[]): void {
  const retrace = recorder.entry?.retrace;
  if (retrace) pairAll(retrace.matcher, retrace.recorded.params, params);
}

/** Pairs the results of the last branch with the recorded ones. */
export function repeatResults(recorder: Builder, results: readonly Value[]): void {
  const retrace = recorder.entry?.retrace;
  const recorded = retrace?.recorded.block.statements[recorder.statements.length - 1];
  if (retrace && recorded?.kind === "if") pairAll(retrace.matcher, recorded.results, results);
}

function pairAll(matcher: RetraceMatcher, recorded: readonly Value[], retraced: readonly Value[]): void {
  recorded.forEach((value, i) => {
    const counterpart = retraced[i];
    if (counterpart && sameType(value.type, counterpart.type)) matcher.pair(value, counterpart);
  });
}
