/**
 * Signs that a parameter is optional: presence flags, such as `HAS_BIAS`, which are true exactly if a pointer such as
 * `bias_ptr` is passed; and comparisons with None. The recorded calls or a heuristic show what a flag depends on.
 */
import { childrenOf, readNames } from "./liveness.js";
import { argumentsOf, type LaunchArgument, type KernelTree } from "./tree.js";

/** The pointers of each presence flag, by Python name. */
export function presenceFlags(tree: KernelTree): ReadonlyMap<string, readonly string[]> {
  const [kernel] = tree.functions;
  const patternOf = (name: string, test: (arg: LaunchArgument) => boolean): string =>
    argumentsOf(tree, name)
      .map((arg) => Number(test(arg)))
      .join("");
  const params = kernel.params.map(({ name }) => name);
  const pointers = params.map((name) => ({ name, pattern: patternOf(name, ({ kind }) => kind === "pointer") }));
  const isTested = (pointer: string, flag: string): boolean => {
    const heuristic = tree.tuning.heuristics[flag];
    return heuristic !== undefined && "given" in heuristic && heuristic.given === pointer;
  };
  const flags = new Map<string, readonly string[]>();
  for (const flag of params) {
    if (!argumentsOf(tree, flag).every(isFlag)) continue;
    const pattern = patternOf(flag, isTrue);
    const differs = pattern.includes("0") && pattern.includes("1");
    const guarded = pointers.filter(
      (pointer) =>
        pointer.pattern === pattern &&
        (differs || (pattern.includes("1") && isTested(pointer.name, flag))) &&
        isGuardedBy(kernel.body, pointer.name, flag),
    );
    if (guarded.length > 0)
      flags.set(
        flag,
        guarded.map(({ name }) => name),
      );
  }
  return flags;
}

const isFlag = (arg: LaunchArgument): boolean =>
  arg.kind === "constant" && arg.value.what === "constant" && arg.value.of === "bool";
const isTrue = (arg: LaunchArgument): boolean =>
  arg.kind === "constant" && arg.value.what === "constant" && arg.value.value === true;

/** True if a name is read, and only in branches whose condition reads the flag. */
function isGuardedBy(body: readonly object[], name: string, flag: string): boolean {
  const isReadOutside = (node: object): boolean => {
    if ("test" in node && typeof node.test === "object" && node.test !== null && readNames(node.test).has(flag))
      return false;
    return ("id" in node && node.id === name) || childrenOf(node).some(isReadOutside);
  };
  return body.some((node) => readNames(node).has(name)) && !body.some(isReadOutside);
}

/** The names that are compared with None. */
export function namesComparedWithNone(body: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof body !== "object" || body === null) return names;
  if (Array.isArray(body)) {
    for (const each of body) namesComparedWithNone(each, names);
    return names;
  }
  const node = body as Readonly<Record<string, unknown>>;
  if (node["kind"] === "Compare") {
    const { left: lhs, comparators } = node as {
      left: { kind: string; id?: string };
      comparators: readonly { kind: string; of?: string }[];
    };
    if (lhs.kind === "Name" && lhs.id !== undefined && comparators.some(({ of }) => of === "NoneType"))
      names.add(lhs.id);
  }
  for (const [key, value] of Object.entries(node))
    if (key !== "types" && key !== "bound") namesComparedWithNone(value, names);
  return names;
}
