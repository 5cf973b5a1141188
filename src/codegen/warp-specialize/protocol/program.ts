/** The instructions of a partition: the steps of its pipeline for one number of slots and consumers, with jumps. */
import {
  type BarrierName,
  KEYS,
  type Pipeline,
  type PipelineStep,
  QUERIES,
  SPILL_QUERIES_CONSUMERS,
  VALUES,
} from "../pattern/pipeline.js";

/** A pipeline, and the numbers that its steps depend on. */
export interface ProtocolForm {
  readonly pipeline: Pipeline;
  readonly stages: number;
  readonly consumers: number;
  /** True if each product is added to its sum once it is complete. */
  readonly isPromoted: boolean;
  /** True if a consumer multiplies the blocks of two iterations at a time. */
  readonly isPaired?: boolean;
  /** True if products read the queries from shared memory with any number of consumers. */
  readonly hasLongHeads?: boolean;
  /** True if a consumer may leave the last iterations of a tile to others. */
  readonly mayIdle: boolean;
}

export type LoopKind = "tiles" | "iterations" | "pairs" | "idle iterations";

/** The consumer that has a barrier or a buffer; undefined for those of a slot. */
type Owner = number | undefined;

/** The block of an operand that is read: that of the iteration's slot, or that of a consumer. */
export interface Read {
  readonly operand: number;
  readonly owner: Owner;
}

export type Instruction =
  /** The head of a loop, and the end of its body. */
  | { readonly kind: "loop"; readonly loop: LoopKind; readonly exit: number }
  | { readonly kind: "repeat"; readonly loop: LoopKind; readonly head: number }
  /** `lag`: the number of phases before that of the iteration. */
  | { readonly kind: "wait"; readonly barrier: BarrierName; readonly owner: Owner; readonly lag: number }
  | {
      readonly kind: "arrive";
      readonly barrier: BarrierName;
      readonly owner: Owner;
      readonly age: number;
      /** The copies that it announces. */
      readonly copies: number;
      /** True if it happens only after an iteration of the tile. */
      readonly isLater: boolean;
    }
  | { readonly kind: "copy"; readonly operand: number; readonly barrier: BarrierName; readonly owner: Owner }
  | { readonly kind: "multiply"; readonly reads: readonly Read[]; readonly product: number }
  | { readonly kind: "take"; readonly read: Read }
  /** Registers read a block of the slot, and write another one. */
  | { readonly kind: "widen"; readonly from: number; readonly to: number }
  /** Orders what registers read and wrote before what others do after the next arrival. */
  | { readonly kind: "fence" }
  | { readonly kind: "settle"; readonly pending: number }
  | { readonly kind: "compute"; readonly products: readonly number[] }
  | { readonly kind: "add"; readonly pending: number }
  | { readonly kind: "advance" };

export type Partition = "producer" | "widener" | { readonly consumer: number };

/** The partitions of a pipeline, the producer first. */
export function partitionsOf({ pipeline, consumers }: ProtocolForm): readonly Partition[] {
  const multiplying = Array.from({ length: consumers }, (_, consumer) => ({ consumer }));
  return ["producer", ...multiplying, ...(pipeline.widener ? (["widener"] as const) : [])];
}

export function programOf(form: ProtocolForm, partition: Partition): readonly Instruction[] {
  return new Program(form, partition).instructions;
}

export const isOwn = ({ barriers }: Pipeline, barrier: BarrierName): boolean => barriers[barrier]?.per === "consumer";

class Program {
  readonly instructions: Instruction[] = [];
  readonly consumer: number | undefined;
  readonly #spills: boolean;
  /** True in the loop of a tile's iterations. */
  #isInLoop = false;

  constructor(
    readonly form: ProtocolForm,
    readonly partition: Partition,
  ) {
    this.consumer = typeof partition === "string" ? undefined : partition.consumer;
    const isSpilled = form.hasLongHeads || form.consumers >= SPILL_QUERIES_CONSUMERS;
    this.#spills = isSpilled && form.pipeline.barriers.queriesFilled !== undefined;
    this.#steps(form.pipeline[typeof partition === "string" ? partition : "consumer"] ?? []);
  }

  /** The producer serves the consumers' own barriers one consumer after the other. */
  #steps(steps: readonly PipelineStep[]): void {
    const isServed = (step: PipelineStep) =>
      this.partition === "producer" && "barrier" in step && isOwn(this.form.pipeline, step.barrier);
    const served = steps.filter(isServed);
    for (const step of steps)
      if (!isServed(step)) this.#step(step, steps, this.consumer);
      else if (step === served[0])
        for (let owner = 0; owner < this.form.consumers; owner++)
          for (const each of served) this.#step(each, steps, owner);
  }

  #step(step: PipelineStep, steps: readonly PipelineStep[], self: Owner): void {
    const { instructions, consumer } = this;
    const { pipeline, consumers, isPromoted } = this.form;
    const ownerOf = (barrier: BarrierName) => (isOwn(pipeline, barrier) ? self : undefined);
    switch (step.kind) {
      case "tiles":
      case "iterations":
      case "idle iterations":
        return this.#loop(step.kind, step.body);
      case "pairs":
        return this.form.isPaired ? this.#loop(step.kind, step.body) : undefined;
      case "sum":
        return this.#steps(isPromoted ? step.promoted : step.whole);
      case "promote":
        return void instructions.push(this.#product([0, 1]), { kind: "settle", pending: 0 });
      case "wait": {
        const lag = step.isPreviousPhase ? 1 : 0;
        return void instructions.push({ kind: "wait", barrier: step.barrier, owner: ownerOf(step.barrier), lag });
      }
      case "await turn":
        // The first consumer begins.
        return this.#ifSeveral({ kind: "wait", barrier: "turnGiven", owner: consumer, lag: consumer === 0 ? 1 : 0 });
      case "give turn":
        return this.#ifSeveral(arrival("turnGiven", ((consumer ?? 0) + 1) % consumers));
      case "expect":
        return void instructions.push(expectation(step.barrier, ownerOf(step.barrier), steps));
      case "release":
        return this.#release(step, ownerOf(step.barrier));
      case "copy":
      case "blank": {
        const { operand, barrier } = step;
        return void instructions.push({ kind: "copy", operand, barrier, owner: ownerOf(barrier) });
      }
      case "take":
        if (step.operand !== QUERIES || !this.#spills)
          instructions.push({ kind: "take", read: this.#readOf(step.operand) });
        return;
      case "multiply":
        return void instructions.push(this.#product(step.operands, step.product));
      case "compute":
        return void instructions.push({ kind: "compute", products: [step.target === "weights" ? KEYS : VALUES] });
      case "use":
        return void instructions.push({ kind: "compute", products: step.products });
      case "settle":
      case "add":
      case "advance":
      case "widen":
        return void instructions.push(step);
      case "fence":
        if (this.partition === "widener") instructions.push(step);
        return;
      // Only its own consumer sees a write: `proof.ts` has them.
      case "epilogue":
      case "drain":
      case "stage":
      case "send":
        return;
      default:
        return step satisfies never;
    }
  }

  #release({ barrier, age, when }: Extract<PipelineStep, { kind: "release" }>, owner: Owner): void {
    if ((when === "stay" && this.#spills) || (when === "leave" && !this.#spills)) return;
    const isLater = when === "later" || when === "any";
    const isAfterLoop = this.instructions.some((each) => each.kind === "repeat" && each.loop === "iterations");
    if (isLater && (when === "later" ? !this.#isInLoop : this.#isInLoop || !isAfterLoop))
      throw new Error(`a release cannot depend on iterations here: ${when}`);
    this.instructions.push(arrival(barrier, owner, { age, isLater }));
  }

  #ifSeveral(instruction: Instruction): void {
    if (this.form.consumers > 1) this.instructions.push(instruction);
  }

  #loop(loop: LoopKind, body: readonly PipelineStep[]): void {
    const head = this.instructions.length;
    this.instructions.push({ kind: "loop", loop, exit: head });
    this.#isInLoop = loop === "iterations";
    this.#steps(body);
    this.#isInLoop = false;
    this.instructions.push({ kind: "repeat", loop, head });
    this.instructions[head] = { kind: "loop", loop, exit: this.instructions.length };
  }

  #product(operands: readonly number[], product = operands.at(-1) ?? 0): Instruction {
    const spilled = this.#spills && operands.includes(KEYS) ? [QUERIES] : [];
    return { kind: "multiply", reads: [...spilled, ...operands].map((each) => this.#readOf(each)), product };
  }

  #readOf(operand: number): Read {
    return { operand, owner: this.form.pipeline.own.includes(operand) ? this.consumer : undefined };
  }
}

/** The arrival that announces the copies of these steps to a barrier. */
function expectation(barrier: BarrierName, owner: Owner, steps: readonly PipelineStep[]): Instruction {
  const isCopy = (each: PipelineStep) => (each.kind === "copy" || each.kind === "blank") && each.barrier === barrier;
  return arrival(barrier, owner, { copies: steps.filter(isCopy).length });
}

function arrival(
  barrier: BarrierName,
  owner: Owner,
  { age = 0, copies = 0, isLater = false }: { age?: number; copies?: number; isLater?: boolean } = {},
): Instruction {
  return { kind: "arrive", barrier, owner, age, copies, isLater };
}
