/** Triton's Python as Gluon's. */
import type { WRITTEN_OUT } from "../pattern/gluon-language.js";
import * as py from "../../syntax/py-build.js";
import type { Block, Call, Expression } from "../../syntax/py.js";

/** What Gluon has no function for, as Triton defines it. */
const written: Readonly<Record<(typeof WRITTEN_OUT)[number], (x: Expression) => Expression>> = {
  sigmoid: (x) => {
    const one = py.number("1");
    return py.binary(one, "/", py.binary(one, "+", py.call("gl.exp", py.unary("-", x))));
  },
};

/** The same Python with Gluon's language in place of Triton's: `gl.exp` for `tl.exp`. */
export function toGluonDialect<T extends Block | Expression>(python: T): T {
  return renamed(python) as T;
}

function renamed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(renamed);
  if (typeof node !== "object" || node === null) return node;
  if ("kind" in node && node.kind === "name" && "id" in node && node.id === "tl") return { ...node, id: "gl" };
  const writes = writtenOut(node);
  if (writes) return writes;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "origin" ? value : renamed(value)]),
  );
}

function writtenOut(node: object): Expression | undefined {
  if (!("kind" in node) || node.kind !== "call") return undefined;
  const { callee, args } = node as Call;
  if (callee.kind !== "attribute" || callee.value.kind !== "name" || callee.value.id !== "tl") return undefined;
  const write = Object.entries(written).find(([name]) => name === callee.name)?.[1];
  return write && write(renamed(args[0]) as Expression);
}
