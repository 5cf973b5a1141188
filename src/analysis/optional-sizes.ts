/**
 * Sizes that only optional inputs have. The first input that is present determines the size. If all are absent, it is
 * 0.
 */
import { type KernelIR, paramsOf, type SizeParam, type TensorParam, tensorsOf } from "../ir/nodes.js";

export interface OptionalSize {
  readonly param: SizeParam;
  /** The inputs that have the size, in the author's order, each with the first axis of that size. */
  readonly holders: readonly { readonly tensor: TensorParam; readonly axis: number }[];
}

/** The sizes of optional inputs only. A required output with the size needs it in advance, so the caller passes it. */
export function optionalSizes(ir: Pick<KernelIR, "params">): readonly OptionalSize[] {
  const required = paramsOf(ir, "tensor").filter(({ optional }) => !optional);
  const inputs = tensorsOf(ir, "in", "inout");
  return paramsOf(ir, "size").flatMap((param) => {
    if (param.derived || required.some(({ dimNames }) => dimNames.includes(param.name))) return [];
    const holders = inputs.flatMap((tensor) => {
      const axis = tensor.dimNames.indexOf(param.name);
      return axis < 0 ? [] : [{ tensor, axis }];
    });
    return holders.length > 0 ? [{ param, holders }] : [];
  });
}

/** The sizes that are 0 because every input that has them is absent. */
export function sizesWithoutTensor(ir: Pick<KernelIR, "params">, absent: readonly string[]): readonly string[] {
  if (absent.length === 0) return [];
  return optionalSizes(ir)
    .filter(({ holders }) => holders.every(({ tensor }) => absent.includes(tensor.name)))
    .map(({ param }) => param.name);
}
