/**
 * Order obligations: within an epoch, accesses of one program to an element that one of them writes are of one lane.
 * Lanes of equal index in tiles of equal shape are one lane.
 */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import { type OpStatement, isLiteral } from "../../ir/nodes.js";
import { andTerm, atLeast, equal, FALSE, number, sum, symbol, type Term, TRUE } from "../../symbolic/term.js";
import { zip } from "../algebra/zip.js";
import { entails } from "../algebra/interpret.js";
import type { RefutationQuery } from "../counterexample.js";
import type { Access } from "../model/accesses.js";
import type { SymbolicModel } from "../model/model.js";
import { areApart, pairFacts, primed, sameElementFacts, variablesOf } from "../model/written-elements.js";
import { firstUnprovedBound } from "./bounds.js";
import {
  type ObligationGenerator,
  type ProofContext,
  type ProofGap,
  describeAccess,
  inLineOf,
  missingBounds,
} from "./obligations.js";
import { inverseOf, provesRoundTrip } from "./races.js";
import { type Event, type LoopStep, opEvents, type OpStep } from "../model/events.js";

// The epochs of a program: its execution between two barriers. Triton divides lanes among threads, so within an epoch
// only accesses of the same lane are in the order of the code.

/** Two accesses of one program in one epoch that conflict if different lanes perform them on one element. */
interface EpochPair {
  readonly earlier: Access;
  readonly later: Access;
  /** The loop of which the later access has a later iteration. Undefined: iterations of common loops are the same. */
  readonly loop: LoopStep | undefined;
  /** True if the iteration is the next one, because each iteration has a barrier. */
  readonly isNext: boolean;
}

/** True if an event is a barrier whenever it executes. */
type IsBarrier = (event: OpStep) => boolean;

/** The pairs of accesses in one epoch, by the later access. */
function epochPairs(
  { flow, accesses, modeledAccess }: SymbolicModel,
  isBarrier: IsBarrier,
): ReadonlyMap<Access, readonly EpochPair[]> {
  const writtenTensors = new Set(accesses.flatMap(({ accessKind, tensor }) => (accessKind === "load" ? [] : [tensor])));
  const walk = new EpochWalk(isBarrier, (access) => {
    const modeled = modeledAccess.get(access);
    return modeled && writtenTensors.has(modeled.tensor) ? modeled : undefined;
  });
  walk.run(flow, new Set(), undefined);
  return walk.pairs;
}

/**
 * True for `tl.debugBarrier()`, and for an atomic on one element that all threads of a program order their accesses by.
 * `isActive` returns true if the access has no masked lane.
 */
function isBarrier({ statement, access }: OpStep, isActive: (access: Access) => boolean): boolean {
  if (statement.op.facts.isBarrier) return true;
  if (access?.accessKind !== "atomic" || access.shape.length > 0) return false;
  return access.memoryOperands.value !== undefined && isReleasing(statement) && isActive(access);
}

function isReleasing({ options }: OpStatement): boolean {
  const { sem } = options;
  return sem === undefined || (isLiteral(sem) && (sem.value === "acq_rel" || sem.value === "release"));
}

/** The accesses of the current epoch. */
type Epoch = ReadonlySet<Access>;

class EpochWalk {
  readonly pairs = new Map<Access, EpochPair[]>();

  constructor(
    readonly isBarrier: IsBarrier,
    /** The access in the model, if another access may conflict with it. */
    readonly trackedAccess: (access: Access) => Access | undefined,
  ) {}

  /**
   * Executes events that follow the accesses of an epoch, and returns the epoch at their end. With `loop`, the epoch
   * has accesses of an earlier iteration, and those of the events are not added.
   */
  run(events: readonly Event[], start: Epoch, loop: LoopStep | undefined): Epoch {
    return events.reduce((epoch, event) => this.#execute(event, epoch, loop), start);
  }

  #execute(event: Event, epoch: Epoch, loop: LoopStep | undefined): Epoch {
    switch (event.kind) {
      case "op":
        return this.#executeOp(event, epoch, loop);
      case "call":
        return this.run(event.steps, epoch, loop);
      case "branch":
        return new Set(
          [event.then, event.otherwise].flatMap(({ steps, hasExited }) => {
            const end = this.run(steps, epoch, loop);
            return hasExited ? [] : [...end];
          }),
        );
      case "loop":
        return this.#executeLoop(event, epoch, loop);
      case "let":
      case "read":
      case "write":
        return epoch;
      default:
        return event satisfies never;
    }
  }

  #executeOp(event: OpStep, epoch: Epoch, loop: LoopStep | undefined): Epoch {
    const later = event.access && this.trackedAccess(event.access);
    const rivals = later ? [...epoch].filter((earlier) => mayConflict(earlier, later)) : [];
    if (later && rivals.length > 0) {
      const isNext = loop !== undefined && !this.#mayPass(loop.steps);
      for (const earlier of rivals) this.#add({ earlier, later, loop, isNext });
    }
    if (this.isBarrier(event)) return new Set();
    return later && !loop ? new Set(epoch).add(later) : epoch;
  }

  #executeLoop(event: LoopStep, epoch: Epoch, loop: LoopStep | undefined): Epoch {
    const end = this.run(event.steps, epoch, loop);
    if (!loop) this.run(event.steps, new Set([...end].filter((each) => !epoch.has(each))), event);
    // The condition of a `while` loop is evaluated once more than its body.
    const inLoop =
      event.condition || loop
        ? []
        : opEvents(event.steps).flatMap(({ access }) => (access && this.trackedAccess(access)) ?? []);
    return new Set([...epoch, ...end, ...inLoop]);
  }

  /** True if events may execute without a barrier. */
  #mayPass(events: readonly Event[]): boolean {
    return events.every((event) => {
      if (event.kind === "op") return !this.isBarrier(event);
      if (event.kind === "call") return this.#mayPass(event.steps);
      if (event.kind !== "branch") return true;
      return [event.then, event.otherwise].some(({ steps, hasExited }) => !hasExited && this.#mayPass(steps));
    });
  }

  #add(pair: EpochPair): void {
    const pairs = this.pairs.get(pair.later);
    if (!pairs) this.pairs.set(pair.later, [pair]);
    else pairs.push(pair);
  }
}

/** Loads do not conflict, nor do atomics. */
const mayConflict = (x: Access, y: Access): boolean =>
  x.tensor === y.tensor && (x.accessKind !== y.accessKind || x.accessKind === "store");

const FINDING_CODES: readonly FindingCode[] = ["unordered-lanes"];

/** One obligation for each access that another lane's earlier access in the same epoch may conflict with. */
export const orderObligations: ObligationGenerator = (models) => {
  const pairs = new Map<OpStatement, EpochPair[]>();
  for (const model of models)
    for (const [{ statement }, found] of epochPairs(model, (event) => isBarrier(event, ({ mask }) => mask === TRUE)))
      pairs.set(statement, [...(pairs.get(statement) ?? []), ...found]);
  return [...pairs].map(([statement, found]) => {
    const accesses = found.flatMap(({ earlier, later }) => [later, earlier]);
    return {
      property: "order",
      subject: accesses.map(describeAccess)[0] ?? "",
      at: statement.location,
      restsOn: accesses.map((access) => access.statement),
      waiver: accesses.find(({ trusted }) => trusted !== undefined)?.trusted,
      prove: (context) => proveOrder(context, statement),
    };
  });
};

type Pairs = ReturnType<typeof epochPairs>;
const pairsOfModel = new WeakMap<SymbolicModel, Pairs>();

/** The pairs of all epochs. An atomic whose mask is proved is a barrier. */
function pairsIn({ model, factScopes }: ProofContext): Pairs {
  let pairs = pairsOfModel.get(model);
  if (!pairs) {
    const isActive = ({ path, scope, mask }: Access) => entails(factScopes.onPath(path, scope), mask);
    pairs = epochPairs(model, (event) => isBarrier(event, isActive));
    pairsOfModel.set(model, pairs);
  }
  return pairs;
}

function proveOrder(context: ProofContext, statement: OpStatement): ProofGap | undefined {
  for (const [access, pairs] of pairsIn(context)) {
    if (access.statement !== statement) continue;
    for (const pair of pairs) {
      const gap = gapOf(context, pair);
      if (gap) return gap;
    }
  }
  return undefined;
}

function gapOf(context: ProofContext, pair: EpochPair): ProofGap | undefined {
  const { earlier, later } = pair;
  const missing = later.missing ?? earlier.missing;
  if (missing !== undefined) return { refutation: undefined, missing, isLemma: true };
  const outOfBounds = [later, earlier].find((access) => firstUnprovedBound(context.factScopes, access));
  if (outOfBounds) return { refutation: refutationOf(pair), missing: missingBounds(outOfBounds), isLemma: true };
  if (provesSameLane(context, pair)) return undefined;
  return { refutation: refutationOf(pair), missing: missingOrder(pair), remedies: [{ kind: "barrier" }] };
}

/** Proves that one lane performs both accesses, if they are of one element. */
function provesSameLane(context: ProofContext, pair: EpochPair): boolean {
  // A loop moves through a tensor, which the inverse of the index shows; without one, both indices are mostly alike.
  return pair.loop
    ? provesByInverse(context, pair) || provesByTwoPoints(context, pair)
    : provesByTwoPoints(context, pair) || provesByInverse(context, pair);
}

const haveOneShape = ({ earlier, later }: EpochPair): boolean =>
  earlier.shape.length === later.shape.length && zip(earlier.shape, later.shape).every(([x, y]) => x === y);

/** Proves that the element determines the lane, or the iteration of a loop in which both accesses differ. */
function provesByInverse(context: ProofContext, pair: EpochPair): boolean {
  const { earlier, later, loop } = pair;
  const inverse = inverseOf(context, later, variablesOf(later));
  // Lanes of tiles of other shapes have no pairs; an iteration may be determined all the same.
  const lanes = haveOneShape(pair) ? zip(later.lane, earlier.lane) : [];
  const earlierLanes = new Map(lanes.map(([{ name }, lane]) => [name, lane]));
  const variableOf = (name: string): Term => earlierLanes.get(name) ?? symbol(name);
  const isDetermined = (name: string): boolean =>
    provesRoundTrip(context, later, inverse, name) &&
    (earlier === later || provesRoundTrip(context, earlier, inverse, name, variableOf));
  return (
    (haveOneShape(pair) && later.lanes.every(isDetermined)) || (loop !== undefined && isDetermined(loop.iteration.name))
  );
}

function provesByTwoPoints({ factScopes }: ProofContext, pair: EpochPair): boolean {
  const { earlier, later, loop, isNext } = pair;
  const shared = sharedScope(pair);
  const second = primed(variablesOf(later).filter((name) => !shared.includes(name)));
  const laterTerm = ({ name }: Term): Term => second.get(name) ?? symbol(name);
  const next = loop && sum(loop.iteration, number(1));
  const order = loop && next ? [(isNext ? equal : atLeast)(laterTerm(loop.iteration), next)] : [];
  if (areApart(pairFacts(factScopes, earlier, later, second, order), earlier, later, second)) return true;
  if (!haveOneShape(pair)) return entails(sameElementFacts(factScopes, earlier, later, second, order), FALSE);
  const lanes = zip(earlier.lane, later.lane).filter(([lane]) => lane.kind === "symbol");
  const isSameLane = andTerm(...lanes.map(([lane, other]) => equal(lane, laterTerm(other))));
  return entails(sameElementFacts(factScopes, earlier, later, second, order), isSameLane);
}

/** The programs and iterations that are the same for both accesses. */
function sharedScope({ earlier, later, loop }: EpochPair): readonly string[] {
  const common = later.scope.filter((name) => earlier.scope.includes(name));
  return loop ? common.slice(0, common.indexOf(loop.iteration.name)) : common;
}

/** The search for two lanes of one program that access one element. */
function refutationOf(pair: EpochPair): RefutationQuery {
  const accesses = [...new Set([pair.earlier, pair.later])];
  const shared = sharedScope(pair);
  const conflict = accesses.map((access) => ({
    index: [...access.axes.map(({ index }) => index), ...shared.map(symbol)],
    facts: [...access.path, access.mask],
    variables: variablesOf(access),
    identity: access.lane.map(({ name }) => name),
  }));
  return {
    goal: TRUE,
    facts: [],
    variables: [...new Set(accesses.flatMap(variablesOf))],
    locations: [pair.later.statement.location],
    findingCodes: FINDING_CODES,
    conflict: haveOneShape(pair) ? conflict : [],
  };
}

function missingOrder({ earlier, later, loop }: EpochPair): string {
  const otherPlace =
    earlier === later
      ? "in an earlier iteration"
      : `${inLineOf(earlier).trim()}${loop ? " in an earlier iteration" : ""}`;
  return `nothing shows that an element of ${later.tensor?.name} that is accessed here and ${otherPlace} is so by one lane only`;
}
