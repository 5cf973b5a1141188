/** Records the torch expression that an author writes as a kernel's reference. */
import { fail, type Location } from "../diagnostics.js";
import { captureLocation } from "../ir/callsite.js";
import { type DTypeName, isDType } from "../ir/dtype.js";
import type { Reference, TorchArgument, TorchNode } from "../ir/reference.js";

const NODE: unique symbol = Symbol("tilescript.torch");

/** Python source for a reference that the recorder has no words for: the body of `reference_fn`. */
export function python(
  parts: TemplateStringsArray,
  ...values: readonly (string | number)[]
): { readonly source: string } {
  return { source: String.raw({ raw: parts.raw }, ...values) };
}

type Author = (inputs: Readonly<Record<string, unknown>>, torch: unknown) => unknown;

/** Calls the author's function with proxies that write down what is asked of them. */
export function recordReference(
  author: Author | { readonly source: string } | undefined,
  inputs: readonly string[],
  outputs: readonly string[],
  at: Location | undefined,
  variables: Readonly<Record<string, TorchNode>> = {},
): Reference | undefined {
  if (author === undefined) return undefined;
  if (typeof author !== "function") return { kind: "python", source: dedent(author.source) };
  dtypeVariables = variables;
  const given = Object.fromEntries(inputs.map((name) => [name, tensorProxy({ kind: "input", name }, at)]));
  const result = author(given, namespaceProxy("", at));
  const list = Array.isArray(result) ? result : isRecord(result) ? outputs.map((name) => result[name]) : [result];
  if (list.length !== outputs.length)
    fail(
      "reference",
      `reference: gives ${list.length} results, the kernel has ${outputs.length} outputs (${outputs.join(", ")})`,
      at,
    );
  return { kind: "recorded", outputs: list.map((item, i) => outputNode(item, outputs[i]!, at)) };
}

function outputNode(item: unknown, name: string, at: Location | undefined): TorchNode {
  const node = nodeOf(item);
  if (node === undefined)
    fail("reference", `reference: gives no torch expression for ${name}; return one, such as torch.matmul(a, b)`, at);
  return node;
}

function isRecord(x: unknown): x is Record<string, unknown> {
  return typeof x === "object" && x !== null && nodeOf(x) === undefined;
}

function nodeOf(x: unknown): TorchNode | undefined {
  return (typeof x === "object" || typeof x === "function") && x !== null
    ? (x as { [NODE]?: TorchNode })[NODE]
    : undefined;
}

/** `torch` and its modules: a path until it is called. */
function namespaceProxy(path: string, at: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => (typeof key === "symbol" ? undefined : namespaceProxy(path === "" ? key : `${path}.${key}`, at)),
    apply: (_, __, args: unknown[]) =>
      tensorProxy({ kind: "call", name: path, ...split(args, at), at: captureLocation() }, at),
  });
}

/** Functions of torch that give several values give two: values and indices. */
const MOST_ITEMS = 2;

/** A torch value. A property of it is an attribute until it is called, then a method. */
function tensorProxy(node: TorchNode, at: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === NODE) return node;
      if (key === Symbol.toPrimitive)
        fail(
          "reference",
          "reference: JavaScript cannot compute with a torch value; use its methods, such as .add(…)",
          at,
        );
      if (key === Symbol.iterator) return () => itemsOf(node, at);
      if (typeof key === "symbol") return undefined;
      if (/^\d+$/.test(key)) return tensorProxy({ kind: "item", of: node, index: Number(key) }, at);
      const attribute = tensorProxy({ kind: "attribute", of: node, name: key }, at) as () => unknown;
      return new Proxy(attribute, {
        apply: (_target, __, args: unknown[]) => {
          const { args: positional, keywords } = split(args, at);
          const call = { name: key, args: [node, ...positional], keywords, at: captureLocation() };
          return tensorProxy({ kind: "method", ...call }, at);
        },
      });
    },
  });
}

/** `const [values, indices] = torch.sort(x)` */
function* itemsOf(of: TorchNode, at: Location | undefined): Generator<unknown, void> {
  for (let index = 0; index < MOST_ITEMS; index++) yield tensorProxy({ kind: "item", of, index }, at);
}

/** A trailing object becomes keyword arguments. */
function split(args: readonly unknown[], at: Location | undefined) {
  const last = args.at(-1);
  const isKeywords = typeof last === "object" && last !== null && !Array.isArray(last) && nodeOf(last) === undefined;
  const positional = isKeywords ? args.slice(0, -1) : args;
  const keywords = Object.entries(isKeywords ? (last as object) : {}).filter(([, value]) => value !== undefined);
  return {
    args: positional.map((arg) => argument(arg, at)),
    keywords: Object.fromEntries(keywords.map(([key, value]) => [key, argument(value, at)])),
  };
}

/** Where the dtype variables of the kernel that is being recorded are read off. */
let dtypeVariables: Readonly<Record<string, TorchNode>> = {};

function argument(given: unknown, at: Location | undefined): TorchArgument {
  const node = nodeOf(given);
  if (node) return node;
  if (isDType(given)) {
    const holder = given.members
      ? dtypeVariables[given.name]
      : ({ kind: "dtype", name: given.name as DTypeName } as const);
    return holder ?? fail("reference", `reference: no input and no constexpr has the dtype ${given.name}`, at);
  }
  if (given === null || typeof given === "number" || typeof given === "boolean" || typeof given === "string")
    return given;
  if (Array.isArray(given)) return given.map((item) => argument(item, at));
  fail("reference", "reference: an argument is a torch value, a number, a boolean, a string or a list of these", at);
}

/** Removes the indentation that the template has in the author's file. */
function dedent(source: string): string {
  const lines = source.replace(/^\n/, "").trimEnd().split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^ */.exec(line)![0].length);
  const indent = Math.min(...indents, Infinity);
  return lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0)).join("\n");
}
