/** Proxies for torch and for tensors. They record each call while an author's function runs. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { pythonName } from "../diagnostics/catalog/definition-codes.js";
import { referenceArgument, referenceCoercion } from "../diagnostics/catalog/reference-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type DTypeName, dtypeNames, dtypeTable, isDType } from "../types/dtype.js";
import { foreignToNumbers } from "../types/unsupported-names.js";
import { recordOf } from "./functions.js";
import {
  type Launch,
  type NumberComparison,
  numberComparisons,
  type NumberOperator,
  numberOperators,
  type OperandPair,
  type TorchArgument,
  type TorchNode,
  isPythonIdentifier,
} from "./node.js";

const NODE: unique symbol = Symbol("tilescript.torch");
const PATH: unique symbol = Symbol("tilescript.torch path");
/** Marks a proxy as a Python number. */
const NUMBER: unique symbol = Symbol("tilescript.torch number");

/** The expression of a proxy. Undefined for other values. */
export function nodeOf(x: unknown): TorchNode | undefined {
  return (typeof x === "object" || typeof x === "function") && x !== null
    ? (x as { [NODE]?: TorchNode })[NODE]
    : undefined;
}

/** True if an author's function returned an object of results by name. */
export function isRecord(x: unknown): x is Record<string, unknown> {
  return typeof x === "object" && x !== null && nodeOf(x) === undefined && !(x instanceof Promise);
}

/** `torch` and its modules: a path until it is called. */
export function namespaceProxy(path: string, location: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === PATH) return path;
      if (typeof key === "symbol") return undefined;
      const name = identifier(key, "the name of a function", location);
      return namespaceProxy(path === "" ? name : `${path}.${name}`, location);
    },
    apply: (_, __, args: unknown[]) => {
      if (path === "") fail(referenceArgument.torchItself(), captureLocation() ?? location);
      const operands = numberOperands(args, location);
      if (operands && Object.hasOwn(numberOperators, path))
        return numberProxy(arithmeticOf(path as NumberOperator, operands), location);
      return tensorProxy(
        reportNode({ kind: "call", name: path, ...splitArguments(args, location), at: captureLocation() }),
        location,
      );
    },
    set: () => failAssignment(location),
  });
}

/** A torch value. A property is an attribute until it is called; then it is a method. */
export function tensorProxy(node: TorchNode, location: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === NODE) return node;
      if (key === Symbol.toPrimitive)
        return (hint: string) =>
          fail(
            hint === "string" ? referenceCoercion.index() : referenceCoercion.tensor(),
            captureLocation() ?? location,
          );
      // `const [values, indices] = torch.sort(x)`: as many items as the author destructures.
      if (key === Symbol.iterator) return () => itemsOf(node, location);
      if (typeof key === "symbol") return undefined;
      if (/^\d{1,9}$/.test(key)) return tensorProxy({ kind: "item", of: node, index: Number(key) }, location);
      if (key === "otherwise")
        return (fallback: unknown) =>
          tensorProxy({ kind: "otherwise", of: node, fallback: argument(fallback, location) }, location);
      const name = identifier(key, "the name of a method", location);
      const attribute = tensorProxy({ kind: "attribute", of: node, name }, location) as () => unknown;
      return new Proxy(attribute, {
        apply: (_target, __, args: unknown[]) => {
          const { args: positional, keywords } = splitArguments(args, location);
          const method = reportNode({
            kind: "method",
            name,
            args: [node, ...positional],
            keywords,
            at: captureLocation(),
          });
          return isTensorCall(method) ? tensorProxy(method, location) : numberProxy(method, location);
        },
      });
    },
    set: () => failAssignment(location),
  });
}

/** The items of multiple results. Their number is unknown, so spreading them has to fail at some point. */
function* itemsOf(node: TorchNode, location: Location | undefined): Generator {
  for (let index = 0; index < MANY_ITEMS; index++) yield tensorProxy({ kind: "item", of: node, index }, location);
  fail(referenceCoercion.spread(), location);
}
const MANY_ITEMS = 16;

/** A Python number. Its methods are operators, comparisons, and `choose`. */
export function numberProxy(node: TorchNode, location: Location | undefined): unknown {
  return new Proxy(() => undefined, {
    get: (_, key) => {
      if (key === NODE) return node;
      if (key === NUMBER) return true;
      if (key === Symbol.toPrimitive) return () => fail(referenceCoercion.number(), captureLocation() ?? location);
      if (typeof key === "symbol") return undefined;
      if (key === "choose") return (then: unknown, otherwise: unknown) => chooseProxy(node, then, otherwise, location);
      if (Object.hasOwn(numberComparisons, key))
        return (other: unknown) =>
          numberProxy(comparisonOf(key as NumberComparison, [node, argument(other, location)]), location);
      if (Object.hasOwn(foreignToNumbers, key))
        fail(referenceArgument.foreign(key, foreignToNumbers[key as keyof typeof foreignToNumbers]), location);
      if (!Object.hasOwn(numberOperators, key)) fail(referenceArgument.method(key, NUMBER_METHODS), location);
      return (other: unknown) =>
        numberProxy(arithmeticOf(key as NumberOperator, [node, argument(other, location)]), location);
    },
    set: () => failAssignment(location),
  });
}

function failAssignment(location: Location | undefined): never {
  fail(referenceCoercion.assigned(), captureLocation() ?? location);
}

function arithmeticOf(operator: NumberOperator, args: OperandPair): TorchNode {
  return reportNode({ kind: "arithmetic", operator, args });
}

function comparisonOf(operator: NumberComparison, args: OperandPair): TorchNode {
  return reportNode({ kind: "comparison", operator, args });
}

/** Records `tl.sub(1, BETA)` on numbers of a reference, with the operator's name. Undefined for other operands. */
export function numberOperation(name: string, args: readonly unknown[]): unknown {
  if (!args.some((arg) => nodeOf(arg))) return undefined;
  const location = captureLocation();
  const operands = numberOperands(args, location);
  if (!operands) return undefined;
  if (Object.hasOwn(numberOperators, name))
    return numberProxy(arithmeticOf(name as NumberOperator, operands), location);
  if (!Object.hasOwn(numberComparisons, name)) return undefined;
  return numberProxy(comparisonOf(name as NumberComparison, operands), location);
}

/** The operands of an operation on two Python numbers. Undefined for other arguments. */
function numberOperands(args: readonly unknown[], location: Location | undefined): OperandPair | undefined {
  const [x, y] = args;
  return args.length === 2 && args.every(isNumber) ? [argument(x, location), argument(y, location)] : undefined;
}

/** True for a Python number: a JavaScript number, or a recorded one. */
function isNumber(value: unknown): boolean {
  return typeof value === "number" || (nodeOf(value) !== undefined && (value as { [NUMBER]?: true })[NUMBER] === true);
}

const NUMBER_METHODS = [...Object.keys(numberOperators), ...Object.keys(numberComparisons), "choose"];

/** A choice between two tensors, or between two numbers. */
function chooseProxy(condition: TorchNode, then: unknown, otherwise: unknown, location: Location | undefined): unknown {
  const isChoiceOfNumbers = isNumber(then);
  if (isChoiceOfNumbers !== isNumber(otherwise)) fail(referenceArgument.choose(), location);
  const node = reportNode({
    kind: "choice",
    condition,
    then: argument(then, location),
    otherwise: argument(otherwise, location),
  });
  return isChoiceOfNumbers ? numberProxy(node, location) : tensorProxy(node, location);
}

/** Splits a trailing object off as keyword arguments. */
function splitArguments(args: readonly unknown[], location: Location | undefined) {
  const last = args.at(-1);
  const isObject = typeof last === "object" && last !== null && !Array.isArray(last);
  const isKeywords = isObject && nodeOf(last) === undefined && !isDType(last);
  const positional = isKeywords ? args.slice(0, -1) : args;
  const keywords = Object.entries(isKeywords ? (last as object) : {}).filter(([, value]) => value !== undefined);
  return {
    args: positional.map((arg) => argument(arg, location)),
    keywords: Object.fromEntries(
      keywords.map(([key, value]) => [
        identifier(key, "the name of a keyword argument", location),
        argument(value, location),
      ]),
    ),
  };
}

/** Checks a name that is emitted to Python unchanged. All these names are checked here. */
function identifier(name: string, role: string, location: Location | undefined): string {
  if (!isPythonIdentifier(name)) fail(pythonName.torch(name, role), captureLocation() ?? location);
  return name;
}

/** A recorded expression or kernel call, and its location. */
export interface RecordedNode<Node extends TorchNode | Launch = TorchNode | Launch> {
  readonly node: Node;
  readonly at: Location | undefined;
}

let listener: ((recorded: RecordedNode) => void) | undefined;

/** Calls `next` for each call, operation and choice that `body` records, in order. */
export function withListener<T>(next: (recorded: RecordedNode) => void, body: () => T): T {
  const previousListener = listener;
  listener = next;
  try {
    return body();
  } finally {
    listener = previousListener;
  }
}

/** Reports a recorded expression or kernel call to the listener. */
export function reportNode<Node extends TorchNode | Launch>(node: Node): Node {
  listener?.({ node, at: ("at" in node ? node.at : undefined) ?? captureLocation() });
  return node;
}

/** True for a torch call that returns tensors instead of a Python number. */
export function isTensorCall(node: TorchNode): boolean {
  return node.kind === "call" || (node.kind === "method" && recordOf(node)?.isPythonNumber !== true);
}

/** The expressions that define the dtype variables of the current function. */
let dtypeVariables: Readonly<Record<string, TorchNode>> = {};

/** Calls `body` with these definitions of dtype variables. */
export function withVariables<T>(variables: Readonly<Record<string, TorchNode>>, body: () => T): T {
  // An operator's function may call kernels, whose references are recorded in between.
  const outerVariables = dtypeVariables;
  dtypeVariables = variables;
  try {
    return body();
  } finally {
    dtypeVariables = outerVariables;
  }
}

/** The input objects passed to authors' functions. */
export const allInputs = new WeakSet<object>();

/** PyTorch's aliases of dtypes. */
const TORCH_NAMES: Readonly<Record<string, DTypeName>> = {
  half: "float16",
  float: "float32",
  double: "float64",
  int: "int32",
  long: "int64",
};

const dtypeNamed = (path: string): DTypeName | undefined =>
  TORCH_NAMES[path] ?? dtypeNames.find((name) => dtypeTable[name].torch === path);

/** Converts an argument from the author to data. */
export function argument(value: unknown, location: Location | undefined): TorchArgument {
  const node = nodeOf(value);
  if (node) return node;
  if (isDType(value)) {
    const dtypeNode = value.members
      ? dtypeVariables[value.name]
      : ({ kind: "dtype", name: value.name as DTypeName } as const);
    return dtypeNode ?? fail(referenceArgument.dtype(value.name), location);
  }
  // Python's None, for an optional argument.
  if (value === undefined) return null;
  if (value === null || typeof value === "number" || typeof value === "boolean" || typeof value === "string")
    return value;
  if (Array.isArray(value)) return value.map((item) => argument(item, location));
  const path = typeof value === "function" ? (value as { [PATH]?: string })[PATH] : undefined;
  if (path !== undefined) fail(referenceArgument.path(path, dtypeNamed(path)), location);
  if (typeof value === "object" && allInputs.has(value)) fail(referenceArgument.allInputs(), location);
  if (typeof value === "function") fail(referenceArgument.function(), location);
  fail(referenceArgument.kind(`a value of type ${typeof value}`), location);
}
