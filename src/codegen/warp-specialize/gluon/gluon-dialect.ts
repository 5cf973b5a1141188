/** Converts Triton's Python to Gluon's. */
import type { EXPANDED } from "../pattern/gluon-language.js";
import { SWIZZLE_2D } from "./helpers.js";
import * as py from "../../syntax/py-build.js";
import type { Block, Call, Expression } from "../../syntax/py.js";

/** Definitions of functions that Gluon lacks, as in Triton. */
const EXPANSIONS: Readonly<Record<(typeof EXPANDED)[number], (...args: readonly Expression[]) => Expression>> = {
  sigmoid: (x) => {
    const one = py.number("1");
    return py.binary(one, "/", py.binary(one, "+", py.call("gl.exp", py.unary("-", x!))));
  },
  swizzle2d: (...args) => py.call(SWIZZLE_2D, ...args),
};

/** The same code with Gluon's module instead of Triton's: `gl.exp` for `tl.exp`. */
export function toGluonDialect<T extends Block | Expression>(python: T): T {
  return toGluon(python) as T;
}

function toGluon(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toGluon);
  if (typeof node !== "object" || node === null) return node;
  if ("kind" in node && node.kind === "name" && "id" in node && node.id === "tl") return { ...node, id: "gl" };
  const expansion = expandCall(node);
  if (expansion) return expansion;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "origin" ? value : toGluon(value)]),
  );
}

function expandCall(node: object): Expression | undefined {
  if (!("kind" in node) || node.kind !== "call") return undefined;
  const { callee, args } = node as Call;
  if (callee.kind !== "attribute" || callee.value.kind !== "name" || callee.value.id !== "tl") return undefined;
  const expand = Object.entries(EXPANSIONS).find(([name]) => name === callee.name)?.[1];
  return expand && expand(...(toGluon(args) as readonly Expression[]));
}
