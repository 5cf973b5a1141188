/** The dtypes that a kernel can be called with, and its types for each choice of them. */
import type { KernelIR } from "../ir/nodes.js";
import type { Substitution } from "../ir/typed.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import type { Dim } from "../types/shape.js";
import type { Type } from "../types/types.js";

/** A dtype for each dtype variable, by the variable's name. */
export type DTypeBinding = Readonly<Record<string, DTypeName>>;

/** Every choice of dtypes that the kernel can be called with. */
export function dtypeBindings(ir: KernelIR): readonly DTypeBinding[] {
  const variables = new Map<string, readonly DTypeName[]>();
  for (const param of ir.params) {
    const elem = param.kind === "tensor" ? param.dtype : param.kind === "constexpr" ? param.variable : undefined;
    if (elem !== undefined && typeof elem !== "string") variables.set(elem.name, elem.members);
  }
  return [...variables].reduce<readonly DTypeBinding[]>(
    (all, [name, members]) => all.flatMap((binding) => members.map((member) => ({ ...binding, [name]: member }))),
    [{}],
  );
}

/** Replaces dtype variables by their dtypes, in types and in the texts of dimensions. */
export function substitution(binding: DTypeBinding): Substitution {
  const bound = new Map<Type, Type>();
  const type = (given: Type): Type => {
    const known = bound.get(given) ?? bind(given, binding);
    bound.set(given, known);
    return known;
  };
  return { type, elem: (elem) => bindElem(elem, binding) };
}

function bindElem(elem: Elem, binding: DTypeBinding): Elem {
  return typeof elem === "string" ? elem : (binding[elem.name] ?? elem);
}

function bind(type: Type, binding: DTypeBinding): Type {
  const dims = (shape: readonly Dim[]) => shape.map((dim) => (typeof dim === "string" ? bindText(dim, binding) : dim));
  if (type.kind === "tile") return { ...type, dtype: bindElem(type.dtype, binding), shape: dims(type.shape) };
  if (type.kind === "pointer" || type.kind === "view" || type.kind === "descriptor")
    return { ...type, to: bindElem(type.to, binding), shape: dims(type.shape) };
  if (type.kind === "tensor") return { ...type, to: bindElem(type.to, binding) };
  return type.kind === "constexpr" ? { ...type, text: bindText(type.text, binding) } : type;
}

/** A constexpr can read a dtype: `T.bits` becomes `float16.bits`. */
function bindText(text: string, binding: DTypeBinding): string {
  if (!text.includes(".")) return text;
  return text.replace(/\b([A-Za-z_]\w*)\.(?=[a-z])/g, (found, name: string) =>
    name in binding ? `${binding[name]}.` : found,
  );
}
