/** Pointers that a loop carries: set up before it, advanced at its end. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { Builder } from "../ir/builder.js";
import { Handle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  type IfStatement,
  isLiteral,
  isValue,
  type Statement,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { walk } from "../ir/walk.js";
import {
  isConstexpr,
  isInside,
  type InductionIndex,
  laneInductionIndex,
  scalarInductionIndex,
  loopHasDot,
} from "./induction-index.js";
import { ADD, asAuthorArgument, id, isScalar, MUL, term, sumOffsets, type View } from "./view-terms.js";
import type { ValuePlacement } from "./value-placement.js";

/** A loop that is open, and the pointers that it carries. */
interface Loop {
  readonly statement: ForStatement;
  /** How many blocks are open outside it. */
  readonly depth: number;
  readonly multiplies: boolean;
  readonly carried: Map<string, Carried>;
}

interface Carried {
  readonly variable: Variable;
  readonly view: View;
  /** How the index of each axis moves; undefined where it stays. */
  readonly parts: readonly (Part | undefined)[];
  /** The block at whose end they are advanced: the loop's, or an arm's that Triton decides when it compiles. */
  readonly in: Block;
}

/** An index that moves with a loop. */
interface Part extends Pick<InductionIndex, "times"> {
  /** Made before the loop; none where the index is a single number. */
  readonly lanes?: Value;
}

/** An index with lanes that moves with a loop, and what is added to them in a turn. */
interface Lanes extends Part, Pick<InductionIndex, "by"> {
  readonly lanes: Value;
}

export class CarriedPointers {
  /** Indices whose lanes are made before a loop. */
  readonly moved = new Set<Value>();
  readonly #loops: Loop[] = [];
  /** The branch of each arm. */
  readonly #arms = new Map<Block, IfStatement>();

  /** `kept` are indices that the lowered program still computes in their loop; `carries`, whether loops carry any. */
  constructor(
    readonly recorder: Builder,
    readonly values: ValuePlacement,
    readonly definitions: ReadonlyMap<Value, Statement>,
    bodies: readonly Block[],
    readonly kept: ReadonlySet<Value>,
    readonly carries: boolean,
  ) {
    for (const body of bodies)
      walk(body, (statement) => {
        if (statement.kind !== "if") return;
        for (const arm of [statement.then, statement.otherwise]) this.#arms.set(arm, statement);
      });
  }

  /** Runs `body`, in which a loop is open. */
  loop<T>(statement: ForStatement, body: () => T): T {
    const multiplies = loopHasDot(statement);
    const loop: Loop = { statement, depth: this.recorder.depth, multiplies, carried: new Map() };
    this.#loops.push(loop);
    try {
      return body();
    } finally {
      this.#loops.pop();
    }
  }

  /** The pointers of a view that moves with the innermost loop: set up before it, advanced at its end. */
  pointer(view: View): Handle | undefined {
    const loop = this.#loops.at(-1);
    // Outside the loop an optional tensor may be absent.
    if (!loop || !this.carries || view.tensor.given) return undefined;
    const parts = view.indices.map((index, axis) => {
      if (loop.multiplies) return this.#part(index, loop);
      // Of elements side by side, the loop's index is the offset: `x_ptr + i`.
      const stride = view.tensor.strides[axis]!;
      const isNext = isLiteral(stride) && stride.value === 1;
      return isNext ? undefined : scalarInductionIndex(index, loop.statement, this.definitions);
    });
    const stays = view.indices.every((index, axis) => parts[axis] !== undefined || !isInside(index, loop.statement));
    if (!stays || parts.every((part) => part === undefined)) return undefined;
    // A permuted tensor has the same name and other strides.
    const strides = view.tensor.strides.map(id).join();
    const key = `${view.tensor.name}[${view.indices.map(id).join()}]@${view.axes.join()}/${strides}`;
    const block = this.#advancedIn(key, loop);
    if (!block) return undefined;
    let pointers = loop.carried.get(key);
    if (!pointers) {
      const variable = this.recorder.outside(loop.depth, () => this.#start(view, parts, loop));
      pointers = { variable, view, parts, in: block };
      loop.carried.set(key, pointers);
    }
    return this.#read(pointers.variable, loop);
  }

  /**
   * Where pointers are advanced. Those that one arm of a branch alone uses are advanced in it if Triton decides the branch
   * when it compiles, so that the other arm does not carry them. An arm that only a launch decides has none.
   */
  #advancedIn(key: string, { statement }: Loop): Block | undefined {
    const around = this.values.around(`${key} in loop %${statement.index.id}`);
    const inner = around.slice(around.indexOf(statement.body) + 1);
    const arms = inner.map((block) => this.#arms.get(block));
    if (arms.some((arm) => arm !== undefined && !isConstexpr(arm.condition))) return undefined;
    return arms.every((arm) => arm !== undefined) ? around.at(-1) : statement.body;
  }

  /**
   * `a_ptrs = a_ptr + (rm[:, None] * stride_am + rk[None, :] * stride_ak)`. In a loop that starts elsewhere than at 0, what
   * all lanes share lies on the pointer: `q_ptr + head * stride_qh + ((start + rm)[:, None] * stride_qm + rd[None, :])`,
   * and `lse_ptr + head * S + start + rm`. Triton 3.6 makes 1740 instructions of attention's gradients for sm_90 so, and
   * 1822 if everything is added up first; attention itself, most of whose keys start at 0, has fewer in its loop if it is.
   * It also lies there in a loop inside another, which would widen the sum each time: a grouped product takes an H200 0.98
   * of the time of one written by hand so, and 1.02 otherwise.
   */
  #start(view: View, parts: readonly (Part | undefined)[], { statement, multiplies }: Loop): Variable {
    const { start, at } = statement;
    return this.#pinnedAt(at, () => {
      const isApart = !isLiteral(start) || start.value !== 0;
      const isShared = isApart || this.#loops.length > 1 || !multiplies;
      const isRow = view.indices.filter((index) => !isScalar(index)).length === 1;
      const shared: unknown[] = [];
      const [first, ...others] = view.indices.flatMap((index, axis) => {
        const part = parts[axis];
        if (part && !part.lanes) return [];
        if (isApart && part && isRow) shared.push(...term(timed(start, part), view, axis, true));
        const own = term(part && isApart && !isRow ? from(start, part) : (part?.lanes ?? index), view, axis);
        if (!isShared || !isScalar(index)) return own;
        shared.push(...own);
        return [];
      });
      const offsets = first === undefined ? [] : [others.length > 0 ? ADD(first, ...others) : first];
      const terms = [...sumOffsets(shared), ...offsets];
      const pointer = new Handle(view.tensor.pointer);
      const initial = valueOf(terms.length > 0 ? (ADD(pointer, ...terms) as Handle) : pointer);
      const variable = this.recorder.variable(initial.type, at, `${view.tensor.name}_ptrs`);
      this.recorder.append({ kind: "let", variable, initial, at });
      return variable;
    });
  }

  #read(variable: Variable, { statement }: Loop): Handle {
    const result = this.recorder.value(variable.type, statement.at);
    this.recorder.append({ kind: "read", variable, result, at: statement.at });
    return new Handle(result);
  }

  /** `a_ptrs += BLOCK_K * stride_ak`, once all of the block is done. */
  advance(block: Block): void {
    const loop = this.#loops.at(-1);
    if (!loop) return;
    const { statement } = loop;
    this.#pinnedAt(statement.at, () => {
      for (const { variable, view, parts, in: end } of loop.carried.values()) {
        if (end !== block) continue;
        const steps = parts.flatMap((part, axis) => (part ? term(timed(statement.step, part), view, axis, true) : []));
        const value = valueOf(ADD(this.#read(variable, loop), ...steps) as Handle);
        this.recorder.append({ kind: "write", variable, value, at: statement.at });
      }
    });
  }

  /** Whether the innermost loop multiplies matrices, so that each instruction for an address counts. */
  get multiplies(): boolean {
    return this.#loops.at(-1)?.multiplies ?? false;
  }

  /** Whether an index is the same in each turn of the innermost loop. */
  stays(index: Argument): boolean {
    const loop = this.#loops.at(-1);
    return !loop || !isInside(index, loop.statement);
  }

  /** Whether some of these indices change in the innermost loop and others stay. */
  mixes(indices: readonly Argument[]): boolean {
    const loop = this.#loops.at(-1);
    const moving = loop ? indices.filter((index) => isInside(index, loop.statement)).length : 0;
    return moving > 0 && moving < indices.length;
  }

  /** The lanes of an index that moves with the innermost loop, and what is added to them. */
  moving(index: Argument): Lanes | undefined {
    const loop = this.#loops.at(-1);
    return loop && this.#part(index, loop);
  }

  /**
   * Lanes that are made in the loop are made before it instead: under the author's name for the index, unless the index
   * itself is still computed in the loop.
   */
  #part(index: Argument, loop: Loop): Lanes | undefined {
    if (!this.carries || !loop.multiplies || !isValue(index)) return undefined;
    const moving = laneInductionIndex(index, loop.statement.index, this.definitions);
    if (!moving) return undefined;
    const { lanes, sum, times, ...others } = moving;
    const known = times === undefined ? others : { ...others, times: this.#before(times, loop) };
    const [given] = lanes.results;
    if (!isInside(given!, loop.statement)) return { lanes: given!, ...known };
    const operands = lanes.operands.map((operand) => operand && this.#before(operand, loop));
    const make = (): Handle => {
      const at = this.kept.has(sum) ? lanes.at : index.at;
      this.recorder.anonymous = false;
      const [value] = this.recorder.op(lanes.op, operands, lanes.options, [given!.type], at);
      this.recorder.anonymous = true;
      return new Handle(value!);
    };
    this.moved.add(sum);
    const key = `lanes of ${id(index)}`;
    return { lanes: valueOf(this.values.at(key, loop.depth, make)), ...known };
  }

  /** A constexpr that the loop's body computes, such as `BLOCK * 2`, computed before the loop instead. */
  #before(constexpr: Argument, loop: Loop): Argument {
    const made = isValue(constexpr) && isInside(constexpr, loop.statement) && this.definitions.get(constexpr);
    if (!made || made.kind !== "op") return constexpr;
    const operands = made.operands.map((operand) => operand && this.#before(operand, loop));
    const make = (): Handle =>
      new Handle(this.recorder.op(made.op, operands, made.options, [constexpr.type], constexpr.at)[0]!);
    return valueOf(this.values.at(`constexpr ${id(constexpr)}`, loop.depth, make));
  }

  #pinnedAt<T>(at: Location | undefined, body: () => T): T {
    const outer = this.recorder.pinned;
    this.recorder.pinned = at;
    try {
      return body();
    } finally {
      this.recorder.pinned = outer;
    }
  }
}

/** The lanes of a loop's first turn. */
function from(start: Argument, part: Part): Value {
  return valueOf(ADD(asAuthorArgument(timed(start, part)), asAuthorArgument(part.lanes!)) as Handle);
}

/** How far an index is or moves where its loop's own is `index` or moves so far. */
function timed(index: Argument, { times }: Part): Argument {
  if (times === undefined) return index;
  if (isLiteral(index) && isLiteral(times)) return { ...index, value: Number(index.value) * Number(times.value) };
  if (isLiteral(index) && index.value === 1) return times;
  return valueOf(MUL(asAuthorArgument(index), asAuthorArgument(times)) as Handle);
}
