/** The arguments of the wrapper that a caller gives by position, outputs apart. */
import type { ConstexprParam, KernelIR, PointerParam, ScalarParam, TensorParam } from "../ir/nodes.js";

export type InputParam = TensorParam | PointerParam | ScalarParam | ConstexprParam;

/** Tensors, pointers, numbers, choices; after these, in the same order, what may be left out. */
export function callOrder(ir: KernelIR): readonly InputParam[] {
  const inputs = [
    ...ir.params.filter((param): param is TensorParam => param.kind === "tensor" && param.role !== "out"),
    ...ir.params.filter((param): param is PointerParam => param.kind === "pointer"),
    ...ir.params.filter((param): param is ScalarParam => param.kind === "scalar"),
    ...ir.params.filter((param): param is ConstexprParam => param.kind === "constexpr" && param.from === "argument"),
  ];
  return [...inputs.filter((param) => !mayBeLeftOut(param)), ...inputs.filter(mayBeLeftOut)];
}

function mayBeLeftOut(param: InputParam): boolean {
  return param.kind === "tensor" || param.kind === "pointer" ? param.given !== undefined : param.default !== undefined;
}
