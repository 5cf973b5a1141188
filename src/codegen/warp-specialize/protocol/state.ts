/**
 * The states of a launch. They count iterations and tiles from those of the slowest partition, so launches of every
 * length share them. The partitions of a correct pipeline stay a few iterations apart.
 */

/** A buffer of shared memory: one of the iteration's slot, or one that a consumer has. */
export interface Buffer {
  readonly operand: number;
  readonly count: number;
  readonly owner: number | undefined;
}

/**
 * A vector clock: the number of arrivals of each partition that must precede, beyond those that every partition has
 * observed. Only arrivals publish the steps of a partition.
 */
export type Clock = readonly number[];

export interface PartitionState {
  /** The next instruction. */
  readonly at: number;
  readonly count: number;
  readonly tile: number;
  /** True if the tile has had an iteration. */
  readonly isLater: boolean;
  /** True if no iteration of the tile follows. */
  readonly isTileOver: boolean;
  /** The number of {@link State.decisions} that it has followed. */
  readonly decisionCount: number;
  /** True between the two iterations of one decision. */
  readonly isInPair: boolean;
  /** Its products that may still read these buffers, oldest first. */
  readonly running: readonly { readonly product: number; readonly reads: readonly Buffer[] }[];
  /** True if its registers have read or written shared memory since the last fence. */
  readonly isUnfenced: boolean;
  /** Its own entry counts all of its arrivals. */
  readonly clock: Clock;
  /** The clock at the end of the iteration before. */
  readonly earlierClock: Clock;
}

/** A step between two arrivals of a partition. Negative if every partition has observed the second one. */
export interface Stamp {
  readonly part: number;
  readonly arrivals: number;
}

export interface Barrier {
  /** The number of complete phases, relative to the phase of the first iteration or tile that uses the barrier next. */
  readonly phase: number;
  /** Arrivals that the phase lacks. */
  readonly missing: number;
  /** Copies that are announced and not started. */
  readonly copies: number;
  /** The clock of the arrivals of this phase, and that of the last complete phase. */
  readonly pendingClock: Clock;
  readonly completedClock: Clock;
  /** The last wait of each partition that waits for the barrier, and its phase. */
  readonly waits: readonly (Stamp & { readonly phase: number })[];
}

/** The block of an iteration or a tile in a buffer. */
export interface Block {
  readonly index: number;
  /** The partitions that have waited for it. */
  readonly seenBy: readonly number[];
  /** The write of it, unless a copy fills it. */
  readonly write?: Stamp;
  /** The ends of its reads. */
  readonly reads: readonly Stamp[];
}

/** The iterations with which a loop continues, or its end. */
export type Decision = "one" | "two" | "end";

export interface State {
  readonly partitions: readonly PartitionState[];
  readonly barriers: readonly Barrier[];
  readonly blocks: readonly (Block | undefined)[];
  /** For each loop head that a partition reaches, in order. */
  readonly decisions: readonly Decision[];
  /** The iterations that all partitions have completed. Equal states may differ in it. */
  readonly past: number;
}

/** A text that equal states share. */
export const keyOf = (state: State): string => JSON.stringify({ ...state, past: 0 });
