/**
 * Explores every order in which the parts of a pipeline may run. It knows what an mbarrier is: a phase that ends when the
 * expected arrivals and bytes are in, of which only the parity can be waited for.
 */
import { type Action, actionsOf, type Read, type Scenario } from "./barrier-actions.js";
import type { BarrierName, Pipeline } from "../../../../src/codegen/warp-specialize/pattern/pipeline.js";

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
  /** What the products of each part may still read, oldest first. */
  readonly running: readonly (readonly (readonly Read[])[])[];
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
    const { barriers: kinds } = this.pipeline;
    const { stages, consumers } = this.scenario;
    for (const [name, { per }] of Object.entries(kinds))
      for (let i = 0; i < (per === "slot" ? stages : consumers); i++)
        barriers[`${name} ${i}`] = { phase: 0, missing: this.#arrivals(name), copies: 0 };
    const none = this.#parts.map(() => []);
    return {
      places: this.#parts.map(() => 0),
      barriers,
      copies: [],
      held: {},
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
        return this.#isHeld(state, part, action.reads) ? state : undefined;
      case "settle":
        return { ...state, running: state.running.with(part, state.running[part]!.slice(-action.pending || Infinity)) };
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
    const isRead = state.running.flat(2).some((read) => read.buffer === buffer);
    if (isRead) return this.#fails(`turn ${turn} overwrites ${buffer} while a product reads it`);
    const before = state.held[buffer];
    const unread =
      before === undefined ? -1 : state.places.findIndex((place, part) => this.#willRead(part, place, buffer, before));
    if (unread >= 0) return this.#fails(`turn ${turn} overwrites ${buffer} before ${partName(unread)} reads it`);
    // While bytes arrive, the buffer holds nothing.
    return { ...state, copies: [...state.copies, { barrier, buffer, turn }], held: { ...state.held, [buffer]: -1 } };
  }

  #willRead(part: number, place: number, buffer: string, turn: number): boolean {
    return this.#parts
      [part]!.slice(place)
      .some((action) => "reads" in action && action.reads.some((read) => read.buffer === buffer && read.turn === turn));
  }

  #isHeld(state: State, part: number, reads: readonly Read[]): boolean {
    const wrong = reads.find(({ buffer, turn }) => state.held[buffer] !== turn);
    if (wrong === undefined) return true;
    const holds = state.held[wrong.buffer] ?? "none";
    this.#fails(`${partName(part)} reads ${wrong.buffer} for turn ${wrong.turn}, which holds turn ${holds}`);
    return false;
  }

  #multiply(state: State, part: number, { reads }: Extract<Action, { kind: "multiply" }>): State | undefined {
    if (!this.#isHeld(state, part, reads)) return undefined;
    return { ...state, running: state.running.with(part, [...state.running[part]!, reads]) };
  }

  /** The author's statements take what a product made, which must be there. */
  #compute(state: State, part: number, operand: number): State | undefined {
    const runs = state.running[part]!.flat().some(({ buffer }) => buffer.startsWith(`block ${operand} `));
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
