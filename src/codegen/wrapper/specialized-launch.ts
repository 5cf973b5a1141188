/** The launch of the warp-specialized kernel instead of the plain one. */
import type { KernelIR, Param, Value } from "../../ir/nodes.js";
import { hostExpressions } from "../body/host-expressions.js";
import { MAKE_DESCRIPTOR, CAN_SPECIALIZE } from "../warp-specialize/gluon/helpers.js";
import type { GluonKernel } from "../warp-specialize/gluon/kernel.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import { deviceOf } from "./checks.js";
import { checkedGrid, gpuProperty } from "./launch.js";
import type { WrapperContext } from "./scope.js";

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
export interface LaunchContext {
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

type ValuePrinter = (value: Value) => Expression;

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
  return py.boolOp("and", py.call(CAN_SPECIALIZE, ...tensors), ...sizes);
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
