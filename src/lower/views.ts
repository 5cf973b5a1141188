/**
 * Views as pointer arithmetic: a load of `a.at(rm, rk)` becomes a load of `a + rm[:, None] * stride_am + …` under the mask
 * that the view stands for. Written with the ops themselves, so what comes out is checked as an author's code is.
 */
import { fail } from "../diagnostics/diagnostic.js";
import { unmaskedView } from "../diagnostics/catalog/operand-codes.js";
import { Builder, recording } from "../ir/builder.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
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
import { usageOf } from "../analysis/use-counts.js";
import { int32Counts } from "../analysis/int32-counts.js";
import { type BoundsChecks, type ViewAxis, viewBounds } from "../analysis/view-bounds.js";
import type { OpLowering } from "../ir/op.js";
import { bodiesOf, definitions, resultsOf } from "../ir/walk.js";
import { dtypes } from "../types/dtype.js";
import { lt } from "../ops/compare.js";
import { opOf } from "../ops/define.js";
import { conjunctsOf, limitsFromMask } from "./mask-limits.js";
import { CarriedPointers } from "./carried-pointers.js";
import {
  ADD,
  AND,
  splitGather,
  asAuthorArgument,
  promoteIndex,
  blockIn,
  GE,
  id,
  isScalar,
  LT,
  expandIndex,
  placementOf,
  strideOf,
  SUB,
  term,
  sumOffsets,
  type View,
  axisKey,
} from "./view-terms.js";
import { type PlacementPlan, ValuePlacement } from "./value-placement.js";

/** The kernel with every view written out. `carries` says whether loops that multiply may carry pointers. */
export function lowerViews(ir: KernelIR, { carries = true } = {}): KernelIR {
  const known = { bounds: viewBounds(ir), definitions: definitions(...bodiesOf(ir)), carries };
  const first = new Lowering(ir, known);
  first.kernel();
  const second = new Lowering(ir, known, first.plan);
  const lowered = second.kernel();
  // Only a program without views tells which indices are still computed where pointers advance.
  const used = usedIn(lowered);
  const kept = new Set([...second.moved].filter((index) => used.has(index)));
  const named = kept.size === 0 ? lowered : new Lowering(ir, known, first.plan, kept).kernel();
  return { ...named, counted: int32Counts(ir) };
}

function usedIn(ir: KernelIR): ReadonlySet<Value> {
  return new Set(bodiesOf(ir).flatMap((body) => [...usageOf(body).uses.keys()]));
}

/** What is known of the author's program. */
interface Known {
  readonly bounds: (place: ViewAxis) => BoundsChecks;
  readonly definitions: ReadonlyMap<Value, Statement>;
  readonly carries: boolean;
}

/** A comparison of a mask. */
interface Compared {
  readonly key: string;
  readonly mask: Handle;
}

class Lowering {
  readonly #recorder: Builder = new Builder();
  readonly #views = new Map<Value, View>();
  /** Tensors whose axes were permuted, as parameters in that order. */
  readonly #tensors = new Map<Value, TensorParam>();
  readonly #functions = new Map<FunctionIR, FunctionIR>();
  readonly #values: ValuePlacement;
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #carried: CarriedPointers;
  readonly #bounds: (place: ViewAxis) => BoundsChecks;

  constructor(
    readonly ir: KernelIR,
    { bounds, definitions, carries }: Known,
    planned?: PlacementPlan,
    kept: ReadonlySet<Value> = new Set(),
  ) {
    this.#bounds = bounds;
    this.#definitions = definitions;
    this.#values = new ValuePlacement(this.#recorder, bodiesOf(ir), planned);
    this.#carried = new CarriedPointers(this.#recorder, this.#values, this.#definitions, bodiesOf(ir), kept, carries);
  }

  get plan(): PlacementPlan {
    return this.#values.plan;
  }

  /** Indices whose pointers a loop carries. */
  get moved(): ReadonlySet<Value> {
    return this.#carried.moved;
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

  #block(block: Block, ...given: readonly Value[]): Block {
    return this.#values.block(block, () => {
      this.#values.recordDefinition(given);
      this.#recorder.open("a lowered block", undefined);
      for (const statement of block.statements) {
        this.#statement(statement);
        this.#values.recordDefinition(resultsOf(statement));
      }
      this.#carried.advance(block);
      return { statements: this.#recorder.close().statements, yields: block.yields };
    });
  }

  #statement(statement: Statement): void {
    if (statement.kind === "for") {
      const body = this.#carried.loop(statement, () => this.#block(statement.body, statement.index));
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
    } else if (!this.#values.isHoisted(statement)) {
      this.#recorder.append(statement);
      this.#offer(statement);
    }
  }

  /** The author's own `cols < N` is what a view would compare. */
  #offer(statement: OpStatement): void {
    const [x, limit] = statement.operands;
    if (statement.op !== opOf(lt) || x === undefined || limit === undefined) return;
    const placement = placementOf(x, this.#definitions);
    if (!placement) return;
    const { index, where } = placement;
    this.#values.registerAuthored(belowKey(index, limit, where), [index, limit], statement);
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
      this.#views.set(result!, { ...view, axes, at: statement.at });
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
    // The wrapper lets a tensor that only descriptors reach be longer than 32 bits count.
    const wide = (stride: Argument): Argument =>
      isList(stride) ? valueOf(strideOf(stride, dtypes.int64) as Handle) : stride;
    const apart = strides.slice(0, -1).map(wide);
    this.#recorder.append({ ...statement, operands: [pointer, dims, [...apart, last], block] });
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
      at: statement.at,
    });
  }

  #access(statement: OpStatement): void {
    const view = this.#viewIn(statement)!;
    this.#recorder.pinned = statement.at;
    const pointer = this.#carried.pointer(view) ?? this.#shared(statement, view);
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
      // Triton takes `other` only beside a mask; without one no lane holds it.
      options: { ...(first && { mask: first, ...(other && { other }) }), ...rest },
    });
  }

  /** The pointers of a view, which all its accesses share. */
  #shared({ operands, options }: OpStatement, view: View): Handle {
    const of = operands[0] as Value;
    const key = `pointers of ${id(of)}`;
    const make = () => this.#pointer(view, options.mask);
    // Outside its branch an optional tensor may be absent.
    if (view.tensor.given) return this.#values.getOrCreateInBlock(key, make);
    return this.#values.getOrCreate(key, [...view.indices, of], make);
  }

  /** `x_ptr + row * stride_xm + (rm[:, None] * stride_xk + rn[None, :] * stride_xn)`: lanes are added up in 32 bits. */
  #pointer(view: View, mask: Argument | undefined): Handle {
    const axes = [...view.indices.keys()];
    const lanes = axes.filter((axis) => !isScalar(view.indices[axis]!));
    const others = axes.filter((axis) => !lanes.includes(axis));
    const own = others.map((axis) => ({ axis, index: view.indices[axis]! }));
    const block = lanes.length === 1 && others.length > 0 ? this.#blockOf(view, lanes[0]!, mask) : undefined;
    if (block) {
      const [axis] = lanes as [number];
      const row = this.#start(view, [...own, { axis, index: block.base }]);
      return this.#under(view, () => ADD(row, ...term(block.lanes, view, axis)));
    }
    const start = this.#start(view, own);
    const isGather = this.#carried.multiplies && lanes.length === 1;
    const apart = isGather ? splitGather(view, lanes[0]!, this.#definitions) : undefined;
    if (apart) {
      const row = ADD(start, asAuthorArgument(apart.x));
      return this.#under(view, () => apart.join(row, asAuthorArgument(apart.y)));
    }
    const [first, ...more] = lanes.flatMap((axis) => term(view.indices[axis]!, view, axis));
    if (first === undefined) return start;
    // In a loop, what stays is widened once; a sum in 32 bits would be widened again each time.
    const isApart = more.length === 0 || this.#carried.mixes(lanes.map((axis) => view.indices[axis]!));
    if (isApart) return this.#under(view, () => ADD(start, first, ...more));
    const offsets = ADD(first, ...more);
    return this.#under(view, () => ADD(start, offsets));
  }

  /**
   * `group * GROUP + lanes`, where no mask needs the index itself: its first lane lies on the pointer too. Offsets of 32
   * bits hold both parts of an index that they hold, as neither is negative.
   */
  #blockOf(view: View, axis: number, mask: Argument | undefined): ReturnType<typeof blockIn> {
    if (!this.#carried.stays(view.indices[axis]!)) return undefined;
    const given = mask === undefined ? [] : conjunctsOf(mask, this.#definitions);
    const isMasked = this.#boundsOf(view, axis, given);
    const block = isMasked.lower || isMasked.upper ? undefined : blockIn(view, axis, this.#definitions);
    const dim = view.tensor.dims[axis]!;
    return block && !this.#bounds({ index: block.base, dim, axis, claimed: [] }).lower ? block : undefined;
  }

  /** Pointers under the name that the author gave their view. */
  #under(view: View, make: () => unknown): Handle {
    const { pinned } = this.#recorder;
    this.#recorder.pinned = view.at;
    this.#recorder.anonymous = false;
    try {
      return make() as Handle;
    } finally {
      this.#recorder.anonymous = true;
      this.#recorder.pinned = pinned;
    }
  }

  /**
   * `x_ptr + (row * stride_xm + head * stride_xh)`: what all lanes share lies on the pointer, as one offset. In a loop that
   * changes the row it is `x_ptr + head * stride_xh + row * stride_xm`.
   */
  #start(view: View, parts: readonly { readonly axis: number; readonly index: Argument }[]): Handle {
    const pointer = new Handle(view.tensor.pointer);
    const indices = parts.map(({ index }) => index);
    if (indices.every((index) => isLiteral(index) && index.value === 0)) return pointer;
    // What changes in a loop comes after what stays, so that the loop does not add that up each time.
    const staying = this.#carried.mixes(indices) ? parts.filter(({ index }) => this.#carried.stays(index)) : [];
    const from = staying.length > 0 ? this.#start(view, staying) : pointer;
    const terms = () =>
      parts.flatMap((part) => (staying.includes(part) ? [] : term(part.index, view, part.axis, true)));
    const strides = parts.map(({ axis }) => view.tensor.strides[axis]!);
    const key = `${view.tensor.name}[${indices.map(id).join()}]/${strides.map(id).join()}`;
    const make = () => ADD(from, ...sumOffsets(terms())) as Handle;
    return this.#values.getOrHoist(key, indices, make, view.tensor.given !== undefined);
  }

  #mask(view: View, explicit: Argument | undefined): Handle | undefined {
    const given = explicit === undefined ? [] : conjunctsOf(explicit, this.#definitions);
    const compared = view.indices
      .flatMap((index, axis) => this.#compared(view, index, axis, given))
      .filter(({ mask }) => !given.includes(valueOf(mask)));
    const all = [...compared.map(({ mask }) => mask), ...(explicit ? [asAuthorArgument(explicit)] : [])];
    if (all.length <= 1) return all[0] as Handle | undefined;
    const key = [...compared.map((each) => each.key), ...(explicit ? [id(explicit)] : [])].join("&");
    // An author's own comparison may stand further inside than where all uses of these meet.
    const masks = all.flatMap((mask) => (isHandle(mask) ? [valueOf(mask)] : []));
    const from = [...view.indices, ...view.tensor.dims, ...masks];
    return this.#values.getOrCreate(key, from, () => AND(...all) as Handle);
  }

  #boundsOf(view: View, axis: number, given: readonly Argument[]): BoundsChecks {
    const limits = limitsFromMask(given, axisKey(view, axis), this.#definitions);
    const [index, dim] = [view.indices[axis]!, view.tensor.dims[axis]!];
    return this.#bounds({ index, dim, axis, claimed: view.claimed, limits });
  }

  /** The comparisons that keep an index inside its axis; none where it certainly is. */
  #compared(view: View, index: Argument, axis: number, given: readonly Argument[]): readonly Compared[] {
    const dim = view.tensor.dims[axis]!;
    const { lower, upper } = this.#boundsOf(view, axis, given);
    const where = axisKey(view, axis);
    const once = (key: string, make: () => Handle): Compared => ({
      key,
      mask: this.#values.getOrCreate(key, [index, dim], make),
    });
    // The order in which they are written first, which decides their names.
    const upperBound = upper ? [once(belowKey(index, dim, where), () => this.#below(view, index, axis))] : [];
    const lowerBound = () => once(`${id(index)}>=0${where}`, () => GE(expandIndex(index, view, axis), 0) as Handle);
    return [...(lower ? [lowerBound()] : []), ...upperBound];
  }

  /** `rk < K`, in a loop that carries pointers `lanes < K - k`. */
  #below(view: View, index: Argument, axis: number): Handle {
    const size = view.tensor.dims[axis]!;
    const moving = this.#carried.moving(index);
    if (!moving) return LT(expandIndex(promoteIndex(size, index), view, axis), asAuthorArgument(size)) as Handle;
    return LT(expandIndex(moving.lanes, view, axis), SUB(asAuthorArgument(size), new Handle(moving.by))) as Handle;
  }
}

function belowKey(index: Argument, limit: Argument, where: string): string {
  return `${id(index)}<${id(limit)}${where}`;
}

/** Whether an argument is a tensor or a view, whose axes lowering keeps; those of a tile are the program's. */
function hasAxes(argument: Argument | undefined): boolean {
  return isValue(argument) && (argument.type.kind === "tensor" || argument.type.kind === "view");
}

function rankOf(index: Argument): number {
  return isValue(index) && index.type.kind === "tile" ? index.type.shape.length : 0;
}
