/** Memory layouts of a test case's tensors: the supported ones, and one layout for tensors with equal strides. */
import type { Layout, Signature, TensorSignature } from "../../compiled/compiled-kernel.js";

type Layouts = Readonly<Record<string, Layout>>;

export const allLayouts: readonly Layout[] = ["contiguous", "transposed", "sliced", "offset"];

/**
 * The tensors whose layout a test case chooses: all except an operator's outputs, which its wrapper always allocates.
 */
export function tensorsWithLayout({ tensors, kernels }: Signature): readonly TensorSignature[] {
  return kernels ? tensors.filter(({ role }) => role !== "out") : tensors;
}

/** The layouts of a tensor that its wrapper supports, `contiguous` first. */
export function layoutsOf({ drawn }: Pick<Signature, "drawn">, tensor: TensorSignature): readonly Layout[] {
  const { name, role, contiguous, dims, described, partition } = tensor;
  if (described) return ["contiguous"];
  if (contiguous) return ["contiguous", "offset"];
  // An input with declared values cannot be expanded, because its rows may differ.
  const isExpandable = role === "in" && dims.length > 0 && partition === undefined && !drawn?.tensors.includes(name);
  return [
    "contiguous",
    ...(dims.length < 2 ? [] : (["transposed"] as const)),
    ...(dims.length < 1 ? [] : (["sliced"] as const)),
    "offset",
    ...(isExpandable ? (["expanded"] as const) : []),
  ];
}

/**
 * Assigns one layout to all tensors with equal strides: that of the first. An output without a layout is allocated
 * contiguous by the wrapper. A written tensor cannot be expanded, because its elements would overlap.
 */
export function sharedLayouts({ tensors }: Pick<Signature, "tensors">, layouts: Layouts): Layouts {
  const result: Record<string, Layout> = { ...layouts };
  for (const { name: first } of tensors) {
    const group = tensors.filter(({ name, stridesOf }) => name === first || stridesOf === first);
    if (group.length < 2) continue;
    const layout = group.map(({ name }) => layouts[name]).find((layout) => layout !== undefined) ?? "contiguous";
    const isFixed = group.some(({ name, role }) => role === "out" && !(name in layouts)) || layout === "expanded";
    for (const { name } of group) if (name in layouts) result[name] = isFixed ? "contiguous" : layout;
  }
  return result;
}
