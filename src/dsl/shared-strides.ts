/** Tensors that a spec declares to have equal strides. */
import { fail } from "../diagnostics/diagnostic.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import type { Param, TensorParam } from "../ir/nodes.js";
import type { KernelDefinition } from "./definition.js";

/** Gives tensors with equal strides those of the first of them. */
export function sharingStrides(
  { name: kernel, spec, at }: KernelDefinition,
  params: readonly Param[],
): readonly Param[] {
  const firsts = new Map<string, TensorParam>();
  for (const group of spec.sameStrides ?? []) {
    const tensors = group.map((name, i) => {
      const param = params.find((each) => each.name === name);
      const isAgain = firsts.has(name) || group.indexOf(name) < i;
      const why = isAgain ? "which is listed twice" : whyNotStrided(param);
      return why === "" ? (param as TensorParam) : fail(specValue.sameStrides(kernel, name, why), at);
    });
    const [first] = tensors;
    for (const param of tensors) {
      if (param.dimNames.join() !== first!.dimNames.join())
        fail(specValue.sameStrides(kernel, param.name, `whose dims are not those of ${first!.name}`), at);
      firsts.set(param.name, first!);
    }
  }
  return params.map((param) => {
    const first = param.kind === "tensor" ? firsts.get(param.name) : undefined;
    return first ? ({ ...param, strides: first.strides } as Param) : param;
  });
}

function whyNotStrided(param: Param | undefined): string {
  if (param?.kind !== "tensor") return "which is not a tensor";
  if (param.block) return "whose strides its descriptor has";
  if (param.optional) return "which may be absent";
  return param.contiguous ? "whose strides are sizes, as it is contiguous" : "";
}
