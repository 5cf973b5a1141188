/** The dtype variables of a kernel file: what several calls of one kernel differ in. */
import type { KernelTree } from "./tree.js";
import { dtypeName, elementText } from "./value.js";

/** A dtype variable of the file. */
export interface DTypeVariable {
  readonly name: string;
  readonly members: readonly string[];
}

/** Beside a float that the calls have, what a kernel that asks for its dtype takes as well. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  float16: ["bfloat16"],
  bfloat16: ["float16"],
  float32: ["float16", "bfloat16"],
};

/**
 * Variables for the dtypes of pointers, by their element types: where they differ between calls, or where the kernel
 * asks for them.
 */
export function dtypeVariables({ functions, signatures }: KernelTree): ReadonlyMap<string, DTypeVariable> {
  const elements = functions[0]!.params.flatMap(({ name }) => {
    const dtypes = signatures.flatMap((signature) => {
      const given = signature[name]!;
      return given.kind === "pointer" ? [dtypeName(given.dtype)] : [];
    });
    return dtypes.length > 0 ? [elementText(dtypes)] : [];
  });
  const asked = functions.some(({ body }) => asksForDType(body));
  const found = [...new Set(elements)].flatMap((element) => {
    const members = [...element.split(" "), ...(asked ? (BESIDE[element] ?? []) : [])];
    return members.length > 1 ? [[element, members] as const] : [];
  });
  return new Map(
    found.map(([element, members], i) => [element, { name: found.length === 1 ? "T" : `T${i + 1}`, members }]),
  );
}

/** Whether `x.dtype` or `x_ptr.dtype.element_ty` stands somewhere. */
function asksForDType(node: unknown): boolean {
  if (typeof node !== "object" || node === null) return false;
  if (Array.isArray(node)) return node.some(asksForDType);
  const { kind, attr } = node as { readonly kind?: string; readonly attr?: string };
  if (kind === "Attribute" && (attr === "dtype" || attr === "element_ty")) return true;
  return Object.entries(node).some(([key, value]) => key !== "types" && key !== "bound" && asksForDType(value));
}
