/** The Python names of a kernel's arguments, in the `@triton.jit` function and in its wrapper. */
import { descriptorsWithTunedBlocks } from "../../analysis/descriptor-tensors.js";
import { isPerGpu } from "../../compiled/configs-by-gpu.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { reservedName } from "../../diagnostics/catalog/definition-codes.js";
import {
  type FunctionIR,
  isLiteral,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Param,
  type TensorParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source.js";
import { embedExterns, type Externs, NO_EXTERNS } from "./extern-source.js";
import { LAUNCH_NAMES } from "./launch-names.js";
import { Names, snakeCase } from "./names.js";

export interface KernelNames {
  /** The wrapper's name. */
  readonly wrapper: string;
  /** The `@triton.jit` function's name. */
  readonly jit: string;
  /** The names of its operators in a module that registers them: the functional one, and the one with given outputs. */
  readonly op: string;
  readonly opOut: string;
  /** The function that drops configs. */
  readonly pruner: string;
  /** The table of configs by GPU. */
  readonly configs: string;
  /** The hook of every config that sets blocks of descriptors; empty where none does. */
  readonly blockSetter: string;
  /** Parameters of the jit function, by value: `a_ptr`, `M`, `stride_am`, `BLOCK_M`. */
  readonly parameters: ReadonlyMap<Value, string>;
  /** Tensors in the wrapper, by the author's name. */
  readonly tensors: ReadonlyMap<string, string>;
  /** Names of each tensor's strides, an axis each; undefined where the stride is fixed. */
  readonly strides: ReadonlyMap<string, readonly (string | undefined)[]>;
  /** Helper functions of the kernel. */
  readonly functions: ReadonlyMap<FunctionIR, string>;
  /** Functions from Python files; `functions` has them, too. */
  readonly externs: Externs;
  /** For names in the jit function's body. */
  readonly locals: Names;
}

/** Builtins that the module's own functions call: no function of the module may have their names. */
const CALLED =
  "abs all any bool callable dict divmod enumerate id iter map max min next object repr reversed setattr sorted str sum type " +
  "vars zip " +
  "ImportError NotImplementedError RuntimeError TypeError ValueError";
const BUILTINS: ReadonlySet<string> = new Set(CALLED.split(" "));

/** `module` holds the module's names in use, `taken` those that it uses itself; the kernel's are added to both. */
export function namesOfKernel(ir: KernelIR, source: SourceIndex | undefined, module: Names, taken: Names): KernelNames {
  // The wrapper's argument, before its function: `out` calls itself for another device.
  taken.take("out");
  const shared = (wanted: string): string => {
    let name = module.take(wanted);
    while (!taken.isFree(name) || BUILTINS.has(name)) name = module.take(wanted);
    return taken.take(name);
  };
  const wrapper = shared(ir.name);
  const jit = shared(`${ir.name}_kernel`);
  const op = shared(`${ir.name}_op`);
  const opOut = shared(`${ir.name}_out_op`);
  const pruner = shared("_prune_configs");
  const configs = isPerGpu(ir.tuning.configs) ? shared("_configs") : "";
  const blockSetter = descriptorsWithTunedBlocks(ir).length > 0 ? shared("_set_blocks") : "";
  const { parameters, tensors, strides } = argumentNames(ir, taken);
  // What the arguments are called does not depend on it.
  const externs = source ? embedExterns(ir, source, taken) : NO_EXTERNS;
  const functions = new Map(
    ir.functions.map((helper) => [helper, externs.names.get(helper) ?? shared(wantedName(helper, source))] as const),
  );
  const locals = new Names("body");
  for (const name of [...parameters.values(), ...functions.values()]) locals.keep(name);
  return {
    wrapper,
    jit,
    op,
    opOut,
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

/** The names of the jit function's parameters, of tensors in the wrapper, and of strides. */
function argumentNames(ir: KernelIR, taken: Names) {
  const parameters = new Map<Value, string>();
  const tensors = new Map<string, string>();
  const strides = new Map<string, readonly (string | undefined)[]>();
  for (const param of ir.params) {
    if (!isMemoryParam(param)) continue;
    const isOut = param.name === "out" && param.kind === "tensor" && param.role === "out";
    tensors.set(param.name, isOut ? "out" : taken.take(param.name));
  }
  for (const param of ir.params) {
    if (param.kind === "tensor")
      parameters.set(param.pointer, taken.take(`${param.name}_${param.block ? "desc" : "ptr"}`));
    else parameters.set(param.value, taken.take(pythonName(param)));
    const name = parameters.get(param.kind === "tensor" ? param.pointer : param.value)!;
    if (LAUNCH_NAMES.has(name) && param.kind !== "device")
      fail(reservedName.launch(ir.name, param.name, name, [...LAUNCH_NAMES]), ir.at);
  }
  for (const param of ir.params) {
    if (param.kind !== "tensor") continue;
    const names = param.strides.map((stride, axis) => {
      if (!isValue(stride) || parameters.has(stride)) return undefined;
      const name = taken.take(strideName(param, axis));
      parameters.set(stride, name);
      return name;
    });
    strides.set(param.name, names);
  }
  return { parameters, tensors, strides };
}

function pythonName(param: Exclude<Param, { kind: "tensor" }>): string {
  if (param.kind === "device") return snakeCase(param.name);
  return param.kind === "pointer" ? `${param.name}_ptr` : param.name;
}

/** The jit function's name of a size, number or constexpr, by the author's name. */
export function parameterName(ir: KernelIR, names: KernelNames, author: string): string {
  const param = ir.params.find(({ name }) => name === author);
  const text = param && names.parameters.get(param.kind === "tensor" ? param.pointer : param.value);
  if (text === undefined) throw new Error(`the kernel ${ir.name} has no parameter ${author}`);
  return text;
}

/** The keyword for an output: `out` if there is only one, otherwise its name. */
export function outputName(ir: KernelIR, { tensors }: KernelNames, { name }: TensorParam): string {
  return tensorsOf(ir, "out").length === 1 ? "out" : tensors.get(name)!;
}

/** The author's name of a helper function. */
function wantedName({ name, at }: FunctionIR, source: SourceIndex | undefined): string {
  return name ?? (at && source?.site(at)?.name) ?? "helper";
}

/** `stride_am` for the M axis of `a`, as Triton's tutorials write it; `stride_x_row` for longer names. */
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

/** The number of a literal argument, such as a fixed dimension. */
export function literalNumber(argument: unknown): number | undefined {
  return isLiteral(argument as never) ? Number((argument as { value: unknown }).value) : undefined;
}
