/**
 * The order in which an iteration of streamed products runs. Products of kept blocks start at once. Each other product
 * starts as soon as its computed operand is known, while later products still run. A slot is released when the last
 * product that reads its block is complete.
 */
import type { Statement } from "../../../ir/nodes.js";
import { backwardSlice, valuesUsedBy } from "./backward-slice.js";
import type { Barrier, Pipeline, PipelineStep } from "./pipeline.js";
import type { StreamedLoop, StreamedPattern } from "./streamed-pattern.js";

export interface Schedule {
  /** The consumer's steps of an iteration. */
  readonly steps: readonly PipelineStep[];
  /** The author's statements of each `use` step. */
  readonly phases: readonly ReadonlySet<Statement>[];
  /** For each vector, the loaded block whose barriers it shares. Undefined if nothing uses it. */
  readonly channels: readonly (number | undefined)[];
}

/** The numbers of operands: kept blocks, then loaded blocks, then vectors. */
export const streamOperand = ({ residents }: StreamedPattern, stream: number): number => residents.length + stream;
export const vectorOperand = ({ residents, loops: [{ streams }] }: StreamedPattern, vector: number): number =>
  residents.length + streams.length + vector;

/** The start of a product, or the end of one with the statements that it makes possible. */
type Action =
  | { readonly kind: "start"; readonly product: number }
  | {
      readonly kind: "end";
      readonly product: number | undefined;
      readonly pending: number;
      readonly statements: ReadonlySet<Statement>;
      readonly vectors: readonly number[];
    };

/**
 * @param body The lowered statements of an iteration.
 * @param computed Those that consumers compute.
 */
export function scheduleOf(
  pattern: StreamedPattern,
  loop: StreamedLoop,
  body: readonly Statement[],
  computed: ReadonlySet<Statement>,
): Schedule {
  const actions = new Actions(loop, body, computed);
  const steps = new Steps(pattern, loop, actions.channels);
  for (const [i, action] of actions.list.entries()) steps.append(action, actions.list[i + 1]);
  steps.append({ kind: "advance" });
  return { steps: steps.list, phases: steps.phases, channels: actions.channels };
}

/** The actions of an iteration, in order. */
class Actions {
  readonly list: Action[] = [];
  readonly channels: (number | undefined)[];
  readonly #complete = new Set<number>();
  readonly #placed = new Set<Statement>();
  /** Products in flight, oldest first. */
  #running: readonly number[] = [];

  constructor(
    readonly loop: StreamedLoop,
    readonly body: readonly Statement[],
    readonly computed: ReadonlySet<Statement>,
  ) {
    this.channels = loop.vectors.map(() => undefined);
    const products = [...loop.products.keys()];
    const isStarter = (product: number) => loop.products[product]?.resident !== undefined;
    products.filter(isStarter).forEach((product) => this.#start(product));
    for (const product of products.filter((each) => !isStarter(each))) {
      this.#computeOperand(product);
      this.#start(product);
    }
    for (const product of this.#running) this.#end(product, []);
  }

  #start(product: number): void {
    this.list.push({ kind: "start", product });
    this.#running = [...this.#running, product];
  }

  /** Ends the products that the operand depends on one by one, and computes after each what is possible. */
  #computeOperand(product: number): void {
    const operand = this.loop.products[product]?.dot.operands[0];
    const slice = operand ? backwardSlice([operand], this.body) : [];
    const dependencies = this.#productsIn(slice);
    const last = this.#running.findLastIndex((each) => dependencies.includes(each));
    for (const each of this.#running.slice(0, last + 1)) this.#end(each, slice);
    if (slice.some((each) => this.#isMissing(each))) this.#end(undefined, slice);
  }

  #isMissing(statement: Statement): boolean {
    return this.computed.has(statement) && !this.#placed.has(statement);
  }

  #end(product: number | undefined, slice: readonly Statement[]): void {
    const index = product === undefined ? -1 : this.#running.indexOf(product);
    this.#running = this.#running.slice(index + 1);
    if (product !== undefined) this.#complete.add(product);
    const statements = slice.filter(
      (each) => this.#isMissing(each) && this.#productsIn(this.#dependencies(each)).every((x) => this.#complete.has(x)),
    );
    for (const statement of statements) this.#placed.add(statement);
    const dependencies = new Set(statements.flatMap((each) => this.#dependencies(each)));
    const isNew = (vector: number) => this.channels[vector] === undefined;
    const vectors = this.loop.vectors.flatMap(({ statement: { results } }, i) => {
      const isUsed = [...dependencies].some(
        (each) => each.kind === "op" && results.some((x) => each.results.includes(x)),
      );
      return isUsed && isNew(i) ? [i] : [];
    });
    const channel = this.loop.products[product ?? 0]?.stream ?? 0;
    for (const vector of vectors) this.channels[vector] = channel;
    this.list.push({ kind: "end", product, pending: this.#running.length, statements: new Set(statements), vectors });
  }

  #dependencies(statement: Statement): readonly Statement[] {
    return backwardSlice(valuesUsedBy(statement), this.body);
  }

  #productsIn(statements: readonly Statement[]): readonly number[] {
    const results = new Set(statements.flatMap((each) => (each.kind === "op" ? each.results : [])));
    return this.loop.products.flatMap(({ dot }, i) => (results.has(dot.results[0]) ? [i] : []));
  }
}

/** The steps of actions: their waits, and the releases that they allow. */
class Steps {
  readonly list: PipelineStep[] = [];
  readonly phases: ReadonlySet<Statement>[] = [];
  readonly #waited = new Set<number>();
  readonly #released = new Set<number>();
  readonly #taken = new Set<number>();
  readonly #complete = new Set<number>();
  /** True after a read into registers, which a fence has to order before the next copy. */
  #needsFence = false;

  constructor(
    readonly pattern: StreamedPattern,
    readonly loop: StreamedLoop,
    readonly channels: readonly (number | undefined)[],
  ) {}

  /** Vectors are read before the next product starts, so that they arrive while it runs. */
  append(action: Action | PipelineStep, next?: Action): void {
    if (action.kind === "start") {
      if (next?.kind === "end" && this.#complete.size > 0) this.#take(next.vectors);
      this.#start(action.product);
    } else if (action.kind === "end") {
      this.#take(action.vectors);
      this.#end(action);
    } else this.list.push(action);
  }

  #start(product: number): void {
    const { resident, stream } = this.loop.products[product] ?? { resident: undefined, stream: 0 };
    this.#wait(stream);
    const operands = [...(resident === undefined ? [] : [resident]), streamOperand(this.pattern, stream)];
    this.list.push({ kind: "multiply", operands, product });
  }

  #wait(stream: number): void {
    if (!this.#waited.has(stream)) this.list.push({ kind: "wait", barrier: `filled ${stream}` });
    this.#waited.add(stream);
  }

  #take(vectors: readonly number[]): void {
    for (const vector of vectors.filter((each) => !this.#taken.has(each))) {
      const stream = this.channels[vector] ?? 0;
      this.#wait(stream);
      this.list.push({ kind: "take", operand: vectorOperand(this.pattern, vector), barrier: `filled ${stream}` });
      this.#taken.add(vector);
      this.#needsFence = true;
    }
  }

  #end({ product, pending, statements }: Extract<Action, { kind: "end" }>): void {
    if (product !== undefined) {
      this.list.push({ kind: "settle", pending, product });
      this.#complete.add(product);
    }
    this.loop.streams.forEach((_, stream) => this.#release(stream));
    if (statements.size === 0) return;
    this.list.push({ kind: "use", phase: this.phases.length, products: [...this.#complete] });
    this.phases.push(statements);
  }

  #release(stream: number): void {
    const areProductsComplete = this.loop.products.every((each, i) => each.stream !== stream || this.#complete.has(i));
    const areVectorsTaken = this.channels.every((channel, i) => channel !== stream || this.#taken.has(i));
    if (this.#released.has(stream) || !areProductsComplete || !areVectorsTaken) return;
    if (this.#needsFence) this.list.push({ kind: "fence" });
    this.#needsFence = false;
    this.#released.add(stream);
    this.list.push({ kind: "release", barrier: `emptied ${stream}`, age: 0, when: "always" });
  }
}

/** The pipeline of a program with one tile. */
export function streamedPipeline(pattern: StreamedPattern, { steps, channels }: Schedule): Pipeline {
  const { residents, loops } = pattern;
  const barriers: Record<string, Barrier> = { ownFilled: { arrivals: "one", per: "consumer" } };
  const loads = loops[0].streams.flatMap((_, stream): readonly PipelineStep[] => {
    const barrier = `filled ${stream}` as const;
    barriers[barrier] = { arrivals: "one", per: "slot" };
    barriers[`emptied ${stream}`] = { arrivals: "consumers", per: "slot" };
    const vectors = channels.flatMap((channel, i) => (channel === stream ? [vectorOperand(pattern, i)] : []));
    return [
      { kind: "wait", barrier: `emptied ${stream}`, isPreviousPhase: true },
      { kind: "expect", barrier },
      { kind: "copy", operand: streamOperand(pattern, stream), barrier },
      ...vectors.map((operand): PipelineStep => ({ kind: "copy", operand, barrier })),
    ];
  });
  const ownOperands = [...residents.keys()];
  return {
    barriers,
    own: ownOperands,
    producer: [
      { kind: "expect", barrier: "ownFilled" },
      ...ownOperands.map((operand): PipelineStep => ({ kind: "copy", operand, barrier: "ownFilled" })),
      { kind: "iterations", body: [...loads, { kind: "advance" }] },
    ],
    consumer: [
      { kind: "wait", barrier: "ownFilled" },
      { kind: "iterations", body: steps },
      { kind: "epilogue", piece: [] },
    ],
  };
}
