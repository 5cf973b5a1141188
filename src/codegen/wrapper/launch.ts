/** What a wrapper computes before it launches: properties of the GPU, constexprs, and launch options. */
import { preconditionsOf } from "../../analysis/preconditions.js";
import { type ConstexprParam, type HostBlock, paramsOf, type Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import { snakeCase } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Keyword, Statement } from "../syntax/py.js";
import { check, DEVICE, isNoPower, messageOf, ROW_LIMIT } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The module's function that gives a property of the GPU, and the table of the GPU that the interpreter stands for. */
export const GPU_PROPERTY = "_gpu_property";
export const STATED_GPU = "_INTERPRETED_GPU";

type Local = (value: Value) => Expression;

/** Properties of the GPU, then constexprs of the launch and computed launch options, each after what it needs. */
export function launchComputations(context: WrapperContext, local: Local): Block {
  const properties = paramsOf(context.ir, "device").map(({ name, value }) =>
    py.assign(local(value), py.call(GPU_PROPERTY, DEVICE, py.string(snakeCase(name)))),
  );
  const options = Object.entries(context.ir.tuning.options ?? {});
  return [
    ...properties,
    ...inOrder(paramsOf(context.ir, "constexpr")).flatMap((param) => constexpr(context, param, local)),
    ...options.flatMap(([name, compute]) => option(context, name, compute, local)),
  ];
}

/** `num_warps=num_warps`, for options that the launch computes. */
export function computedOptions({ ir }: WrapperContext): readonly Keyword[] {
  return Object.keys(ir.tuning.options ?? {}).map((name) => py.keyword(snakeCase(name), py.name(snakeCase(name))));
}

/** The constexprs that the launch computes, each after those that it names. */
function inOrder(params: readonly ConstexprParam[]): readonly ConstexprParam[] {
  const launched = params.filter(({ from, compute }) => from === "launch" && compute);
  const ordered = new Set<ConstexprParam>();
  const visit = (param: ConstexprParam): void => {
    if (ordered.has(param)) return;
    const inputs = hostInputs(param.compute!);
    for (const other of launched) if (other !== param && inputs.has(other.value)) visit(other);
    ordered.add(param);
  };
  launched.forEach(visit);
  return [...ordered];
}

function constexpr(context: WrapperContext, param: ConstexprParam, local: Local): Block {
  const [value] = hostExpressions(param.compute!, local);
  const isLimited = preconditionsOf(context.ir, "launch-size").some((each) => each.param === param);
  const assigned = py.assign(local(param.value), value!);
  const isUnsure = preconditionsOf(context.ir, "launch-power").some((each) => each.param === param);
  return [
    assigned,
    ...(isLimited ? [sizeLimit(context, param, local)] : []),
    ...(isUnsure ? [powerCheck(context, param, local)] : []),
  ];
}

/** Triton would only say so when it compiles. */
function powerCheck(context: WrapperContext, param: ConstexprParam, local: Local): Statement {
  const value = local(param.value);
  const name = `${context.names.parameters.get(param.value)} would be `;
  const after = ", and a tile's dimension is a power of two";
  return check(isNoPower(value, 1), messageOf(context, "ValueError", name, { value }, after));
}

function sizeLimit(context: WrapperContext, param: ConstexprParam, local: Local): Statement {
  const [value, most] = [local(param.value), py.name(ROW_LIMIT)];
  const name = `${context.names.parameters.get(param.value)} would be `;
  const after = "; a tile holds at most ";
  const refuse = messageOf(context, "ValueError", name, { value }, after, { value: most }, " elements");
  return check(py.compare(value, [">", most]), refuse);
}

/** An option and its check: Triton would fail while it compiles, or take another number. */
function option(context: WrapperContext, name: string, compute: HostBlock, local: Local): Block {
  const target = py.name(snakeCase(name));
  const [value] = hostExpressions(compute, local);
  const warps = py.tuple(...[1, 2, 4, 8, 16, 32].map((count) => py.number(String(count))));
  const isWrong =
    name === "numWarps" ? py.compare(target, ["not in", warps]) : py.compare(target, ["<", py.number("1")]);
  const must = name === "numWarps" ? "a power of two up to 32" : "positive";
  const refuse = messageOf(context, "ValueError", `${snakeCase(name)} must be ${must}, got `, { value: target });
  return [py.assign(target, value!), check(isWrong, refuse)];
}
