/**
 * Bodies of the author that the kernel runs when it decides: of loops, branches and helper functions. JavaScript runs
 * them while the kernel is traced, however often the kernel will, so JavaScript state that a body changes would become
 * part of the program. To find it, each body is entered again after it was recorded and must give the same statements:
 * with the bodies inside it, with one arm of each branch at a time, and with none of them.
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
import { captureLocation, placeThrown } from "../diagnostics/callsite.js";
import type { Builder } from "./builder.js";
import { hasFalsyObjects } from "./falsy-objects.js";
import { type Handle, withFalsyHandles } from "./handle.js";
import { type Argument, type Block, isValue, type ScopeKind, type Value, type Variable } from "./nodes.js";
import { RetraceMatcher } from "./retrace-matcher.js";
import { firstDifference } from "./same-statements.js";

/** The form of what a body returns, as the author sees it. */
export type ResultForm = "nothing" | "one" | "list";

/** A body as it was recorded. */
export interface Body {
  readonly head: BodyHead;
  /** A loop's index, or a helper function's parameters. */
  readonly params: readonly Value[];
  readonly block: Block;
  readonly form: ResultForm;
  /** The state that an arm returns, at its place among what it returns. */
  readonly states: readonly (Variable | undefined)[];
  /** The bodies inside it, in the order in which they were entered. */
  readonly inner: readonly Body[];
  readonly callsHelpers: boolean;
  /** How many unique texts there were before and after it. */
  readonly texts: readonly [number, number];
}

export interface BodyHead {
  /** What messages call it: `the loop`. */
  readonly what: string;
  readonly kind: ScopeKind;
  readonly at: Location | undefined;
  /** For an arm of a branch: which one, and whether all further conditions lead to it. */
  readonly arm?: number;
  readonly isLast?: boolean;
  /** For a constexpr branch, the conditions that hold inside, as canonical texts. */
  readonly conditions?: readonly string[] | undefined;
}

/** Runs the author's code of a body once, yielding to it where a loop does. */
export type BodyRunner = () => Generator<Handle, BodyResult>;

export interface BodyResult {
  readonly params?: readonly Value[];
  readonly yields: readonly Argument[];
  readonly form: ResultForm;
  readonly states?: readonly (Variable | undefined)[];
}

/** A body that is being entered. */
export interface BodyRetrace {
  readonly head: BodyHead;
  readonly inner: Body[];
  callsHelpers: boolean;
  /** Set if it was recorded before. */
  readonly again: Again | undefined;
}

interface Again {
  readonly known: Body;
  readonly round: Round;
  readonly repeats: RetraceMatcher;
  /** What bodies that are left as they were give: what was recorded, though it may be made again outside of them. */
  readonly given: Set<Value | Variable>;
  /** The position of the next body among the inner ones of `known`. */
  next: number;
  /** The helper function that was entered last: calls of one function in a row enter it once. */
  helper: Body | undefined;
  /** How often each helper function was entered in this round: functions that call one another twice would double that. */
  readonly entered: Map<Body, number>;
}

const MOST_ENTRIES = 8;

/** Which bodies inside a body are entered, when it is entered again. */
interface Round {
  readonly loops: boolean;
  arm(arm: number): boolean;
}

const ALL: Round = { loops: true, arm: () => true };
const NONE: Round = { loops: false, arm: () => false };
/** Longer chains of arms are entered several arms at a time. */
const MOST_ARMS = 8;

function roundsOf(body: Body): readonly Round[] {
  if (body.inner.length === 0 && !body.callsHelpers) return [ALL];
  const arms = Math.min(longestChain(body), MOST_ARMS);
  const single = Array.from({ length: arms < 2 ? 0 : arms }, (_, i): Round => {
    return { loops: true, arm: (arm) => arm % MOST_ARMS === i };
  });
  return [ALL, ...single, NONE];
}

function longestChain({ head, inner }: Body): number {
  return Math.max(head.arm === undefined ? 0 : head.arm + 1, ...inner.map(longestChain));
}

/** Records a body and enters it again; inside a body that is entered again, enters it or leaves it as it was. */
export function* traceBodyTwice(recorder: Builder, head: BodyHead, once: BodyRunner): Generator<Handle, Body> {
  const outer = recorder.entry;
  if (outer?.again) {
    const known = nextOf(outer.again, head);
    const { round, given } = outer.again;
    const isEntered = head.arm === undefined ? round.loops : round.arm(head.arm);
    if (isEntered) return yield* enter(recorder, head, once, againAt(known, outer.again));
    recorder.texts = known.texts[1];
    for (const each of [...known.block.yields.filter(isValue), ...known.states]) if (each) given.add(each);
    return known;
  }
  const body = yield* enter(recorder, head, once);
  outer?.inner.push(body);
  for (const round of roundsOf(body)) yield* enterAgain(recorder, body, round, once);
  return body;
}

/** As {@link traceBodyTwice}, for a body without a loop of its own. */
export function runBody(recorder: Builder, head: BodyHead, once: () => BodyResult): Body {
  return finish(traceBodyTwice(recorder, head, plain(once)));
}

/** Asks once more with {@link retraceWithFalsyHandles} for what a body records. */
export function retraceBodyWithFalsyHandles(recorder: Builder, body: Body, once: () => BodyResult): void {
  recorder.questions.push({
    again: () => finish(enterAgain(recorder, body, ALL, plain(once))),
    at: body.head.at,
  });
}

/**
 * Runs the author's code again with truth values that JavaScript takes for false. Where that gives other statements, which
 * is an error here, something asks JavaScript for the truth of a traced value, by whatever way it came there. Only V8
 * can tell. The builder is of no use afterwards.
 */
export function retraceWithFalsyHandles(recorder: Builder): Diagnostic | undefined {
  if (!hasFalsyObjects()) return undefined;
  for (const { again, at } of recorder.questions) {
    try {
      probe(() => withFalsyHandles(again));
    } catch (error) {
      const [first] = error instanceof TileScriptError ? error.diagnostics : [];
      return errorDiagnostic(tracedCondition.asked(), first?.at ?? placeThrown(error as Error) ?? at);
    }
  }
  return undefined;
}

/**
 * Records a helper function, which is entered once for all calls of one signature: `known` is the function if it was
 * recorded before. Where the caller is entered again, so is the function.
 */
export function runHelper(
  recorder: Builder,
  head: BodyHead,
  known: Body | undefined,
  isLibrary: boolean,
  once: () => BodyResult,
): Body {
  const { entry } = recorder;
  // The call that recorded it took its texts. Where that call is repeated, what follows it has the same ones only so.
  if (known && entry?.again && recorder.texts === known.texts[0]) recorder.texts = known.texts[1];
  if (isLibrary) return known ?? finish(enter(recorder, head, plain(once)));
  if (entry) entry.callsHelpers = true;
  if (!known) {
    const body = finish(enter(recorder, head, plain(once)));
    if (!entry?.again) for (const round of roundsOf(body)) finish(enterAgain(recorder, body, round, plain(once)));
    return body;
  }
  const again = entry?.again;
  if (again?.round.loops && again.helper !== known) {
    again.helper = known;
    const times = again.entered.get(known) ?? 0;
    again.entered.set(known, times + 1);
    if (times < MOST_ENTRIES) finish(enterAgain(recorder, known, again.round, plain(once), again.entered));
  }
  return known;
}

function plain(once: () => BodyResult): BodyRunner {
  // A body without a loop of its own yields nothing to the author.
  // eslint-disable-next-line require-yield
  return function* () {
    return once();
  };
}

function finish<T>(body: Generator<Handle, T>): T {
  const given = body.next();
  if (!given.done) throw new Error("only a loop yields");
  return given.value;
}

function againAt(known: Body, { round, repeats, given, entered }: Omit<Again, "known" | "next" | "helper">): Again {
  return { known, round, repeats, given, entered, next: 0, helper: undefined };
}

/** Enters a recorded body and fails if its statements differ. */
function* enterAgain(
  recorder: Builder,
  known: Body,
  round: Round,
  once: BodyRunner,
  entered: Again["entered"] = new Map(),
): Generator<Handle, void> {
  const forget = recorder.mark();
  recorder.texts = known.texts[0];
  const given = new Set<Value | Variable>();
  const second = yield* enter(
    recorder,
    known.head,
    once,
    againAt(known, { round, repeats: new RetraceMatcher(), given, entered }),
  );
  forget();
  const different = firstDifference(known, second, given);
  if (!different) return;
  const { what, at } = known.head;
  const said = different.at ? changedState.differs(what) : changedState.results(what);
  fail(said, different.at ?? at, { related: at && different.at && [{ message: `${what} starts here`, at }] });
}

function* enter(recorder: Builder, head: BodyHead, once: BodyRunner, again?: Again): Generator<Handle, Body> {
  const outer = recorder.entry;
  const entry: BodyRetrace = { head, inner: [], callsHelpers: false, again };
  const before = recorder.texts;
  recorder.entry = entry;
  recorder.open(head.what, head.at, head.kind, head.conditions);
  const depth = recorder.depth;
  const { params = [], yields, form, states = [] } = yield* once();
  if (recorder.depth !== depth) fail(earlyExit.leftInside(), head.at);
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
    texts: [before, recorder.texts],
  };
}

/** The body that was recorded where another one is entered again. */
function nextOf(again: Again, head: BodyHead): Body {
  const known = again.known.inner[again.next++];
  const isSame = known && known.head.kind === head.kind && known.head.arm === head.arm;
  return isSame ? known : fail(changedState.differs(again.known.head.what), head.at ?? captureLocation());
}
