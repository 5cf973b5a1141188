/** The `@triton.jit` functions of a kernel and its helpers. */
import type { Elem } from "../../types/dtype.js";
import {
  type Argument,
  type Block,
  isList,
  isMemoryParam,
  isValue,
  type KernelIR,
  paramsOf,
  type TensorParam,
  type Value,
} from "../../ir/nodes.js";
import { LaunchFacts } from "../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../analysis/signs.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { argumentsOf, blocksOf, bodiesOf, walkAll } from "../../ir/walk.js";
import { decorators } from "../wrapper/autotune.js";
import { PointerTensors } from "../body/statement-rules.js";
import { emitBody } from "../body/body.js";
import { emitHelpers } from "../body/functions.js";
import { weakIfOne, passedDType, scalarCasts } from "../body/weak-literals.js";
import { hostInputs, hostExpressions } from "../body/print-op.js";
import type { KernelNames } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Expression, FunctionDef, Parameter, Block as PyBlock } from "../syntax/py.js";
import { isPruned, prunedRequirements } from "../wrapper/requirements.js";
import { isPerGpu } from "../../compiled/gpus.js";
import { flatText } from "../syntax/layout-expression.js";

/** The helper functions, followed by the kernel that calls them. */
export function jitFunctions(
  ir: KernelIR,
  names: KernelNames,
  usedValues: ReadonlySet<Value>,
  source: SourceIndex | undefined,
): readonly FunctionDef[] {
  const params: Parameter[] = [];
  const addParameter = (value: Value, annotation?: Expression) =>
    params.push({ name: names.parameters.get(value)!, ...(annotation && { annotation }) });
  for (const param of ir.params) {
    if (param.kind === "tensor") addParameter(param.pointer);
    if (param.kind === "pointer") addParameter(param.value);
  }
  for (const param of ir.params) {
    if (param.kind !== "scalar" && param.kind !== "size") continue;
    // Triton infers the dtype of a number from its value, so a declared dtype is annotated. Sizes and strides have no
    // annotation, so that Triton still specializes on values of 1 and multiples of 16.
    if (usedValues.has(param.value))
      addParameter(
        param.value,
        param.kind === "scalar" ? dtypeExpression(ir, names, passedDType(param.dtype)) : undefined,
      );
  }
  for (const param of ir.params) {
    if (param.kind !== "tensor") continue;
    const strideNames = names.strides.get(param.name)!;
    param.strides.forEach((stride, axis) => {
      if (strideNames[axis] !== undefined && isValue(stride) && usedValues.has(stride)) addParameter(stride);
    });
  }
  for (const param of ir.params) if (param.kind === "constexpr") addParameter(param.value, py.dotted("tl.constexpr"));
  const parameters = new Map<Value, Expression>([...names.parameters].map(([value, name]) => [value, py.name(name)]));
  for (const param of ir.params) {
    if (!isMemoryParam(param) || !param.given) continue;
    const pointer = py.name(names.parameters.get(param.kind === "tensor" ? param.pointer : param.value)!);
    parameters.set(param.given, py.compare(pointer, ["is not", py.none]));
  }
  const dtype = (elem: Elem) => dtypeExpression(ir, names, elem);
  const commonOptions = {
    sizes: weakIfOne(ir),
    isNonNegative: nonNegativeValues(ir, new LaunchFacts(ir)),
    source,
  };
  const { definitions, helpers } = emitHelpers(ir, {
    ...commonOptions,
    names: names.functions,
    parameters: names.parameters,
  });
  const body = [
    ...scalarCasts(ir, parameters),
    ...emitBody(ir.body, { ...commonOptions, names: names.locals, parameters, dtype, helpers }),
  ];
  const kernel: FunctionDef = {
    kind: "function",
    name: names.jit,
    decorators: decorators(ir, names, isPruned(ir) ? names.pruner : undefined),
    params,
    body: body.length > 0 ? body : [py.pass],
    origin: ir.at,
  };
  return [...definitions, kernel];
}

/**
 * The expression of a dtype: `tl.float16`, or for a dtype variable the constexpr that binds it. Without a constexpr it
 * is the element type of the first output, else of a written pointer, else of the first tensor or pointer.
 */
function dtypeExpression(ir: KernelIR, names: KernelNames, elem: Elem): Expression {
  if (typeof elem === "string") return py.dotted(`tl.${elem}`);
  const binder = ir.params.find((param) => param.kind === "constexpr" && param.variable?.name === elem.name);
  if (binder?.kind === "constexpr") return py.name(names.parameters.get(binder.value)!);
  const hasDType = (param: TensorParam) => typeof param.dtype !== "string" && param.dtype.name === elem.name;
  const tensors = paramsOf(ir, "tensor").filter(hasDType);
  const present = tensors.filter((param) => !param.optional);
  const output = present.find((param) => param.role !== "in");
  const pointers = paramsOf(ir, "pointer").filter(({ dtype }) => nameOf(dtype) === elem.name);
  const writtenPointers = findWrittenPointers(ir);
  const target = output ? undefined : pointers.find(({ name }) => writtenPointers.has(name));
  const holder = output ?? present[0] ?? tensors[0];
  if (target || !holder) return py.dotted(`${names.parameters.get((target ?? pointers[0]!).value)!}.dtype.element_ty`);
  return py.dotted(`${names.parameters.get(holder.pointer)!}.dtype${holder.block ? "" : ".element_ty"}`);
}

/** The names of pointers that the kernel's own statements write through. */
function findWrittenPointers(ir: KernelIR): ReadonlySet<string> {
  const [pointerTensors, names] = [new PointerTensors(), new Set<string>()];
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") return;
    pointerTensors.nameOf(statement);
    const { address } = statement.op.proof.memoryOperands ?? {};
    const [pointer] = statement.operands;
    const isWrite = statement.op.effect === "write" || statement.op.effect === "atomic";
    const name = isWrite && address !== undefined && isValue(pointer) ? pointerTensors.tensorOf(pointer) : undefined;
    if (name !== undefined) names.add(name);
  });
  return names;
}

const nameOf = (elem: Elem): string => (typeof elem === "string" ? elem : elem.name);

/** Sizes, scalars and strides that the kernel uses, that are autotuning keys, or that prune its configs. */
export function usedParameters(ir: KernelIR): ReadonlySet<Value> {
  const usedValues = new Set<Value>();
  const markUsed = (argument: Argument): void => {
    if (isList(argument)) argument.forEach(markUsed);
    else if (isValue(argument)) usedValues.add(argument);
  };
  const visit = ({ statements, yields }: Block): void => {
    yields.forEach(markUsed);
    for (const statement of statements) {
      argumentsOf(statement).forEach(markUsed);
      blocksOf(statement).forEach(visit);
    }
  };
  bodiesOf(ir).forEach(visit);
  const { doNotSpecialize, doNotSpecializeOnAlignment } = ir.launch;
  const keyNames = new Set([...(ir.tuning.key ?? []), ...doNotSpecialize, ...doNotSpecializeOnAlignment]);
  for (const param of ir.params) {
    if (keyNames.has(param.name)) usedValues.add(param.value);
    if (param.kind === "constexpr" && param.from === "heuristic" && param.compute)
      for (const value of hostInputs(param.compute)) usedValues.add(value);
  }
  prunedRequirements(ir).forEach((prunes, i) => {
    if (!prunes) return;
    const { block, at } = ir.requires;
    for (const value of hostInputs({ block: { statements: block.statements, yields: [block.yields[i]!] }, at }))
      usedValues.add(value);
  });
  return usedValues;
}

// The `early_config_prune` function: it selects the configs for the current GPU that satisfy the kernel's requirements.

/**
 * Drops the configs of other GPUs and those that violate a requirement. Tuning could otherwise choose a config that
 * gives incorrect results.
 */
export function pruner(ir: KernelIR, names: KernelNames): PyBlock {
  if (!isPruned(ir)) return [];
  const hasRequirements = prunedRequirements(ir).includes(true);
  const docstring = !isPerGpu(ir.tuning.configs)
    ? "The configs that meet the kernel's requirements."
    : `The configs for the GPU that runs the kernel${hasRequirements ? ", without those that do not meet its requirements" : ""}.`;
  return [
    {
      kind: "function",
      name: names.pruner,
      decorators: [],
      params: [{ name: "configs" }, { name: "named_args" }, { name: "**kwargs" }],
      docstring,
      body: hasRequirements
        ? [...selectGpuConfigs(ir, names), ...filterByRequirements(ir, names)]
        : selectGpuConfigs(ir, names),
    },
  ];
}

/** Selects the configs of the GPU's list, and returns them if the kernel has no requirements. */
function selectGpuConfigs(ir: KernelIR, names: KernelNames): PyBlock {
  if (!isPerGpu(ir.tuning.configs)) return [];
  const gpuConfigs = py.call(CONFIGS_FOR_GPU, py.name(names.configs), py.name("configs"));
  return prunedRequirements(ir).includes(true) ? [py.assign(py.name("configs"), gpuConfigs)] : [py.returns(gpuConfigs)];
}

function filterByRequirements(ir: KernelIR, names: KernelNames): PyBlock {
  const isPruning = prunedRequirements(ir);
  const isConfig = (value: Value) =>
    ir.params.some((p) => p.kind === "constexpr" && p.from === "config" && p.value === value);
  const local = (value: Value): Expression => py.name(names.parameters.get(value)!);
  const inConfig = (value: Value): Expression =>
    isConfig(value) ? py.subscript(py.dotted("config.kwargs"), py.string(names.parameters.get(value)!)) : local(value);
  const selectPruning = (expressions: readonly Expression[]) => expressions.filter((_, i) => isPruning[i]);
  const tests = selectPruning(hostExpressions(ir.requires, inConfig));
  const texts = selectPruning(hostExpressions(ir.requires, local));
  const { block, at } = ir.requires;
  const inputs = [
    ...hostInputs({ block: { statements: block.statements, yields: block.yields.filter((_, i) => isPruning[i]) }, at }),
  ];
  const fixed = inputs.filter((value) => !isConfig(value));
  const result = py.name("kept");
  const values = fixed.flatMap((value, i) => [
    `${i === 0 ? " with " : ", "}${names.parameters.get(value)}=`,
    { value: local(value) },
  ]);
  const message = py.fString(
    `${names.wrapper}: no config has ${texts.map(flatText).join(" and ")}`,
    ...values,
    "; add one that does",
  );
  return [
    py.assign(py.name("args"), py.dict({ value: py.name("named_args") }, { value: py.name("kwargs") })),
    ...fixed.map((value) =>
      py.assign(local(value), py.subscript(py.name("args"), py.string(names.parameters.get(value)!))),
    ),
    py.assign(result, py.list()),
    {
      kind: "for",
      target: py.name("config"),
      iterable: py.name("configs"),
      body: [
        {
          kind: "if",
          branches: [
            { test: py.boolOp("and", ...tests), body: [py.expression(py.call("kept.append", py.name("config")))] },
          ],
        },
      ],
    },
    { kind: "if", branches: [{ test: py.unary("not", result), body: [py.raise(py.call("ValueError", message))] }] },
    py.returns(result),
  ];
}

/** The library's counterpart of `selectConfigs`. Triton reports its target GPU as 90 for sm_90, or as "gfx942". */
const CONFIGS_FOR_GPU = "_configs_for_gpu";
