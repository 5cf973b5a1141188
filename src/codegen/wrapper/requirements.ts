/** What the author requires of sizes and constexprs, and that a computed size is not negative, as checks of the wrapper. */
import { isPerGpu } from "../../compiled/configs-by-gpu.js";
import { preconditionsOf } from "../../analysis/preconditions.js";
import { type HostBlock, type KernelIR, paramsOf, type Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import * as py from "../syntax/py-build.js";
import type { Block } from "../syntax/py.js";
import { check, type MessagePart, messageOf } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The places of the requirements that the wrapper checks. Those that decide between configs prune them instead. */
export function checkedRequirements(ir: KernelIR): readonly number[] {
  return prunedRequirements(ir).flatMap((isPruning, index) => (isPruning ? [] : [index]));
}

/** Whether all that a requirement names has its value already: arguments, and sizes that are bound. */
export function isDecided(context: WrapperContext, index: number): boolean {
  const inputs = hostInputs(requirement(context.ir, index));
  const known = new Set(
    context.ir.params.flatMap((param) => {
      if (param.kind === "scalar") return [param.value];
      if (param.kind === "size") return !param.derived && context.bound.has(param.name) ? [param.value] : [];
      if (param.kind !== "constexpr") return [];
      return param.from === "argument" || context.bound.has(param.name) ? [param.value] : [];
    }),
  );
  return [...inputs].every((value) => known.has(value));
}

export function requirementCheck(context: WrapperContext, index: number): Block {
  const { requires } = context.ir;
  const test = hostExpressions(requires, (value) => context.local(value))[index]!;
  const named = hostExpressions(requires, (value) => py.name(context.localText(value)))[index]!;
  const values = valuesOf(context, requirement(context.ir, index));
  const message = messageOf(context, "ValueError", "a requirement does not hold: ", { text: named }, ...values);
  return [check(py.unary("not", test), message)];
}

/** No computed size is negative. One that a tensor always comes with is compared with the tensor's shape instead. */
export function sizeChecks(context: WrapperContext): Block {
  const given = paramsOf(context.ir, "tensor").filter(({ role, optional }) => role !== "out" && !optional);
  const compared = new Set(given.flatMap(({ dimNames }) => dimNames.map(String)));
  const sizes = preconditionsOf(context.ir, "size").flatMap(({ param }) => (compared.has(param.name) ? [] : [param]));
  if (sizes.length === 0) return [];
  const tests = sizes.map(({ value }) => py.compare(context.local(value), ["<", py.number("0")]));
  const shown = sizes.flatMap(({ value }, i): MessagePart[] => [
    `${i === 0 ? "" : ", "}${context.localText(value)} = `,
    { value: context.local(value) },
  ]);
  const values = valuesOf(context, ...sizes.map((param) => param.derived!));
  return [
    check(
      py.boolOp("or", ...tests),
      messageOf(context, "ValueError", "a computed size is negative: ", ...shown, ...values),
    ),
  ];
}

/** ` with N = 3, D = 4`: what a condition or sizes are computed from. */
function valuesOf(context: WrapperContext, ...hosts: readonly HostBlock[]): readonly MessagePart[] {
  const inputs = new Set(hosts.flatMap((host) => [...hostInputs(host)]));
  const named = [...inputs].filter((value) => context.names.parameters.has(value));
  return named.flatMap((value: Value, i): MessagePart[] => {
    const local = context.local(value);
    const lead = `${i === 0 ? " with " : ", "}${context.localText(value)} = `;
    return [lead, local.kind === "name" ? { value: local } : { text: local }];
  });
}

/** One of the requirements. */
function requirement({ requires: { block, at } }: KernelIR, index: number): HostBlock {
  return { block: { statements: block.statements, yields: [block.yields[index]!] }, at };
}

/** Whether a launch has fewer configs to choose from than the kernel has. */
export function isPruned(ir: KernelIR): boolean {
  return isPerGpu(ir.tuning.configs) || prunedRequirements(ir).includes(true);
}

/**
 * For each requirement, whether it names a constexpr that the configs choose, so that it decides which of them are
 * tried. Triton prunes only where there is something to choose from.
 */
export function prunedRequirements(ir: KernelIR): readonly boolean[] {
  const chosen = paramsOf(ir, "constexpr").filter(({ from }) => from === "config");
  return ir.requires.block.yields.map((_, index) => {
    const inputs = hostInputs(requirement(ir, index));
    const isChosen = chosen.some(({ value }) => inputs.has(value));
    return isChosen && ir.tuning.key !== undefined && ir.tuning.configs.length > 1;
  });
}
