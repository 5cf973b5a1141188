/** Rewrites syntax trees. */
import type { Call, Expression, FunctionTree } from "./tree.js";

/** Copies a node and maps its children. Types are copied unchanged. */
const mapChildren = (node: object, visit: (child: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "types" || key === "known" ? value : visit(value)]),
  );

/** Replaces nodes recursively. A node is kept if `replace` returns undefined. */
export function replaceNodes<T>(node: T, replace: (node: object) => object | undefined): T {
  const visit = (child: unknown): unknown => {
    if (Array.isArray(child)) return child.map(visit);
    if (typeof child !== "object" || child === null) return child;
    return mapChildren(replace(child) ?? child, visit);
  };
  return visit(node) as T;
}

/** Makes `args` and `bound` of each call refer to the same node objects. */
export function memoizeByPosition(node: FunctionTree): FunctionTree {
  const visit = (child: unknown): unknown => {
    if (Array.isArray(child)) return child.map(visit);
    if (typeof child !== "object" || child === null) return child;
    const copy = mapChildren(child, visit) as Call;
    if (!("bound" in child) || !copy.bound) return copy;
    const receiver = copy.func.kind === "Attribute" ? [copy.func.value] : [];
    const args = [...receiver, ...copy.args, ...copy.keywords.map(({ value }) => value)];
    const argsByText = new Map(args.map((arg) => [textOf(arg), arg]));
    const canonicalArg = (arg: Expression): Expression => argsByText.get(textOf(arg)) ?? arg;
    const bound = Object.entries(copy.bound).map(([name, arg]) => [
      name,
      "kind" in arg ? canonicalArg(arg) : arg.map(canonicalArg),
    ]);
    return { ...copy, bound: Object.fromEntries(bound) as Call["bound"] };
  };
  return visit(node) as FunctionTree;
}

const textOf = (node: Expression): string => JSON.stringify(node);

/** Replaces the arguments of a call. All arguments become named. */
export const withArguments = (call: Call, bound: NonNullable<Call["bound"]>): Call => ({
  ...call,
  bound,
  args: Object.values(bound).flat() as readonly Expression[],
  keywords: [],
});
