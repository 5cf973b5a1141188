/** Checks of what the caller promises about the elements of tensors, for modules that may wait for the GPU. */
import { isLiteral, type TensorParam } from "../../ir/nodes.js";
import { bitsOf } from "../../numerics/numeric.js";
import { isInt, isSigned } from "../../types/dtype.js";
import { hostExpressions } from "../body/host-expressions.js";
import * as py from "../syntax/py-build.js";
import type { Block } from "../syntax/py.js";
import { argumentDisplayName } from "./checks.js";
import { ifNotTraced } from "./outputs.js";
import type { WrapperContext } from "./scope.js";

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
