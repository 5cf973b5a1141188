/** Shadow memory: for each offset of a tensor, the interval and the lane of the last access of one kind. */
import type { Stamp } from "./happens-before.js";

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
