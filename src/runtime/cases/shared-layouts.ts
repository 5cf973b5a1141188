/** Memory layouts of tensors with equal strides. */
import type { Layout, Signature } from "../../contract/compiled.js";

type Layouts = Readonly<Record<string, Layout>>;

/**
 * The layouts with one for all tensors that have equal strides: that of the first. The wrapper allocates outputs that are
 * contiguous, and a tensor that is written has no element twice.
 */
export function sharedLayouts({ tensors }: Signature, layouts: Layouts): Layouts {
  const result: Record<string, Layout> = { ...layouts };
  for (const { name: first } of tensors) {
    const group = tensors.filter(({ name, stridesOf }) => name === first || stridesOf === first);
    if (group.length < 2) continue;
    const given = group.map(({ name }) => layouts[name]).find((layout) => layout !== undefined) ?? "contiguous";
    const isFixed = group.some(({ role }) => role === "out") || given === "expanded";
    for (const { name, role } of group) if (role !== "out") result[name] = isFixed ? "contiguous" : given;
  }
  return result;
}
