/** Memory layouts of a case's tensors: those that a wrapper takes, and one for tensors with equal strides. */
import type { Layout, Signature, TensorSignature } from "../../compiled/compiled-kernel.js";

type Layouts = Readonly<Record<string, Layout>>;

export const allLayouts: readonly Layout[] = ["contiguous", "transposed", "sliced", "offset"];

/** The tensors that a case places in memory: all but an operator's outputs, which its wrapper always allocates. */
export function placedTensors({ tensors, kernels }: Signature): readonly TensorSignature[] {
  return kernels ? tensors.filter(({ role }) => role !== "out") : tensors;
}

/** The layouts of a tensor that its wrapper takes, `contiguous` first. */
export function layoutsOf({ drawn }: Pick<Signature, "drawn">, tensor: TensorSignature): readonly Layout[] {
  const { name, role, contiguous, dims, described, partition } = tensor;
  if (described) return ["contiguous"];
  if (contiguous) return ["contiguous", "offset"];
  // An input that the author describes has values of its own, so its rows may not all be equal.
  const isFree = role === "in" && dims.length > 0 && partition === undefined && !drawn?.tensors.includes(name);
  return [
    "contiguous",
    ...(dims.length < 2 ? [] : (["transposed"] as const)),
    ...(dims.length < 1 ? [] : (["sliced"] as const)),
    "offset",
    ...(isFree ? (["expanded"] as const) : []),
  ];
}

/**
 * The layouts with one for all tensors that have equal strides: that of the first. An output without a layout is allocated
 * by the wrapper, contiguous, and a tensor that is written has no element twice.
 */
export function sharedLayouts({ tensors }: Pick<Signature, "tensors">, layouts: Layouts): Layouts {
  const result: Record<string, Layout> = { ...layouts };
  for (const { name: first } of tensors) {
    const group = tensors.filter(({ name, stridesOf }) => name === first || stridesOf === first);
    if (group.length < 2) continue;
    const given = group.map(({ name }) => layouts[name]).find((layout) => layout !== undefined) ?? "contiguous";
    const isFixed = group.some(({ name, role }) => role === "out" && !(name in layouts)) || given === "expanded";
    for (const { name } of group) if (name in layouts) result[name] = isFixed ? "contiguous" : given;
  }
  return result;
}
