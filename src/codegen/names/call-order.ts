import { optionalSizes } from "../../analysis/optional-sizes.js";
import {
  type ConstexprParam,
  isMemoryParam,
  type KernelIR,
  paramsOf,
  type PointerParam,
  type ScalarParam,
  type SizeParam,
  type TensorParam,
  tensorsOf,
} from "../../ir/nodes.js";

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
