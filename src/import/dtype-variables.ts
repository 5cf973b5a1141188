/** The dtype variables of a kernel file: dtypes that differ between calls. */
import { authorName } from "./author-name.js";
import { writtenNames } from "./liveness.js";
import { argumentsOf, type Expression, type KernelTree } from "./tree.js";
import { dtypeName, elementOf, elementText, kindOf } from "./value.js";

export interface DTypeVariable {
  readonly name: string;
  readonly members: readonly string[];
  /** The constant of the kernel that binds the variable, if any. */
  readonly binder?: string;
}

/** Additional dtypes of a variable whose dtype the kernel queries. */
const ALTERNATIVE_DTYPES: Readonly<Record<string, readonly string[]>> = {
  float16: ["bfloat16"],
  bfloat16: ["float16"],
  float32: ["float16", "bfloat16"],
};

/**
 * Variables for the dtypes of pointers and descriptors, by element type. A dtype becomes a variable if it differs
 * between calls, or if the kernel queries it or accepts it as a constant.
 */
export function dtypeVariables(tree: KernelTree): ReadonlyMap<string, DTypeVariable> {
  const { functions } = tree;
  const elements = functions[0].params.flatMap(({ name }) => {
    const dtypes = argumentsOf(tree, name).flatMap((arg) =>
      arg.kind === "pointer" || arg.kind === "descriptor" ? [dtypeName(arg.dtype)] : [],
    );
    return dtypes.length > 0 ? [elementText(dtypes)] : [];
  });
  const queriedElements = new Set(functions.flatMap(({ body }) => queriedElementTypes(body)));
  const candidates = [...new Set(elements)].flatMap((element) => {
    const members = [
      ...element.split(" "),
      ...(queriedElements.has(element) ? (ALTERNATIVE_DTYPES[element] ?? []) : []),
    ];
    return members.length > 1 ? [[element, members] as const] : [];
  });
  const boundVariables = bindersOf(tree).filter(([element]) => elements.includes(element));
  const freeVariables = candidates.filter(([element]) => !boundVariables.some(([other]) => other === element));
  const usedNames = new Set(
    functions.flatMap(({ params, body }) => [...params.map(({ name }) => name), ...writtenNames(body)]),
  );
  const variableName = (i: number): string => {
    const number = freeVariables.length === 1 ? "" : String(i + 1);
    return (
      ["T", "DT", "Element"].map((letter) => letter + number).find((name) => !usedNames.has(name)) ?? `Type${i + 1}`
    );
  };
  return new Map<string, DTypeVariable>([
    ...boundVariables,
    ...freeVariables.map(([element, members], i) => [element, { name: variableName(i), members }] as const),
  ]);
}

/** Variables that a constant of the kernel binds. The constant must have the same dtype in all calls. */
function bindersOf(tree: KernelTree): readonly (readonly [string, DTypeVariable])[] {
  return tree.functions[0].params.flatMap(({ name }) => {
    const args = argumentsOf(tree, name);
    const dtypes = args.flatMap((arg) =>
      arg.kind === "constant" && arg.value.what === "dtype" ? [dtypeName(arg.value.dtype)] : [],
    );
    const [element] = dtypes;
    if (element === undefined || dtypes.length < args.length || new Set(dtypes).size > 1) return [];
    const members = [element, ...(ALTERNATIVE_DTYPES[element] ?? [])];
    return members.length > 1 ? [[element, { name: authorName(name), members, binder: name }] as const] : [];
  });
}

/** The element types of the operands of `x.dtype` and `x_ptr.dtype.element_ty`. */
function queriedElementTypes(node: unknown): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  if (Array.isArray(node)) return node.flatMap(queriedElementTypes);
  const { kind, attr, value } = node as { readonly kind?: string; readonly attr?: string; readonly value?: Expression };
  if (kind === "Attribute" && value && (attr === "dtype" || attr === "element_ty" || attr === "type"))
    return isAccumulator(value) ? [] : [elementOf(value) ?? queriedElementTypes(value)].flat();
  return Object.entries(node).flatMap(([key, child]) =>
    key === "types" || key === "bound" ? [] : queriedElementTypes(child),
  );
}

/** A heuristic: kernels usually accumulate in a float32 tile, independent of the dtypes of their pointers. */
const isAccumulator = (value: Expression): boolean => kindOf(value) === "tile" && elementOf(value) === "float32";
