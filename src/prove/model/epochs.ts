/**
 * The epochs of a program: its execution between two barriers. Triton divides lanes among threads, so within an epoch
 * only accesses of the same lane are in the order of the code.
 */
import { isLiteral, type OpStatement } from "../../ir/nodes.js";
import type { Access } from "./accesses.js";
import { type Event, type LoopStep, opEvents, type OpStep } from "./events.js";
import type { SymbolicModel } from "./model.js";

/** Two accesses of one program in one epoch that conflict if different lanes perform them on one element. */
export interface EpochPair {
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
export function epochPairs(
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
export function isBarrier({ statement, access }: OpStep, isActive: (access: Access) => boolean): boolean {
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
