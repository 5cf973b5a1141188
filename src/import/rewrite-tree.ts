/** Trees with some of their nodes replaced. */
import type { Call, Expression, FunctionTree } from "./tree.js";

/** A node with what `visit` gives in place of its children. Types are no part of the tree. */
export const mapChildren = (node: object, visit: (each: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "types" || key === "known" ? value : visit(value)]),
  );

/** A node with what `replace` gives in place of nodes inside of it; undefined keeps one. */
export function replaceNodes<T>(node: T, replace: (node: object) => object | undefined): T {
  const visit = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(visit);
    if (typeof each !== "object" || each === null) return each;
    return mapChildren(replace(each) ?? each, visit);
  };
  return visit(node) as T;
}

/** A function in which a call's arguments are the same nodes by their places and by their names. */
export function memoizeByPosition(node: FunctionTree): FunctionTree {
  const visit = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(visit);
    if (typeof each !== "object" || each === null) return each;
    const made = mapChildren(each, visit) as Call;
    if (!("bound" in each) || !made.bound) return made;
    const receiver = made.func.kind === "Attribute" ? [made.func.value] : [];
    const all = [...receiver, ...made.args, ...made.keywords.map(({ value }) => value)];
    const given = new Map(all.map((arg) => [textOf(arg), arg]));
    const same = (arg: Expression): Expression => given.get(textOf(arg)) ?? arg;
    const bound = Object.entries(made.bound).map(([name, arg]) => [name, "kind" in arg ? same(arg) : arg.map(same)]);
    return { ...made, bound: Object.fromEntries(bound) as Call["bound"] };
  };
  return visit(node) as FunctionTree;
}

const textOf = (node: Expression): string => JSON.stringify(node);

/** A call with these arguments, all by name. */
export const withArguments = (call: Call, bound: NonNullable<Call["bound"]>): Call => ({
  ...call,
  bound,
  args: Object.values(bound).flat() as readonly Expression[],
  keywords: [],
});
