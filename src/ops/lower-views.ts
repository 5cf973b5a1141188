/**
 * Views as pointer arithmetic: a load of `a.at(rm, rk)` becomes a load of `a + rm[:, None] * stride_am + …` under the mask
 * that the view stands for. Written with the ops themselves, so what comes out is checked as an author's code is.
 */
import { fail, type Location } from "../diagnostics.js";
import { Builder, recording } from "../ir/builder.js";
import { dtypes } from "../ir/dtype.js";
import { Handle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  type FunctionIR,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type TensorParam,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { bodiesOf, definitions } from "../ir/walk.js";
import { add, mul, sub } from "./arithmetic.js";
import { and, ge, lt } from "./compare.js";
import { opOf } from "./define.js";
import { makeTensorDescriptor } from "./descriptor.js";
import { load } from "./memory.js";
import { carriesPointers, isInside, movingLanes } from "./moving-index.js";
import { nonNegativeValues } from "../ir/signs.js";
import { to } from "./cast.js";
import { expandDims } from "./shape.js";
import { at, permuteAxes } from "./view.js";

/** The ops without their types: here shapes and dtypes are the author's, known only to the rules. */
type AnyOp = (...args: unknown[]) => unknown;
const untyped = (op: unknown) => op as AnyOp;
const [ADD, SUB, MUL, AND] = [untyped(add), untyped(sub), untyped(mul), untyped(and)];
const [GE, LT, EXPAND, TO] = [untyped(ge), untyped(lt), untyped(expandDims), untyped(to)];

/** A view that waits for the load or store which uses it. */
interface View {
  readonly tensor: TensorParam;
  readonly indices: readonly Argument[];
  readonly claimed: readonly boolean[];
  /** Which axis of the result each index spans; undefined for scalars, and for gathers, whose indices broadcast. */
  readonly axes: readonly (number | undefined)[];
  readonly rank: number;
}

/** A loop that is open, and the pointers that it carries. */
interface Loop {
  readonly statement: ForStatement;
  /** How many blocks are open outside it. */
  readonly depth: number;
  readonly carries: boolean;
  readonly carried: Map<string, Carried>;
}

interface Carried {
  readonly variable: Variable;
  readonly view: View;
  /** The axes whose index moves. */
  readonly axes: readonly number[];
}

/** The kernel with every view written out. */
export function lowerViews(ir: KernelIR): KernelIR {
  return new Lowering(ir).kernel();
}

class Lowering {
  readonly #recorder: Builder = new Builder();
  readonly #views = new Map<Value, View>();
  /** Tensors whose axes were permuted, as parameters in that order. */
  readonly #tensors = new Map<Value, TensorParam>();
  readonly #functions = new Map<FunctionIR, FunctionIR>();
  /** Values that were written already, by what they are, in each block that is open. */
  readonly #known: Map<string, Handle>[] = [];
  readonly #loops: Loop[] = [];
  readonly #nonNegative: (argument: Argument) => boolean;
  readonly #definitions: ReadonlyMap<Value, Statement>;

  constructor(readonly ir: KernelIR) {
    this.#nonNegative = nonNegativeValues(ir);
    this.#definitions = definitions(...bodiesOf(ir));
  }

  kernel(): KernelIR {
    const { functions, body } = this.ir;
    return recording(this.#recorder, () => {
      this.#recorder.rewriting = true;
      this.#recorder.anonymous = true;
      // Callees come first, so a call finds the lowered function.
      for (const f of functions) this.#functions.set(f, { ...f, body: this.#block(f.body) });
      return { ...this.ir, functions: [...this.#functions.values()], body: this.#block(body) };
    });
  }

  /** An argument of a lowered statement: helper functions are the lowered ones. */
  #renewed(argument: Argument): Argument {
    return isFunction(argument) ? { kind: "function", function: this.#functions.get(argument.function)! } : argument;
  }

  #block(block: Block, finish?: () => void): Block {
    this.#known.push(new Map());
    this.#recorder.open("a lowered block", undefined);
    for (const statement of block.statements) this.#statement(statement);
    finish?.();
    const { statements } = this.#recorder.close();
    this.#known.pop();
    return { statements, yields: block.yields };
  }

  #statement(statement: Statement): void {
    if (statement.kind === "for") this.#for(statement);
    else if (statement.kind === "while") {
      const blocks = { condition: this.#block(statement.condition), body: this.#block(statement.body) };
      this.#recorder.append({ ...statement, ...blocks });
    } else if (statement.kind === "if") {
      const arms = { then: this.#block(statement.then), otherwise: this.#block(statement.otherwise) };
      this.#recorder.append({ ...statement, ...arms });
    } else if (statement.kind === "op" && statement.op.spelling.form === "lowered") this.#define(statement);
    else if (statement.kind === "op" && statement.op === opOf(makeTensorDescriptor)) this.#describe(statement);
    else if (statement.kind === "op" && this.#viewIn(statement)) this.#access(statement);
    else if (statement.kind === "op" && statement.operands.some(isFunction)) {
      const operands = statement.operands.map((operand) => operand && this.#renewed(operand));
      this.#recorder.append({ ...statement, operands });
    } else this.#recorder.append(statement);
  }

  #for(statement: ForStatement): void {
    const loop: Loop = {
      statement,
      depth: this.#recorder.depth,
      carries: carriesPointers(statement),
      carried: new Map(),
    };
    this.#loops.push(loop);
    const body = this.#block(statement.body, () => this.#advance(loop));
    this.#loops.pop();
    this.#recorder.append({ ...statement, body });
  }

  #viewIn(statement: OpStatement): View | undefined {
    const [address] = statement.operands;
    return isValue(address) ? this.#views.get(address) : undefined;
  }

  /** The axes of a tensor or a view in another order. */
  #permute(statement: OpStatement): void {
    const [from, list] = statement.operands as [Value, readonly Argument[]];
    const [result] = statement.results;
    const order = list.map((axis) => Number(isLiteral(axis) && axis.value));
    const view = this.#views.get(from);
    if (view) {
      const axes = view.axes.map((axis) => (axis === undefined ? undefined : order.indexOf(axis)));
      this.#views.set(result!, { ...view, axes });
      return;
    }
    const param = this.#tensor(from);
    const reorder = <T>(items: readonly T[]): T[] => order.map((axis) => items[axis]!);
    const { dims, dimNames, strides } = param;
    this.#tensors.set(result!, {
      ...param,
      dims: reorder(dims),
      dimNames: reorder(dimNames),
      strides: reorder(strides),
    });
  }

  #tensor(value: Argument | undefined): TensorParam {
    const permuted = isValue(value) ? this.#tensors.get(value) : undefined;
    return permuted ?? this.ir.params.find((p): p is TensorParam => p.kind === "tensor" && p.value === value)!;
  }

  /** A descriptor of a tensor, with the shape and the strides that the tensor has. */
  #describe(statement: OpStatement): void {
    const [base, shape, , block] = statement.operands;
    if (shape) return this.#recorder.append(statement);
    const { pointer, dims, strides } = this.#tensor(base);
    const last: Argument = { kind: "literal", value: 1 };
    this.#recorder.append({ ...statement, operands: [pointer, dims, [...strides.slice(0, -1), last], block] });
  }

  #define(statement: OpStatement): void {
    if (statement.op === opOf(permuteAxes)) return this.#permute(statement);
    const [tensor, list] = statement.operands;
    const param = this.#tensor(tensor);
    const indices = list as readonly Argument[];
    const { claimed } = statement.options;
    const isGrid = statement.op === opOf(at);
    let next = 0;
    const result = statement.results[0]!;
    this.#views.set(result, {
      tensor: param,
      indices,
      claimed: isList(claimed) ? claimed.map((flag) => isLiteral(flag) && flag.value === true) : [],
      axes: indices.map((index) => (isGrid && rankOf(index) === 1 ? next++ : undefined)),
      rank: result.type.kind === "view" ? result.type.shape.length : 0,
    });
  }

  #access(statement: OpStatement): void {
    const view = this.#viewIn(statement)!;
    if (statement.op.effect === "pure") return this.#transpose(statement, view);
    this.#recorder.pinned = statement.at;
    const pointer = this.#carriedPointer(view) ?? this.#pointer(view);
    const mask = this.#mask(view, statement.options.mask);
    if (mask && !("mask" in statement.op.options))
      fail(
        "type",
        `${statement.op.name}: takes no mask, so each index of a view must be in bounds; say so with tl.inBounds(index), or use x.ptr.add(…)`,
        statement.at,
      );
    const options: Record<string, Argument> = { ...statement.options, ...(mask && { mask: valueOf(mask) }) };
    if (mask && statement.op === opOf(load) && !options.other) options.other = { kind: "literal", value: 0 };
    const { mask: first, other, ...rest } = options;
    this.#recorder.pinned = undefined;
    this.#recorder.append({
      ...statement,
      operands: [valueOf(pointer), ...statement.operands.slice(1)],
      options: { ...(first && { mask: first }), ...(other && { other }), ...rest },
    });
  }

  /** `view.T` changes nothing but the axis that each index spans. */
  #transpose(statement: OpStatement, view: View): void {
    const last = view.rank - 1;
    const swap = (axis: number | undefined) => (axis === last ? last - 1 : axis === last - 1 ? last : axis);
    this.#views.set(statement.results[0]!, { ...view, axes: view.axes.map(swap) });
  }

  /** `a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak` */
  #pointer(view: View): Handle {
    const terms = view.indices.flatMap((index, axis) => this.#term(index, view, axis));
    const pointer = new Handle(view.tensor.pointer);
    return terms.length > 0 ? (ADD(pointer, ...terms) as Handle) : pointer;
  }

  /** `rm[:, None] * stride_am`, as far as it is not 0. */
  #term(index: Argument, view: View, axis: number, isScalar = false): readonly unknown[] {
    if (isLiteral(index) && index.value === 0) return [];
    const position = isScalar ? author(index) : this.#placed(index, view, axis);
    const stride = view.tensor.strides[axis]!;
    if (isLiteral(stride) && stride.value === 1) return [position];
    if (isLiteral(index) && index.value === 1) return [author(stride)];
    if (view.tensor.offsets !== "int64") return [MUL(position, author(stride))];
    // One wide side is enough; a number is none.
    const isTile = isValue(index) && index.type.kind === "tile";
    return [isTile ? MUL(TO(position, dtypes.int64), author(stride)) : MUL(position, TO(author(stride), dtypes.int64))];
  }

  // ---- pointers that a loop carries -----------------------------------------------------------------------------------

  /** The pointers of a view that moves with the innermost loop: set up before it, advanced at its end. */
  #carriedPointer(view: View): Handle | undefined {
    const loop = this.#loops.at(-1);
    // Outside the loop an optional tensor may be absent.
    if (!loop?.carries || view.tensor.given) return undefined;
    const parts = view.indices.map((index) => this.#moving(index, loop));
    const stays = view.indices.every((index, axis) => parts[axis] !== undefined || !isInside(index, loop.statement));
    if (!stays || parts.every((part) => part === undefined)) return undefined;
    // A permuted tensor has the same name and other strides.
    const strides = view.tensor.strides.map(id).join();
    const key = `${view.tensor.name}[${view.indices.map(id).join()}]@${view.axes.join()}/${strides}`;
    let pointers = loop.carried.get(key);
    if (!pointers) {
      const axes = [...parts.keys()].filter((axis) => parts[axis] !== undefined);
      const variable = this.#recorder.outside(loop.depth, () => this.#start(view, parts, loop));
      pointers = { variable, view, axes };
      loop.carried.set(key, pointers);
    }
    return this.#read(pointers.variable, loop);
  }

  /** `a_ptrs = a_ptr + (rm[:, None] * stride_am + rk[None, :] * stride_ak)` */
  #start(view: View, parts: readonly (Value | undefined)[], { statement }: Loop): Variable {
    return this.#pinnedAt(statement.at, () => {
      const terms = view.indices.flatMap((index, axis) => {
        const lanes = parts[axis];
        const own = this.#term(lanes ?? index, view, axis);
        return lanes ? [...own, ...this.#term(statement.start, view, axis, true)] : own;
      });
      const [first, ...others] = terms;
      const offsets = others.length > 0 ? ADD(first, ...others) : first;
      const initial = valueOf(ADD(new Handle(view.tensor.pointer), offsets) as Handle);
      const variable = this.#recorder.variable(initial.type, statement.at, `${view.tensor.name}_ptrs`);
      this.#recorder.append({ kind: "let", variable, initial, at: statement.at });
      return variable;
    });
  }

  #read(variable: Variable, { statement }: Loop): Handle {
    const result = this.#recorder.value(variable.type, statement.at);
    this.#recorder.append({ kind: "read", variable, result, at: statement.at });
    return new Handle(result);
  }

  /** `a_ptrs += BLOCK_K * stride_ak`, once all of the body is done. */
  #advance(loop: Loop): void {
    const { statement } = loop;
    this.#pinnedAt(statement.at, () => {
      for (const { variable, view, axes } of loop.carried.values()) {
        const steps = axes.flatMap((axis) => this.#term(statement.step, view, axis, true));
        const value = valueOf(ADD(this.#read(variable, loop), ...steps) as Handle);
        this.#recorder.append({ kind: "write", variable, value, at: statement.at });
      }
    });
  }

  /**
   * The lanes of an index that moves with a loop. Those that are made in the loop are made before it instead, under the
   * name that the author gave the index, which then needs none.
   */
  #moving(index: Argument, loop: Loop | undefined): Value | undefined {
    if (!loop?.carries || !isValue(index)) return undefined;
    const lanes = movingLanes(index, loop.statement.index, this.#definitions);
    if (!lanes) return undefined;
    const [given] = lanes.results;
    if (!isInside(given!, loop.statement)) return given!;
    const key = `lanes of ${id(index)}`;
    const made = this.#recorder.outside(loop.depth, () =>
      this.#once(
        key,
        () => {
          this.#recorder.anonymous = false;
          const [value] = this.#recorder.op(lanes.op, lanes.operands, lanes.options, [given!.type], index.at);
          this.#recorder.anonymous = true;
          return new Handle(value!);
        },
        loop.depth,
      ),
    );
    return valueOf(made);
  }

  #pinnedAt<T>(at: Location | undefined, body: () => T): T {
    const outer = this.#recorder.pinned;
    this.#recorder.pinned = at;
    try {
      return body();
    } finally {
      this.#recorder.pinned = outer;
    }
  }

  // ---- indices and masks ----------------------------------------------------------------------------------------------

  /** An index on the axis of the result that it spans: `rm[:, None]`. */
  #placed(index: Argument, view: View, axis: number): unknown {
    const position = view.axes[axis];
    let placed: unknown = author(index);
    if (position === undefined) return placed;
    for (let i = 0; i < position; i++) placed = EXPAND(placed, 0);
    for (let i = position + 1; i < view.rank; i++) placed = EXPAND(placed, i);
    return placed;
  }

  #mask(view: View, explicit: Argument | undefined): Handle | undefined {
    const conjuncts = view.indices.flatMap((index, axis) => this.#bounds(view, index, axis));
    const all = [...conjuncts, ...(explicit ? [author(explicit)] : [])];
    if (all.length === 0) return undefined;
    if (all.length === 1) return all[0] as Handle;
    const explicitKey = explicit ? `&${id(explicit)}` : "";
    const key = `${conjuncts.map((mask) => `lowered %${valueOf(mask).id}`).join("&")}${explicitKey}`;
    return this.#once(key, () => AND(...all) as Handle);
  }

  /** The comparisons that keep an index inside its axis; none where it certainly is. */
  #bounds(view: View, index: Argument, axis: number): readonly Handle[] {
    const dim = view.tensor.dims[axis]!;
    if (view.claimed[axis] || this.#coversExactly(index, dim) || isWithin(index, dim)) return [];
    const where = `${view.axes[axis] ?? "_"}/${view.rank}`;
    const loop = this.#loops.at(-1);
    const lanes = this.#moving(index, loop);
    const below = this.#once(`${id(index)}<${id(dim)}@${where}`, () => {
      if (!lanes || !loop) return LT(this.#placed(index, view, axis), author(dim)) as Handle;
      return LT(this.#placed(lanes, view, axis), SUB(author(dim), new Handle(loop.statement.index))) as Handle;
    });
    if (this.#nonNegative(index)) return [below];
    const above = this.#once(`${id(index)}>=0@${where}`, () => GE(this.#placed(index, view, axis), 0) as Handle);
    return [above, below];
  }

  /** `tl.arange(0, HEAD_DIM)` on an axis of size HEAD_DIM. */
  #coversExactly(index: Argument, dim: Argument): boolean {
    if (!isValue(index) || index.type.kind !== "tile") return false;
    const made = this.#definitions.get(index);
    if (made?.kind !== "op" || !made.op.countsFromZero?.(made.operands)) return false;
    const size = isLiteral(dim) ? dim.value : isValue(dim) && dim.type.kind === "constexpr" ? dim.type.text : undefined;
    return index.type.shape[0] === size;
  }

  /** The same comparison is written once and used by every access that can see it. */
  #once(key: string, make: () => Handle, depth = this.#known.length): Handle {
    for (const known of this.#known.slice(0, depth)) {
      const value = known.get(key);
      if (value) return value;
    }
    const made = make();
    this.#known[depth - 1]!.set(key, made);
    return made;
  }
}

/** Element 0 of an axis of size 1. */
function isWithin(index: Argument, dim: Argument): boolean {
  return isLiteral(index) && isLiteral(dim) && Number(index.value) >= 0 && Number(index.value) < Number(dim.value);
}

function rankOf(index: Argument): number {
  return isValue(index) && index.type.kind === "tile" ? index.type.shape.length : 0;
}

/** An argument as the author-side functions take it. */
function author(argument: Argument): unknown {
  if (isValue(argument)) return new Handle(argument);
  return isLiteral(argument) ? argument.value : argument;
}

function id(argument: Argument): string {
  return isValue(argument) ? `%${argument.id}` : isLiteral(argument) ? String(argument.value) : "?";
}
