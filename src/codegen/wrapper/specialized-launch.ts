/** Where a wrapper launches the warp-specialized kernel instead of the plain one. */
import type { KernelIR, Param, Value } from "../../ir/nodes.js";
import { hostExpressions } from "../body/host-expressions.js";
import { DESCRIBED, IS_SPECIALISED } from "../warp-specialize/gluon/helpers.js";
import type { GluonKernel } from "../warp-specialize/gluon/kernel.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import { DEVICE } from "./checks.js";
import { GPU_PROPERTY } from "./launch.js";
import { TUNING_LOCK, IS_FASTER } from "./choose-kernel.js";
import type { WrapperContext } from "./scope.js";

/** The function that gives the grid. */
const PROGRAMS = "_programs";
/** The functions that launch, where both kernels are timed. */
const SPECIALISED = "_specialized";
const PLAIN = "_plain";
export const SPECIALISED_LOCALS: readonly string[] = [PROGRAMS, SPECIALISED, PLAIN];

/** What stands around the launch in the wrapper. */
export interface AroundLaunch {
  /** The launch of the plain kernel. */
  readonly plain: Block;
  /** What the wrapper returns. */
  readonly results: readonly Expression[];
  /** The members of dtype variables. */
  readonly dtypes: readonly Expression[];
}

/** Launches the specialized kernel where it can be, and if both are timed, where it is the faster one. */
export function specializedLaunch(
  context: WrapperContext,
  kernel: GluonKernel,
  local: Local,
  { plain, results, dtypes }: AroundLaunch,
): Block {
  const isSuited = suits(context, kernel, local);
  const [grid, launch] = [gridFunction(context, kernel, local), launchOf(context, kernel, local)];
  const launched = [launch, py.returns(py.tupled(results))];
  if (!kernel.isTimed)
    return [{ kind: "if", branches: [{ test: isSuited, body: [grid, py.blank, ...launched] }] }, ...plain];
  const key = py.tuple(py.call("torch.cuda.get_device_name", DEVICE), ...timedBy(context.ir).map(local), ...dtypes);
  const label = py.string(context.names.wrapper);
  const isFaster = py.call(IS_FASTER, label, key, py.name(SPECIALISED), py.name(PLAIN));
  const called = (name: string) => py.expression(py.call(name));
  const chosen: Statement = {
    kind: "if",
    branches: [{ test: isFaster, body: [called(SPECIALISED), py.returns(py.tupled(results))] }],
  };
  const body = [grid, py.blank, defined(SPECIALISED, [launch]), py.blank, chosen];
  return [
    py.blank,
    defined(PLAIN, plain),
    py.blank,
    { kind: "if", branches: [{ test: isSuited, body }] },
    called(PLAIN),
  ];
}

/** What the times depend on: the autotuner's key, and what a launch compiles for besides. */
function timedBy({ params, tuning: { key } }: KernelIR): readonly Value[] {
  const isCompiled = (param: Param) => param.kind === "constexpr" && param.from !== "config";
  return params.filter((param) => key!.includes(param.name) || isCompiled(param)).map(({ value }) => value);
}

type Local = (value: Value) => Expression;

const defined = (name: string, body: Block, ...params: readonly Parameter[]): FunctionDef => ({
  kind: "function",
  name,
  decorators: [],
  params,
  body,
});

/** Whether the GPU, the tensors and the sizes suit the specialized kernel. */
function suits(context: WrapperContext, kernel: GluonKernel, local: Local): Expression {
  const sizes = kernel.sized.map(({ dim, sizes: known }) => {
    const isDim = ({ value: { type } }: Param) => type.kind === "constexpr" && type.text === dim;
    const param = context.ir.params.find(isDim)!;
    return py.compare(local(param.value), ["in", py.tuple(...known.map((size) => py.number(String(size))))]);
  });
  const tensors = kernel.described.map((param) => context.tensor(param));
  return py.boolOp("and", py.call(IS_SPECIALISED, ...tensors), ...sizes);
}

function gridFunction(context: WrapperContext, kernel: GluonKernel, local: Local): FunctionDef {
  const sizes = programs(context.ir, kernel, (value) => inMeta(context, value, local));
  return defined(PROGRAMS, [py.returns(py.tuple(...sizes))], { name: "meta" });
}

function launchOf(context: WrapperContext, kernel: GluonKernel, local: Local): Statement {
  const args = kernel.takes.map((taken) =>
    "blocks" in taken
      ? py.call(DESCRIBED, context.tensor(taken.tensor))
      : taken.type.kind === "constexpr"
        ? py.keyword(context.names.parameters.get(taken)!, local(taken))
        : (pointed(context, taken) ?? local(taken)),
  );
  const launch = py.call(py.subscript(py.name(kernel.name), py.name(PROGRAMS)), ...args);
  return { kind: "with", items: [{ value: py.name(TUNING_LOCK) }], body: [py.expression(launch)] };
}

/** The tensor whose address the value is. */
function pointed(context: WrapperContext, value: Value): Expression | undefined {
  const param = context.ir.params.find(
    (each) => (each.kind === "tensor" && each.pointer === value) || (each.kind === "pointer" && each.value === value),
  );
  return param?.kind === "tensor" || param?.kind === "pointer" ? context.tensor(param) : undefined;
}

/** As many programs as the plain kernel has, or at most one a multiprocessor, which then computes several tiles. */
function programs(
  ir: KernelIR,
  { hasOwnGrid }: GluonKernel,
  value: (value: Value) => Expression,
): readonly Expression[] {
  const sizes = hostExpressions(ir.grid, value);
  if (hasOwnGrid) return sizes;
  const all = sizes.reduce((product, size) => py.binary(product, "*", size));
  return [py.call("min", all, py.call(GPU_PROPERTY, DEVICE, py.string("multi_processor_count")))];
}

function inMeta({ ir, names }: WrapperContext, value: Value, local: (value: Value) => Expression): Expression {
  const param = ir.params.find((each) => each.value === value);
  const isChosen = param?.kind === "constexpr" && param.from === "config";
  return isChosen ? py.subscript(py.name("meta"), py.string(names.parameters.get(value)!)) : local(value);
}
