/** Values that a wrapper computes before the launch: GPU properties, constexprs, and launch options. */
import { preconditionsOf } from "../../analysis/preconditions.js";
import { type ConstexprParam, type HostBlock, paramsOf, type Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import { type DeviceProperties, H200 } from "../../compiled/device-properties.js";
import { snakeCase } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Keyword, Statement } from "../syntax/py.js";
import { check, CHECKED_GRID, deviceOf, isNotPowerOfTwo, messageOf } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The library's function that returns a GPU property. */
const GPU_PROPERTY = "_gpu_property";
/** The library's function that launches a kernel through the launch cache. */
export const LAUNCH = "_launch";
/**
 * Makes a launch visible to torch.compile. PyTorch searches the source for this name to find the kernels of an
 * operator.
 */
export const WRAP_TRITON = "wrap_triton";

/** The local with all tensors of a launch, and the library's function that lists their strides. */
export const TENSORS = "tensors";
export const STRIDES = "_strides";

type ValuePrinter = (value: Value) => Expression;

/** GPU properties, then launch-time constexprs, then computed launch options, each after its inputs. */
export function launchComputations(context: WrapperContext, local: ValuePrinter): Block {
  const properties = paramsOf(context.ir, "device").map(({ name, value }) =>
    py.assign(local(value), gpuProperty(context, name)),
  );
  const options = Object.entries(context.ir.tuning.options ?? {});
  return [
    ...properties,
    ...sortLaunchConstexprs(paramsOf(context.ir, "constexpr")).flatMap((param) => constexpr(context, param, local)),
    ...options.flatMap(([name, compute]) => option(context, name, compute, local)),
  ];
}

/** A property of the GPU that a launch is for. On Triton's interpreter it is that of an H200. */
export const gpuProperty = (context: WrapperContext, name: keyof DeviceProperties): Expression =>
  py.call(GPU_PROPERTY, deviceOf(context), py.string(snakeCase(name)), py.constant(H200[name]));

/** `_checked_grid("gelu", (triton.cdiv(N, 64), H))`, if an axis may exceed the GPU's limit. */
export function checkedGrid({ ir, names }: WrapperContext, grid: Expression): Expression {
  const isChecked = preconditionsOf(ir, "grid").length > 0;
  return isChecked ? py.call(CHECKED_GRID, py.string(names.wrapper), grid) : grid;
}

/** `num_warps=num_warps`, for launch options that the wrapper computes. */
export function computedOptions({ ir }: WrapperContext): readonly Keyword[] {
  return Object.keys(ir.tuning.options ?? {}).map((name) => py.keyword(snakeCase(name), py.name(snakeCase(name))));
}

/** The launch-time constexprs in topological order. */
function sortLaunchConstexprs(params: readonly ConstexprParam[]): readonly ConstexprParam[] {
  const computedParams = params.filter(({ from, compute }) => from === "launch" && compute);
  const sorted = new Set<ConstexprParam>();
  const visit = (param: ConstexprParam): void => {
    if (sorted.has(param)) return;
    const inputs = hostInputs(param.compute!);
    for (const other of computedParams) if (other !== param && inputs.has(other.value)) visit(other);
    sorted.add(param);
  };
  computedParams.forEach(visit);
  return [...sorted];
}

function constexpr(context: WrapperContext, param: ConstexprParam, local: ValuePrinter): Block {
  const [value] = hostExpressions(param.compute!, local);
  const isLimited = preconditionsOf(context.ir, "launch-size").some((each) => each.param === param);
  const needsPower = preconditionsOf(context.ir, "launch-power").some((each) => each.param === param);
  return [
    py.assign(local(param.value), value!),
    ...(isLimited || needsPower ? [sizeCheck(context, param, local(param.value), { isLimited, needsPower })] : []),
  ];
}

/** The rules of a tile's dimension. Without this check, Triton reports an error only when it compiles. */
function sizeCheck(
  context: WrapperContext,
  param: ConstexprParam,
  value: Expression,
  { isLimited, needsPower }: { readonly isLimited: boolean; readonly needsPower: boolean },
): Statement {
  const most = py.powerOfTwo(20);
  const isWrong = [
    ...(needsPower ? [isNotPowerOfTwo(value, 1)] : []),
    ...(isLimited ? [py.compare(value, [">", most])] : []),
  ];
  const rule = [...(needsPower ? ["a power of two"] : []), ...(isLimited ? ["at most 2**20"] : [])].join(", ");
  const text = `${context.names.parameters.get(param.value)} must be ${rule}, got `;
  return check(py.boolOp("or", ...isWrong), messageOf(context, "ValueError", text, { value }));
}

/** An option and its check. For an invalid number Triton fails to compile, or silently uses another number. */
function option(context: WrapperContext, name: string, compute: HostBlock, local: ValuePrinter): Block {
  const target = py.name(snakeCase(name));
  const [value] = hostExpressions(compute, local);
  const warps = py.tuple(...[1, 2, 4, 8, 16, 32].map((count) => py.number(String(count))));
  const isInvalid =
    name === "numWarps" ? py.compare(target, ["not in", warps]) : py.compare(target, ["<", py.number("1")]);
  const expectation = name === "numWarps" ? "a power of two up to 32" : "positive";
  const error = messageOf(context, "ValueError", `${snakeCase(name)} must be ${expectation}, got `, { value: target });
  return [py.assign(target, value!), check(isInvalid, error)];
}
