/** Checks of how far offsets and counts in int32 reach. */
import { isDescriptorOnly } from "../../analysis/descriptor-tensors.js";
import { type PreconditionOf, preconditionsOf } from "../../analysis/preconditions.js";
import { isValue, type TensorParam } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { BEYOND_INT32, UNCOUNTABLE, UNDESCRIBABLE } from "./argument-helpers.js";
import { check, elements, ifNotNone, argumentDisplayName, sameShape } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The module constant that they compare with. */
export const REACH_LIMIT = "_INT32_REACH";

/** Beyond the reach of int32, offsets and indices would wrap. */
export function int32Checks(context: WrapperContext): Block {
  const reached = preconditionsOf(context.ir, "reach");
  return [
    ...reached.flatMap((each) => ifNotNone(context, each.param, reachCheck(context, each))),
    ...countChecks(context),
  ];
}

/** Offsets are int32 unless the author says otherwise: a tensor beyond their reach would wrap to wrong addresses. */
function reachCheck(context: WrapperContext, { param }: PreconditionOf<"reach">): Block {
  const strides = param.strides.map((stride) => (isValue(stride) ? context.names.parameters.get(stride) : undefined));
  const isStrided = strides.length > 0 && strides.every((name) => name !== undefined);
  if (!isStrided && reachesNoFurther(context, param)) return [];
  const terms = strides.map((name, axis) =>
    py.binary(py.binary(context.dim(param, axis), "-", py.number("1")), "*", py.name(name ?? "_")),
  );
  const extent = isStrided
    ? terms.reduce<Expression>((sum, term, i) => (i === 0 ? term : py.binary(sum, "+", term)), terms[0]!)
    : elements(context, param);
  const what = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  return [check(py.compare(extent, [">=", py.name(REACH_LIMIT)]), py.raise(py.call(BEYOND_INT32, what)))];
}

/** Sizes that int32 counts up to, though no offset of a tensor shows it. */
function countChecks(context: WrapperContext): Block {
  const { names, ir } = context;
  return [UNCOUNTABLE, UNDESCRIBABLE].flatMap((error) => {
    const by = error === UNCOUNTABLE ? "index" : "descriptor";
    const counted = preconditionsOf(ir, "count").filter((each) => each.by === by);
    if (counted.length === 0) return [];
    const sizes = counted.map(({ size }) =>
      typeof size === "number"
        ? { name: "axis", value: py.numberLiteral(size, "int") }
        : { name: names.parameters.get(size)!, value: py.name(names.parameters.get(size)!) },
    );
    const test = py.boolOp("or", ...sizes.map(({ value }) => py.compare(value, [">=", py.name(REACH_LIMIT)])));
    const given = sizes.map(({ name, value }) => py.keyword(name, value));
    return [check(test, py.raise(py.call(error, py.string(names.wrapper), ...given)))];
  });
}

/** Whether an earlier checked tensor has the same shape and must be contiguous as well. */
function reachesNoFurther(context: WrapperContext, param: TensorParam): boolean {
  return context.tensors
    .slice(0, context.tensors.indexOf(param))
    .some(
      (before) =>
        before.contiguous &&
        param.contiguous &&
        !before.given &&
        before.offsets !== "int64" &&
        !isDescriptorOnly(context.ir, before) &&
        sameShape(context, before, param),
    );
}
