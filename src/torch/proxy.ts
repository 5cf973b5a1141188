/** Proxies for torch and for tensors, which record each call while an author's function runs. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { pythonName } from "../diagnostics/catalog/definition-codes.js";
import { referenceArgument, referenceCoercion } from "../diagnostics/catalog/reference-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type DTypeName, dtypeNames, dtypeTable, isDType } from "../types/dtype.js";
import { foreignToNumbers } from "../types/unsupported-names.js";
import { isPythonIdentifier } from "./python-identifiers.js";
import { recordOf } from "./functions.js";
import {
  type Launch,
  type NumberComparison,
  numberComparisons,
  type NumberOperator,
  numberOperators,
  type TorchArgument,
  type TorchNode,
} from "./node.js";

const NODE: unique symbol = Symbol("tilescript.torch");
const PATH: unique symbol = Symbol("tilescript.torch path");
/** Marks a proxy as a Python number. */
const NUMBER: unique symbol = Symbol("tilescript.torch number");

/** What a proxy stands for; undefined for anything else. */
export function nodeOf(x: unknown): TorchNode | undefined {
  return (typeof x === "object" || typeof x === "function") && x !== null
    ? (x as { [NODE]?: TorchNode })[NODE]
    : undefined;
}

/** Whether an author returned an object of results by name. */
export function isRecord(x: unknown): x is Record<string, unknown> {
  return typeof x === "object" && x !== null && nodeOf(x) === undefined && !(x instanceof Promise);
}

/** `torch` and its modules: a path until it is called. */
export function namespaceProxy(path: string, at: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === PATH) return path;
      if (typeof key === "symbol") return undefined;
      const name = identifier(key, "the name of a function", at);
      return namespaceProxy(path === "" ? name : `${path}.${name}`, at);
    },
    apply: (_, __, args: unknown[]) => {
      if (path === "") fail(referenceArgument.torchItself(), captureLocation() ?? at);
      if (Object.hasOwn(numberOperators, path) && args.length === 2 && args.every(isNumber))
        return numberProxy(arithmeticOf(path as NumberOperator, args, at), at);
      return tensorProxy(noted({ kind: "call", name: path, ...split(args, at), at: captureLocation() }), at);
    },
    set: () => assigned(at),
  });
}

/** A torch value. A property of it is an attribute until it is called, then a method. */
export function tensorProxy(node: TorchNode, at: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === NODE) return node;
      if (key === Symbol.toPrimitive)
        return (hint: string) =>
          fail(hint === "string" ? referenceCoercion.index() : referenceCoercion.tensor(), captureLocation() ?? at);
      // `const [values, indices] = torch.sort(x)`: as many as the author takes.
      if (key === Symbol.iterator) return () => itemsOf(node, at);
      if (typeof key === "symbol") return undefined;
      if (/^\d{1,9}$/.test(key)) return tensorProxy({ kind: "item", of: node, index: Number(key) }, at);
      if (key === "otherwise")
        return (fallback: unknown) =>
          tensorProxy({ kind: "otherwise", of: node, fallback: argument(fallback, at) }, at);
      const name = identifier(key, "the name of a method", at);
      const attribute = tensorProxy({ kind: "attribute", of: node, name }, at) as () => unknown;
      return new Proxy(attribute, {
        apply: (_target, __, args: unknown[]) => {
          const { args: positional, keywords } = split(args, at);
          const method = noted({
            kind: "method",
            name,
            args: [node, ...positional],
            keywords,
            at: captureLocation(),
          });
          return isTensorCall(method) ? tensorProxy(method, at) : numberProxy(method, at);
        },
      });
    },
    set: () => assigned(at),
  });
}

/** The number of results is unknown, so spreading them has to fail at some point. */
function* itemsOf(of: TorchNode, at: Location | undefined): Generator {
  for (let index = 0; index < MANY_ITEMS; index++) yield tensorProxy({ kind: "item", of, index }, at);
  fail(referenceCoercion.spread(), at);
}
const MANY_ITEMS = 16;

/** A Python number. Its methods are the operators, the comparisons, and the choice of one of two values. */
export function numberProxy(node: TorchNode, at: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === NODE) return node;
      if (key === NUMBER) return true;
      if (key === Symbol.toPrimitive) return () => fail(referenceCoercion.number(), captureLocation() ?? at);
      if (typeof key === "symbol") return undefined;
      if (key === "choose") return (then: unknown, otherwise: unknown) => chosen(node, then, otherwise, at);
      if (Object.hasOwn(numberComparisons, key))
        return (other: unknown) => numberProxy(comparisonOf(key as NumberComparison, [node, argument(other, at)]), at);
      if (Object.hasOwn(foreignToNumbers, key))
        fail(referenceArgument.foreign(key, foreignToNumbers[key as keyof typeof foreignToNumbers]), at);
      if (!Object.hasOwn(numberOperators, key)) fail(referenceArgument.method(key, NUMBER_METHODS), at);
      return (other: unknown) =>
        numberProxy(arithmeticOf(key as NumberOperator, [numberProxy(node, at), other], at), at);
    },
    set: () => assigned(at),
  });
}

function assigned(at: Location | undefined): never {
  fail(referenceCoercion.assigned(), captureLocation() ?? at);
}

function arithmeticOf(operator: NumberOperator, [x, y]: readonly unknown[], at: Location | undefined): TorchNode {
  return noted({ kind: "arithmetic", operator, args: [argument(x, at), argument(y, at)] });
}

function comparisonOf(operator: NumberComparison, args: readonly TorchArgument[]): TorchNode {
  return noted({ kind: "comparison", operator, args });
}

/** `tl.sub(1, BETA)` on numbers of a reference, with the operator's name; undefined for anything else. */
export function numberOperation(name: string, args: readonly unknown[]): unknown {
  if (args.length !== 2 || !args.every(isNumber) || !args.some((arg) => nodeOf(arg))) return undefined;
  const at = captureLocation();
  if (Object.hasOwn(numberOperators, name)) return numberProxy(arithmeticOf(name as NumberOperator, args, at), at);
  if (!Object.hasOwn(numberComparisons, name)) return undefined;
  const operands = args.map((arg) => argument(arg, at));
  return numberProxy(comparisonOf(name as NumberComparison, operands), at);
}

/** Whether it is a number in Python: a JavaScript number, or a recorded one. */
function isNumber(given: unknown): boolean {
  return typeof given === "number" || (nodeOf(given) !== undefined && (given as { [NUMBER]?: true })[NUMBER] === true);
}

const NUMBER_METHODS = [...Object.keys(numberOperators), ...Object.keys(numberComparisons), "choose"];

/** One of two tensors, or of two numbers. */
function chosen(condition: TorchNode, then: unknown, otherwise: unknown, at: Location | undefined): unknown {
  const ofNumbers = isNumber(then);
  if (ofNumbers !== isNumber(otherwise)) fail(referenceArgument.choose(), at);
  const node = noted({ kind: "choice", condition, then: argument(then, at), otherwise: argument(otherwise, at) });
  return ofNumbers ? numberProxy(node, at) : tensorProxy(node, at);
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
    keywords: Object.fromEntries(
      keywords.map(([key, value]) => [identifier(key, "the name of a keyword argument", at), argument(value, at)]),
    ),
  };
}

/** Checks a name that goes into Python as the author wrote it. Every such name passes through here. */
function identifier(name: string, what: string, at: Location | undefined): string {
  if (!isPythonIdentifier(name)) fail(pythonName.torch(name, what), captureLocation() ?? at);
  return name;
}

/** An expression that the author's code made, and where. */
export interface Made<Node extends TorchNode | Launch = TorchNode | Launch> {
  readonly node: Node;
  readonly at: Location | undefined;
}

let listener: ((made: Made) => void) | undefined;

/** Reports to `next` each call, operation and choice that `body` makes, in order. */
export function making<T>(next: (made: Made) => void, body: () => T): T {
  const before = listener;
  listener = next;
  try {
    return body();
  } finally {
    listener = before;
  }
}

/** Reports an expression, or a kernel's call, that the author's code made. */
export function noted<Node extends TorchNode | Launch>(node: Node): Node {
  listener?.({ node, at: ("at" in node ? node.at : undefined) ?? captureLocation() });
  return node;
}

/** Whether it is a call of torch that gives tensors, and not a Python number. */
export function isTensorCall(node: TorchNode): boolean {
  return node.kind === "call" || (node.kind === "method" && recordOf(node)?.number !== true);
}

/** The expressions that the dtype variables of the current function are read from. */
let dtypeVariables: Readonly<Record<string, TorchNode>> = {};

/** Runs `body`, in which dtype variables are read from these expressions. */
export function withVariables<T>(variables: Readonly<Record<string, TorchNode>>, body: () => T): T {
  // An operator's function may call kernels, and recording those records their references in between.
  const around = dtypeVariables;
  dtypeVariables = variables;
  try {
    return body();
  } finally {
    dtypeVariables = around;
  }
}

/** The objects of inputs that authors' functions take. */
export const allInputs = new WeakSet<object>();

/** Other names of PyTorch's for dtypes. */
const TORCH_NAMES: Readonly<Record<string, DTypeName>> = {
  half: "float16",
  float: "float32",
  double: "float64",
  int: "int32",
  long: "int64",
};

/** The dtype that PyTorch has under a name. */
const dtypeAt = (path: string): DTypeName | undefined =>
  TORCH_NAMES[path] ?? dtypeNames.find((name) => dtypeTable[name].torch === path);

/** An argument that the author passed, as data. */
export function argument(given: unknown, at: Location | undefined): TorchArgument {
  const node = nodeOf(given);
  if (node) return node;
  if (isDType(given)) {
    const holder = given.members
      ? dtypeVariables[given.name]
      : ({ kind: "dtype", name: given.name as DTypeName } as const);
    return holder ?? fail(referenceArgument.dtype(given.name), at);
  }
  // Python's None, which an argument that may be left out takes.
  if (given === undefined) return null;
  if (given === null || typeof given === "number" || typeof given === "boolean" || typeof given === "string")
    return given;
  if (Array.isArray(given)) return given.map((item) => argument(item, at));
  const path = typeof given === "function" ? (given as { [PATH]?: string })[PATH] : undefined;
  if (path !== undefined) fail(referenceArgument.path(path, dtypeAt(path)), at);
  if (typeof given === "object" && allInputs.has(given)) fail(referenceArgument.allInputs(), at);
  if (typeof given === "function") fail(referenceArgument.function(), at);
  fail(referenceArgument.kind(`a value of type ${typeof given}`), at);
}
