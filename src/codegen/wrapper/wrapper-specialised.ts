/** Where a wrapper launches the warp-specialised kernel instead of the plain one. */
import { type KernelIR, type Value } from "../../ir/nodes.js";
import { hostExpressions } from "../body/host-expressions.js";
import { DESCRIBED, IS_SPECIALISED } from "../gluon/gluon-helpers.js";
import type { GluonKernel } from "../gluon/gluon-kernel.js";
import * as py from "../python/py-build.js";
import type { Block, Expression } from "../python/py.js";
import { DEVICE } from "./wrapper-checks.js";
import { GPU_PROPERTY } from "./wrapper-launch.js";
import type { WrapperContext } from "./wrapper-scope.js";

/** The function that gives the grid. */
const PROGRAMS = "_programs";

/** `results` is what the wrapper returns. */
export function specialisedLaunch(
  context: WrapperContext,
  kernel: GluonKernel,
  local: (value: Value) => Expression,
  results: readonly Expression[],
): Block {
  const { ir, names } = context;
  const tensors = kernel.described.map((param) => context.tensor(param));
  const args = kernel.takes.map((taken) =>
    "blocks" in taken
      ? py.call(DESCRIBED, context.tensor(taken.tensor))
      : taken.type.kind === "constexpr"
        ? py.keyword(names.parameters.get(taken)!, local(taken))
        : (pointed(context, taken) ?? local(taken)),
  );
  const sizes = kernel.sized.map(({ dim, sizes: known }) => {
    const param = ir.params.find((each) => each.value.type.kind === "constexpr" && each.value.type.text === dim)!;
    return py.compare(local(param.value), ["in", py.tuple(...known.map((size) => py.number(String(size))))]);
  });
  const grid = py.name(PROGRAMS);
  return [
    {
      kind: "if",
      branches: [
        {
          test: py.boolOp("and", py.call(IS_SPECIALISED, ...tensors), ...sizes),
          body: [
            {
              kind: "function",
              name: grid.id,
              decorators: [],
              params: [{ name: "meta" }],
              body: [py.returns(py.tuple(...programs(ir, kernel, (value) => inMeta(context, value, local))))],
            },
            py.blank,
            py.expression(py.call(py.subscript(py.name(kernel.name), grid), ...args)),
            py.returns(py.tupled(results)),
          ],
        },
      ],
    },
  ];
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
