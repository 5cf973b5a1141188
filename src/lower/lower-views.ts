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
import { type Bounds, type ViewAxis, viewBounds } from "../analysis/view-bounds.js";
import type { OpLowering } from "../ir/op.js";
import { bodiesOf, definitions } from "../ir/walk.js";
import { CarriedPointers } from "./carried-pointers.js";
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
  readonly #bounds: (place: ViewAxis) => Bounds;

  constructor(readonly ir: KernelIR) {
    this.#bounds = viewBounds(ir);
    this.#carried = new CarriedPointers(this.#recorder, this.#values, definitions(...bodiesOf(ir)));
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
    } else if (statement.kind === "op") this.#op(statement);
    else this.#recorder.append(statement);
  }

  #op(statement: OpStatement): void {
    const { view, permutes, describes } = statement.op.lowering ?? {};
    const [first] = statement.operands;
    if (view) this.#view(statement, view);
    else if (permutes && hasAxes(first)) this.#permute(statement, permutes);
    else if (describes) this.#describe(statement);
    else if (this.#viewIn(statement)) this.#access(statement);
    else if (statement.operands.some(isFunction)) {
      const operands = statement.operands.map((operand) => operand && this.#renewed(operand));
      this.#recorder.append({ ...statement, operands });
    } else this.#recorder.append(statement);
  }

  #viewIn(statement: OpStatement): View | undefined {
    const [address] = statement.operands;
    return isValue(address) ? this.#views.get(address) : undefined;
  }

  /** The axes of a tensor or a view in another order. */
  #permute(statement: OpStatement, permutes: NonNullable<OpLowering["permutes"]>): void {
    const [from] = statement.operands as [Value];
    const [result] = statement.results;
    const view = this.#views.get(from);
    if (view) {
      const order = permutes(statement.operands, view.rank);
      const axes = view.axes.map((axis) => (axis === undefined ? undefined : order.indexOf(axis)));
      this.#views.set(result!, { ...view, axes });
      return;
    }
    const param = this.#tensor(from);
    const order = permutes(statement.operands, param.dims.length);
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

  /** A view waits for the accesses that use it. */
  #view(statement: OpStatement, layout: "grid" | "lanes"): void {
    const [tensor, list] = statement.operands;
    const param = this.#tensor(tensor);
    const indices = list as readonly Argument[];
    const { claimed } = statement.options;
    let next = 0;
    const result = statement.results[0]!;
    this.#views.set(result, {
      tensor: param,
      indices,
      claimed: isList(claimed) ? claimed.map((flag) => isLiteral(flag) && flag.value === true) : [],
      axes: indices.map((index) => (layout === "grid" && rankOf(index) === 1 ? next++ : undefined)),
      rank: result.type.kind === "view" ? result.type.shape.length : 0,
    });
  }

  #access(statement: OpStatement): void {
    const view = this.#viewIn(statement)!;
    this.#recorder.pinned = statement.at;
    const pointer = this.#carried.pointer(view) ?? this.#pointer(view);
    const mask = this.#mask(view, statement.options.mask);
    if (mask && !("mask" in statement.op.options)) fail(unmaskedView(statement.op.name), statement.at);
    const options: Record<string, Argument> = { ...statement.options, ...(mask && { mask: valueOf(mask) }) };
    const { maskedLanes } = statement.op.lowering ?? {};
    if (mask && maskedLanes !== undefined) options.other ??= { kind: "literal", value: maskedLanes };
    const { mask: first, other, ...rest } = options;
    this.#recorder.pinned = undefined;
    this.#recorder.append({
      ...statement,
      operands: [valueOf(pointer), ...statement.operands.slice(1)],
      options: { ...(first && { mask: first }), ...(other && { other }), ...rest },
    });
  }

  /** `a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak` */
  #pointer(view: View): Handle {
    const terms = view.indices.flatMap((index, axis) => term(index, view, axis));
    const pointer = new Handle(view.tensor.pointer);
    return terms.length > 0 ? (ADD(pointer, ...terms) as Handle) : pointer;
  }

  #mask(view: View, explicit: Argument | undefined): Handle | undefined {
    const conjuncts = view.indices.flatMap((index, axis) => this.#compared(view, index, axis));
    const all = [...conjuncts, ...(explicit ? [author(explicit)] : [])];
    if (all.length === 0) return undefined;
    if (all.length === 1) return all[0] as Handle;
    const explicitKey = explicit ? `&${id(explicit)}` : "";
    const key = `${conjuncts.map((mask) => `lowered %${valueOf(mask).id}`).join("&")}${explicitKey}`;
    return this.#values.once(key, () => AND(...all) as Handle);
  }

  /** The comparisons that keep an index inside its axis; none where it certainly is. */
  #compared(view: View, index: Argument, axis: number): readonly Handle[] {
    const dim = view.tensor.dims[axis]!;
    const { lower, upper } = this.#bounds({ index, dim, axis, claimed: view.claimed });
    const where = `${view.axes[axis] ?? "_"}/${view.rank}`;
    const below = () => this.#values.once(`${id(index)}<${id(dim)}@${where}`, () => this.#below(view, index, axis));
    const above = () => this.#values.once(`${id(index)}>=0@${where}`, () => GE(placed(index, view, axis), 0) as Handle);
    // The order in which they are written first, which decides their names.
    const upperBound = upper ? [below()] : [];
    return [...(lower ? [above()] : []), ...upperBound];
  }

  /** `rk < K`, in a loop that carries pointers `lanes < K - k`. */
  #below(view: View, index: Argument, axis: number): Handle {
    const dim = author(view.tensor.dims[axis]!);
    const moving = this.#carried.moving(index);
    if (!moving) return LT(placed(index, view, axis), dim) as Handle;
    return LT(placed(moving.lanes, view, axis), SUB(dim, new Handle(moving.by))) as Handle;
  }
}

/** Whether an argument is a tensor or a view, whose axes lowering keeps; those of a tile are the program's. */
function hasAxes(argument: Argument | undefined): boolean {
  return isValue(argument) && (argument.type.kind === "tensor" || argument.type.kind === "view");
}

function rankOf(index: Argument): number {
  return isValue(index) && index.type.kind === "tile" ? index.type.shape.length : 0;
}
