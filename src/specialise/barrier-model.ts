/**
 * Explores every order in which the parts of a pipeline may run. It knows what an mbarrier is: a phase that ends when the
 * expected arrivals and bytes are in, of which only the parity can be waited for.
 */
import { type BarrierName, KEYS, type Pipeline, type Step, VALUES } from "./pipeline.js";

/** One launch of one program: its constants, and how many turns each of its tiles has. */
export interface Scenario {
  readonly stages: number;
  readonly consumers: number;
  /** Pieces of a tile, and the buffers that they share. */
  readonly pieces: number;
  readonly depth: number;
  readonly turns: readonly number[];
}

/** A step with its loops, slots and parities written out. */
type Action =
  | { readonly kind: "wait"; readonly barrier: string; readonly parity: number }
  | { readonly kind: "expect"; readonly barrier: string; readonly copies: number }
  | { readonly kind: "copy"; readonly barrier: string; readonly buffer: string; readonly turn: number }
  | { readonly kind: "multiply"; readonly buffers: readonly string[]; readonly turn: number }
  | { readonly kind: "take"; readonly buffer: string; readonly turn: number }
  | { readonly kind: "settle"; readonly running: number }
  | { readonly kind: "compute"; readonly operand: number }
  | { readonly kind: "release"; readonly barrier: string }
  | { readonly kind: "drain"; readonly running: number }
  | { readonly kind: "stage"; readonly slot: number }
  | { readonly kind: "fence" }
  | { readonly kind: "send"; readonly slot: number };

interface Barrier {
  /** How many phases are over. */
  readonly phase: number;
  readonly missing: number;
  /** Copies announced and not yet arrived; negative where they arrived first. */
  readonly copies: number;
}

interface State {
  readonly places: readonly number[];
  readonly barriers: Readonly<Record<string, Barrier>>;
  /** Copies that are under way. */
  readonly copies: readonly { readonly barrier: string; readonly buffer: string; readonly turn: number }[];
  /** The turn whose block each buffer holds. */
  readonly held: Readonly<Record<string, number>>;
  /** The products of each part that may still read, by turn. */
  readonly running: readonly (readonly { readonly turn: number; readonly buffers: readonly string[] }[])[];
  /** Buffers of the tile that writes may still read, oldest first; those put there but not shown; those shown. */
  readonly sends: readonly (readonly number[])[];
  readonly staged: readonly (readonly number[])[];
  readonly shown: readonly (readonly number[])[];
}

const OWN: ReadonlySet<string> = new Set(["compute", "drain", "stage", "fence", "send"]);

const MOST_STATES = 200_000;

/** What goes wrong in some order, or undefined if nothing does in any. */
export function exploreBarriers(pipeline: Pipeline, scenario: Scenario): string | undefined {
  return new Explorer(pipeline, scenario).explore();
}

class Explorer {
  readonly #parts: readonly (readonly Action[])[];
  readonly #arrivals: (barrier: string) => number;
  #wrong: string | undefined;

  constructor(
    readonly pipeline: Pipeline,
    readonly scenario: Scenario,
  ) {
    const { consumers } = scenario;
    const producer = actionsOf(pipeline, scenario, undefined);
    const parts = Array.from({ length: consumers }, (_, consumer) => actionsOf(pipeline, scenario, consumer));
    this.#parts = [producer, ...parts];
    this.#arrivals = (barrier) =>
      pipeline.barriers[barrier.split(" ")[0] as BarrierName]?.arrivals === "consumers" ? consumers : 1;
  }

  explore(): string | undefined {
    const first = this.#first();
    const seen = new Set<string>();
    const open = [first];
    while (open.length > 0) {
      const state = open.pop()!;
      const key = JSON.stringify(state);
      if (seen.has(key)) continue;
      seen.add(key);
      if (seen.size > MOST_STATES) return `more than ${MOST_STATES} states`;
      const next = this.#next(state);
      if (this.#wrong !== undefined) return this.#wrong;
      if (next.length === 0) {
        const stuck = this.#unfinished(state);
        if (stuck !== undefined) return stuck;
      }
      open.push(...next);
    }
    return undefined;
  }

  #first(): State {
    const barriers: Record<string, Barrier> = {};
    const { barriers: kinds, blank } = this.pipeline;
    const { stages, consumers } = this.scenario;
    for (const [name, { per }] of Object.entries(kinds))
      for (let i = 0; i < (per === "slot" ? stages : consumers); i++)
        barriers[`${name} ${i}`] = { phase: 0, missing: this.#arrivals(name), copies: 0 };
    if (blank) barriers[`${blank.barrier} 0`] = { ...barriers[`${blank.barrier} 0`]!, phase: 1 };
    const none = this.#parts.map(() => []);
    return {
      places: this.#parts.map(() => 0),
      barriers,
      copies: [],
      held: blank ? { [slotBuffer(blank.operand, 0)]: 0 } : {},
      running: none,
      sends: none,
      staged: none,
      shown: none,
    };
  }

  /** Nothing can happen any more: a part that has not ended waits for ever. */
  #unfinished({ places, running, barriers }: State): string | undefined {
    const stuck = places.findIndex((place, part) => place < this.#parts[part]!.length);
    if (stuck >= 0) {
      const action = this.#parts[stuck]![places[stuck]!]!;
      return `deadlock: ${partName(stuck)} waits for ever at ${"barrier" in action ? action.barrier : action.kind}`;
    }
    const left = running.findIndex((products) => products.length > 0);
    if (left >= 0) return `${partName(left)} ends while a product runs`;
    const open = Object.entries(barriers).find(([, { copies }]) => copies !== 0);
    return open && `${open[0]} ends with bytes that nothing brought`;
  }

  #next(state: State): readonly State[] {
    // What touches nothing of the other parts may as well happen at once: no order of it matters to them.
    const alone = this.#parts.findIndex((actions, part) => OWN.has(actions[state.places[part]!]?.kind ?? ""));
    const moved = this.#parts.flatMap((actions, part) => {
      const action = alone < 0 || part === alone ? actions[state.places[part]!] : undefined;
      const after = action && this.#step(state, part, action);
      return after ? [{ ...after, places: state.places.with(part, state.places[part]! + 1) }] : [];
    });
    if (alone >= 0) return moved;
    return [...moved, ...state.copies.map((_, i) => this.#arrived(state, i))];
  }

  /** The state after an action, or undefined while it waits. */
  #step(state: State, part: number, action: Action): State | undefined {
    switch (action.kind) {
      case "wait":
        return state.barriers[action.barrier]!.phase % 2 === action.parity ? undefined : state;
      case "expect":
        return this.#arrive(state, action.barrier, 1, action.copies);
      case "release":
        return this.#arrive(state, action.barrier, 1, 0);
      case "copy":
        return this.#copy(state, action);
      case "multiply":
        return this.#multiply(state, part, action);
      case "take":
        return this.#isHeld(state, part, [action.buffer], action.turn) ? state : undefined;
      case "settle":
        return { ...state, running: state.running.with(part, state.running[part]!.slice(-action.running || Infinity)) };
      case "compute":
        return this.#compute(state, part, action.operand);
      case "drain":
        return { ...state, sends: state.sends.with(part, state.sends[part]!.slice(-action.running || Infinity)) };
      case "stage":
        if (state.sends[part]!.includes(action.slot))
          return this.#fails(`${partName(part)} overwrites a piece that is being written`);
        return { ...state, staged: state.staged.with(part, [...state.staged[part]!, action.slot]) };
      case "fence":
        return { ...state, shown: state.shown.with(part, state.staged[part]!), staged: state.staged.with(part, []) };
      case "send":
        if (!state.shown[part]!.includes(action.slot))
          return this.#fails(`${partName(part)} writes a piece before a fence`);
        return {
          ...state,
          sends: state.sends.with(part, [...state.sends[part]!, action.slot]),
          shown: state.shown.with(
            part,
            state.shown[part]!.filter((slot) => slot !== action.slot),
          ),
        };
      default:
        return action satisfies never;
    }
  }

  #fails(what: string): undefined {
    this.#wrong ??= what;
    return undefined;
  }

  #copy(state: State, { barrier, buffer, turn }: Extract<Action, { kind: "copy" }>): State | undefined {
    if (state.copies.some((copy) => copy.buffer === buffer))
      return this.#fails(`turn ${turn} overwrites ${buffer} while a copy fills it`);
    const isRead = state.running.flat().some(({ buffers }) => buffers.includes(buffer));
    if (isRead) return this.#fails(`turn ${turn} overwrites ${buffer} while a product reads it`);
    const before = state.held[buffer];
    const unread =
      before === undefined
        ? -1
        : state.places.findIndex((place, part) => part > 0 && !this.#hasRead(part, place, buffer, before));
    if (unread >= 0) return this.#fails(`turn ${turn} overwrites ${buffer} before ${partName(unread)} reads it`);
    // While bytes arrive, the buffer holds nothing.
    return { ...state, copies: [...state.copies, { barrier, buffer, turn }], held: { ...state.held, [buffer]: -1 } };
  }

  #hasRead(part: number, place: number, buffer: string, turn: number): boolean {
    return this.#parts
      [part]!.slice(0, place)
      .some((action) => action.kind === "multiply" && action.turn === turn && action.buffers.includes(buffer));
  }

  #isHeld(state: State, part: number, buffers: readonly string[], turn: number): boolean {
    const wrong = buffers.find((buffer) => state.held[buffer] !== turn);
    if (wrong === undefined) return true;
    const holds = state.held[wrong] ?? "none";
    this.#fails(`${partName(part)} reads ${wrong} for turn ${turn}, which holds turn ${holds}`);
    return false;
  }

  #multiply(state: State, part: number, { buffers, turn }: Extract<Action, { kind: "multiply" }>): State | undefined {
    if (!this.#isHeld(state, part, buffers, turn)) return undefined;
    return { ...state, running: state.running.with(part, [...state.running[part]!, { turn, buffers }]) };
  }

  /** The author's statements take what a product made, which must be there. */
  #compute(state: State, part: number, operand: number): State | undefined {
    const runs = state.running[part]!.some(({ buffers }) =>
      buffers.some((buffer) => buffer.startsWith(`block ${operand} `)),
    );
    return runs ? this.#fails(`${partName(part)} takes a product of block ${operand} while it runs`) : state;
  }

  #arrived(state: State, index: number): State {
    const { barrier, buffer, turn } = state.copies[index]!;
    const landed = { ...state, copies: state.copies.toSpliced(index, 1), held: { ...state.held, [buffer]: turn } };
    return this.#arrive(landed, barrier, 0, -1) ?? landed;
  }

  #arrive(state: State, name: string, count: number, copies: number): State | undefined {
    const barrier = state.barriers[name]!;
    if (barrier.missing < count) return this.#fails(`${name} gets more arrivals than a phase takes`);
    const after = { ...barrier, missing: barrier.missing - count, copies: barrier.copies + copies };
    const isOver = after.missing === 0 && after.copies === 0;
    const next = isOver ? { phase: barrier.phase + 1, missing: this.#arrivals(name), copies: 0 } : after;
    return { ...state, barriers: { ...state.barriers, [name]: next } };
  }
}

const partName = (part: number): string => (part === 0 ? "the producer" : `consumer ${part - 1}`);

const slotBuffer = (operand: number, slot: number): string => `block ${operand} of slot ${slot}`;

/** The steps of a consumer or of the producer, with its loops unrolled. */
function actionsOf(pipeline: Pipeline, scenario: Scenario, consumer: number | undefined): readonly Action[] {
  const { stages, consumers, pieces, depth, turns } = scenario;
  const actions: Action[] = [];
  let [count, piece] = [0, 0];
  const slotOf = (turn: number) => ((turn % stages) + stages) % stages;
  const isOwn = (barrier: BarrierName) => pipeline.barriers[barrier]?.per === "consumer";
  // The producer serves each consumer's own barrier.
  const owners = consumer === undefined ? Array.from({ length: consumers }, (_, i) => i) : [consumer];
  const placesOf = (barrier: BarrierName) => (isOwn(barrier) ? owners : [slotOf(count)]);
  const bufferAt = (operand: number, barrier: BarrierName, place: number) =>
    isOwn(barrier) ? `block ${operand} of consumer ${place}` : slotBuffer(operand, place);
  const copiesIn = (body: readonly Step[], barrier: BarrierName) =>
    body.filter((step) => step.kind === "copy" && step.barrier === barrier).length;
  const run = (body: readonly Step[], tile: number, turn: number): void => {
    for (const step of body) one(step, body, tile, turn);
  };
  const one = (step: Step, body: readonly Step[], tile: number, turn: number): void => {
    const slot = slotOf(count);
    if (step.kind === "tiles") turns.forEach((_, i) => run(step.body, i, 0));
    else if (step.kind === "turns") for (let i = 0; i < turns[tile]!; i++) run(step.body, tile, i);
    else if (step.kind === "epilogue") for (let i = 0; i < pieces; i++, piece++) run(step.piece, tile, i);
    else if (step.kind === "advance") count++;
    else if (step.kind === "await turn") {
      // The first consumer begins.
      const parity = consumer === 0 ? 1 - (count % 2) : count % 2;
      if (consumers > 1) actions.push({ kind: "wait", barrier: `turnGiven ${consumer}`, parity });
    } else if (step.kind === "give turn") {
      if (consumers > 1) actions.push({ kind: "release", barrier: `turnGiven ${(consumer! + 1) % consumers}` });
    } else if (step.kind === "wait") {
      const parity = isOwn(step.barrier) ? 0 : Math.floor(count / stages) % 2;
      for (const place of placesOf(step.barrier))
        actions.push({ kind: "wait", barrier: `${step.barrier} ${place}`, parity: step.before ? 1 - parity : parity });
    } else if (step.kind === "expect")
      for (const place of placesOf(step.barrier))
        actions.push({ kind: "expect", barrier: `${step.barrier} ${place}`, copies: copiesIn(body, step.barrier) });
    else if (step.kind === "copy")
      for (const place of placesOf(step.barrier)) {
        const buffer = bufferAt(step.operand, step.barrier, place);
        actions.push({ kind: "copy", barrier: `${step.barrier} ${place}`, buffer, turn: count });
      }
    else if (step.kind === "take")
      actions.push({ kind: "take", buffer: `block ${step.operand} of consumer ${consumer}`, turn: count });
    else if (step.kind === "multiply")
      actions.push({ kind: "multiply", buffers: step.operands.map((i) => slotBuffer(i, slot)), turn: count });
    else if (step.kind === "release") {
      const does = step.when === "later" ? turn > 0 : step.when === "always" || turns[tile]! > 0;
      if (does) actions.push({ kind: "release", barrier: `${step.barrier} ${slotOf(count - step.ago)}` });
    } else if (step.kind === "drain") actions.push({ kind: "drain", running: step.running === "none" ? 0 : depth - 1 });
    else if (step.kind === "stage" || step.kind === "send") actions.push({ kind: step.kind, slot: turn % depth });
    else if (step.kind === "compute")
      actions.push({ kind: "compute", operand: step.what === "weights" ? KEYS : VALUES });
    else actions.push(step);
  };
  run(consumer === undefined ? pipeline.producer : pipeline.consumer, 0, 0);
  return actions;
}
