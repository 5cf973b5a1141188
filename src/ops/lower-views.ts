/**
 * Views as pointer arithmetic: a load of `a.at(rm, rk)` becomes a load of `a + rm[:, None] * stride_am + …` under the mask
 * that the view stands for. Written with the ops themselves, so what comes out is checked as an author's code is.
 */
import { Builder, recording } from "../ir/builder.js";
import { dtypes } from "../ir/dtype.js";
import { Handle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  type Block,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import { definitions } from "../ir/walk.js";
import { add, mul, sub } from "./arithmetic.js";
import { and, ge, lt } from "./compare.js";
import { opOf } from "./define.js";
import { load } from "./memory.js";
import { movingIndex } from "./moving-index.js";
import { nonNegativeValues } from "../ir/signs.js";
import { expandDims, to } from "./shape.js";
import { at } from "./view.js";

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

/** The kernel with every view written out. */
export function lowerViews(ir: KernelIR): KernelIR {
  const lowering = new Lowering(ir);
  return { ...ir, body: lowering.kernel(ir.body) };
}

class Lowering {
  readonly #recorder: Builder = new Builder();
  readonly #views = new Map<Value, View>();
  /** Masks that were written already, by what they compare, and where they can be seen. */
  readonly #masks: Map<string, Handle>[] = [];
  /** The index of the innermost loop. */
  #step: Value | undefined;
  readonly #nonNegative: (argument: Argument) => boolean;
  readonly #definitions: ReadonlyMap<Value, Statement>;

  constructor(readonly ir: KernelIR) {
    this.#nonNegative = nonNegativeValues(ir);
    this.#definitions = definitions(ir.body);
  }

  kernel(body: Block): Block {
    return recording(this.#recorder, () => {
      this.#recorder.rewriting = true;
      this.#recorder.anonymous = true;
      return this.#block(body);
    });
  }

  #block(block: Block): Block {
    this.#masks.push(new Map());
    this.#recorder.open("a lowered block", undefined);
    for (const statement of block.statements) this.#statement(statement);
    const { statements } = this.#recorder.close();
    this.#masks.pop();
    return { statements, yields: block.yields };
  }

  #statement(statement: Statement): void {
    if (statement.kind === "for") {
      const outer = this.#step;
      this.#step = statement.index;
      this.#recorder.append({ ...statement, body: this.#block(statement.body) });
      this.#step = outer;
    } else if (statement.kind === "if") {
      const arms = { then: this.#block(statement.then), otherwise: this.#block(statement.otherwise) };
      this.#recorder.append({ ...statement, ...arms });
    } else if (statement.kind === "op" && statement.op.spelling.form === "lowered") this.#define(statement);
    else if (statement.kind === "op" && this.#viewIn(statement)) this.#access(statement);
    else this.#recorder.append(statement);
  }

  #viewIn(statement: OpStatement): View | undefined {
    const [address] = statement.operands;
    return isValue(address) ? this.#views.get(address) : undefined;
  }

  #define(statement: OpStatement): void {
    const [tensor, list] = statement.operands;
    const param = this.ir.params.find((p): p is TensorParam => p.kind === "tensor" && p.value === tensor)!;
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
    const pointer = this.#pointer(view);
    const mask = this.#mask(view, statement.options.mask);
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

  /** `a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak`; what moves with a loop comes last. */
  #pointer(view: View): Handle {
    const pointer = new Handle(view.tensor.pointer);
    const staying: unknown[] = [];
    const moving: unknown[] = [];
    view.indices.forEach((index, axis) => {
      const parts = this.#moving(index);
      staying.push(...this.#term(parts?.lanes ?? index, view, axis));
      if (parts) moving.push(...this.#term(parts.step, view, axis, true));
    });
    if (moving.length > 0) {
      const [tile, ...others] = staying;
      return ADD(pointer, others.length > 0 ? ADD(tile, ...others) : tile, ...moving) as Handle;
    }
    return staying.length > 0 ? (ADD(pointer, ...staying) as Handle) : pointer;
  }

  /** `rm[:, None] * stride_am`, as far as it is not 0. */
  #term(index: Argument, view: View, axis: number, isScalar = false): readonly unknown[] {
    if (isLiteral(index) && index.value === 0) return [];
    const position = isScalar ? author(index) : this.#placed(index, view, axis);
    const stride = view.tensor.strides[axis]!;
    if (isLiteral(stride) && stride.value === 1) return [position];
    if (isLiteral(index) && index.value === 1) return [author(stride)];
    const isWide = view.tensor.offsets === "int64" && position instanceof Handle;
    return [MUL(isWide ? TO(position, dtypes.int64) : position, author(stride))];
  }

  /**
   * The parts of an index that moves with the innermost loop. Lanes that are made in the loop take the name that the
   * author gave the index, which then needs none; lanes from outside have their own.
   */
  #moving(index: Argument): { readonly lanes: Value; readonly step: Value } | undefined {
    const parts = movingIndex(index, this.#step, this.#definitions);
    if (!parts || !isValue(index)) return undefined;
    const { op, operands, options, results } = parts.lanes;
    const [given] = results;
    if (given!.scope !== parts.step.scope) return { lanes: given!, step: parts.step };
    const lanes = this.#once(`lanes of ${id(index)}`, () => {
      this.#recorder.anonymous = false;
      const [made] = this.#recorder.op(op, operands, options, [given!.type], index.at);
      this.#recorder.anonymous = true;
      return new Handle(made!);
    });
    return { lanes: valueOf(lanes), step: parts.step };
  }

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
    if (view.claimed[axis] || this.#coversExactly(index, dim)) return [];
    const where = `${view.axes[axis] ?? "_"}/${view.rank}`;
    const parts = this.#moving(index);
    const below = this.#once(`${id(index)}<${id(dim)}@${where}`, () => {
      if (!parts) return LT(this.#placed(index, view, axis), author(dim)) as Handle;
      return LT(this.#placed(parts.lanes, view, axis), SUB(author(dim), author(parts.step))) as Handle;
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
  #once(key: string, make: () => Handle): Handle {
    for (const masks of this.#masks) {
      const known = masks.get(key);
      if (known) return known;
    }
    const made = make();
    this.#masks.at(-1)!.set(key, made);
    return made;
  }
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
