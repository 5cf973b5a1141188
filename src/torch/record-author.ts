/**
 * Records an author's function of torch expressions: a reference, a provider, inputs, or an operator. The recording
 * serves all calls. The function therefore runs twice and must record the same expressions both times. Each expression
 * must be used in a result, because an unused one was probably meant as a condition or as a mutation.
 */
import { changedState, unusedValue } from "../diagnostics/catalog/control-codes.js";
import {
  referenceArgument,
  referenceFlag,
  referenceInPlace,
  referenceResult,
} from "../diagnostics/catalog/reference-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { fail, type Location, TileScriptError } from "../diagnostics/diagnostic.js";
import { UnsupportedByEvaluator } from "./array.js";
import { isTruth } from "./functions.js";
import {
  isCallNode,
  type Launch,
  reachableNodes,
  torchOperands,
  type TorchArgument,
  type TorchNode,
  isTorchNode,
} from "./node.js";
import {
  allInputs,
  isTensorCall,
  type RecordedNode,
  withListener,
  namespaceProxy,
  nodeOf,
  numberProxy,
  tensorProxy,
  withVariables,
} from "./proxy.js";

export type Author = (inputs: Readonly<Record<string, unknown>>, torch: unknown) => unknown;

/** Arguments of an author's function, other than torch. */
export interface RecorderArguments {
  /** The function's name in messages, such as `the reference`. */
  readonly subject: string;
  readonly tensors: readonly string[];
  /** Sizes, scalars and constexprs: Python numbers. */
  readonly numbers: readonly string[];
  /** Flags and string constexprs among `numbers`. Authors may be tempted to test them with JavaScript's `?:`. */
  readonly flags?: readonly string[];
  /** The expression that defines each dtype variable. */
  readonly variables?: Readonly<Record<string, TorchNode>>;
}

/** The recording of one run of an author's function. */
export interface Recording {
  readonly result: unknown;
  /** All recorded expressions and launches, in order. */
  readonly nodes: readonly RecordedNode[];
  /** The flags that the function read by name. */
  readonly flags: ReadonlySet<string>;
}

/**
 * Runs the author's function at location `at` twice.
 *
 * @throws TileScriptError if the second run differs from the first, or if an expression is unused.
 */
export function record(
  author: Author,
  recorderArguments: RecorderArguments,
  location: Location | undefined,
): Recording {
  const first = runOnce(author, recorderArguments, location);
  let second: Recording;
  try {
    second = runOnce(author, recorderArguments, location);
  } catch (error) {
    const [diagnostic] = error instanceof TileScriptError ? error.diagnostics : [];
    return fail(
      changedState.throws(recorderArguments.subject, diagnostic?.message ?? String(error)),
      diagnostic?.at ?? location,
    );
  }
  const difference = sameRecordings(first, second);
  if (difference) {
    const isCall = difference.at !== undefined;
    fail(
      isCall ? changedState.outside(recorderArguments.subject) : changedState.outsideResult(recorderArguments.subject),
      difference.at ?? location,
    );
  }
  checkUsed(first, location);
  return first;
}

function runOnce(
  author: Author,
  { tensors, numbers, flags = [], variables = {} }: RecorderArguments,
  location: Location | undefined,
) {
  const inputs: Record<string, unknown> = Object.fromEntries([
    ...tensors.map((name) => [name, tensorProxy({ kind: "input", name }, location)]),
    ...numbers.map((name) => [name, numberProxy({ kind: "input", name }, location)]),
  ]);
  const usedFlags = new Set<string>();
  let isByName = true;
  const inputProxy = new Proxy(inputs, {
    get(_, key) {
      if (typeof key === "string" && !Object.hasOwn(inputs, key) && key !== "then" && key !== "toJSON")
        fail(referenceArgument.unknown(key, Object.keys(inputs)), captureLocation() ?? location);
      if (isByName && flags.includes(String(key))) usedFlags.add(String(key));
      return inputs[String(key)];
    },
    // `{ x, ...others }` reads all inputs.
    ownKeys() {
      isByName = false;
      return Object.keys(inputs);
    },
  });
  allInputs.add(inputProxy);
  const nodes: RecordedNode[] = [];
  const result = withVariables(variables, () =>
    withListener(
      (node) => void nodes.push(node),
      () => author(inputProxy, namespaceProxy("", location)),
    ),
  );
  return { result, nodes, flags: usedFlags };
}

/** Fails for an expression or a flag that no result depends on. Kernel calls may instead update a tensor. */
function checkUsed({ result, nodes, flags }: Recording, location: Location | undefined): void {
  const launchOperands = nodes.flatMap(({ node }) => (node.kind === "launch" ? operandsOf(node) : []));
  const reachable = reachableNodes([...expressionsIn(result), ...launchOperands], operandsAndLaunches);
  const expressions = nodes.filter((recorded): recorded is RecordedNode<TorchNode> => recorded.node.kind !== "launch");
  const inPlace = expressions.find(({ node }) => isInPlaceCall(node));
  if (inPlace) fail(referenceInPlace(nameOf(inPlace.node)), inPlace.at ?? location);
  const unused = expressions.filter(({ node }) => !reachable.has(node));
  const truth = unused.find(({ node }) => isTruthValue(node));
  if (truth) fail(unusedValue.recordedTruth(nameOf(truth.node)), truth.at ?? location);
  const inputs = new Set([...reachable].flatMap((node) => (node.kind === "input" ? [node.name] : [])));
  for (const flag of flags) if (!inputs.has(flag)) fail(referenceFlag.unused(flag), location);
  const [idle] = unused;
  if (idle && result === undefined) fail(referenceResult.nothing(nameOf(idle.node)), idle.at ?? location);
  if (idle) fail(unusedValue.recorded(nameOf(idle.node)), idle.at ?? location);
}

/** In-place by PyTorch's naming convention, `x.mul_(2)`, or by an option. */
function isInPlaceCall(node: TorchNode): boolean {
  return isCallNode(node) && (/[^_]_$/.test(node.name) || node.keywords["inplace"] === true);
}

/** True for a boolean expression. False if it cannot be evaluated in-process. */
function isTruthValue(node: TorchNode): boolean {
  try {
    return isTruth(node, {});
  } catch (error) {
    if (error instanceof UnsupportedByEvaluator) return false;
    throw error;
  }
}

/** The calls of kernels and of torch functions that return tensors, in order. */
export function stepsOf<Step extends TorchNode | Launch>(nodes: readonly RecordedNode<Step>[]): readonly Step[] {
  return nodes.map(({ node }) => node).filter((node) => node.kind === "launch" || isTensorCall(node));
}

function nameOf(node: TorchNode): string {
  switch (node.kind) {
    case "call":
    case "method":
      return node.name;
    case "arithmetic":
    case "comparison":
      return node.operator;
    case "choice":
      return "choose";
    case "attribute":
    case "dtype":
    case "input":
    case "item":
    case "launched":
    case "otherwise":
      return node.kind;
    default:
      return node satisfies never;
  }
}

/** The expressions that an author's function returned: one, a list, or an object of them. */
function expressionsIn(result: unknown): readonly TorchNode[] {
  const node = nodeOf(result);
  if (node) return [node];
  if (typeof result !== "object" || result === null) return [];
  return Object.values(result).flatMap(expressionsIn);
}

/** The operands of an expression, with the arguments of a launch that gives it. */
const operandsAndLaunches = (node: TorchNode): readonly TorchArgument[] =>
  node.kind === "launched" ? Object.values(node.launch.args) : torchOperands(node);

/** Calls `body` and replaces the prefix "reference:" of its messages by `subject`. */
export function prefixMessages<T>(subject: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    const prefixed = (message: string) => message.replace(/^reference:/, subject);
    throw new TileScriptError(error.diagnostics.map((each) => ({ ...each, message: prefixed(each.message) })));
  }
}

// Compares two recordings of an author's function, up to the identity of objects.

interface Run {
  readonly result: unknown;
  readonly nodes: readonly RecordedNode[];
}

/**
 * The location of the first expression that differs, or no location if the result does. Undefined if the recordings are
 * equal.
 */
function sameRecordings(first: Run, second: Run): { readonly at: Location | undefined } | undefined {
  const pairs = new RecordingComparison();
  for (let i = 0; i < Math.max(first.nodes.length, second.nodes.length); i++) {
    const [a, b] = [first.nodes[i], second.nodes[i]];
    if (!a || !b || !pairs.addPair(a.node, b.node)) return { at: (b ?? a)?.at };
  }
  return pairs.areSameResults(first.result, second.result) ? undefined : { at: undefined };
}

class RecordingComparison {
  /** Maps each node of the second run to its counterpart in the first. */
  readonly #counterparts = new Map<object, object>();

  addPair(a: TorchNode | Launch, b: TorchNode | Launch): boolean {
    if (!this.#isSame(a, b)) return false;
    this.#counterparts.set(b, a);
    return true;
  }

  /** Compares the returned expressions, lists and objects. */
  areSameResults(a: unknown, b: unknown): boolean {
    const [x, y] = [nodeOf(a), nodeOf(b)];
    if (x || y) return x !== undefined && y !== undefined && this.#isSameArgument(x, y);
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return isSameLeaf(a, b);
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => this.areSameResults((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
    );
  }

  #isSameArgument(a: TorchArgument | undefined, b: TorchArgument | undefined): boolean {
    if (Array.isArray(a) && Array.isArray(b))
      return a.length === b.length && a.every((x, i) => this.#isSameArgument(x, b[i]));
    if (!isTorchNode(a) || !isTorchNode(b)) return Object.is(a, b);
    if (RECORDED_KINDS.has(a.kind) || RECORDED_KINDS.has(b.kind)) return this.#counterparts.get(b) === a;
    return this.#isSame(a, b);
  }

  #isSame(a: TorchNode | Launch, b: TorchNode | Launch): boolean {
    const [x, y] = [attributesOf(a), attributesOf(b)];
    const [operands, otherOperands] = [operandsOf(a), operandsOf(b)];
    return (
      x.length === y.length &&
      x.every((attribute, i) => attribute === y[i]) &&
      operands.length === otherOperands.length &&
      operands.every((operand, i) => this.#isSameArgument(operand, otherOperands[i])) &&
      (a.kind !== "launched" || b.kind !== "launched" || this.#counterparts.get(b.launch) === a.launch)
    );
  }
}

/** Kinds that are recorded when they are created. Other nodes, such as inputs, are created at each use. */
const RECORDED_KINDS: ReadonlySet<string> = new Set(["call", "method", "arithmetic", "comparison", "choice"]);

/** The parts of an expression other than its operands. */
function attributesOf(node: TorchNode | Launch): readonly unknown[] {
  switch (node.kind) {
    case "call":
    case "method":
      return [node.kind, node.name, node.args.length, ...Object.keys(node.keywords)];
    case "input":
    case "attribute":
    case "dtype":
      return [node.kind, node.name];
    case "item":
      return [node.kind, node.index];
    case "arithmetic":
    case "comparison":
      return [node.kind, node.operator];
    case "launched":
      return [node.kind, node.output];
    case "launch":
      return [node.kind, node.kernel, ...Object.keys(node.args)];
    case "choice":
    case "otherwise":
      return [node.kind];
    default:
      return node satisfies never;
  }
}

function operandsOf(node: TorchNode | Launch): readonly TorchArgument[] {
  return node.kind === "launch" ? Object.values(node.args) : torchOperands(node);
}

/** Compares values that are not expressions. The caller rejects them, so functions only need to be of the same type. */
function isSameLeaf(a: unknown, b: unknown): boolean {
  return typeof a === typeof b && (typeof a === "function" || Object.is(a, b));
}
