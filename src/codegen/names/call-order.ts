/** The arguments of the wrapper that a caller gives by position, outputs apart. */
import type { ConstexprParam, KernelIR, PointerParam, ScalarParam, SizeParam, TensorParam } from "../../ir/nodes.js";

/** What a caller gives besides tensors. */
export type NumberParam = SizeParam | ScalarParam | ConstexprParam;
export type InputParam = TensorParam | PointerParam | NumberParam;

/** Tensors, pointers, sizes, numbers, choices; after these, in the same order, what may be left out. */
export function callOrder(ir: KernelIR): readonly InputParam[] {
  const inputs = [
    ...ir.params.filter((param): param is TensorParam => param.kind === "tensor" && param.role !== "out"),
    ...ir.params.filter((param): param is PointerParam => param.kind === "pointer"),
    ...givenSizes(ir),
    ...ir.params.filter((param): param is ScalarParam => param.kind === "scalar"),
    ...ir.params.filter((param): param is ConstexprParam => param.kind === "constexpr" && param.from === "argument"),
  ];
  return [...inputs.filter((param) => !mayBeLeftOut(param)), ...inputs.filter(mayBeLeftOut)];
}

/** Sizes, numbers and choices among the arguments, in their order. */
export function numberParams(ir: KernelIR): readonly NumberParam[] {
  return callOrder(ir).filter((param): param is NumberParam => param.kind !== "tensor" && param.kind !== "pointer");
}

/** Sizes that no input has, so that no shape binds them; an optional input may be absent. */
export function givenSizes({ params }: KernelIR): readonly (SizeParam | ConstexprParam)[] {
  const inputs = params.filter(
    (param): param is TensorParam => param.kind === "tensor" && param.role !== "out" && !param.optional,
  );
  return params.filter((param): param is SizeParam | ConstexprParam => {
    const isSize = param.kind === "size" ? !param.derived : param.kind === "constexpr" && param.from === "dim";
    return isSize && !inputs.some(({ dimNames }) => dimNames.includes(param.name));
  });
}

function mayBeLeftOut(param: InputParam): boolean {
  if (param.kind === "tensor" || param.kind === "pointer") return param.given !== undefined;
  return param.kind !== "size" && param.default !== undefined;
}
