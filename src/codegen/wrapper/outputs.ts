/** Output tensors of a wrapper: checks the caller's tensors and allocates the others. */
import { writtenPointers } from "../../analysis/memory-effects.js";
import { preconditionsOf } from "../../analysis/preconditions.js";
import type { KernelIR, PointerParam, TensorParam } from "../../ir/nodes.js";
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
} from "./checks.js";
import { isFloatElem } from "../../types/dtype.js";
import { boundShapeRule, contiguousRule, dtypeRule, hasSameShape, namedTensors } from "./rules.js";
import type { WrapperContext } from "./scope.js";

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

/** Sets an output that accumulates to zero. */
export function zeroing(context: WrapperContext, param: TensorParam): Block {
  if (!param.zeroed) return [];
  return ifNotNone(context, param, [py.expression(py.call(py.attribute(context.tensor(param), "zero_")))]);
}

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
export function ifNotTraced(context: WrapperContext, body: Block): Block {
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
export function argumentsOf(context: WrapperContext, params: readonly (TensorParam | PointerParam)[]) {
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
