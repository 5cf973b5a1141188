/** Checks of a wrapper that cover several tensors: one condition, and one message with the value of each tensor. */
import { preconditionsOf, INT32_LIMIT_MESSAGE } from "../../analysis/preconditions.js";
import { isMemoryParam, type PointerParam, type TensorParam } from "../../ir/nodes.js";
import { literalNumber } from "../names/kernel-names.js";
import { flatText } from "../syntax/layout-expression.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Keyword, Starred, Statement } from "../syntax/py.js";
import {
  argumentDisplayName,
  binderDType,
  check,
  CHECK_CONTIGUOUS,
  CHECK_DTYPES,
  dtypeBinder,
  type MessagePart,
  messageOf,
  sizeAt,
  torchDType,
  type WrapperContext,
  CHECK_REACH,
  ifNotNone,
} from "./checks.js";
import { TENSORS } from "./launch.js";
import { isDescriptorOnly } from "../../analysis/descriptor-tensors.js";

type MemoryParam = TensorParam | PointerParam;

/** `a, b and out` */
function conjunction(context: WrapperContext, params: readonly MemoryParam[]): string {
  return joined(params.map((param) => argumentDisplayName(context, param))).join("");
}

/** Items with `, ` between them, and ` and ` before the last. */
function joined<T>(items: readonly T[]): readonly (T | string)[] {
  return items.flatMap((item, i) => {
    if (i === 0) return [item];
    return [i === items.length - 1 ? " and " : ", ", item];
  });
}

/** The same property of each tensor, as parts of a message. */
function values(
  context: WrapperContext,
  params: readonly MemoryParam[],
  valueOf: (tensor: Expression) => Expression,
): readonly MessagePart[] {
  return joined<MessagePart>(params.map((param) => ({ value: valueOf(context.tensor(param)) })));
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

const shapeOf = (tensor: Expression) => py.attribute(tensor, "shape");

/** Compares the ranks and sizes of required inputs, then binds their sizes to locals. */
export function shapeRule(context: WrapperContext, params: readonly TensorParam[]): Block {
  if (params.length === 0) return [];
  const firstHolders = new Map<string, Holder>();
  const boundBefore = new Set(context.bound);
  const isKnownAt = (param: TensorParam, axis: number): boolean =>
    literalNumber(param.dims[axis]!) !== undefined || boundBefore.has(String(param.dimNames[axis]));
  const isEveryKnown = (param: TensorParam) => param.dims.every((_, axis) => isKnownAt(param, axis));
  const tests = params.flatMap((param, index) => {
    const tensor = context.tensor(param);
    const twin = params.slice(0, index).find((other) => haveSameNames(other, param));
    if (twin && param.dimNames.every((name) => !context.derived.has(String(name))))
      return [py.compare(shapeOf(tensor), ["!=", shapeOf(context.tensor(twin))])];
    if (isEveryKnown(param)) return [shapeMismatch(context, param)];
    const runs: Run[] = [];
    const sizes = param.dimNames.flatMap((name, axis) => {
      const label = String(name);
      if (isKnownAt(param, axis)) return [py.compare(sizeAt(tensor, axis), ["!=", context.dim(param, axis)])];
      if (context.derived.has(label)) return [];
      const holder = firstHolders.get(label);
      if (!holder) firstHolders.set(label, { param, axis });
      else addToRuns(runs, axis, holder);
      return [];
    });
    const comparisons = runs.map((run) => runMismatch(context, param, run));
    if (runs[0]?.length === param.dims.length) return comparisons;
    return [
      py.compare(py.attribute(tensor, "ndim"), ["!=", py.number(String(param.dims.length))]),
      ...sizes,
      ...comparisons,
    ];
  });
  const error = shapeError(context, params, (name) => boundBefore.has(name));
  return [check(py.boolOp("or", ...tests), error), ...params.flatMap((param) => bindSizes(context, param))];
}

/** An axis of a tensor. */
interface Holder {
  readonly param: TensorParam;
  readonly axis: number;
}

/** Adjacent axes of a tensor that equal adjacent axes of an earlier one. */
interface Run {
  readonly start: number;
  readonly holder: Holder;
  length: number;
}

function addToRuns(runs: Run[], axis: number, holder: Holder): void {
  const last = runs.at(-1);
  const continues =
    last?.holder.param === holder.param &&
    last.start + last.length === axis &&
    last.holder.axis + last.length === holder.axis;
  if (continues) last.length++;
  else runs.push({ start: axis, holder, length: 1 });
}

/** `b.shape[0] != a.shape[1]`, or `b.shape[:2] != a.shape[1:]`. */
function runMismatch(context: WrapperContext, param: TensorParam, { start, holder, length }: Run): Expression {
  const [tensor, other] = [context.tensor(param), context.tensor(holder.param)];
  if (length === 1 && param.dims.length > 1)
    return py.compare(sizeAt(tensor, start), ["!=", sizeAt(other, holder.axis)]);
  const part = sizesFrom(tensor, param.dims.length, start, length);
  return py.compare(part, ["!=", sizesFrom(other, holder.param.dims.length, holder.axis, length)]);
}

/** `x.shape[1:3]`, of the sizes of a tensor. */
function sizesFrom(tensor: Expression, rank: number, start: number, length: number): Expression {
  if (length === rank) return shapeOf(tensor);
  const bound = (index: number, absent: number) => (index === absent ? undefined : py.number(String(index)));
  return py.subscript(shapeOf(tensor), py.slice(bound(start, 0), bound(start + length, rank)));
}

/** `N, K=64`: the sizes of a tensor, with the values of those that are known. */
function sizeTexts(
  context: WrapperContext,
  param: TensorParam,
  isKnown: (name: string) => boolean,
): readonly MessagePart[] {
  return param.dimNames.flatMap((name, axis): MessagePart[] => {
    const comma = axis === 0 ? "" : ", ";
    if (typeof name !== "string" || !isKnown(name)) return [`${comma}${name}`];
    return [`${comma}${name}=`, { value: context.dim(param, axis) }];
  });
}

function haveSameNames(x: TensorParam, y: TensorParam): boolean {
  return x.dimNames.length === y.dimNames.length && x.dimNames.every((name, axis) => name === y.dimNames[axis]);
}

/** Binds the sizes of a tensor that have no local yet. */
export function bindSizes(context: WrapperContext, param: TensorParam): Block {
  const shape = shapeOf(context.tensor(param));
  const axes = param.dimNames.flatMap((name, axis) => {
    const label = String(name);
    const isKnown = literalNumber(param.dims[axis]!) !== undefined || context.bound.has(label);
    if (isKnown || context.derived.has(label)) return [];
    context.bound.add(label);
    return [axis];
  });
  if (axes.length === param.dims.length && axes.length > 1)
    return [py.assign(py.tuple(...axes.map((axis) => context.dim(param, axis))), shape)];
  return axes.map((axis) => py.assign(context.dim(param, axis), sizeAt(context.tensor(param), axis)));
}

/** Compares the shapes of tensors whose sizes are all bound. */
export function boundShapeRule(context: WrapperContext, params: readonly TensorParam[]): Block {
  if (params.length === 0) return [];
  const tests = params.map((param) => shapeMismatch(context, param));
  return [
    check(
      py.boolOp("or", ...tests),
      shapeError(context, params, () => true),
    ),
  ];
}

/** Compares the axes of derived sizes, which are computed after the other sizes are bound. */
export function derivedSizeRule(context: WrapperContext, params: readonly TensorParam[]): Block {
  const holders = params.filter(({ dimNames }) => dimNames.some((name) => context.derived.has(String(name))));
  const tests = holders.flatMap((param) =>
    param.dimNames.flatMap((name, axis) =>
      context.derived.has(String(name))
        ? [py.compare(sizeAt(context.tensor(param), axis), ["!=", context.dim(param, axis)])]
        : [],
    ),
  );
  if (tests.length === 0) return [];
  return [
    check(
      py.boolOp("or", ...tests),
      shapeError(context, holders, () => true),
    ),
  ];
}

/** `x.shape != (M, N)` */
function shapeMismatch(context: WrapperContext, param: TensorParam): Expression {
  const sizes = param.dims.map((_, axis) => context.dim(param, axis));
  return py.compare(shapeOf(context.tensor(param)), ["!=", py.tuple(...sizes)]);
}

/** `a and b must have shapes [M, K] and [K, N], got torch.Size([64, 65]) and torch.Size([64, 32])` */
function shapeError(
  context: WrapperContext,
  params: readonly TensorParam[],
  isKnown: (name: string) => boolean,
): Statement {
  const isOne = params.every((param) => haveSameNames(params[0]!, param));
  const distinct = isOne ? params.slice(0, 1) : params;
  const shapes = distinct.map((param): readonly MessagePart[] => ["[", ...sizeTexts(context, param, isKnown), "]"]);
  return messageOf(
    context,
    "ValueError",
    `${conjunction(context, params)} must have ${isOne ? "shape" : "shapes"} `,
    ...joined(shapes).flat(),
    ", got ",
    ...values(context, params, shapeOf),
  );
}

// ---- dtypes and strides ---------------------------------------------------------------------------------------------

/** Tensors as keyword arguments of a check, under the caller's names. */
export function namedTensors(context: WrapperContext, params: readonly MemoryParam[]): readonly (Keyword | Starred)[] {
  if (context.hasTensorTable && params.length === context.tensors.length) return [py.starred(py.name(TENSORS), "**")];
  return params.map((param) => py.keyword(argumentDisplayName(context, param), context.tensor(param)));
}

/** Checks the dtypes of tensors: one check for each fixed dtype and each dtype variable. */
export function dtypeRule(context: WrapperContext, params: readonly MemoryParam[]): Block {
  const keyOf = ({ dtype }: MemoryParam) => (typeof dtype === "string" ? dtype : `variable ${dtype.name}`);
  return [...new Set(params.map(keyOf))].map((key) => {
    const group = params.filter((param) => keyOf(param) === key);
    const expected = py.tuple(...expectedDTypes(context, group));
    return py.expression(
      py.call(CHECK_DTYPES, py.string(context.names.wrapper), expected, ...namedTensors(context, group)),
    );
  });
}

/** The dtypes that tensors of one dtype, or of one dtype variable, may have in a call. */
function expectedDTypes(context: WrapperContext, params: readonly MemoryParam[]): readonly Expression[] {
  const { dtype } = params[0]!;
  if (typeof dtype === "string") return [torchDType(dtype)];
  const binder = dtypeBinder(context, dtype.name);
  const isBoundHere = isMemoryParam(binder) && params.includes(binder);
  return isBoundHere ? dtype.members.map(torchDType) : [binderDType(context, dtype.name)];
}

/** Checks the tensors that must be contiguous. */
export function contiguousRule(context: WrapperContext, params: readonly TensorParam[]): Block {
  const required = preconditionsOf(context.ir, "contiguous").map(({ param }) => param);
  const checked = params.filter((param) => required.includes(param));
  if (checked.length === 0) return [];
  return [
    py.expression(py.call(CHECK_CONTIGUOUS, py.string(context.names.wrapper), ...namedTensors(context, checked))),
  ];
}

/** True if two tensors have the same size expressions. */
export function hasSameShape(context: WrapperContext, x: TensorParam, y: TensorParam): boolean {
  const sizes = (param: TensorParam) => param.dims.map((_, axis) => flatText(context.dim(param, axis))).join();
  return x.dims.length === y.dims.length && sizes(x) === sizes(y);
}

// Checks that int32 offsets and indices do not overflow.

/** The limit of int32 offsets: masked lanes may lie up to one tile behind the last element. */
const EXTENT_LIMIT = py.binary(py.powerOfTwo(31), "-", py.powerOfTwo(20));

/** Offsets are int32 by default. In a tensor with a larger extent they would wrap around to wrong addresses. */
export function extentChecks(context: WrapperContext): Block {
  const params = preconditionsOf(context.ir, "reach")
    .map(({ param }) => param)
    .filter((param) => !isCoveredByEarlierCheck(context, param));
  const call = (checked: readonly TensorParam[]) =>
    py.expression(py.call(CHECK_REACH, py.string(context.names.wrapper), ...namedTensors(context, checked)));
  const required = params.filter(({ given }) => !given);
  const optional = params.filter(({ given }) => given);
  return [
    ...(required.length > 0 ? [call(required)] : []),
    ...optional.flatMap((param) => ifNotNone(context, param, [call([param])])),
  ];
}

/** Checks sizes that int32 indices or descriptors count, independent of tensor extents. */
export function countChecks(context: WrapperContext): Block {
  const { names, ir } = context;
  return (["index", "descriptor"] as const).flatMap((by) =>
    preconditionsOf(ir, "count")
      .filter((each) => each.by === by)
      .map(({ size }) => {
        const name = typeof size === "number" ? "axis" : names.parameters.get(size)!;
        const value = typeof size === "number" ? py.numberLiteral(size, "int") : py.name(name);
        const error = messageOf(context, "ValueError", `${name} is `, { value }, `, ${INT32_LIMIT_MESSAGE[by]}`);
        return check(py.compare(value, [">=", EXTENT_LIMIT]), error);
      }),
  );
}

/** True if an earlier check covers this tensor: the earlier tensor has the same shape and both are contiguous. */
function isCoveredByEarlierCheck(context: WrapperContext, param: TensorParam): boolean {
  return context.tensors
    .slice(0, context.tensors.indexOf(param))
    .some(
      (earlier) =>
        earlier.contiguous &&
        param.contiguous &&
        !earlier.given &&
        earlier.offsets !== "int64" &&
        !isDescriptorOnly(context.ir, earlier) &&
        hasSameShape(context, earlier, param),
    );
}
