/** Checks of the author's requirements, and of derived sizes, which must not be negative. */
import type { Config } from "../../compiled/compiled-kernel.js";
import { preconditionsOf } from "../../analysis/preconditions.js";
import { type HostBlock, type KernelIR, type OpStatement, paramsOf, type Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/print-op.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { check, type MessagePart, messageOf, type WrapperContext, deviceOf, INTERPRETED } from "./checks.js";
import { hasFloatAtomics } from "../../analysis/descriptor-tensors.js";
import { formatTargets, isPerGpu } from "../../compiled/gpus.js";
import { resultsOf, walkAll } from "../../ir/walk.js";
import { members } from "../../types/dtype.js";

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

/**
 * The requirements on tuned constexprs, for each of these configs. `GROUP_SIZE % BLOCK_K == 0` is `GROUP_SIZE % 64 == 0`
 * for a config with a `BLOCK_K` of 64.
 */
export function requirementsOfConfigs(
  ir: KernelIR,
  configs: readonly Config[],
  local: (value: Value) => Expression,
): readonly Expression[] {
  const isPruning = prunedRequirements(ir);
  const conditions = configs.flatMap(({ values }) => {
    const valueOf = (value: Value): Expression => {
      const param = paramsOf(ir, "constexpr").find((each) => each.value === value && each.from === "config");
      const set = param && values[param.name];
      return set === undefined ? local(value) : py.constant(set);
    };
    return hostExpressions(ir.requires, valueOf).filter((_, index) => isPruning[index]);
  });
  return [...new Map(conditions.map((condition) => [JSON.stringify(condition), condition])).values()];
}

// The wrapper's check of the GPU, for kernels that support only some GPUs.

const BFLOAT16 = "bfloat16";
const CHECK_GPU = "_check_gpu";
const CHECK_DETERMINISTIC = "_check_deterministic";

/**
 * The check of dtypes refuses bfloat16 arguments on Triton's interpreter. A kernel without them that rounds to bfloat16
 * is refused by itself.
 */
function bfloat16Check(context: WrapperContext): Block {
  const isSeen = context.ir.params.some((param) => "dtype" in param && members(param.dtype).includes(BFLOAT16));
  if (isSeen || !computesInBFloat16(context.ir)) return [];
  const isCorrected = py.call("hasattr", py.name("triton"), py.string("has_bfloat16"));
  const isWrong = py.boolOp("and", py.name(INTERPRETED), py.unary("not", isCorrected));
  return [check(isWrong, messageOf(context, "TypeError", "Triton's interpreter computes bfloat16 wrongly"))];
}

function computesInBFloat16(ir: KernelIR): boolean {
  let isFound = false;
  walkAll(ir, (statement) => {
    if (resultsOf(statement).some(({ type }) => type.kind === "tile" && type.dtype === BFLOAT16)) isFound = true;
  });
  return isFound;
}

/** Checks of the GPU, of bfloat16 support in Triton's interpreter, and of PyTorch's request for determinism. */
export function environmentChecks(context: WrapperContext): Block {
  return [...gpuCheck(context), ...bfloat16Check(context), ...determinismCheck(context)];
}

function determinismCheck({ ir, names }: WrapperContext): Block {
  return hasFloatAtomics(ir) ? [py.expression(py.call(CHECK_DETERMINISTIC, py.string(names.wrapper)))] : [];
}

/** Empty for a kernel without declared targets. */
function gpuCheck(context: WrapperContext): Block {
  const {
    ir: { targets },
    names,
  } = context;
  if (!targets) return [];
  const { cuda, hip = [] } = targets;
  const oldest = cuda === undefined ? py.none : py.number(String(cuda));
  const description = py.string(`${names.wrapper} is for ${formatTargets(targets)}`);
  return [
    py.expression(
      py.call(CHECK_GPU, deviceOf(context), oldest, py.list(...hip.map((arch) => py.string(arch))), description),
    ),
  ];
}
