/** Checks of the author's requirements, and of derived sizes, which must not be negative. */
import { isPerGpu } from "../../compiled/configs-by-gpu.js";
import { preconditionsOf } from "../../analysis/preconditions.js";
import { type HostBlock, type KernelIR, type OpStatement, paramsOf, type Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { check, type MessagePart, messageOf } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The indices of the requirements that the wrapper checks. Requirements on a tuned constexpr prune configs instead. */
export function checkedRequirements(ir: KernelIR): readonly number[] {
  return prunedRequirements(ir).flatMap((isPruning, index) => (isPruning || alwaysHolds(ir, index) ? [] : [index]));
}

/** True for `BLOCK_N >= N`, where `BLOCK_N` is the power of two that follows `N`. */
function alwaysHolds(ir: KernelIR, index: number): boolean {
  const { block } = ir.requires;
  const comparison = producerOf(block, block.yields[index]);
  if (comparison?.op.name !== "ge") return false;
  const [tile, size] = comparison.operands;
  const compute = paramsOf(ir, "constexpr").find(({ value, from }) => from === "launch" && value === tile)?.compute;
  const power = compute && producerOf(compute.block, compute.block.yields[0]);
  return power?.op.name === "nextPowerOf2" && power.operands[0] === size;
}

function producerOf({ statements }: HostBlock["block"], value: unknown): OpStatement | undefined {
  const ops = statements.filter((statement) => statement.kind === "op");
  return ops.find(({ results }) => results.some((result) => result === value));
}

/** True if all inputs of a requirement are bound already: arguments and sizes. */
export function isCheckableEarly(context: WrapperContext, index: number): boolean {
  const inputs = hostInputs(requirement(context.ir, index));
  const boundValues = new Set(
    context.ir.params.flatMap((param) => {
      if (param.kind === "scalar") return [param.value];
      if (param.kind === "size") return !param.derived && context.bound.has(param.name) ? [param.value] : [];
      if (param.kind !== "constexpr") return [];
      return param.from === "argument" || context.bound.has(param.name) ? [param.value] : [];
    }),
  );
  return [...inputs].every((value) => boundValues.has(value));
}

/** One check of several requirements: its message has all of them, with the values that they depend on. */
export function requirementCheck(context: WrapperContext, indices: readonly number[]): Block {
  if (indices.length === 0) return [];
  const { requires } = context.ir;
  const select = (expressions: readonly Expression[]) => indices.map((index) => expressions[index]!);
  const tests = select(hostExpressions(requires, (value) => context.local(value)));
  const texts = select(hostExpressions(requires, (value) => py.name(context.localText(value))));
  const values = valuesOf(context, ...indices.map((index) => requirement(context.ir, index)));
  const text = { text: py.boolOp("and", ...texts) };
  const message = messageOf(context, "ValueError", "a requirement does not hold: ", text, ...values);
  return [check(py.unary("not", py.boolOp("and", ...tests)), message)];
}

/** Checks that no derived size is negative. A size of a required tensor is compared with its shape instead. */
export function sizeChecks(context: WrapperContext): Block {
  const shapedTensors = paramsOf(context.ir, "tensor").filter(({ role, optional }) => role !== "out" && !optional);
  const comparedSizes = new Set(shapedTensors.flatMap(({ dimNames }) => dimNames.map(String)));
  const sizes = preconditionsOf(context.ir, "size").flatMap(({ param }) =>
    comparedSizes.has(param.name) ? [] : [param],
  );
  if (sizes.length === 0) return [];
  const tests = sizes.map(({ value }) => py.compare(context.local(value), ["<", py.number("0")]));
  const sizeTexts = sizes.flatMap(({ value }, i): MessagePart[] => [
    `${i === 0 ? "" : ", "}${context.localText(value)} = `,
    { value: context.local(value) },
  ]);
  const values = valuesOf(context, ...sizes.map((param) => param.derived!));
  return [
    check(
      py.boolOp("or", ...tests),
      messageOf(context, "ValueError", "a computed size is negative: ", ...sizeTexts, ...values),
    ),
  ];
}

/** ` with N = 3, D = 4`: the inputs of host expressions. */
function valuesOf(context: WrapperContext, ...hosts: readonly HostBlock[]): readonly MessagePart[] {
  const inputs = new Set(hosts.flatMap((host) => [...hostInputs(host)]));
  const namedInputs = [...inputs].filter((value) => context.names.parameters.has(value));
  return namedInputs.flatMap((value: Value, i): MessagePart[] => {
    const local = context.local(value);
    const lead = `${i === 0 ? " with " : ", "}${context.localText(value)} = `;
    return [lead, local.kind === "name" ? { value: local } : { text: local }];
  });
}

/** A host block that yields only this requirement. */
function requirement({ requires: { block, at } }: KernelIR, index: number): HostBlock {
  return { block: { statements: block.statements, yields: [block.yields[index]!] }, at };
}

/** True if the kernel needs an `early_config_prune` function. */
export function isPruned(ir: KernelIR): boolean {
  return isPerGpu(ir.tuning.configs) || prunedRequirements(ir).includes(true);
}

/**
 * For each requirement: true if it depends on a tuned constexpr, so that it prunes configs. Triton prunes only if there
 * are at least two configs.
 */
export function prunedRequirements(ir: KernelIR): readonly boolean[] {
  const tunedParams = paramsOf(ir, "constexpr").filter(({ from }) => from === "config");
  return ir.requires.block.yields.map((_, index) => {
    const inputs = hostInputs(requirement(ir, index));
    const isTuned = tunedParams.some(({ value }) => inputs.has(value));
    return isTuned && ir.tuning.key !== undefined && ir.tuning.configs.length > 1;
  });
}
