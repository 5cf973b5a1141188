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

/** A caller's argument that is not a tensor. */
export type NumberParam = SizeParam | ScalarParam | ConstexprParam;
export type InputParam = TensorParam | PointerParam | NumberParam;

/** Tensors, pointers, sizes, numbers, choices; then the optional ones in the same order. */
export function callOrder(ir: KernelIR): readonly InputParam[] {
  const inputs = [
    ...tensorsOf(ir, "in", "inout"),
    ...paramsOf(ir, "pointer"),
    ...givenSizes(ir),
    ...paramsOf(ir, "scalar"),
    ...paramsOf(ir, "constexpr").filter((param) => param.from === "argument"),
  ];
  return [...inputs.filter((param) => !mayBeLeftOut(param)), ...inputs.filter(mayBeLeftOut)];
}

/** Sizes, numbers and choices among the arguments, in their order. */
export function numberParams(ir: KernelIR): readonly NumberParam[] {
  return callOrder(ir).filter((param): param is NumberParam => !isMemoryParam(param));
}

/** Sizes that no shape binds: no required input has them, and what has them is not all optional inputs. */
export function givenSizes(ir: KernelIR): readonly (SizeParam | ConstexprParam)[] {
  const inputs = tensorsOf(ir, "in", "inout").filter(({ optional }) => !optional);
  const bound = new Set([
    ...inputs.flatMap(({ dimNames }) => dimNames),
    ...optionalSizes(ir).map(({ param }) => param.name),
  ]);
  return unboundSizes(ir).filter(({ name }) => !bound.has(name));
}

/** Sizes and constexprs that shapes bind: all but those that follow from others. */
export function unboundSizes({ params }: KernelIR): readonly (SizeParam | ConstexprParam)[] {
  return params.filter((param): param is SizeParam | ConstexprParam =>
    param.kind === "size" ? param.derived === undefined : param.kind === "constexpr" && param.from === "dim",
  );
}

function mayBeLeftOut(param: InputParam): boolean {
  if (isMemoryParam(param)) return param.given !== undefined;
  return param.kind !== "size" && param.default !== undefined;
}
