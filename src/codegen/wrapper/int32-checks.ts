/** Checks that int32 offsets and indices do not overflow. */
import { isDescriptorOnly } from "../../analysis/descriptor-tensors.js";
import { type PreconditionOf, preconditionsOf } from "../../analysis/preconditions.js";
import { isValue, type TensorParam } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { INT32_OVERFLOW, INDEX_OVERFLOW, DESCRIPTOR_OVERFLOW } from "./argument-helpers.js";
import { check, elementCount, ifNotNone, argumentDisplayName, hasSameShape } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The module constant with the limit of int32 offsets. */
export const EXTENT_LIMIT = "_INT32_REACH";

export function int32Checks(context: WrapperContext): Block {
  const preconditions = preconditionsOf(context.ir, "reach");
  return [
    ...preconditions.flatMap((each) => ifNotNone(context, each.param, extentCheck(context, each))),
    ...countChecks(context),
  ];
}

/** Offsets are int32 by default. In a tensor with a larger extent they would wrap around to wrong addresses. */
function extentCheck(context: WrapperContext, { param }: PreconditionOf<"reach">): Block {
  const strides = param.strides.map((stride) => (isValue(stride) ? context.names.parameters.get(stride) : undefined));
  const isStrided = strides.length > 0 && strides.every((name) => name !== undefined);
  if (!isStrided && isCoveredByEarlierCheck(context, param)) return [];
  const terms = strides.map((name, axis) =>
    py.binary(py.binary(context.dim(param, axis), "-", py.number("1")), "*", py.name(name ?? "_")),
  );
  const extent = isStrided
    ? terms.reduce<Expression>((sum, term, i) => (i === 0 ? term : py.binary(sum, "+", term)), terms[0]!)
    : elementCount(context, param);
  const label = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  return [check(py.compare(extent, [">=", py.name(EXTENT_LIMIT)]), py.raise(py.call(INT32_OVERFLOW, label)))];
}

/** Checks sizes that int32 indices or descriptors count, independent of tensor extents. */
function countChecks(context: WrapperContext): Block {
  const { names, ir } = context;
  return [INDEX_OVERFLOW, DESCRIPTOR_OVERFLOW].flatMap((error) => {
    const by = error === INDEX_OVERFLOW ? "index" : "descriptor";
    const preconditions = preconditionsOf(ir, "count").filter((each) => each.by === by);
    if (preconditions.length === 0) return [];
    const sizes = preconditions.map(({ size }) =>
      typeof size === "number"
        ? { name: "axis", value: py.numberLiteral(size, "int") }
        : { name: names.parameters.get(size)!, value: py.name(names.parameters.get(size)!) },
    );
    const test = py.boolOp("or", ...sizes.map(({ value }) => py.compare(value, [">=", py.name(EXTENT_LIMIT)])));
    const sizeKeywords = sizes.map(({ name, value }) => py.keyword(name, value));
    return [check(test, py.raise(py.call(error, py.string(names.wrapper), ...sizeKeywords)))];
  });
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
