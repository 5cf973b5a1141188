/** Values that a wrapper computes before the launch: GPU properties, constexprs, and launch options. */
import { preconditionsOf, type PreconditionOf } from "../../analysis/preconditions.js";
import {
  type ConstexprParam,
  type HostBlock,
  paramsOf,
  type Value,
  type KernelIR,
  type Param,
  type Argument,
  isValue,
  type TensorParam,
} from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/print-op.js";
import { type DeviceProperties, H200 } from "../../compiled/gpus.js";
import { snakeCase } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, Keyword, Statement, FunctionDef, Parameter } from "../syntax/py.js";
import {
  check,
  CHECKED_GRID,
  deviceOf,
  isNotPowerOfTwo,
  messageOf,
  type WrapperContext,
  argumentDisplayName,
} from "./checks.js";
import { requirementsOfConfigs } from "./requirements.js";
import { MAKE_DESCRIPTOR, CAN_SPECIALIZE } from "../warp-specialize/gluon/helpers.js";
import type { GluonKernel } from "../warp-specialize/gluon/kernel.js";
import { hasDeviceDescriptors, descriptorsWithTunedBlocks } from "../../analysis/descriptor-tensors.js";
import { type KernelNames, literalNumber } from "../names/kernel-names.js";

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

export type ValuePrinter = (value: Value) => Expression;

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
const gpuProperty = (context: WrapperContext, name: keyof DeviceProperties): Expression =>
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

// The launch of the warp-specialized kernel instead of the plain one.

/** The library's function that chooses the faster kernel, and the lock for launches. */
const IS_FASTER = "_is_faster";
const TUNING_LOCK = "_TUNING_LOCK";
/** The local function that returns the grid. */
const PROGRAMS = "_programs";
/** The local functions that launch each kernel, if both are timed. */
const SPECIALIZED = "_specialized";
const PLAIN = "_plain";
export const SPECIALIZED_LOCALS: readonly string[] = [PROGRAMS, SPECIALIZED, PLAIN];

/** The statements and values of the wrapper that the launch needs. */
interface LaunchContext {
  /** The launch of the plain kernel. */
  readonly plain: Block;
  /** The return values of the wrapper. */
  readonly results: readonly Expression[];
  /** The members of dtype variables. */
  readonly dtypes: readonly Expression[];
}

/** Launches the specialized kernel if it is applicable and, if both kernels are timed, faster. */
export function specializedLaunch(
  context: WrapperContext,
  kernel: GluonKernel,
  local: ValuePrinter,
  { plain, results, dtypes }: LaunchContext,
): Block {
  const isApplicable = supportCondition(context, kernel, local);
  const [grid, launch] = [gridFunction(context, kernel, local), launchOf(context, kernel, local)];
  const launchAndReturn = [launch, py.returns(py.tupleOrSingle(results))];
  if (!kernel.isTimed)
    return [{ kind: "if", branches: [{ test: isApplicable, body: [grid, py.blank, ...launchAndReturn] }] }, ...plain];
  const key = py.tuple(
    py.call("torch.cuda.get_device_name", deviceOf(context)),
    ...timingKey(context.ir).map(local),
    ...dtypes,
  );
  const label = py.string(context.names.wrapper);
  const isFaster = py.call(IS_FASTER, label, key, py.name(SPECIALIZED), py.name(PLAIN));
  const callStatement = (name: string) => py.expression(py.call(name));
  const timedChoice: Statement = {
    kind: "if",
    branches: [{ test: isFaster, body: [callStatement(SPECIALIZED), py.returns(py.tupleOrSingle(results))] }],
  };
  const body = [grid, py.blank, functionDef(SPECIALIZED, [launch]), py.blank, timedChoice];
  return [
    py.blank,
    functionDef(PLAIN, plain),
    py.blank,
    { kind: "if", branches: [{ test: isApplicable, body }] },
    callStatement(PLAIN),
  ];
}

/** The values on which timings depend: the autotuner's key, and the constexprs that are not tuned. */
function timingKey({ params, tuning: { key } }: KernelIR): readonly Value[] {
  const isCompiled = (param: Param) => param.kind === "constexpr" && param.from !== "config";
  return params.filter((param) => key!.includes(param.name) || isCompiled(param)).map(({ value }) => value);
}

const functionDef = (name: string, body: Block, ...params: readonly Parameter[]): FunctionDef => ({
  kind: "function",
  name,
  decorators: [],
  params,
  body,
});

/** A condition on the GPU, the tensors and the sizes: true if the specialized kernel supports them. */
function supportCondition(context: WrapperContext, kernel: GluonKernel, local: ValuePrinter): Expression {
  const sizes = kernel.sizeLimits.map(({ dim, sizes: allowedSizes }) => {
    const isDim = ({ value: { type } }: Param) => type.kind === "constexpr" && type.text === dim;
    const param = context.ir.params.find(isDim)!;
    return py.compare(local(param.value), ["in", py.tuple(...allowedSizes.map((size) => py.number(String(size))))]);
  });
  const tensors = kernel.blockTensors.map((param) => context.tensor(param));
  const configs = kernel.configs.map(({ config }) => config);
  const requirements = requirementsOfConfigs(context.ir, configs, local);
  return py.boolOp("and", py.call(CAN_SPECIALIZE, ...tensors), ...sizes, ...requirements);
}

function gridFunction(context: WrapperContext, kernel: GluonKernel, local: ValuePrinter): FunctionDef {
  const sizes = py.tuple(...gridSizes(context, kernel, (value) => configValue(context, value, local)));
  const grid = kernel.hasAuthorGrid ? checkedGrid(context, sizes) : sizes;
  return functionDef(PROGRAMS, [py.returns(grid)], { name: "meta" });
}

function launchOf(context: WrapperContext, kernel: GluonKernel, local: ValuePrinter): Statement {
  const args = kernel.launchArguments.map((param) =>
    "blocks" in param
      ? py.call(MAKE_DESCRIPTOR, context.tensor(param.tensor))
      : param.type.kind === "constexpr"
        ? py.keyword(context.names.parameters.get(param)!, local(param))
        : (tensorOfPointer(context, param) ?? local(param)),
  );
  const launch = py.call(py.subscript(py.name(kernel.name), py.name(PROGRAMS)), ...args);
  return { kind: "with", items: [{ value: py.name(TUNING_LOCK) }], body: [py.expression(launch)] };
}

/** The tensor to which a pointer value belongs. */
function tensorOfPointer(context: WrapperContext, value: Value): Expression | undefined {
  const param = context.ir.params.find(
    (each) => (each.kind === "tensor" && each.pointer === value) || (each.kind === "pointer" && each.value === value),
  );
  return param?.kind === "tensor" || param?.kind === "pointer" ? context.tensor(param) : undefined;
}

/** The grid of the plain kernel. A persistent kernel has at most one program per multiprocessor instead. */
function gridSizes(
  context: WrapperContext,
  { hasAuthorGrid }: GluonKernel,
  value: (value: Value) => Expression,
): readonly Expression[] {
  const sizes = hostExpressions(context.ir.grid, value);
  if (hasAuthorGrid) return sizes;
  const total = sizes.reduce((product, size) => py.binary(product, "*", size));
  return [py.call("min", total, gpuProperty(context, "multiProcessorCount"))];
}

function configValue({ ir, names }: WrapperContext, value: Value, local: (value: Value) => Expression): Expression {
  const param = ir.params.find((each) => each.value === value);
  const isTuned = param?.kind === "constexpr" && param.from === "config";
  return isTuned ? py.subscript(py.name("meta"), py.string(names.parameters.get(value)!)) : local(value);
}

// Tensor descriptors (TMA): creation in the wrapper, and scratch memory for descriptors that kernels create.

const CHECK_DESCRIPTOR = "_check_descriptor";
const CHECK_DESCRIBED = "_check_described";
const ALLOCATE = "_allocate";
/** Triton's class for descriptors that the host creates. */
export const DESCRIPTOR_CLASS = "TensorDescriptor";

/** Rejects a tensor that a descriptor cannot address. */
export function descriptorCheck(context: WrapperContext, param: TensorParam, axis: number): Block {
  const label = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  const written = param.role === "in" ? [] : [py.keyword("is_written", py.boolean(true))];
  return [py.expression(py.call(CHECK_DESCRIPTOR, label, context.tensor(param), py.number(String(axis)), ...written))];
}

/** Rejects a raw pointer of whose memory the kernel cannot make descriptors. */
export function pointerDescriptorCheck(
  context: WrapperContext,
  { param, steps }: PreconditionOf<"pointer-descriptor">,
): Block {
  const label = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  const values = steps.map((step) => (typeof step === "number" ? py.numberLiteral(step, "int") : context.local(step)));
  return [py.expression(py.call(CHECK_DESCRIBED, label, context.tensor(param), ...values))];
}

/** Triton allocates scratch memory during a launch. The allocator is local to the calling thread's context. */
export function allocatorSetup(ir: KernelIR): Block {
  return hasDeviceDescriptors(ir) ? [py.expression(py.call("triton.set_allocator", py.name(ALLOCATE)))] : [];
}

/**
 * `a_desc = TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K])`. The config's hook sets a block shape that is tuned.
 */
export function descriptorOf(context: WrapperContext, param: TensorParam, local: (value: Value) => Expression): Block {
  if (!param.block) return [];
  const hasTunedBlock = descriptorsWithTunedBlocks(context.ir).includes(param);
  const dims = param.block.map((dim) => (hasTunedBlock ? py.number("1") : blockDim(dim, local)));
  const padding = param.padding === "nan" ? [py.keyword("padding", py.string("nan"))] : [];
  const descriptor = py.call(`${DESCRIPTOR_CLASS}.from_tensor`, context.tensor(param), py.list(...dims), ...padding);
  return [py.assign(py.name(context.names.parameters.get(param.pointer)!), descriptor)];
}

function blockDim(dim: Argument, local: (value: Value) => Expression): Expression {
  return isValue(dim) ? local(dim) : py.numberLiteral(literalNumber(dim) ?? 1, "int");
}

/** The hook of every config, if block shapes depend on the config. */
export function preHook({ blockSetter }: KernelNames): readonly Keyword[] {
  return blockSetter ? [py.keyword("pre_hook", py.name(blockSetter))] : [];
}

/** The function that {@link preHook} references: it sets the block shapes of descriptors. */
export function blockSetter(ir: KernelIR, names: KernelNames): Block {
  const args = py.name("args");
  const body = descriptorsWithTunedBlocks(ir).map(({ pointer, block = [] }): Statement => {
    const descriptor = py.subscript(args, py.string(names.parameters.get(pointer)!));
    const dims = block.map((dim) =>
      blockDim(dim, (value) => py.subscript(args, py.string(names.parameters.get(value)!))),
    );
    return py.assign(py.attribute(descriptor, "block_shape"), py.list(...dims));
  });
  if (body.length === 0) return [];
  const docstring = "Gives each descriptor the block of the config that is to run.";
  return [{ kind: "function", name: names.blockSetter, decorators: [], params: [{ name: "args" }], docstring, body }];
}
