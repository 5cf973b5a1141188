/** Sizes that inputs have, all of which may be left out. The first one given decides the size; without any it is 0. */
import { type KernelIR, paramsOf, type SizeParam, type TensorParam, tensorsOf } from "../ir/nodes.js";

export interface OptionalSize {
  readonly param: SizeParam;
  /** The inputs that have it, in the author's order, and the first axis of each that does. */
  readonly holders: readonly { readonly tensor: TensorParam; readonly axis: number }[];
}

/** A required output that has the size needs it before anything is given, so the caller passes such a size. */
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

/** The sizes that are 0 because every input that has them is left out. */
export function sizesWithoutTensor(ir: Pick<KernelIR, "params">, absent: readonly string[]): readonly string[] {
  if (absent.length === 0) return [];
  return optionalSizes(ir)
    .filter(({ holders }) => holders.every(({ tensor }) => absent.includes(tensor.name)))
    .map(({ param }) => param.name);
}
