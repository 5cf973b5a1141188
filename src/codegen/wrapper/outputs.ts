/** Output tensors of a wrapper: checks the caller's tensors and allocates the others. */
import { writtenPointers } from "../../analysis/descriptor-tensors.js";
import { preconditionsOf } from "../../analysis/preconditions.js";
import {
  type KernelIR,
  type PointerParam,
  type TensorParam,
  isMemoryParam,
  isValue,
  paramsOf,
  isLiteral,
} from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Statement } from "../syntax/py.js";
import {
  argumentDisplayName,
  binderDType,
  CHECK_STRIDED,
  CHECK_TENSORS,
  CHECK_WRITTEN,
  deviceHolder,
  deviceOf,
  ifNotNone,
  isNotTraced,
  torchDType,
  type WrapperContext,
  check,
} from "./checks.js";
import { isFloatElem, isInt, isSigned } from "../../types/dtype.js";
import { boundShapeRule, contiguousRule, dtypeRule, hasSameShape, namedTensors } from "./rules.js";
import { flatText } from "../syntax/layout-expression.js";
import { bitsOf } from "../../numerics/numeric-int.js";
import { hostExpressions } from "../body/print-op.js";

/** Allocates an output unless the caller passed one. */
export function outputAllocation(context: WrapperContext, param: TensorParam): Block {
  const argument = py.name(argumentDisplayName(context, param));
  const tensor = context.tensor(param);
  const isAbsent = py.compare(argument, ["is", py.none]);
  const allocation = allocationOf(context, param);
  if (!param.optional) return [py.assign(tensor, py.conditional(allocation, isAbsent, argument))];
  const isOmitted = py.boolOp("or", isAbsent, py.compare(argument, ["is", py.boolean(false)]));
  const isWanted = py.compare(argument, ["is", py.boolean(true)]);
  return [
    {
      kind: "if",
      branches: [
        { test: isOmitted, body: [py.assign(tensor, py.none)] },
        { test: isWanted, body: [py.assign(tensor, allocation)] },
      ],
      otherwise: [
        py.assign(tensor, argument),
        ...ifNotTraced(context, [writtenCheck(context, param)]),
        ...outputRules(context, [param]),
      ],
    },
  ];
}

/** The rules for outputs that may be the caller's: shapes, dtypes and strides. */
function outputRules(context: WrapperContext, params: readonly TensorParam[]): Block {
  return [...boundShapeRule(context, params), ...dtypeRule(context, params), ...contiguousRule(context, params)];
}

/** Sets the memory that a kernel adds to zero. */
export function zeroing(context: WrapperContext): Block {
  const params = context.ir.params.filter((param) => isMemoryParam(param)).filter(({ zeroed }) => zeroed);
  return params.flatMap((param) => ifNotNone(context, param, [zeroed(context.tensor(param))]));
}

export const zeroed = (tensor: Expression): Statement => py.expression(py.call(py.attribute(tensor, "zero_")));

export function allocationOf(context: WrapperContext, param: TensorParam): Expression {
  const template = allocationTemplate(context, param);
  if (template) return py.call("torch.empty_like", context.tensor(template));
  const shape = py.tuple(...param.dims.map((_, axis) => context.dim(param, axis)));
  const dtype = typeof param.dtype === "string" ? torchDType(param.dtype) : binderDType(context, param.dtype.name);
  const first = deviceHolder(context);
  if (!first) return py.call("torch.empty", shape, ...py.keywords({ device: deviceOf(context), dtype }));
  const newEmpty = py.attribute(context.tensor(first), "new_empty");
  return py.call(newEmpty, shape, ...(hasSameDType(first, param) ? [] : [py.keyword("dtype", dtype)]));
}

/** A contiguous input with the output's shape and dtype, for `torch.empty_like`. */
function allocationTemplate(context: WrapperContext, param: TensorParam): TensorParam | undefined {
  return context.tensors.find(
    (other) =>
      other.role !== "out" &&
      other.contiguous &&
      !other.given &&
      hasSameDType(other, param) &&
      hasSameShape(context, other, param),
  );
}

function hasSameDType({ dtype: x }: TensorParam | PointerParam, { dtype: y }: TensorParam): boolean {
  return typeof x === "string" || typeof y === "string" ? x === y : x.name === y.name;
}

/** Checks tensors, of which some may be None, and the overlap of written ones. */
export function tensorsCheck(
  context: WrapperContext,
  params: readonly (TensorParam | PointerParam)[],
  others: Block,
): Block {
  const limited: readonly (TensorParam | PointerParam)[] = preconditionsOf(context.ir, "reach").map(
    ({ param }) => param,
  );
  const wide = params.filter((param) => !limited.includes(param));
  const exceptions = wide.map((param) => py.string(argumentDisplayName(context, param)));
  const call = py.expression(
    py.call(
      CHECK_TENSORS,
      py.string(context.names.wrapper),
      ...(exceptions.length > 0 ? [py.tuple(...exceptions)] : []),
      ...namedTensors(context, params),
    ),
  );
  return ifNotTraced(context, [dropsGradients(context) ? call : withoutGrad(call), ...others]);
}

/** Traced tensors have no memory to check. */
function ifNotTraced(context: WrapperContext, body: Block): Block {
  if (!context.isTraceable) return body;
  return [{ kind: "if", branches: [{ test: isNotTraced(context.tensor(deviceHolder(context)!)), body }] }];
}

/** True if the kernel may compute floats from floats, so that it would drop their gradient. */
function dropsGradients({ ir, tensors }: WrapperContext): boolean {
  const isFloat = (param: TensorParam | PointerParam) => isFloatElem(param.dtype);
  const results = tensors.filter((param) => param.role !== "in");
  // A kernel without results may write through addresses that it loads.
  return results.length === 0 || [...results, ...writtenPointers(ir)].some(isFloat);
}

/** Results that are no floats have no gradient to drop. */
function withoutGrad(statement: Statement): Statement {
  return { kind: "with", items: [{ value: py.call("torch.no_grad") }], body: [statement] };
}

/** Tensors as the caller passed them, or None for an output. */
function argumentsOf(context: WrapperContext, params: readonly (TensorParam | PointerParam)[]) {
  return params.map((param) => argumentDisplayName(context, param)).map((name) => py.keyword(name, py.name(name)));
}

/** Checks that a written tensor of the caller does not overlap itself or another tensor. None is not checked. */
export function writtenCheck(context: WrapperContext, param: TensorParam | PointerParam): Statement {
  const argument = argumentDisplayName(context, param);
  const others = nonOverlapping(context, param);
  const contiguous: readonly (TensorParam | PointerParam)[] = preconditionsOf(context.ir, "contiguous").map(
    (each) => each.param,
  );
  const helper = [param, ...others].every((each) => contiguous.includes(each)) ? CHECK_WRITTEN : CHECK_STRIDED;
  const label = py.string(`${context.names.wrapper}: ${argument}`);
  return py.expression(py.call(helper, label, py.name(argument), ...argumentsOf(context, others)));
}

/**
 * The tensors that a written tensor must not overlap: inputs, and tensors written before it. Raw pointers may overlap
 * each other unless their `numel` is declared, because a kernel may write in place.
 */
export function nonOverlapping(
  context: WrapperContext,
  param: TensorParam | PointerParam,
): readonly (TensorParam | PointerParam)[] {
  const { ir, tensors } = context;
  if (param.kind === "pointer") {
    const inputs = tensors.filter(({ role }) => role === "in");
    return param.numel === undefined ? inputs : [...inputs, ...earlierPointers(ir, param)];
  }
  const isWrittenEarlier = (other: TensorParam) =>
    other.role === param.role && tensors.indexOf(other) < tensors.indexOf(param);
  const others = tensors.filter(
    (other) =>
      other !== param &&
      (other.role === "in" || (other.role === "inout" && param.role === "out") || isWrittenEarlier(other)),
  );
  return [...others, ...ir.params.filter((other) => other.kind === "pointer")];
}

/** Pointers with a declared `numel` that are only read, or that are written before this one. */
function earlierPointers(ir: KernelIR, param: PointerParam): readonly PointerParam[] {
  const writtenParams = writtenPointers(ir);
  const isBefore = (other: PointerParam): boolean => writtenParams.indexOf(other) < writtenParams.indexOf(param);
  return ir.params
    .filter((other) => other.kind === "pointer")
    .filter((other) => other.numel !== undefined && isBefore(other));
}

// An early return for calls whose outputs are all empty: Triton rejects a grid without programs.

/** The distinct sizes of a tensor that may be 0, by their text. */
type Sizes = ReadonlyMap<string, Expression>;

/** Returns early if no output has an element. */
export function emptyResult(context: WrapperContext, results: readonly Expression[]): Block {
  const resultParams = paramsOf(context.ir, "tensor").filter(({ role }) => role !== "in");
  // An output with a fixed shape is never empty.
  if (results.length === 0 || !resultParams.every(({ dims }) => dims.some(isValue))) return [];
  const requiredSizes = minimalSizes(
    resultParams.filter(({ optional }) => !optional).map((param) => sizesOf(context, param)),
  );
  const optionalParams = resultParams.filter(({ optional }) => optional);
  const tests = optionalParams.flatMap((param) => {
    const sizes = sizesOf(context, param);
    if (requiredSizes.some((each) => isSubset(each, sizes))) return [];
    return [py.boolOp("or", py.compare(context.tensor(param), ["is", py.none]), isZero(sizes))];
  });
  return [check(py.boolOp("and", ...requiredSizes.map(isZero), ...tests), py.returns(py.tupleOrSingle(results)))];
}

function sizesOf(context: WrapperContext, param: TensorParam): Sizes {
  const sizes = param.dims.flatMap((dim, axis) => (isValue(dim) ? [context.dim(param, axis)] : []));
  return new Map(sizes.map((size) => [flatText(size), size]));
}

/** A product is 0 if a subset of its factors is 0, so supersets are redundant. */
function minimalSizes(all: readonly Sizes[]): readonly Sizes[] {
  const isRedundant = (sizes: Sizes, index: number) => (other: Sizes, i: number) =>
    i !== index && isSubset(other, sizes) && (other.size < sizes.size || i < index);
  return all.filter((sizes, index) => !all.some(isRedundant(sizes, index)));
}

const isSubset = (subset: Sizes, whole: Sizes): boolean => [...subset.keys()].every((text) => whole.has(text));

function isZero(sizes: Sizes): Expression {
  const product = [...sizes.values()].reduce((left, right) => py.binary(left, "*", right));
  return py.compare(product, ["==", py.number("0")]);
}

// Checks of what the caller promises about the elements of tensors, for modules that may wait for the GPU.

/** Functions of the library. */
const CHECK_RANGE = "_check_range";
const CHECK_PARTITION = "_check_partition";

/** Compares the elements of each input with its declared range or partition. */
export function promiseChecks(context: WrapperContext): Block {
  const calls = context.tensors.flatMap((param) => {
    if (param.role === "out" || !param.range || isFullRange(param)) return [];
    const label = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
    const tensor = context.tensor(param);
    const { partition } = param;
    const promise = partition
      ? [context.local(partition.total), py.boolean(partition.holds === "offsets")]
      : hostExpressions(param.range, (value) => context.local(value));
    return [py.expression(py.call(partition ? CHECK_PARTITION : CHECK_RANGE, label, tensor, ...promise))];
  });
  return calls.length === 0 ? [] : ifNotTraced(context, calls);
}

/** True if the declared range is the full range of the integer dtype. */
export function isFullRange({ dtype, range }: TensorParam): boolean {
  if (typeof dtype !== "string" || !isInt(dtype)) return false;
  const [low, high] = isSigned(dtype)
    ? [-(2 ** (bitsOf(dtype) - 1)), 2 ** (bitsOf(dtype) - 1)]
    : [0, 2 ** bitsOf(dtype)];
  const [first = Number.NaN, end = Number.NaN] =
    range?.block.yields.map((bound) => (isLiteral(bound) ? Number(bound.value) : Number.NaN)) ?? [];
  return first <= low && end >= high;
}
