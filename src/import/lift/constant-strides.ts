/** Constants of a kernel that are sizes or strides of its tensors, by how the kernel uses them. */
import { childrenOf, reads } from "../liveness.js";
import type { Call, Comparison, Expression } from "../tree.js";
import { rankOf } from "../value.js";

/**
 * Constants that masks or block pointers take for sizes, and those that multiply what spans several axes, or multiply a
 * stride. The length of a tile is none of the latter: `program * BLOCK` is an index.
 */
export function widthsOf(
  body: object,
  constants: ReadonlySet<string>,
  numbers: ReadonlySet<string>,
): ReadonlySet<string> {
  const found = new Set([...constants].filter((name) => isBound(body, name)));
  const lengths = new Set(callsOf(body, "tl.arange").flatMap(({ args, keywords }) => [...reads({ args, keywords })]));
  const products = productsIn(body).map((factors) => ({
    names: factors.flatMap((each) => (each.kind === "Name" ? [each.id] : [])),
    isTile: factors.some((each) => (rankOf(each) ?? 0) > 1),
  }));
  const among = (names: readonly string[]): readonly string[] => names.filter((name) => constants.has(name));
  for (const { names, isTile } of products) {
    const strides = among(names).filter((name) => !lengths.has(name));
    const [only, ...others] = among(names);
    if (isTile) for (const name of strides) found.add(name);
    // A row that is one tile wide.
    if (isTile && strides.length === 0 && only !== undefined && others.length === 0) found.add(only);
  }
  const isStride = (name: string): boolean => found.has(name) || numbers.has(name);
  for (const { names } of products)
    if (names.some(isStride)) for (const name of among(names)) if (!lengths.has(name)) found.add(name);
  return found;
}

/** Whether a comparison has the name as its bound, or a block pointer has it as a size. */
function isBound(node: object, name: string): boolean {
  const isName = (each: Expression | undefined): boolean => each?.kind === "Name" && each.id === name;
  if ("kind" in node && node.kind === "Compare" && (node as Comparison).comparators.some(isName)) return true;
  const within = ("within" in node ? node.within : []) as NonNullable<Call["within"]>;
  return within.some(({ size }) => isName(size)) || childrenOf(node).some((each) => isBound(each, name));
}

function callsOf(node: object, callee: string): readonly Call[] {
  const call = "kind" in node && node.kind === "Call" ? (node as Call) : undefined;
  const isOne = call?.callee?.what === "function" && call.callee.name === callee;
  return [...(isOne ? [call] : []), ...childrenOf(node).flatMap((each) => callsOf(each, callee))];
}

/** The factors of each product, of which none is a product. */
function productsIn(node: object): readonly (readonly Expression[])[] {
  const factors = "kind" in node ? factorsOf(node as Expression) : [];
  if (factors.length < 2) return childrenOf(node).flatMap(productsIn);
  return [factors, ...factors.flatMap(productsIn)];
}

const factorsOf = (node: Expression): readonly Expression[] =>
  node.kind === "BinOp" && node.op === "Mult" ? [...factorsOf(node.left), ...factorsOf(node.right)] : [node];
