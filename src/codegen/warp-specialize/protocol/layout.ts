/** The barriers and buffers of a pipeline, by number, and their numbers once all partitions are iterations further. */
import type { BarrierName } from "../pattern/pipeline.js";
import { type Instruction, isOwn, type ProtocolForm } from "./program.js";
import type { Barrier, Buffer, Clock, PartitionState, Stamp, State } from "./state.js";

/** The counter of a barrier's phases. */
type PhaseCounter = "slot" | "tile" | "iteration";

export class Layout {
  /** The first of each barrier's numbers. Those that no partition waits for have none. */
  readonly #first = new Map<BarrierName, number>();
  readonly #tracksTiles: boolean;
  /** The number of operands, of which each may have a buffer per slot and one per consumer. */
  readonly #operands: number;

  constructor(
    readonly form: ProtocolForm,
    readonly programs: readonly (readonly Instruction[])[],
  ) {
    let count = 0;
    for (const step of programs.flat())
      if (step.kind === "wait" && !this.#first.has(step.barrier)) {
        this.#first.set(step.barrier, count);
        count += this.#size(step.barrier);
      }
    const operands = programs.flat().flatMap((step): readonly number[] => {
      if (step.kind === "copy") return [step.operand];
      if (step.kind === "take") return [step.read.operand];
      if (step.kind === "widen") return [step.from, step.to];
      return step.kind === "multiply" ? step.reads.map(({ operand }) => operand) : [];
    });
    this.#operands = Math.max(0, ...operands) + 1;
    this.#tracksTiles = [...this.#first.keys()].some((barrier) => this.#counterOf(barrier) === "tile");
  }

  first(): State {
    const { stages, consumers } = this.form;
    const clock = this.programs.map(() => 0);
    const barriers = [...this.#first.keys()].flatMap((name) =>
      Array.from({ length: this.#size(name) }, (_, i): Barrier => {
        const isWaiter = (step: Instruction) =>
          step.kind === "wait" && step.barrier === name && (step.owner === undefined || step.owner === i);
        const waits = this.programs.flatMap((program, part) =>
          program.some(isWaiter) ? [{ part, arrivals: -1, phase: -1 }] : [],
        );
        return { phase: 0, missing: this.arrivals(name), copies: 0, pendingClock: clock, completedClock: clock, waits };
      }),
    );
    return {
      partitions: this.programs.map(() => ({
        at: 0,
        count: 0,
        tile: 0,
        isLater: false,
        isTileOver: false,
        decisionCount: 0,
        isInPair: false,
        running: [],
        isUnfenced: false,
        clock,
        earlierClock: clock,
      })),
      barriers,
      blocks: Array.from({ length: this.#operands * (stages + consumers) }, () => undefined),
      decisions: [],
      past: 0,
    };
  }

  /** The number of a barrier; undefined if no partition waits for it. */
  barrier(name: BarrierName, owner: number | undefined, count: number): number | undefined {
    const first = this.#first.get(name);
    return first === undefined ? undefined : first + (owner ?? this.#slot(count));
  }

  buffer({ operand, count, owner }: Buffer): number {
    const { stages, consumers } = this.form;
    return owner === undefined
      ? operand * stages + this.#slot(count)
      : this.#operands * stages + operand * consumers + owner;
  }

  /** The phase of a barrier that an iteration or a tile uses. */
  phase(barrier: BarrierName, { count, tile }: PartitionState): number {
    const counter = this.#counterOf(barrier);
    if (counter === "slot") return Math.floor(count / this.form.stages);
    return counter === "tile" ? tile : count;
  }

  /** The arrivals that complete a phase. */
  arrivals(barrier: BarrierName): number {
    const { arrivals = "one" } = this.form.pipeline.barriers[barrier] ?? {};
    return { one: 1, "producer and widener": 2, consumers: this.form.consumers }[arrivals];
  }

  /** The number of the tile after this one; without barriers that count tiles, all have one number. */
  nextTile({ tile }: PartitionState): number {
    return this.#tracksTiles ? tile + 1 : tile;
  }

  #counterOf(barrier: BarrierName): PhaseCounter {
    if (barrier === "turnGiven") return "iteration";
    return isOwn(this.form.pipeline, barrier) ? "tile" : "slot";
  }

  #size(barrier: BarrierName): number {
    return isOwn(this.form.pipeline, barrier) ? this.form.consumers : this.form.stages;
  }

  #slot(count: number): number {
    const { stages } = this.form;
    return ((count % stages) + stages) % stages;
  }

  // ---- relative numbers ---------------------------------------------------------------------------------------------

  /** The state without the iterations, tiles and arrivals that all partitions have completed or observed. */
  rebased(state: State): State {
    const count = Math.min(...state.partitions.map((partition) => partition.count));
    const tile = Math.min(...state.partitions.map((partition) => partition.tile));
    const decisionCount = Math.min(...state.partitions.map((partition) => partition.decisionCount));
    const common = this.#commonClock(state);
    const earlier = (clock: Clock): Clock => clock.map((arrivals, part) => Math.max(0, arrivals - (common[part] ?? 0)));
    const stamp = <S extends Stamp>(each: S): S => ({
      ...each,
      arrivals: Math.max(-1, each.arrivals - (common[each.part] ?? 0)),
    });
    const emptyClock = this.programs.map(() => 0);
    const barriers = [...this.#first].flatMap(([name, first]) => {
      const counter = this.#counterOf(name);
      return Array.from({ length: this.#size(name) }, (_, i): Barrier => {
        const barrier = barrierAt(state, first + (counter === "slot" ? this.#slot(i + count) : i));
        const phases = this.phase(name, {
          ...partitionAt(state, 0),
          count: counter === "slot" ? i + count : count,
          tile,
        });
        return {
          ...barrier,
          phase: barrier.phase - phases,
          pendingClock: earlier(barrier.pendingClock),
          completedClock: earlier(
            barrier.waits.every(({ phase }) => phase === barrier.phase - 1) ? emptyClock : barrier.completedClock,
          ),
          waits: barrier.waits.map((wait) => ({ ...stamp(wait), phase: wait.phase - phases })),
        };
      });
    });
    return {
      partitions: state.partitions.map((partition, part) => ({
        ...partition,
        count: partition.count - count,
        tile: partition.tile - tile,
        decisionCount: partition.decisionCount - decisionCount,
        running: partition.running.map(({ product, reads }) => ({
          product,
          reads: reads.map((each) => ({ ...each, count: each.count - count })),
        })),
        clock: this.hasEnded(state, part) ? emptyClock : earlier(partition.clock),
        earlierClock: this.hasEnded(state, part) ? emptyClock : earlier(partition.earlierClock),
      })),
      barriers,
      blocks: state.blocks.map((_, i) => {
        const { stages } = this.form;
        const isOwnBuffer = i >= this.#operands * stages;
        const block = state.blocks[isOwnBuffer ? i : i - (i % stages) + this.#slot((i % stages) + count)];
        if (!block) return undefined;
        const index = Math.max(-1, block.index - (isOwnBuffer ? tile : count));
        const reads = block.reads.map(stamp).filter(({ arrivals }) => arrivals >= 0);
        const { write, ...others } = block;
        // No later read accepts the block, so the buffer may as well be empty. Only the partition that wrote it overwrites it.
        if (index < 0 && reads.length === 0 && block.seenBy.length > 0) return undefined;
        return { ...others, index, reads, ...(write && index >= 0 && { write: stamp(write) }) };
      }),
      decisions: state.decisions.slice(decisionCount),
      past: state.past + count,
    };
  }

  hasEnded(state: State, part: number): boolean {
    return partitionAt(state, part).at === this.programs[part]?.length;
  }

  /** The arrivals that every other partition has observed, except those that have ended. */
  #commonClock(state: State): Clock {
    return state.partitions.map(({ clock }, part) => {
      const others = state.partitions.filter((_, each) => each !== part && !this.hasEnded(state, each));
      return Math.min(clock[part] ?? 0, ...others.map((each) => each.clock[part] ?? 0));
    });
  }
}

export function partitionAt({ partitions }: State, part: number): PartitionState {
  const partition = partitions[part];
  if (!partition) throw new Error(`there is no partition ${part}`);
  return partition;
}

export function barrierAt({ barriers }: State, number: number): Barrier {
  const barrier = barriers[number];
  if (!barrier) throw new Error(`there is no barrier ${number}`);
  return barrier;
}
