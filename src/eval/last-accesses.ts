/** Shadow memory: for each offset of a tensor, the interval and the lane of the last access of one kind. */

/** A lane of a tile. Lanes with different keys are unordered within one interval. */
export type LaneKey = number;

/** Key of an element that several lanes accessed. */
export const SEVERAL_LANES: LaneKey = -1;

export class LastAccesses {
  readonly #stamps: Int32Array;
  readonly #lanes: Int32Array;

  constructor(extent: number) {
    this.#stamps = new Int32Array(extent);
    this.#lanes = new Int32Array(extent);
  }

  /** The stamp of the last access; 0 if there was none. */
  stampAt(offset: number): Stamp {
    return this.#stamps[offset]!;
  }

  laneAt(offset: number): LaneKey {
    return this.#lanes[offset]!;
  }

  /** True if another lane accessed the element in this interval. */
  isByOtherLane(offset: number, stamp: Stamp, lane: LaneKey): boolean {
    return this.#stamps[offset] === stamp && this.#lanes[offset] !== lane;
  }

  set(offset: number, stamp: Stamp, lane: LaneKey): void {
    this.#stamps[offset] = stamp;
    this.#lanes[offset] = lane;
  }

  /** Adds an access that does not replace those of other lanes in the same interval. */
  add(offset: number, stamp: Stamp, lane: LaneKey): void {
    this.set(offset, stamp, this.isByOtherLane(offset, stamp, lane) ? SEVERAL_LANES : lane);
  }
}

/** The last accesses of a tensor that programs may write. */
export interface ShadowMemory {
  readonly writes: LastAccesses;
  readonly reads: LastAccesses;
  /** Atomics that changed an element. Undefined before the first atomic. */
  atomics: LastAccesses | undefined;
}

/**
 * The happens-before order of programs, as vector clocks. Only atomics order accesses of different programs. A release
 * on an element orders earlier accesses before those that follow a later acquire on that element.
 */

/** Identifies an interval of a program between two of its releases or barriers. */
export type Stamp = number;
/** For each program, the latest stamp that is ordered before this point. */
type Clock = Map<number, Stamp>;

export class Order {
  /** The program of each stamp; stamps count from 1. */
  readonly #owners: number[] = [0];
  /** The clock of the last release on each element. */
  readonly #releaseClocks = new Map<string, Clock>();
  #program = 0;
  #clock: Clock = new Map();
  /** The stamp of the running program's next accesses. */
  stamp: Stamp = 0;

  begin(program: number): void {
    this.#program = program;
    this.#clock = new Map();
    this.barrier();
  }

  /** Orders earlier accesses of the running program's lanes before later ones. */
  barrier(): void {
    this.stamp = this.#owners.push(this.#program) - 1;
  }

  owner(stamp: Stamp): number {
    return this.#owners[stamp]!;
  }

  /** True if the access with this stamp is ordered before the running program. */
  isOrderedBefore(stamp: Stamp): boolean {
    if (stamp === 0 || stamp === this.stamp) return true;
    const owner = this.owner(stamp);
    return owner === this.#program || (this.#clock.get(owner) ?? 0) >= stamp;
  }

  /** Records an atomic of the running program on one element. */
  recordAtomic(element: string, order: string): void {
    if (order === "relaxed") return;
    const clock = this.#releaseClocks.get(element);
    if (order !== "release" && clock) merge(this.#clock, clock);
    if (order === "acquire") return;
    const released: Clock = clock ?? new Map<number, Stamp>();
    merge(released, this.#clock);
    released.set(this.#program, this.stamp);
    this.#releaseClocks.set(element, released);
    this.barrier();
  }
}

function merge(target: Clock, source: Clock): void {
  for (const [program, stamp] of source) if (stamp > (target.get(program) ?? 0)) target.set(program, stamp);
}
