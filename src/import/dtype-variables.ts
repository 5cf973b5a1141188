/** The dtype variables of a kernel file: what several calls of one kernel differ in. */
import { authorName } from "./author-name.js";
import { writes } from "./liveness.js";
import type { Expression, KernelTree } from "./tree.js";
import { dtypeName, elementOf, elementText, kindOf } from "./value.js";

/** A dtype variable of the file. */
export interface DTypeVariable {
  readonly name: string;
  readonly members: readonly string[];
  /** The constant of the kernel that binds it, if one does. */
  readonly binder?: string;
}

/** Beside a float that the calls have, what a kernel that asks for its dtype takes as well. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  float16: ["bfloat16"],
  bfloat16: ["float16"],
  float32: ["float16", "bfloat16"],
};

/**
 * Variables for the dtypes of pointers and descriptors, by their element types: where they differ between calls, or where the kernel
 * asks for them or takes them as a constant.
 */
export function dtypeVariables(tree: KernelTree): ReadonlyMap<string, DTypeVariable> {
  const { functions, signatures } = tree;
  const elements = functions[0]!.params.flatMap(({ name }) => {
    const dtypes = signatures.flatMap((signature) => {
      const given = signature[name]!;
      return given.kind === "pointer" || given.kind === "descriptor" ? [dtypeName(given.dtype)] : [];
    });
    return dtypes.length > 0 ? [elementText(dtypes)] : [];
  });
  const asked = new Set(functions.flatMap(({ body }) => askedFor(body)));
  const found = [...new Set(elements)].flatMap((element) => {
    const members = [...element.split(" "), ...(asked.has(element) ? (BESIDE[element] ?? []) : [])];
    return members.length > 1 ? [[element, members] as const] : [];
  });
  const bound = bindersOf(tree).filter(([element]) => elements.includes(element));
  const free = found.filter(([element]) => !bound.some(([other]) => other === element));
  const taken = new Set(functions.flatMap(({ params, body }) => [...params.map(({ name }) => name), ...writes(body)]));
  const named = (i: number): string => {
    const number = free.length === 1 ? "" : String(i + 1);
    return ["T", "DT", "Element"].map((letter) => letter + number).find((name) => !taken.has(name)) ?? `Type${i + 1}`;
  };
  return new Map<string, DTypeVariable>([
    ...bound,
    ...free.map(([element, members], i) => [element, { name: named(i), members }] as const),
  ]);
}

/** Variables that a constant of the kernel binds, with the dtype that it has in all calls. */
function bindersOf({ functions, signatures }: KernelTree): readonly (readonly [string, DTypeVariable])[] {
  return functions[0]!.params.flatMap(({ name }) => {
    const given = signatures.map((signature) => signature[name]!);
    const dtypes = given.flatMap((each) =>
      each.kind === "constant" && each.value.what === "dtype" ? [dtypeName(each.value.dtype)] : [],
    );
    const [element] = dtypes;
    if (element === undefined || dtypes.length < given.length || new Set(dtypes).size > 1) return [];
    const members = [element, ...(BESIDE[element] ?? [])];
    return members.length > 1 ? [[element, { name: authorName(name), members, binder: name }] as const] : [];
  });
}

/** The element types of what `x.dtype` or `x_ptr.dtype.element_ty` is asked of. */
function askedFor(node: unknown): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  if (Array.isArray(node)) return node.flatMap(askedFor);
  const { kind, attr, value } = node as { readonly kind?: string; readonly attr?: string; readonly value?: Expression };
  if (kind === "Attribute" && value && (attr === "dtype" || attr === "element_ty" || attr === "type"))
    return isAccumulator(value) ? [] : [elementOf(value) ?? askedFor(value)].flat();
  return Object.entries(node).flatMap(([key, each]) => (key === "types" || key === "bound" ? [] : askedFor(each)));
}

/** A tile of float32 is most often what a kernel computes in, whatever its pointers have. */
const isAccumulator = (value: Expression): boolean => kindOf(value) === "tile" && elementOf(value) === "float32";
