/** Values that a wrapper computes before the launch: GPU properties, constexprs, and launch options. */
import { preconditionsOf } from "../../analysis/preconditions.js";
import { type ConstexprParam, type HostBlock, paramsOf, type Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import { snakeCase } from "../names/names.js";
import { flatText } from "../syntax/layout-expression.js";
import { atAxis } from "../../types/axis.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Keyword, Statement } from "../syntax/py.js";
import { check, CHECKED_GRID, deviceOf, isNotPowerOfTwo, messageOf, ROW_LIMIT } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The library's function that returns a GPU property. */
export const GPU_PROPERTY = "_gpu_property";
/** The library's function that launches a kernel through the launch cache. */
export const LAUNCH = "_launch";
/**
 * Makes a launch visible to torch.compile. PyTorch searches the source for this name to find the kernels of an
 * operator.
 */
export const WRAP_TRITON = "wrap_triton";

type ValuePrinter = (value: Value) => Expression;

/** GPU properties, then launch-time constexprs, then computed launch options, each after its inputs. */
export function launchComputations(context: WrapperContext, local: ValuePrinter): Block {
  const properties = paramsOf(context.ir, "device").map(({ name, value }) =>
    py.assign(local(value), py.call(GPU_PROPERTY, deviceOf(context), py.string(snakeCase(name)))),
  );
  const options = Object.entries(context.ir.tuning.options ?? {});
  return [
    ...properties,
    ...sortLaunchConstexprs(paramsOf(context.ir, "constexpr")).flatMap((param) => constexpr(context, param, local)),
    ...options.flatMap(([name, compute]) => option(context, name, compute, local)),
  ];
}

/** `_checked_grid("gelu", (triton.cdiv(N, 64), H), {1: "H"})`, with the axes that may exceed the GPU's limit. */
export function checkedGrid(context: WrapperContext, grid: Expression): Expression {
  const texts = hostExpressions(context.ir.grid, (value) => py.name(context.localText(value))).map(flatText);
  const axes = preconditionsOf(context.ir, "grid").map(({ axis }) => ({
    key: py.number(String(axis)),
    value: py.string(shortText(atAxis(texts, axis).replaceAll("triton.", ""))),
  }));
  return axes.length === 0 ? grid : py.call(CHECKED_GRID, py.string(context.names.wrapper), grid, py.dict(...axes));
}

const shortText = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}...` : text);

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
  const assignment = py.assign(local(param.value), value!);
  const needsPowerCheck = preconditionsOf(context.ir, "launch-power").some((each) => each.param === param);
  return [
    assignment,
    ...(isLimited ? [sizeLimit(context, param, local)] : []),
    ...(needsPowerCheck ? [powerCheck(context, param, local)] : []),
  ];
}

/** Without this check, Triton reports the error only when it compiles. */
function powerCheck(context: WrapperContext, param: ConstexprParam, local: ValuePrinter): Statement {
  const value = local(param.value);
  const name = `${context.names.parameters.get(param.value)} would be `;
  const suffix = ", and a tile's dimension is a power of two";
  return check(isNotPowerOfTwo(value, 1), messageOf(context, "ValueError", name, { value }, suffix));
}

function sizeLimit(context: WrapperContext, param: ConstexprParam, local: ValuePrinter): Statement {
  const [value, maximum] = [local(param.value), py.name(ROW_LIMIT)];
  const name = `${context.names.parameters.get(param.value)} would be `;
  const suffix = "; a tile holds at most ";
  const error = messageOf(context, "ValueError", name, { value }, suffix, { value: maximum }, " elements");
  return check(py.compare(value, [">", maximum]), error);
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
