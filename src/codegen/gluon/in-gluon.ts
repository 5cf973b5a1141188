/** Triton's Python as Gluon's. */
import type { Block, Expression } from "../python/py.js";

/** The same Python with Gluon's language in place of Triton's: `gl.exp` for `tl.exp`. */
export function inGluon<T extends Block | Expression>(python: T): T {
  return renamed(python) as T;
}

function renamed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(renamed);
  if (typeof node !== "object" || node === null) return node;
  if ("kind" in node && node.kind === "name" && "id" in node && node.id === "tl") return { ...node, id: "gl" };
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "origin" ? value : renamed(value)]),
  );
}
