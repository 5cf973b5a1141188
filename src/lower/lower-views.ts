/**
 * Views as pointer arithmetic: a load of `a.at(rm, rk)` becomes a load of `a + rm[:, None] * stride_am + …` under the mask
 * that the view stands for. Written with the ops themselves, so what comes out is checked as an author's code is.
 */
import { fail } from "../diagnostics/diagnostic.js";
import { unmaskedView } from "../diagnostics/catalogue/operand-codes.js";
import { Builder, recording } from "../ir/builder.js";
import { Handle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  type Block,
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
} from "../ir/nodes.js";
import { nonNegativeValues } from "../analysis/signs.js";
import { bodiesOf, definitions } from "../ir/walk.js";
import { CarriedPointers } from "./carried-pointers.js";
import { opOf } from "../ops/define.js";
import { makeTensorDescriptor } from "../ops/descriptor.js";
import { load } from "../ops/memory.js";
import { at, permuteAxes } from "../ops/view.js";
import { ADD, AND, author, GE, id, LT, placed, SUB, term, type View } from "./view-terms.js";
import { WrittenOnce } from "./written-once.js";

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
  readonly #values = new WrittenOnce();
  readonly #carried: CarriedPointers;
  readonly #nonNegative: (argument: Argument) => boolean;
  readonly #definitions: ReadonlyMap<Value, Statement>;

  constructor(readonly ir: KernelIR) {
    this.#nonNegative = nonNegativeValues(ir);
    this.#definitions = definitions(...bodiesOf(ir));
    this.#carried = new CarriedPointers(this.#recorder, this.#values, this.#definitions);
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
    return this.#values.block(() => {
      this.#recorder.open("a lowered block", undefined);
      for (const statement of block.statements) this.#statement(statement);
      finish?.();
      return { statements: this.#recorder.close().statements, yields: block.yields };
    });
  }

  #statement(statement: Statement): void {
    if (statement.kind === "for") {
      const body = this.#carried.loop(statement, (end) => this.#block(statement.body, end));
      this.#recorder.append({ ...statement, body });
    } else if (statement.kind === "while") {
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
    const pointer = this.#carried.pointer(view) ?? this.#pointer(view);
    const mask = this.#mask(view, statement.options.mask);
    if (mask && !("mask" in statement.op.options)) fail(unmaskedView(statement.op.name), statement.at);
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
    const terms = view.indices.flatMap((index, axis) => term(index, view, axis));
    const pointer = new Handle(view.tensor.pointer);
    return terms.length > 0 ? (ADD(pointer, ...terms) as Handle) : pointer;
  }

  #mask(view: View, explicit: Argument | undefined): Handle | undefined {
    const conjuncts = view.indices.flatMap((index, axis) => this.#bounds(view, index, axis));
    const all = [...conjuncts, ...(explicit ? [author(explicit)] : [])];
    if (all.length === 0) return undefined;
    if (all.length === 1) return all[0] as Handle;
    const explicitKey = explicit ? `&${id(explicit)}` : "";
    const key = `${conjuncts.map((mask) => `lowered %${valueOf(mask).id}`).join("&")}${explicitKey}`;
    return this.#values.once(key, () => AND(...all) as Handle);
  }

  /** The comparisons that keep an index inside its axis; none where it certainly is. */
  #bounds(view: View, index: Argument, axis: number): readonly Handle[] {
    const dim = view.tensor.dims[axis]!;
    if (view.claimed[axis] || this.#coversExactly(index, dim) || isWithin(index, dim)) return [];
    const where = `${view.axes[axis] ?? "_"}/${view.rank}`;
    const moving = this.#carried.moving(index);
    const below = this.#values.once(`${id(index)}<${id(dim)}@${where}`, () => {
      if (!moving) return LT(placed(index, view, axis), author(dim)) as Handle;
      return LT(placed(moving.lanes, view, axis), SUB(author(dim), new Handle(moving.by))) as Handle;
    });
    if (this.#nonNegative(index)) return [below];
    const above = this.#values.once(`${id(index)}>=0@${where}`, () => GE(placed(index, view, axis), 0) as Handle);
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
}

/** Element 0 of an axis of size 1. */
function isWithin(index: Argument, dim: Argument): boolean {
  return isLiteral(index) && isLiteral(dim) && Number(index.value) >= 0 && Number(index.value) < Number(dim.value);
}

function rankOf(index: Argument): number {
  return isValue(index) && index.type.kind === "tile" ? index.type.shape.length : 0;
}
