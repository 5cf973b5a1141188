/**
 * A proof about the barriers of a pipeline, for launches of every length. It explores all sequences of iterations and
 * tiles, over states that do not count completed ones ({@link State}).
 *
 * One order of the partitions' steps suffices for each sequence. An mbarrier completes a phase when the expected arrivals
 * and bytes are in, and a wait observes only the parity of the phase. As long as no barrier gets two phases ahead of a
 * wait, a step that is possible stays possible. Orders therefore differ only if two steps conflict. Such pairs are:
 *
 * - a copy and a read of one buffer;
 * - an arrival and the end of the previous phase;
 * - the end of a phase and a wait for the previous one.
 *
 * Vector clocks show that barriers order these steps, and then every order has the same result.
 */
import type { BarrierName } from "../pattern/pipeline.js";
import { barrierAt, Layout, partitionAt } from "./layout.js";
import { type Instruction, type Partition, partitionsOf, programOf, type ProtocolForm } from "./program.js";
import {
  type Barrier,
  type Buffer,
  type Clock,
  type Decision,
  keyOf,
  type PartitionState,
  type Stamp,
  type State,
} from "./state.js";

/** Thrown for the first thing that goes wrong. */
class Fault extends Error {}

export type ProtocolVerdict =
  | { readonly kind: "proved"; readonly states: number }
  /** `iterations`: those that all partitions had completed. */
  | { readonly kind: "refuted"; readonly fault: string; readonly iterations: number; readonly states: number }
  | { readonly kind: "unknown"; readonly states: number };

/** The limit of a proof. Pipelines that ship need less than a tenth. */
const MOST_STATES = 20_000;

export function exploreProtocol(form: ProtocolForm, limit = MOST_STATES): ProtocolVerdict {
  return new Explorer(form).explore(limit);
}

type InstructionOf<Kind extends Instruction["kind"]> = Extract<Instruction, { readonly kind: Kind }>;

class Explorer {
  readonly #partitions: readonly Partition[];
  readonly #programs: readonly (readonly Instruction[])[];
  readonly #layout: Layout;
  /**
   * True if a program has one tile, or the producer does more for a tile than for its iterations. Otherwise partitions share only the number of all
   * iterations, and each may end its tiles anywhere.
   */
  readonly #seesTiles: boolean;
  readonly #mayIdle: boolean;
  /** True if consumers take iterations by two, of which the producer makes one after the other. */
  readonly #isPaired: boolean;
  /** The operands of which each barrier completes the blocks. */
  readonly #fills: readonly Pick<InstructionOf<"copy">, "operand" | "barrier">[];

  constructor(form: ProtocolForm) {
    this.#partitions = partitionsOf(form);
    this.#programs = this.#partitions.map((partition) => programOf(form, partition));
    this.#layout = new Layout(form, this.#programs);
    this.#seesTiles = form.pipeline.producer.every((step) => step.kind !== "tiles" || step.body.length > 1);
    this.#isPaired = form.isPaired === true;
    const fills = this.#programs.flatMap((program) => program.flatMap(fillOf));
    this.#fills = [...new Map(fills.map((fill) => [`${fill.operand} ${fill.barrier}`, fill])).values()];
    this.#mayIdle = form.mayIdle;
  }

  explore(limit: number): ProtocolVerdict {
    const visited = new Set<string>();
    const open = [this.#layout.first()];
    for (let state = open.pop(); state; state = open.pop()) {
      const key = keyOf(state);
      if (visited.has(key)) continue;
      if (visited.size >= limit) return { kind: "unknown", states: visited.size };
      visited.add(key);
      try {
        open.push(...this.#next(state).map((after) => this.#layout.rebased(after)));
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return { kind: "refuted", fault: error.message, iterations: state.past, states: visited.size };
      }
    }
    return { kind: "proved", states: visited.size };
  }

  /** The states after the next decision, or after the next steps if there is none. */
  #next(state: State): readonly State[] {
    let current = state;
    for (;;) {
      const part = this.#movable(current);
      if (part < 0) {
        this.#checkEnd(current);
        return [];
      }
      const after = this.#step(current, part);
      const [single] = after;
      if (!single || after.length > 1) return after;
      current = single;
    }
  }

  /** The slowest partition of those that can move. */
  #movable(state: State): number {
    let best = -1;
    for (const part of state.partitions.keys())
      if (this.#canMove(state, part) && (best < 0 || partitionAt(state, part).count < partitionAt(state, best).count))
        best = part;
    return best;
  }

  #instruction(part: number, { at }: PartitionState): Instruction | undefined {
    return this.#programs[part]?.[at];
  }

  #canMove(state: State, part: number): boolean {
    const partition = partitionAt(state, part);
    const instruction = this.#instruction(part, partition);
    return (
      instruction !== undefined && (instruction.kind !== "wait" || this.#isReady(state, part, partition, instruction))
    );
  }

  #step(state: State, part: number): readonly State[] {
    const partition = partitionAt(state, part);
    const instruction = this.#instruction(part, partition);
    const go = (after: State, change: Partial<PartitionState> = {}): readonly State[] => [
      {
        ...after,
        partitions: after.partitions.with(part, { ...partitionAt(after, part), at: partition.at + 1, ...change }),
      },
    ];
    switch (instruction?.kind) {
      case undefined:
        return [];
      case "loop":
        return this.#loop(state, part, partition, instruction);
      case "repeat":
        return go(state, this.#afterIteration(part, partition, instruction));
      case "wait":
        return go(this.#wait(state, part, partition, instruction));
      case "arrive":
        return go(
          instruction.isLater && !partition.isLater ? state : this.#arrive(state, part, partition, instruction),
        );
      case "copy":
        return go(this.#copy(state, part, partition, instruction));
      case "take": {
        const read = { ...instruction.read, count: partition.count };
        this.#checkHeld(state, part, partition, [read]);
        return go(this.#finishReads(state, part, partition, [read]));
      }
      case "widen":
        return go(this.#widen(state, part, partition, instruction), { isUnfenced: true });
      case "fence":
        return go(state, { isUnfenced: false });
      case "multiply": {
        const reads = instruction.reads.map((read): Buffer => ({ ...read, count: partition.count }));
        this.#checkHeld(state, part, partition, reads);
        return go(state, { running: [...partition.running, { product: instruction.product, reads }] });
      }
      case "settle": {
        const finishedCount = Math.max(0, partition.running.length - instruction.pending);
        const finished = partition.running.slice(0, finishedCount);
        const reads = finished.flatMap((each) => each.reads);
        const after = this.#finishReads(state, part, partition, reads);
        return go(after, { running: partition.running.slice(finishedCount) });
      }
      case "compute":
        checkComplete(partition, this.#nameOf(part), instruction);
        return go(state);
      case "add":
        if (partition.running.length > instruction.pending)
          throw new Fault(`${this.#nameOf(part)} adds a product that runs`);
        return go(state);
      case "advance":
        return go(state, this.#afterAdvance(part, partition));
      default:
        return instruction satisfies never;
    }
  }

  /** The partition at the head of a loop, after an iteration of it. */
  #afterIteration(
    part: number,
    partition: PartitionState,
    { loop, head }: InstructionOf<"repeat">,
  ): Partial<PartitionState> {
    if (loop !== "tiles") return { at: head, isLater: this.#programs[part]?.some(isOfLater) === true };
    if (this.#seesTiles && !partition.isTileOver)
      throw new Fault(`${this.#nameOf(part)} leaves out iterations of a tile`);
    return { at: head, tile: this.#layout.nextTile(partition) };
  }

  #afterAdvance(part: number, { count, clock }: PartitionState): Partial<PartitionState> {
    const isAged = this.#programs[part]?.some(isOfEarlier) === true;
    return { count: count + 1, ...(isAged && { earlierClock: clock }) };
  }

  /** The partition follows the next decision, or makes both if it is the first one there. */
  #loop(
    state: State,
    part: number,
    partition: PartitionState,
    { loop, exit }: InstructionOf<"loop">,
  ): readonly State[] {
    const { decisions } = state;
    const next = decisions[partition.decisionCount];
    const [enters, leaves] = [next !== "end", next === undefined || next === "end"];
    const decisionsAfter = (decision: Decision): readonly Decision[] =>
      next === undefined ? [...decisions, decision] : decisions;
    const to = (change: Partial<PartitionState>, after = decisions): State => ({
      ...state,
      partitions: state.partitions.with(part, { ...partition, ...change }),
      decisions: after,
    });
    const decisionCount = partition.decisionCount + 1;
    const begin: Partial<PartitionState> = {
      ...(loop === "tiles" && { isLater: false, isTileOver: false }),
      at: partition.at + 1,
    };
    if (this.#isPaired && loop !== "tiles") return this.#pairedLoop(state, part, partition, { loop, exit });
    const enter = () => to({ ...begin, decisionCount }, decisionsAfter("one"));
    const leave = () => to({ at: exit, decisionCount, isTileOver: true }, decisionsAfter("end"));
    if (!this.#seesTiles)
      return loop === "tiles"
        ? [to(begin), ...(leaves ? [leave()] : [])]
        : [to({ at: exit }), ...(enters ? [enter()] : [])];
    if (loop === "idle iterations" && partition.isTileOver) return [to({ at: exit })];
    const idles =
      loop === "iterations" && part > 0 && this.#mayIdle && enters ? [to({ at: exit }, decisionsAfter("one"))] : [];
    return [...(enters ? [enter()] : []), ...(leaves ? [leave()] : []), ...idles];
  }

  /** A decision may comprise two iterations, which a consumer takes at once, in the loop over pairs. */
  #pairedLoop(
    { decisions, partitions, ...state }: State,
    part: number,
    partition: PartitionState,
    { loop, exit }: Pick<InstructionOf<"loop">, "loop" | "exit">,
  ): readonly State[] {
    const next = decisions[partition.decisionCount];
    const to = (change: Partial<PartitionState>, after = decisions): State => ({
      ...state,
      partitions: partitions.with(part, { ...partition, ...change }),
      decisions: after,
    });
    const isProducer = part === 0;
    const enter = (decision: Decision): State => {
      const isFirst = isProducer && decision === "two" && !partition.isInPair;
      const decisionCount = partition.decisionCount + (isFirst ? 0 : 1);
      const after = next === undefined ? [...decisions, decision] : decisions;
      return to({ at: partition.at + 1, decisionCount, isInPair: isFirst }, after);
    };
    const allowed: readonly Decision[] = isProducer ? ["one", "two"] : [loop === "pairs" ? "two" : "one"];
    const entered = allowed.filter((each) => next === undefined || next === each).map(enter);
    // The end of a tile changes nothing, so a partition that knows its next iteration need not leave the loop before it.
    return next === undefined || entered.length === 0 ? [to({ at: exit }), ...entered] : entered;
  }

  // ---- barriers -----------------------------------------------------------------------------------------------------

  /** The barrier that an instruction waits for, and the phase. */
  #awaited(
    partition: PartitionState,
    { barrier, owner, lag }: InstructionOf<"wait">,
  ): { number: number; phase: number } {
    const number = this.#layout.barrier(barrier, owner, partition.count);
    if (number === undefined) throw new Error(`there is no barrier ${barrier}`);
    return { number, phase: this.#layout.phase(barrier, partition) - lag };
  }

  /** @throws Fault if the barrier's parity does not tell whether the phase is complete. */
  #isReady(state: State, part: number, partition: PartitionState, instruction: InstructionOf<"wait">): boolean {
    const awaited = this.#awaited(partition, instruction);
    const ahead = barrierAt(state, awaited.number).phase - awaited.phase;
    if (ahead < 0 || ahead > 1)
      throw new Fault(
        `${instruction.barrier} is ${ahead < 0 ? "behind" : "ahead of"} the phase that ${this.#nameOf(part)} waits for`,
      );
    return ahead === 1;
  }

  #wait(state: State, part: number, partition: PartitionState, instruction: InstructionOf<"wait">): State {
    const { barrier, owner, lag } = instruction;
    const { number, phase } = this.#awaited(partition, instruction);
    const now = barrierAt(state, number);
    const wait = { ...stampOf(partition, part), phase };
    const index = owner === undefined ? partition.count - lag * this.#layout.form.stages : partition.tile - lag;
    const filled = this.#fills
      .filter((fill) => fill.barrier === barrier)
      .map(({ operand }) => this.#layout.buffer({ operand, count: partition.count, owner }));
    return {
      ...state,
      partitions: state.partitions.with(part, { ...partition, clock: joinClocks(partition.clock, now.completedClock) }),
      barriers: state.barriers.with(number, {
        ...now,
        waits: now.waits.map((each) => (each.part === part ? wait : each)),
      }),
      blocks: state.blocks.map((block, i) =>
        block && filled.includes(i) && block.index === index
          ? { ...block, seenBy: [...new Set([...block.seenBy, part])].toSorted() }
          : block,
      ),
    };
  }

  #arrive(
    state: State,
    part: number,
    partition: PartitionState,
    { barrier, owner, age, copies }: InstructionOf<"arrive">,
  ): State {
    const number = this.#layout.barrier(barrier, owner, partition.count - age);
    if (number === undefined) return state;
    if (partition.isUnfenced) throw new Fault(`${this.#nameOf(part)} arrives at ${barrier} before a fence`);
    const now = barrierAt(state, number);
    // Otherwise the arrival may fall into the previous phase, or hide it from a partition that waits for it.
    const isOrdered = now.waits.every((wait) => wait.phase >= now.phase - 1 && isBefore(wait, part, partition.clock));
    if (now.missing === 0 || !isOrdered) throw new Fault(`${barrier} may get more arrivals than a phase takes`);
    const arrivals = (partition.clock[part] ?? 0) + 1;
    const clock = partition.clock.with(part, arrivals);
    // An arrival may publish less than its partition has observed: the proof is then stricter, and states differ less.
    const published = age > 0 ? partition.earlierClock.with(part, arrivals) : clock;
    const pendingClock = joinClocks(now.pendingClock, published);
    const after = { ...now, missing: now.missing - 1, copies: now.copies + copies, pendingClock };
    return {
      ...state,
      partitions: state.partitions.with(part, { ...partition, clock }),
      barriers: state.barriers.with(number, this.#completed(barrier, after)),
    };
  }

  /** The barrier, in its next phase if nothing is missing. */
  #completed(name: BarrierName, barrier: Barrier): Barrier {
    const { phase, missing, copies, pendingClock, waits } = barrier;
    if (missing > 0 || copies > 0) return barrier;
    const none = pendingClock.map(() => 0);
    return {
      phase: phase + 1,
      missing: this.#layout.arrivals(name),
      copies: 0,
      pendingClock: none,
      completedClock: pendingClock,
      waits,
    };
  }

  #nameOf(part: number): string {
    return nameOf(this.#partitions[part]);
  }

  /** No step is possible: each partition has ended, or waits forever. */
  #checkEnd(state: State): void {
    for (const [part, partition] of state.partitions.entries()) {
      const instruction = this.#instruction(part, partition);
      if (instruction?.kind === "wait")
        throw new Fault(`deadlock: ${this.#nameOf(part)} waits forever for ${instruction.barrier}`);
      if (partition.running.length > 0) throw new Fault(`${this.#nameOf(part)} ends while a product runs`);
    }
    if (state.blocks.some((block) => block?.seenBy.length === 0)) throw new Fault("a copy is under way at the end");
  }

  // ---- buffers ------------------------------------------------------------------------------------------------------

  #copy(
    state: State,
    part: number,
    partition: PartitionState,
    { operand, barrier, owner }: InstructionOf<"copy">,
  ): State {
    const buffer: Buffer = { operand, owner, count: partition.count };
    this.#checkFree(state, part, partition, buffer, "a copy");
    const block = { index: indexOf(partition, owner), seenBy: [], reads: [] };
    const blocks = state.blocks.with(this.#layout.buffer(buffer), block);
    const number = this.#layout.barrier(barrier, owner, partition.count);
    if (number === undefined) return { ...state, blocks };
    const now = barrierAt(state, number);
    if (now.copies === 0) throw new Fault(`${barrier} gets bytes that are not announced`);
    const after = this.#completed(barrier, { ...now, copies: now.copies - 1 });
    return { ...state, blocks, barriers: state.barriers.with(number, after) };
  }

  /** Registers read one block of the slot and write another. The next arrival publishes both. */
  #widen(state: State, part: number, partition: PartitionState, { from, to }: InstructionOf<"widen">): State {
    const [source, target] = [from, to].map((operand): Buffer => ({
      operand,
      owner: undefined,
      count: partition.count,
    }));
    if (!source || !target) throw new Error("a block is widened from one and to one");
    this.#checkHeld(state, part, partition, [source]);
    const after = this.#finishReads(state, part, partition, [source]);
    this.#checkFree(after, part, partition, target, this.#nameOf(part));
    const block = { index: partition.count, seenBy: [part], reads: [], write: stampOf(partition, part) };
    return { ...after, blocks: after.blocks.with(this.#layout.buffer(target), block) };
  }

  /** @throws Fault if somebody may still read or fill the buffer. */
  #checkFree(state: State, part: number, { clock }: PartitionState, buffer: Buffer, writer: string): void {
    const target = this.#layout.buffer(buffer);
    const previous = state.blocks[target];
    const overwrites = `${writer} overwrites ${textOf(buffer)}`;
    if (previous?.seenBy.length === 0) throw new Fault(`${overwrites} while another one fills it`);
    const running = state.partitions.findIndex((each) =>
      each.running.some(({ reads }) => reads.some((read) => this.#layout.buffer(read) === target)),
    );
    if (running >= 0) throw new Fault(`${overwrites} while a product of ${this.#nameOf(running)} reads it`);
    const early = previous?.reads.find((read) => !isBefore(read, part, clock));
    if (early) throw new Fault(`${overwrites} while ${this.#nameOf(early.part)} may read it`);
  }

  #checkHeld({ blocks }: State, part: number, partition: PartitionState, reads: readonly Buffer[]): void {
    for (const buffer of reads) {
      const block = blocks[this.#layout.buffer(buffer)];
      const reading = `${this.#nameOf(part)} reads ${textOf(buffer)}`;
      if (!block) throw new Fault(`${reading} before a copy`);
      if (block.index !== indexOf(partition, buffer.owner))
        throw new Fault(`${reading}, which holds that of another iteration`);
      if (!block.seenBy.includes(part) || (block.write && !isBefore(block.write, part, partition.clock)))
        throw new Fault(`${reading} without a wait for its copy`);
    }
  }

  /** The state after the ends of reads. */
  #finishReads(state: State, part: number, partition: PartitionState, reads: readonly Buffer[]): State {
    const read = stampOf(partition, part);
    let { blocks, barriers } = state;
    for (const buffer of reads) {
      const index = this.#layout.buffer(buffer);
      const block = blocks[index];
      if (block)
        blocks = blocks.with(index, { ...block, reads: [...others(block.reads, part), read].toSorted(byPart) });
      // The wait for the block counts as over only now: it is safe, and states differ less.
      for (const fill of this.#fills) {
        const number = this.#layout.barrier(fill.barrier, buffer.owner, buffer.count);
        if (fill.operand !== buffer.operand || number === undefined) continue;
        const now = barrierAt(state, number);
        const waits = now.waits.map((wait) => (wait.part === part ? { ...wait, ...read } : wait));
        barriers = barriers.with(number, { ...now, waits });
      }
    }
    return { ...state, blocks, barriers };
  }
}

function checkComplete({ running }: PartitionState, name: string, { products }: InstructionOf<"compute">): void {
  const early = running.find(({ product }) => products.includes(product));
  if (early) throw new Fault(`${name} uses product ${early.product} while it runs`);
}

/** True if a tile skips the instruction in its first iteration. */
const isOfLater = (instruction: Instruction): boolean => instruction.kind === "arrive" && instruction.isLater;

/** True if the instruction belongs to the iteration before. */
const isOfEarlier = (instruction: Instruction): boolean => instruction.kind === "arrive" && instruction.age > 0;

/** The operand that an instruction of a program fills, and the barrier: for a write of registers, that of the next arrival. */
function fillOf(
  instruction: Instruction,
  index: number,
  program: readonly Instruction[],
): readonly Pick<InstructionOf<"copy">, "operand" | "barrier">[] {
  if (instruction.kind === "copy") return [{ operand: instruction.operand, barrier: instruction.barrier }];
  if (instruction.kind !== "widen") return [];
  const arrival = program.slice(index).find((each) => each.kind === "arrive");
  return arrival ? [{ operand: instruction.to, barrier: arrival.barrier }] : [];
}

const stampOf = ({ clock }: PartitionState, part: number): Stamp => ({ part, arrivals: clock[part] ?? 0 });

const byPart = (a: Stamp, b: Stamp): number => a.part - b.part;

const others = (stamps: readonly Stamp[], part: number): readonly Stamp[] =>
  stamps.filter((each) => each.part !== part);

const joinClocks = (a: Clock, b: Clock): Clock => a.map((arrivals, part) => Math.max(arrivals, b[part] ?? 0));

/** True if the step precedes the next one of partition `self` in every order, by its clock. */
const isBefore = ({ part, arrivals }: Stamp, self: number, clock: Clock): boolean =>
  part === self || arrivals < (clock[part] ?? 0) || arrivals < 0;

/** The iteration or the tile whose block a buffer must hold. */
const indexOf = ({ count, tile }: PartitionState, owner: number | undefined): number =>
  owner === undefined ? count : tile;

function nameOf(partition: Partition | undefined): string {
  if (partition === undefined) return "nobody";
  return typeof partition === "string" ? `the ${partition}` : `consumer ${partition.consumer}`;
}

const textOf = ({ operand, owner }: Buffer): string =>
  owner === undefined ? `block ${operand} of a slot` : `block ${operand} of consumer ${owner}`;
