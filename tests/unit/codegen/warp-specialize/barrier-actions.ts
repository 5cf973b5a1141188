/** What the parts of a pipeline do in one launch, with loops, slots and parities written out. */
import {
  type BarrierName,
  KEYS,
  type Pipeline,
  QUERIES,
  SPILL_QUERIES_CONSUMERS,
  type PipelineStep,
  VALUES,
} from "../../../../src/codegen/warp-specialize/pattern/pipeline.js";

/** One launch of one program: its constants, and how many turns each of its tiles has. */
export interface Scenario {
  readonly stages: number;
  readonly consumers: number;
  /** Pieces of a tile, and the buffers that they share. */
  readonly pieces: number;
  readonly depth: number;
  readonly turns: readonly number[];
  /** Whether each product is added to its sum once it is complete. */
  readonly isPromoted?: boolean;
  /** How many of them each consumer leaves to the others. */
  readonly idle?: readonly number[];
}

/** A buffer, and the turn whose block it must hold; a consumer's own holds that of a tile. */
export interface Read {
  readonly buffer: string;
  readonly turn: number;
}

/** A step with its loops, slots and parities written out. */
export type Action =
  | { readonly kind: "wait"; readonly barrier: string; readonly parity: number }
  | { readonly kind: "expect"; readonly barrier: string; readonly copies: number }
  | { readonly kind: "copy"; readonly barrier: string; readonly buffer: string; readonly turn: number }
  | { readonly kind: "multiply"; readonly reads: readonly Read[] }
  | { readonly kind: "take"; readonly reads: readonly Read[] }
  | { readonly kind: "settle"; readonly pending: number }
  | { readonly kind: "compute"; readonly operand: number }
  | { readonly kind: "release"; readonly barrier: string }
  | { readonly kind: "drain"; readonly running: number }
  | { readonly kind: "stage"; readonly slot: number }
  | { readonly kind: "fence" }
  | { readonly kind: "send"; readonly slot: number };

/** The actions of a consumer or of the producer. */
export function actionsOf(pipeline: Pipeline, scenario: Scenario, consumer: number | undefined): readonly Action[] {
  return new Unrolled(pipeline, scenario, consumer).actions;
}

class Unrolled {
  readonly actions: Action[] = [];
  #count = 0;
  #tile = 0;

  constructor(
    readonly pipeline: Pipeline,
    readonly scenario: Scenario,
    readonly consumer: number | undefined,
  ) {
    this.#run(consumer === undefined ? pipeline.producer : pipeline.consumer, 0);
  }

  /** `turn` counts the turns of a tile, or its pieces. */
  #run(body: readonly PipelineStep[], turn: number): void {
    for (const step of body) this.#step(step, body, turn);
  }

  #step(step: PipelineStep, body: readonly PipelineStep[], turn: number): void {
    const { actions, consumer } = this;
    const { consumers, depth, pieces, turns } = this.scenario;
    switch (step.kind) {
      case "tiles":
        return turns.forEach((_, i) => {
          this.#tile = i;
          this.#run(step.body, 0);
        });
      case "turns":
        for (let i = 0; i < turns[this.#tile]! - this.#idle; i++) this.#run(step.body, i);
        return;
      case "idle turns":
        for (let i = 0; i < this.#idle; i++) this.#run(step.body, i);
        return;
      case "sum":
        return this.#run(this.scenario.isPromoted ? step.promoted : step.whole, turn);
      case "promote":
        this.#multiply([0, 1]);
        return void actions.push({ kind: "settle", pending: 0 });
      case "epilogue":
        for (let i = 0; i < pieces; i++) this.#run(step.piece, i);
        return;
      case "advance":
        this.#count++;
        return;
      case "await turn": {
        // The first consumer begins.
        const parity = consumer === 0 ? 1 - (this.#count % 2) : this.#count % 2;
        if (consumers > 1) actions.push({ kind: "wait", barrier: `turnGiven ${consumer}`, parity });
        return;
      }
      case "give turn":
        if (consumers > 1) actions.push({ kind: "release", barrier: `turnGiven ${(consumer! + 1) % consumers}` });
        return;
      case "wait":
      case "expect":
      case "copy":
      case "blank":
        for (const place of this.#placesOf(step.barrier)) this.#load(step, body, place);
        return;
      case "release":
        return this.#release(step, turn);
      case "take":
        return void actions.push({ kind: "take", reads: this.#queriesLeave ? [] : [this.#queries] });
      case "multiply":
        return this.#multiply(step.operands);
      case "drain":
        return void actions.push({ kind: "drain", running: step.pending === "none" ? 0 : depth - 1 });
      case "stage":
      case "send":
        return void actions.push({ kind: step.kind, slot: turn % depth });
      case "compute":
        return void actions.push({ kind: "compute", operand: step.target === "weights" ? KEYS : VALUES });
      case "settle":
      case "fence":
        return void actions.push(step);
      default:
        return step satisfies never;
    }
  }

  #load(
    step: Extract<PipelineStep, { kind: "wait" | "expect" | "copy" | "blank" }>,
    body: readonly PipelineStep[],
    place: number,
  ): void {
    const barrier = `${step.barrier} ${place}`;
    const isOwn = this.#isOwn(step.barrier);
    if (step.kind === "wait") {
      const parity = (isOwn ? this.#tile : Math.floor(this.#count / this.scenario.stages)) % 2;
      this.actions.push({ kind: "wait", barrier, parity: step.isPreviousPhase ? 1 - parity : parity });
    } else if (step.kind === "expect") {
      const isCopy = (each: PipelineStep) =>
        (each.kind === "copy" || each.kind === "blank") && each.barrier === step.barrier;
      this.actions.push({ kind: "expect", barrier, copies: body.filter(isCopy).length });
    } else {
      const buffer = isOwn ? ownBuffer(step.operand, place) : slotBuffer(step.operand, place);
      this.actions.push({ kind: "copy", barrier, buffer, turn: isOwn ? this.#tile : this.#count });
    }
  }

  #release({ barrier, age: ago, when }: Extract<PipelineStep, { kind: "release" }>, turn: number): void {
    const does = {
      always: true,
      later: turn > 0,
      any: this.scenario.turns[this.#tile]! > 0,
      stay: !this.#queriesLeave,
      leave: this.#queriesLeave,
    };
    const place = this.#isOwn(barrier) ? this.consumer : this.#slotOf(this.#count - ago);
    if (does[when]) this.actions.push({ kind: "release", barrier: `${barrier} ${place}` });
  }

  #multiply(operands: readonly number[]): void {
    const own = this.#queriesLeave && operands.includes(KEYS) ? [this.#queries] : [];
    const slot = this.#slotOf(this.#count);
    const reads = operands.map((operand): Read => ({ buffer: slotBuffer(operand, slot), turn: this.#count }));
    this.actions.push({ kind: "multiply", reads: [...own, ...reads] });
  }

  /** The turns that a consumer leaves to the others, of the tile. */
  get #idle(): number {
    const { idle = [], turns } = this.scenario;
    return this.consumer === undefined ? 0 : Math.min(idle[this.consumer] ?? 0, turns[this.#tile]!);
  }

  get #queriesLeave(): boolean {
    return this.scenario.consumers >= SPILL_QUERIES_CONSUMERS;
  }

  get #queries(): Read {
    return { buffer: ownBuffer(QUERIES, this.consumer!), turn: this.#tile };
  }

  #slotOf(turn: number): number {
    const { stages } = this.scenario;
    return ((turn % stages) + stages) % stages;
  }

  #isOwn(barrier: BarrierName): boolean {
    return this.pipeline.barriers[barrier]?.per === "consumer";
  }

  /** The producer serves each consumer's own barrier. */
  #placesOf(barrier: BarrierName): readonly number[] {
    if (!this.#isOwn(barrier)) return [this.#slotOf(this.#count)];
    return this.consumer === undefined ? Array.from({ length: this.scenario.consumers }, (_, i) => i) : [this.consumer];
  }
}

const slotBuffer = (operand: number, slot: number): string => `block ${operand} of slot ${slot}`;

const ownBuffer = (operand: number, consumer: number): string => `block ${operand} of consumer ${consumer}`;
