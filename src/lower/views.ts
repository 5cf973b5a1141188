/**
 * Lowers views to pointer arithmetic: a load of `a.at(rm, rk)` becomes a load of `a + rm[:, None] * stride_am + …`,
 * masked by the view's bounds. The terms are built with the public ops, so the result is type-checked like authored
 * code.
 */
import { fail } from "../diagnostics/diagnostic.js";
import { unmaskedView } from "../diagnostics/catalog/operand-codes.js";
import { Builder, withBuilder } from "../ir/builder.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  type FunctionIR,
  isFunction,
  isList,
  isLiteral,
  isZeroLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  paramsOf,
  type Statement,
  type TensorParam,
  type Value,
  type WhileStatement,
} from "../ir/nodes.js";
import { int32Counts } from "../analysis/index-values.js";
import { type BoundsChecks, type ViewAxis, viewBounds } from "../analysis/in-bounds.js";
import type { OpLowering } from "../ir/op.js";
import { bodiesOf, definitions, onlyResult, resultsOf, usageOf } from "../ir/walk.js";
import { atAxis, permuteAxes } from "../types/dims.js";
import { dtypes } from "../types/dtype.js";
import { lt } from "../ops/compare.js";
import { opOf } from "../ops/define.js";
import { CarriedPointers } from "./carried-pointers.js";
import {
  ADD,
  AND,
  splitGather,
  asAuthorArgument,
  promoteIndex,
  blockIn,
  GE,
  argumentKey,
  isScalar,
  LT,
  expandIndex,
  placementOf,
  type IndexedAxis,
  strideOf,
  SUB,
  term,
  sumOffsets,
  type View,
  axisKey,
  conjunctsOf,
  limitsFromMask,
} from "./view-terms.js";
import { type PlacementPlan, ValuePlacement } from "./value-placement.js";

/** Lowers all views of a kernel. `carriesPointers` is false if loops must not carry pointers. */
export function lowerViews(ir: KernelIR, { carriesPointers = true } = {}): KernelIR {
  const analyses = { bounds: viewBounds(ir), definitions: definitions(...bodiesOf(ir)), carriesPointers };
  const first = new Lowering(ir, analyses);
  first.lower();
  const second = new Lowering(ir, analyses, first.plan);
  const lowered = second.lower();
  // Only the lowered program shows which indices are still computed in loops whose pointers advance.
  const used = usedIn(lowered);
  const retained = new Set([...second.hoistedIndices].filter((index) => used.has(index)));
  const renamed = retained.size === 0 ? lowered : new Lowering(ir, analyses, first.plan, retained).lower();
  return { ...renamed, counted: int32Counts(ir) };
}

function usedIn(ir: KernelIR): ReadonlySet<Value> {
  return new Set(bodiesOf(ir).flatMap((body) => [...usageOf(body).uses.keys()]));
}

/** Analyses of the author's program. */
interface Analyses {
  readonly bounds: (viewAxis: ViewAxis) => BoundsChecks;
  readonly definitions: ReadonlyMap<Value, Statement>;
  readonly carriesPointers: boolean;
}

/** The options of a loop without the one that Triton does not have. */
function tritonOptions({ options }: ForStatement | WhileStatement): ForStatement["options"] {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== "most"));
}

/** A comparison that is part of a mask. */
interface Comparison {
  readonly key: string;
  readonly mask: Handle;
}

class Lowering {
  readonly #recorder: Builder = new Builder();
  readonly #views = new Map<Value, View>();
  /** The tensors. Permuted ones are parameters with axes in that order. */
  readonly #tensors: Map<Value, TensorParam>;
  readonly #functions = new Map<FunctionIR, FunctionIR>();
  readonly #values: ValuePlacement;
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #carriedPointers: CarriedPointers;
  readonly #bounds: (viewAxis: ViewAxis) => BoundsChecks;

  constructor(
    readonly ir: KernelIR,
    { bounds, definitions, carriesPointers }: Analyses,
    plan?: PlacementPlan,
    retained: ReadonlySet<Value> = new Set(),
  ) {
    this.#tensors = new Map(paramsOf(ir, "tensor").map((param) => [param.value, param]));
    this.#bounds = bounds;
    this.#definitions = definitions;
    this.#values = new ValuePlacement(this.#recorder, bodiesOf(ir), plan);
    this.#carriedPointers = new CarriedPointers(
      this.#recorder,
      this.#values,
      this.#definitions,
      bodiesOf(ir),
      retained,
      carriesPointers,
    );
  }

  get plan(): PlacementPlan {
    return this.#values.plan;
  }

  /** Indices whose pointers a loop carries. */
  get hoistedIndices(): ReadonlySet<Value> {
    return this.#carriedPointers.hoistedIndices;
  }

  lower(): KernelIR {
    const { functions, body } = this.ir;
    return withBuilder(this.#recorder, () => {
      this.#recorder.rewriting = true;
      this.#recorder.isAnonymous = true;
      // Callees come first, so a call finds the lowered function.
      for (const f of functions) this.#functions.set(f, { ...f, body: this.#block(f.body) });
      return { ...this.ir, functions: [...this.#functions.values()], body: this.#block(body) };
    });
  }

  /** An argument of a lowered statement. Helper functions are replaced by the lowered ones. */
  #loweredArgument(argument: Argument): Argument {
    return isFunction(argument) ? { kind: "function", function: this.#functions.get(argument.function)! } : argument;
  }

  #block(block: Block, ...definedValues: readonly Value[]): Block {
    return this.#values.block(block, () => {
      this.#values.recordDefinition(definedValues);
      this.#recorder.open("a lowered block", undefined);
      for (const statement of block.statements) {
        this.#statement(statement);
        this.#values.recordDefinition(resultsOf(statement));
      }
      this.#carriedPointers.advance(block);
      return { statements: this.#recorder.close().statements, yields: block.yields };
    });
  }

  #statement(statement: Statement): void {
    if (statement.kind === "for") {
      const body = this.#carriedPointers.loop(statement, () => this.#block(statement.body, statement.index));
      this.#recorder.append({ ...statement, options: tritonOptions(statement), body });
    } else if (statement.kind === "while") {
      const blocks = { condition: this.#block(statement.condition), body: this.#block(statement.body) };
      this.#recorder.append({ ...statement, options: tritonOptions(statement), ...blocks });
    } else if (statement.kind === "if") {
      const branches = { then: this.#block(statement.then), otherwise: this.#block(statement.otherwise) };
      this.#recorder.append({ ...statement, ...branches });
    } else if (statement.kind === "op") this.#op(statement);
    else this.#recorder.append(statement);
  }

  #op(statement: OpStatement): void {
    const { view: layout, permutes, describes } = statement.op.lowering ?? {};
    const [first] = statement.operands;
    const accessedView = isValue(first) ? this.#views.get(first) : undefined;
    if (layout) this.#view(statement, layout);
    else if (permutes && hasAxes(first)) this.#permute(statement, permutes);
    else if (describes) this.#describe(statement);
    else if (accessedView) this.#access(statement, accessedView);
    else if (statement.operands.some(isFunction)) {
      const operands = statement.operands.map((operand) => operand && this.#loweredArgument(operand));
      this.#recorder.append({ ...statement, operands });
    } else if (!this.#values.isHoisted(statement)) {
      this.#recorder.append(statement);
      this.#registerBoundsCheck(statement);
    }
  }

  /** Reuses the author's `cols < N` as the bounds check of a view. */
  #registerBoundsCheck(statement: OpStatement): void {
    const [x, limit] = statement.operands;
    if (statement.op !== opOf(lt) || x === undefined || limit === undefined) return;
    const placement = placementOf(x, this.#definitions);
    if (!placement) return;
    const { index } = placement;
    this.#values.registerAuthored(belowKey(index, limit, axisKey(placement)), [index, limit], statement);
  }

  /** Permutes the axes of a tensor or a view. */
  #permute(statement: OpStatement, permutes: NonNullable<OpLowering["permutes"]>): void {
    const [source] = statement.operands as [Value];
    const result = onlyResult(statement);
    const view = this.#views.get(source);
    if (view) {
      const order = permutes(statement.operands, view.rank);
      const axes = view.axes.map((axis) =>
        axis.position === undefined ? axis : { ...axis, position: order.indexOf(axis.position) },
      );
      this.#views.set(result, { ...view, axes, at: statement.location });
      return;
    }
    const param = this.#tensor(source);
    const order = permutes(statement.operands, param.dims.length);
    this.#tensors.set(result, {
      ...param,
      dims: permuteAxes(param.dims, order),
      dimNames: permuteAxes(param.dimNames, order),
      strides: permuteAxes(param.strides, order),
    });
  }

  #tensor(value: Argument | undefined): TensorParam {
    const tensor = isValue(value) ? this.#tensors.get(value) : undefined;
    if (!tensor) throw new Error("the operand is not a tensor");
    return tensor;
  }

  /** A descriptor of a tensor, with the tensor's shape and strides. */
  #describe(statement: OpStatement): void {
    const [base, shape, , block] = statement.operands;
    if (shape) return this.#recorder.append(statement);
    const { pointer, dims, strides } = this.#tensor(base);
    const last: Argument = { kind: "literal", value: 1 };
    // The wrapper accepts a tensor with 64-bit offsets if it is only accessed through descriptors.
    const wide = (stride: Argument): Argument =>
      isList(stride) ? valueOf(strideOf(stride, dtypes.int64) as Handle) : stride;
    const outerStrides = strides.slice(0, -1).map(wide);
    this.#recorder.append({ ...statement, operands: [pointer, dims, [...outerStrides, last], block] });
  }

  /** Registers a view. Its accesses lower it. */
  #view(statement: OpStatement, layout: "grid" | "lanes"): void {
    const [tensor, list] = statement.operands;
    const param = this.#tensor(tensor);
    const indices = list as readonly Argument[];
    const { claimed } = statement.options;
    let next = 0;
    const result = onlyResult(statement);
    this.#views.set(result, {
      tensor: param,
      axes: indices.map((index, axis) => ({
        axis,
        index,
        stride: atAxis(param.strides, axis),
        dim: atAxis(param.dims, axis),
        position: layout === "grid" && rankOf(index) === 1 ? next++ : undefined,
      })),
      claimed: isList(claimed) ? claimed.map((flag) => isLiteral(flag) && flag.value === true) : [],
      rank: result.type.kind === "view" ? result.type.shape.length : 0,
      at: statement.location,
    });
  }

  #access(statement: OpStatement, view: View): void {
    const [pointer, mask] = this.#recorder.pinnedAt(statement.location, (): readonly [Handle, Handle | undefined] => [
      this.#carriedPointers.pointer(view) ?? this.#sharedPointer(statement, view),
      this.#mask(view, statement.options.mask),
    ]);
    if (mask && !("mask" in statement.op.options)) fail(unmaskedView(statement.op.name), statement.location);
    const options: Record<string, Argument> = { ...statement.options, ...(mask && { mask: valueOf(mask) }) };
    const { maskedLanes } = statement.op.lowering ?? {};
    if (mask && maskedLanes !== undefined) options.other ??= { kind: "literal", value: maskedLanes };
    const { mask: first, other: padding, ...otherOptions } = options;
    this.#recorder.append({
      ...statement,
      operands: [valueOf(pointer), ...statement.operands.slice(1)],
      // Triton accepts `other` only with a mask. Without a mask, there are no masked lanes.
      options: { ...(first && { mask: first, ...(padding && { other: padding }) }), ...otherOptions },
    });
  }

  /** The pointers of a view, shared by all its accesses. */
  #sharedPointer({ operands, options }: OpStatement, view: View): Handle {
    const viewValue = operands[0] as Value;
    const key = `pointers of ${argumentKey(viewValue)}`;
    const make = () => this.#pointer(view, options.mask);
    // Outside its branch, an optional tensor may be absent.
    if (view.tensor.given) return this.#values.getOrCreateInBlock(key, make);
    return this.#values.getOrCreate(key, [...indicesOf(view.axes), viewValue], make);
  }

  /**
   * `x_ptr + row * stride_xm + (rm[:, None] * stride_xk + rn[None, :] * stride_xn)`: terms with lanes are added in 32
   * bits.
   */
  #pointer(view: View, mask: Argument | undefined): Handle {
    const scalarAxes = view.axes.filter(({ index }) => isScalar(index));
    const laneAxes = view.axes.filter(({ index }) => !isScalar(index));
    const [laneAxis, ...otherLaneAxes] = laneAxes;
    const onlyLaneAxis = otherLaneAxes.length === 0 ? laneAxis : undefined;
    const block = onlyLaneAxis && scalarAxes.length > 0 ? this.#blockOf(view, onlyLaneAxis, mask) : undefined;
    if (onlyLaneAxis && block) {
      const row = this.#rowPointer(view, [...scalarAxes, { ...onlyLaneAxis, index: block.base }]);
      return this.#withViewName(view, () => ADD(row, ...term(block.lanes, view, onlyLaneAxis)));
    }
    const start = this.#rowPointer(view, scalarAxes);
    const isGather = this.#carriedPointers.hasDot && onlyLaneAxis !== undefined;
    const split = isGather ? splitGather(view, onlyLaneAxis, this.#definitions) : undefined;
    if (split) {
      const row = ADD(start, asAuthorArgument(split.x));
      return this.#withViewName(view, () => split.combine(row, asAuthorArgument(split.y)));
    }
    const [first, ...more] = laneAxes.flatMap((axis) => term(axis.index, view, axis));
    if (first === undefined) return start;
    // In a loop, invariant terms are widened once. A 32-bit sum would be widened in each iteration.
    const addsSeparately = more.length === 0 || this.#carriedPointers.hasPartlyInvariant(indicesOf(laneAxes));
    if (addsSeparately) return this.#withViewName(view, () => ADD(start, first, ...more));
    const offsets = ADD(first, ...more);
    return this.#withViewName(view, () => ADD(start, offsets));
  }

  /**
   * Splits `group * GROUP + lanes` if no mask needs the index itself, so that its first lane is added to the pointer.
   * If the index fits in 32 bits, both parts do, because neither is negative.
   */
  #blockOf(view: View, axis: IndexedAxis, mask: Argument | undefined): ReturnType<typeof blockIn> {
    if (!this.#carriedPointers.isInvariant(axis.index)) return undefined;
    const masks = mask === undefined ? [] : conjunctsOf(mask, this.#definitions);
    const checks = this.#boundsOf(view, axis, masks);
    const block = checks.lower || checks.upper ? undefined : blockIn(view, axis, this.#definitions);
    return block && !this.#bounds({ ...axis, index: block.base, claimed: [] }).lower ? block : undefined;
  }

  /** Creates pointers with the author's name of their view. */
  #withViewName(view: View, make: () => unknown): Handle {
    this.#recorder.isAnonymous = false;
    try {
      return this.#recorder.pinnedAt(view.at, make) as Handle;
    } finally {
      this.#recorder.isAnonymous = true;
    }
  }

  /**
   * `x_ptr + (row * stride_xm + head * stride_xh)`: terms that all lanes share are added to the pointer as one offset.
   * In a loop that changes the row, it is `x_ptr + head * stride_xh + row * stride_xm`.
   */
  #rowPointer(view: View, axes: readonly IndexedAxis[]): Handle {
    const pointer = new Handle(view.tensor.pointer);
    const indices = indicesOf(axes);
    if (indices.every((index) => isZeroLiteral(index))) return pointer;
    // Varying terms follow invariant ones, so that the loop does not add the invariant ones in each iteration.
    const invariant = this.#carriedPointers.hasPartlyInvariant(indices)
      ? axes.filter(({ index }) => this.#carriedPointers.isInvariant(index))
      : [];
    const base = invariant.length > 0 ? this.#rowPointer(view, invariant) : pointer;
    const terms = () => axes.flatMap((axis) => (invariant.includes(axis) ? [] : term(axis.index, view, axis, true)));
    const strides = axes.map(({ stride }) => argumentKey(stride));
    const key = `${view.tensor.name}[${indices.map(argumentKey).join()}]/${strides.join()}`;
    const make = () => ADD(base, ...sumOffsets(terms())) as Handle;
    return this.#values.getOrHoist(key, indices, make, view.tensor.given !== undefined);
  }

  #mask(view: View, explicit: Argument | undefined): Handle | undefined {
    const explicitMasks = explicit === undefined ? [] : conjunctsOf(explicit, this.#definitions);
    const comparisons = view.axes
      .flatMap((axis) => this.#comparisons(view, axis, explicitMasks))
      .filter(({ mask }) => !explicitMasks.includes(valueOf(mask)));
    const conjuncts = [...comparisons.map(({ mask }) => mask), ...(explicit ? [asAuthorArgument(explicit)] : [])];
    if (conjuncts.length <= 1) return conjuncts[0] as Handle | undefined;
    const key = [...comparisons.map((each) => each.key), ...(explicit ? [argumentKey(explicit)] : [])].join("&");
    // An authored comparison may be in a deeper block than the one that encloses all uses of these masks.
    const masks = conjuncts.flatMap((mask) => (isHandle(mask) ? [valueOf(mask)] : []));
    const from = [...indicesOf(view.axes), ...view.tensor.dims, ...masks];
    return this.#values.getOrCreate(key, from, () => AND(...conjuncts) as Handle);
  }

  #boundsOf({ rank, claimed }: View, axis: IndexedAxis, masks: readonly Argument[]): BoundsChecks {
    const limits = limitsFromMask(masks, axisKey({ ...axis, rank }), this.#definitions);
    return this.#bounds({ ...axis, claimed, limits });
  }

  /** The comparisons that keep an index in bounds. Empty if the index is provably in bounds. */
  #comparisons(view: View, axis: IndexedAxis, masks: readonly Argument[]): readonly Comparison[] {
    const { index, dim } = axis;
    const { lower, upper } = this.#boundsOf(view, axis, masks);
    const axisText = axisKey({ ...axis, rank: view.rank });
    const comparison = (key: string, make: () => Handle): Comparison => ({
      key,
      mask: this.#values.getOrCreate(key, [index, dim], make),
    });
    // The order of emission determines the names.
    const upperBound = upper ? [comparison(belowKey(index, dim, axisText), () => this.#below(view, axis))] : [];
    const lowerBound = () =>
      comparison(`${argumentKey(index)}>=0${axisText}`, () => GE(expandIndex(index, view, axis), 0) as Handle);
    return [...(lower ? [lowerBound()] : []), ...upperBound];
  }

  /** `rk < K`, or `lanes < K - k` in a loop that carries pointers. */
  #below(view: View, axis: IndexedAxis): Handle {
    const { index, dim: size } = axis;
    const progression = this.#carriedPointers.laneProgression(index);
    if (!progression) return LT(expandIndex(promoteIndex(size, index), view, axis), asAuthorArgument(size)) as Handle;
    return LT(
      expandIndex(progression.lanes, view, axis),
      SUB(asAuthorArgument(size), new Handle(progression.by)),
    ) as Handle;
  }
}

const indicesOf = (axes: readonly IndexedAxis[]): readonly Argument[] => axes.map(({ index }) => index);

function belowKey(index: Argument, limit: Argument, axisText: string): string {
  return `${argumentKey(index)}<${argumentKey(limit)}${axisText}`;
}

/** True for a tensor or a view, whose axes exist only until lowering. The axes of a tile belong to the program. */
function hasAxes(argument: Argument | undefined): boolean {
  return isValue(argument) && (argument.type.kind === "tensor" || argument.type.kind === "view");
}

function rankOf(index: Argument): number {
  return isValue(index) && index.type.kind === "tile" ? index.type.shape.length : 0;
}
