/** Tensors that a spec declares to have equal strides. */
import { fail } from "../diagnostics/diagnostic.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import type { Param, TensorParam } from "../ir/nodes.js";
import type { KernelDefinition } from "./definition.js";

/** Replaces the strides of each tensor in a group by those of the group's first tensor. */
export function shareStrides(
  { name: kernel, spec, at: location }: KernelDefinition,
  params: readonly Param[],
): readonly Param[] {
  const firstOfGroup = new Map<string, TensorParam>();
  for (const group of spec.sameStrides ?? []) {
    const tensors = group.map((name, i) => {
      const param = params.find((tensor) => tensor.name === name);
      const isDuplicate = firstOfGroup.has(name) || group.indexOf(name) < i;
      const why = isDuplicate ? "which is listed twice" : whyNotStrided(param);
      return why === "" ? (param as TensorParam) : fail(specValue.sameStrides(kernel, name, why), location);
    });
    const [first, ...others] = tensors;
    if (!first) continue;
    for (const param of [first, ...others]) {
      if (param.dimNames.join() !== first.dimNames.join())
        fail(specValue.sameStrides(kernel, param.name, `whose dims are not those of ${first.name}`), location);
      firstOfGroup.set(param.name, first);
    }
  }
  return params.map((param) => {
    const first = param.kind === "tensor" ? firstOfGroup.get(param.name) : undefined;
    return first ? ({ ...param, strides: first.strides } as Param) : param;
  });
}

function whyNotStrided(param: Param | undefined): string {
  if (param?.kind !== "tensor") return "which is not a tensor";
  if (param.block) return "whose strides its descriptor has";
  if (param.optional) return "which may be absent";
  return param.contiguous ? "whose strides are sizes, as it is contiguous" : "";
}
