/** Finds constants that are sizes or strides of tensors, by their uses in the kernel. */
import { childrenOf, readNames } from "../liveness.js";
import type { Call, Comparison, Expression } from "../tree.js";
import { rankOf } from "../value.js";

/**
 * Constants that masks or block pointers use as sizes, and constants that multiply a tile of several axes or another
 * stride. Tile lengths are excluded from the products, because `program * BLOCK` is an index.
 */
export function strideConstantsOf(
  body: object,
  constants: ReadonlySet<string>,
  numbers: ReadonlySet<string>,
): ReadonlySet<string> {
  const result = new Set([...constants].filter((name) => isSizeBound(body, name)));
  const lengths = new Set(
    callsOf(body, "tl.arange").flatMap(({ args, keywords }) => [...readNames({ args, keywords })]),
  );
  const products = productsIn(body).map((factors) => ({
    names: factors.flatMap((each) => (each.kind === "Name" ? [each.id] : [])),
    isTile: factors.some((each) => (rankOf(each) ?? 0) > 1),
  }));
  const constantsIn = (names: readonly string[]): readonly string[] => names.filter((name) => constants.has(name));
  for (const { names, isTile } of products) {
    const strides = constantsIn(names).filter((name) => !lengths.has(name));
    const [first, ...others] = constantsIn(names);
    if (isTile) for (const name of strides) result.add(name);
    // A row stride may equal the length of the only tile.
    if (isTile && strides.length === 0 && first !== undefined && others.length === 0) result.add(first);
  }
  const isStride = (name: string): boolean => result.has(name) || numbers.has(name);
  for (const { names } of products)
    if (names.some(isStride)) for (const name of constantsIn(names)) if (!lengths.has(name)) result.add(name);
  return result;
}

/** True if a comparison has the name as its bound, or a block pointer has it as a size. */
function isSizeBound(node: object, name: string): boolean {
  const isName = (each: Expression | undefined): boolean => each?.kind === "Name" && each.id === name;
  if ("kind" in node && node.kind === "Compare" && (node as Comparison).comparators.some(isName)) return true;
  const within = ("within" in node ? node.within : []) as NonNullable<Call["within"]>;
  return within.some(({ size }) => isName(size)) || childrenOf(node).some((each) => isSizeBound(each, name));
}

function callsOf(node: object, callee: string): readonly Call[] {
  const call = "kind" in node && node.kind === "Call" ? (node as Call) : undefined;
  const isMatch = call?.callee?.what === "function" && call.callee.name === callee;
  return [...(isMatch ? [call] : []), ...childrenOf(node).flatMap((each) => callsOf(each, callee))];
}

/** The factors of each product, flattened. */
function productsIn(node: object): readonly (readonly Expression[])[] {
  const factors = "kind" in node ? factorsOf(node as Expression) : [];
  if (factors.length < 2) return childrenOf(node).flatMap(productsIn);
  return [factors, ...factors.flatMap(productsIn)];
}

const factorsOf = (node: Expression): readonly Expression[] =>
  node.kind === "BinOp" && node.op === "Mult" ? [...factorsOf(node.left), ...factorsOf(node.right)] : [node];
