/** Checks that int32 offsets and indices do not overflow. */
import { isDescriptorOnly } from "../../analysis/descriptor-tensors.js";
import { INT32_LIMIT_MESSAGE, preconditionsOf } from "../../analysis/preconditions.js";
import type { TensorParam } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import type { Block } from "../syntax/py.js";
import { check, CHECK_REACH, ifNotNone, messageOf } from "./checks.js";
import { hasSameShape, namedTensors } from "./rules.js";
import type { WrapperContext } from "./scope.js";

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
