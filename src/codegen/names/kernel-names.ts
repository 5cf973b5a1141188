/** The Python names of a kernel's arguments, in the `@triton.jit` function and in its wrapper. */
import { descriptorsWithTunedBlocks } from "../../analysis/descriptor-tensors.js";
import { isPerGpu } from "../../compiled/gpus.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { reservedName } from "../../diagnostics/catalog/definition-codes.js";
import {
  type Argument,
  type FunctionIR,
  isLiteral,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Param,
  type PointerParam,
  type TensorParam,
  tensorsOf,
  type Value,
  type ConstexprParam,
  paramsOf,
  type ScalarParam,
  type SizeParam,
} from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { embedExterns, type Externs, NO_EXTERNS } from "./extern-source.js";
import { isUsable, Names, snakeCase } from "./names.js";
import { optionalSizes } from "../../analysis/launch-facts.js";

/**
 * Names that `kernel[grid](…)` reserves: launch options, and locals of the function that Triton generates to bind
 * arguments. A kernel parameter with one of these names would be interpreted as the option, or would break the
 * function. The list covers Triton 3.6 and 3.9 for NVIDIA and AMD. A test derives it from the installed versions of
 * Triton.
 */
export const LAUNCH_NAMES: ReadonlySet<string> = new Set(
  (
    "allow_flush_denorm allowed_dot_input_precisions arch backend backend_name clc config debug " +
    "default_dot_input_precision deprecated_fp8_dot_operand_dtypes device device_type enable_fp_fusion " +
    "enable_reflect_ftz extern_libs fpsan_homomorphic_casts grid instrumentation_mode ir_override kpack kwargs " +
    "launch_cooperative_grid launch_pdl llvm_fn_attrs matrix_instr_nonkdim max_num_imprecise_acc_default maxnreg " +
    "min_shared_mem num_ctas num_stages num_warps options params pre_hook ptx_options ptx_version sanitize_overflow " +
    "sched4reg schedule_hint self specialization specialize_impl stream supported_fp8_dtypes warmup warp_size " +
    "waves_per_eu wgp_cu_mode"
  ).split(" "),
);

export interface KernelNames {
  /** The wrapper. */
  readonly wrapper: string;
  /** The `@triton.jit` function. */
  readonly jit: string;
  /** The PyTorch operator in a module that registers one. */
  readonly op: string;
  /** The `early_config_prune` function. */
  readonly pruner: string;
  /** The table of configs by GPU. */
  readonly configs: string;
  /** The hook of every config that sets the block shapes of descriptors. Empty if there is none. */
  readonly blockSetter: string;
  /** Parameters of the jit function, by value: `a_ptr`, `M`, `stride_am`, `BLOCK_M`. */
  readonly parameters: ReadonlyMap<Value, string>;
  /** Tensors in the wrapper, by the author's name. */
  readonly tensors: ReadonlyMap<string, string>;
  /** The strides of each tensor, by axis. Undefined for a fixed stride. */
  readonly strides: ReadonlyMap<string, readonly (string | undefined)[]>;
  /** Helper functions of the kernel. */
  readonly functions: ReadonlyMap<FunctionIR, string>;
  /** Functions from Python files. They are also in `functions`. */
  readonly externs: Externs;
  /** The scope of the jit function's body. */
  readonly locals: Names;
}

/** Builtins that the module's own functions call. No function of the module may shadow them. */
const CALLED_BUILTINS =
  "abs all any bool callable dict divmod enumerate id iter map max min next object repr reversed setattr sorted str sum type " +
  "vars zip " +
  "ImportError NotImplementedError RuntimeError TypeError ValueError";
const BUILTINS: ReadonlySet<string> = new Set(CALLED_BUILTINS.split(" "));

/** Adds the kernel's names to `module`, the names in use, and to `reserved`, the names that the module itself uses. */
export function namesOfKernel(
  ir: KernelIR,
  source: SourceIndex | undefined,
  module: Names,
  reserved: Names,
): KernelNames {
  // Reserve the argument `out` first: a wrapper named `out` calls itself recursively for another device.
  reserved.take("out");
  const takeShared = (hint: string): string => {
    let name = module.take(hint);
    while (!reserved.isFree(name) || BUILTINS.has(name)) name = module.take(hint);
    return reserved.take(name);
  };
  const wrapper = takeShared(ir.name);
  const jit = takeShared(`${ir.name}_kernel`);
  const op = takeShared(`${ir.name}_op`);
  const pruner = takeShared("_prune_configs");
  const configs = isPerGpu(ir.tuning.configs) ? takeShared("_configs") : "";
  const blockSetter = descriptorsWithTunedBlocks(ir).length > 0 ? takeShared("_set_blocks") : "";
  const { parameters, tensors, strides } = argumentNames(ir, reserved);
  // Extern functions come after the arguments, so that the names of arguments do not depend on them.
  const externs = source ? embedExterns(ir, source, reserved) : NO_EXTERNS;
  const functions = new Map(
    ir.functions.map(
      (helper) => [helper, externs.names.get(helper) ?? takeShared(helperName(helper, source))] as const,
    ),
  );
  const locals = new Names("body");
  for (const name of [...parameters.values(), ...functions.values()]) locals.reserve(name);
  return {
    wrapper,
    jit,
    op,
    pruner,
    configs,
    blockSetter,
    parameters,
    tensors,
    strides,
    functions,
    externs,
    locals,
  };
}

function argumentNames(ir: KernelIR, reserved: Names) {
  const parameters = new Map<Value, string>();
  const tensors = new Map<string, string>();
  const strides = new Map<string, readonly (string | undefined)[]>();
  const passed = ir.params.filter(({ kind }) => kind !== "device");
  const isExact = ({ name }: Param) => isUsable(name) && snakeCase(name) === name;
  // Names that callers can write unchanged precede names that are converted.
  for (const param of [...passed.filter(isExact), ...passed.filter((each) => !isExact(each))]) {
    const isOut = param.name === "out" && param.kind === "tensor" && param.role === "out";
    const name = isOut ? "out" : reserved.take(param.name);
    if (isMemoryParam(param)) tensors.set(param.name, name);
    else parameters.set(param.value, name);
  }
  for (const param of ir.params) {
    const argument = param.kind === "tensor" ? param.pointer : param.value;
    const name = parameters.get(argument) ?? reserved.take(derivedName(param));
    parameters.set(argument, name);
    if (LAUNCH_NAMES.has(name) && param.kind !== "device")
      fail(reservedName.launch(ir.name, param.name, name, [...LAUNCH_NAMES]), ir.at);
  }
  for (const param of ir.params) {
    if (param.kind !== "tensor") continue;
    const names = param.strides.map((stride, axis) => {
      if (!isValue(stride) || parameters.has(stride)) return undefined;
      const name = reserved.take(strideName(param, axis));
      parameters.set(stride, name);
      return name;
    });
    strides.set(param.name, names);
  }
  return { parameters, tensors, strides };
}

/** The name of a parameter that the caller does not pass under this name. */
function derivedName(param: Param): string {
  if (param.kind === "device") return snakeCase(param.name);
  return `${param.name}_${param.kind === "tensor" && param.block ? "desc" : "ptr"}`;
}

/** The jit function's parameter for an author's name. */
export function parameterName(ir: KernelIR, names: KernelNames, authorName: string): string {
  const param = ir.params.find(({ name }) => name === authorName);
  const text = param && names.parameters.get(param.kind === "tensor" ? param.pointer : param.value);
  if (text === undefined) throw new Error(`the kernel ${ir.name} has no parameter ${authorName}`);
  return text;
}

/** The jit function's parameter for a value. */
export function valueName({ parameters, jit }: KernelNames, value: Value): string {
  const name = parameters.get(value);
  if (name === undefined) throw new Error(`a value is no parameter of ${jit}`);
  return name;
}

/** The wrapper's name of a tensor or a pointer. */
export function tensorName(
  { tensors, wrapper }: KernelNames,
  { name: authorName }: TensorParam | PointerParam,
): string {
  const name = tensors.get(authorName);
  if (name === undefined) throw new Error(`${authorName} is no tensor of ${wrapper}`);
  return name;
}

/** The keyword argument for an output: `out` if it is the only one, otherwise its name. */
export function outputName(ir: KernelIR, names: KernelNames, output: TensorParam): string {
  return tensorsOf(ir, "out").length === 1 ? "out" : tensorName(names, output);
}

/** The author's name of a helper function. */
function helperName({ name, at }: FunctionIR, source: SourceIndex | undefined): string {
  return name ?? (at && source?.site(at)?.name) ?? "helper";
}

/** `stride_am` for the M axis of `a`, as in Triton's tutorials, and `stride_x_row` for longer names. */
function strideName(param: TensorParam, axis: number): string {
  const dim = param.dimNames[axis];
  const label = typeof dim === "string" && isUnique(param, dim) ? dim.toLowerCase() : String(axis);
  return param.name.length === 1 && label.length === 1
    ? `stride_${param.name}${label}`
    : `stride_${param.name}_${label}`;
}

function isUnique(param: TensorParam, dim: string): boolean {
  return param.dimNames.filter((name) => name === dim).length === 1;
}

/** The value of a literal argument, such as a fixed dimension. Undefined for other arguments. */
export function literalNumber(argument: Argument | undefined): number | undefined {
  return isLiteral(argument) ? Number(argument.value) : undefined;
}

/** An argument of the wrapper that is not a tensor. */
export type NumberParam = SizeParam | ScalarParam | ConstexprParam;
export type InputParam = TensorParam | PointerParam | NumberParam;

/**
 * The arguments of the wrapper: tensors, pointers, sizes, numbers, choices, then the optional ones in the same order.
 */
export function callOrder(ir: KernelIR): readonly InputParam[] {
  const inputs = [
    ...tensorsOf(ir, "in", "inout"),
    ...paramsOf(ir, "pointer"),
    ...givenSizes(ir),
    ...paramsOf(ir, "scalar"),
    ...paramsOf(ir, "constexpr").filter((param) => param.from === "argument"),
  ];
  return [...inputs.filter((param) => !isOptional(param)), ...inputs.filter(isOptional)];
}

/** The sizes, numbers and choices among the arguments, in call order. */
export function numberParams(ir: KernelIR): readonly NumberParam[] {
  return callOrder(ir).filter((param): param is NumberParam => !isMemoryParam(param));
}

/** Sizes that the caller passes: neither required inputs nor optional inputs bind them. */
export function givenSizes(ir: KernelIR): readonly (SizeParam | ConstexprParam)[] {
  const inputs = tensorsOf(ir, "in", "inout").filter(({ optional }) => !optional);
  const bound = new Set([
    ...inputs.flatMap(({ dimNames }) => dimNames),
    ...optionalSizes(ir).map(({ param }) => param.name),
  ]);
  return unboundSizes(ir).filter(({ name }) => !bound.has(name));
}

/** Sizes and constexprs that are dims of tensors, without derived sizes. */
export function unboundSizes({ params }: KernelIR): readonly (SizeParam | ConstexprParam)[] {
  return params.filter((param): param is SizeParam | ConstexprParam =>
    param.kind === "size" ? param.derived === undefined : param.kind === "constexpr" && param.from === "dim",
  );
}

function isOptional(param: InputParam): boolean {
  if (isMemoryParam(param)) return param.given !== undefined;
  return param.kind !== "size" && param.default !== undefined;
}
