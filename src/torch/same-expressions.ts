/** Compares two recordings of an author's function, up to the identity of objects. */
import type { Location } from "../diagnostics/diagnostic.js";
import { isTorchNode, type Launch, torchOperands, type TorchArgument, type TorchNode } from "./node.js";
import { type RecordedNode, nodeOf } from "./proxy.js";

interface Run {
  readonly result: unknown;
  readonly nodes: readonly RecordedNode[];
}

/**
 * The location of the first expression that differs, or no location if the result does. Undefined if the recordings are
 * equal.
 */
export function sameRecordings(first: Run, second: Run): { readonly at: Location | undefined } | undefined {
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

export function operandsOf(node: TorchNode | Launch): readonly TorchArgument[] {
  return node.kind === "launch" ? Object.values(node.args) : torchOperands(node);
}

/** Compares values that are not expressions. The caller rejects them, so functions only need to be of the same type. */
function isSameLeaf(a: unknown, b: unknown): boolean {
  return typeof a === typeof b && (typeof a === "function" || Object.is(a, b));
}
