/** Flags of a kernel that say whether a pointer is given: `HAS_BIAS`, where every access of `bias_ptr` is under it. */
import { childrenOf, reads } from "./liveness.js";
import type { GivenArgument, KernelTree } from "./tree.js";

/** The pointers of each such flag, by their Python names. */
export function givenFlags({ functions: [kernel], signatures }: KernelTree): ReadonlyMap<string, readonly string[]> {
  const patternOf = (name: string, of: (given: GivenArgument) => boolean): string =>
    signatures.map((signature) => Number(of(signature[name]!))).join("");
  const params = kernel!.params.map(({ name }) => name);
  const isPointer = (name: string): boolean => signatures.some((signature) => signature[name]?.kind === "pointer");
  const pointers = params
    .filter(isPointer)
    .map((name) => ({ name, pattern: patternOf(name, ({ kind }) => kind === "pointer") }))
    .filter(({ pattern }) => pattern.includes("0"));
  const found = new Map<string, readonly string[]>();
  if (pointers.length === 0) return found;
  for (const flag of params) {
    if (!signatures.every((signature) => isFlag(signature[flag]!))) continue;
    const pattern = patternOf(flag, isTrue);
    const own = pointers.filter((each) => each.pattern === pattern && isUnder(kernel!.body, each.name, flag));
    if (own.length > 0)
      found.set(
        flag,
        own.map(({ name }) => name),
      );
  }
  return found;
}

const isFlag = (given: GivenArgument): boolean =>
  given.kind === "constant" && given.value.what === "constant" && given.value.of === "bool";
const isTrue = (given: GivenArgument): boolean =>
  given.kind === "constant" && given.value.what === "constant" && given.value.value === true;

/** Whether a name is read at all, and only where a condition asks for the flag. */
function isUnder(body: readonly object[], name: string, flag: string): boolean {
  const isOutside = (node: object): boolean => {
    if ("test" in node && typeof node.test === "object" && node.test !== null && reads(node.test).has(flag))
      return false;
    return ("id" in node && node.id === name) || childrenOf(node).some(isOutside);
  };
  return body.some((node) => reads(node).has(name)) && !body.some(isOutside);
}
