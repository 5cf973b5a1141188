/** Records the torch expressions that an author writes: a kernel's reference, and inputs of its own. */
import { fail, type Location } from "../diagnostics.js";
import { captureLocation } from "../ir/callsite.js";
import { type DTypeName, isDType } from "../ir/dtype.js";
import { numberOperators, type NumberOperator } from "../ir/reference.js";
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

/** What an author's function is given besides torch. */
export interface Recorded {
  readonly tensors: readonly string[];
  /** Sizes, scalars and constexprs: numbers of Python. */
  readonly numbers: readonly string[];
  /** How each dtype variable is read off the arguments. */
  readonly variables?: Readonly<Record<string, TorchNode>>;
}

/** Calls the author's function with proxies that write down what is asked of them. */
export function recordReference(
  author: Author | { readonly source: string } | undefined,
  given: Recorded,
  outputs: readonly string[],
  at: Location | undefined,
): Reference | undefined {
  if (author === undefined) return undefined;
  if (typeof author !== "function") return { kind: "python", source: dedent(author.source) };
  const result = record(author, given, at);
  const node = nodeOf(result);
  const list = Array.isArray(result)
    ? result
    : isRecord(result)
      ? outputs.map((name) => result[name])
      : node && outputs.length > 1
        ? outputs.map((_, index) => tensorProxy({ kind: "item", of: node, index }, at))
        : [result];
  if (list.length !== outputs.length)
    fail(
      "reference",
      `reference: gives ${list.length} results, the kernel has ${outputs.length} outputs (${outputs.join(", ")})`,
      at,
    );
  return { kind: "recorded", outputs: list.map((item, i) => outputNode(item, outputs[i]!, at)) };
}

/**
 * The inputs that an author describes, by name.
 *
 * @throws TileScriptError if one is no tensor that the kernel reads.
 */
export function recordInputs(
  author: Author,
  given: Recorded,
  names: readonly string[],
  at: Location | undefined,
): Readonly<Record<string, TorchNode>> {
  const result = record(author, given, at);
  if (!isRecord(result))
    fail("inputs", "inputs: return an object of tensors by name, such as { index: torch.randint(0, N, [M]) }", at);
  const drawn = Object.entries(result).map(([name, item]) => {
    if (!names.includes(name))
      fail("inputs", `inputs: ${name} is no tensor that the kernel reads; those are ${names.join(", ")}`, at);
    const node = nodeOf(item);
    return [
      name,
      node ?? fail("inputs", `inputs: ${name} is no torch expression, such as torch.rand([N])`, at),
    ] as const;
  });
  return Object.fromEntries(drawn);
}

function record(author: Author, { tensors, numbers, variables = {} }: Recorded, at: Location | undefined): unknown {
  dtypeVariables = variables;
  return author(
    Object.fromEntries([
      ...tensors.map((name) => [name, tensorProxy({ kind: "input", name }, at)]),
      ...numbers.map((name) => [name, numberProxy({ kind: "input", name }, at)]),
    ]),
    namespaceProxy("", at),
  );
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
      // `const [values, indices] = torch.sort(x)`: as many as the author takes.
      if (key === Symbol.iterator) return () => itemsOf(node, at);
      if (typeof key === "symbol") return undefined;
      if (/^\d+$/.test(key)) return tensorProxy({ kind: "item", of: node, index: Number(key) }, at);
      if (key === "otherwise")
        return (fallback: unknown) =>
          tensorProxy({ kind: "otherwise", of: node, fallback: argument(fallback, at) }, at);
      const attribute = tensorProxy({ kind: "attribute", of: node, name: key }, at) as () => unknown;
      return new Proxy(attribute, {
        apply: (_target, __, args: unknown[]) => {
          const { args: positional, keywords } = split(args, at);
          const method = { kind: "method", name: key, args: [node, ...positional], keywords } as const;
          return key === "size" ? numberProxy(method, at) : tensorProxy({ ...method, at: captureLocation() }, at);
        },
      });
    },
  });
}

/** Nobody says how many there are, so spreading has to end. */
function* itemsOf(of: TorchNode, at: Location | undefined): Generator {
  for (let index = 0; index < MANY_ITEMS; index++) yield tensorProxy({ kind: "item", of, index }, at);
  fail(
    "reference",
    "reference: a torch value cannot be spread; take its items, as in const [a, b] = torch.sort(x)",
    at,
  );
}
const MANY_ITEMS = 16;

/** A number of Python: its methods are the operators. */
function numberProxy(node: TorchNode, at: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === NODE) return node;
      if (key === Symbol.toPrimitive)
        fail("reference", "reference: JavaScript cannot compute with a recorded number; use .add(…), .mul(…)", at);
      if (typeof key === "symbol") return undefined;
      if (!Object.hasOwn(numberOperators, key))
        fail("reference", `reference: a number has no .${key}; it has ${Object.keys(numberOperators).join(", ")}`, at);
      return (other: unknown) =>
        numberProxy({ kind: "arithmetic", operator: key as NumberOperator, args: [node, argument(other, at)] }, at);
    },
  });
}

/** A trailing object becomes keyword arguments. */
function split(args: readonly unknown[], at: Location | undefined) {
  const last = args.at(-1);
  const isObject = typeof last === "object" && last !== null && !Array.isArray(last);
  const isKeywords = isObject && nodeOf(last) === undefined && !isDType(last);
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
