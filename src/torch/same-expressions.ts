/** Whether two runs of an author's function made the same expressions, up to their identity. */
import type { Location } from "../diagnostics/diagnostic.js";
import { isTorchNode, type Launch, partsOf, type TorchArgument, type TorchNode } from "./node.js";
import { type Made, nodeOf } from "./proxy.js";

interface Run {
  readonly result: unknown;
  readonly made: readonly Made[];
}

/** The place of the first expression that differs, none for the result; undefined if all are the same. */
export function sameRecordings(known: Run, again: Run): { readonly at: Location | undefined } | undefined {
  const pairs = new Pairs();
  for (let i = 0; i < Math.max(known.made.length, again.made.length); i++) {
    const [a, b] = [known.made[i], again.made[i]];
    if (!a || !b || !pairs.makes(a.node, b.node)) return { at: (b ?? a)?.at };
  }
  return pairs.results(known.result, again.result) ? undefined : { at: undefined };
}

class Pairs {
  /** What the second run made, to what the first made. */
  readonly #known = new Map<object, object>();

  makes(a: TorchNode | Launch, b: TorchNode | Launch): boolean {
    if (!this.#alike(a, b)) return false;
    this.#known.set(b, a);
    return true;
  }

  /** What an author returned: expressions, lists and objects of them. */
  results(a: unknown, b: unknown): boolean {
    const [x, y] = [nodeOf(a), nodeOf(b)];
    if (x || y) return x !== undefined && y !== undefined && this.#argument(x, y);
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return sameLeaf(a, b);
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => this.results((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
    );
  }

  #argument(a: TorchArgument | undefined, b: TorchArgument | undefined): boolean {
    if (Array.isArray(a) && Array.isArray(b))
      return a.length === b.length && a.every((x, i) => this.#argument(x, b[i]));
    if (!isTorchNode(a) || !isTorchNode(b)) return Object.is(a, b);
    if (MADE.has(a.kind) || MADE.has(b.kind)) return this.#known.get(b) === a;
    return this.#alike(a, b);
  }

  #alike(a: TorchNode | Launch, b: TorchNode | Launch): boolean {
    const [x, y] = [wordsOf(a), wordsOf(b)];
    const [inner, others] = [operandsOf(a), operandsOf(b)];
    return (
      x.length === y.length &&
      x.every((word, i) => word === y[i]) &&
      inner.length === others.length &&
      inner.every((operand, i) => this.#argument(operand, others[i])) &&
      (a.kind !== "launched" || b.kind !== "launched" || this.#known.get(b.launch) === a.launch)
    );
  }
}

/** Expressions that are noted when they are made. The others are ways to name one, and made at each use. */
const MADE: ReadonlySet<string> = new Set(["call", "method", "arithmetic", "comparison", "choice"]);

/** What an expression is besides its operands. */
function wordsOf(node: TorchNode | Launch): readonly unknown[] {
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
  return node.kind === "launch" ? Object.values(node.args) : partsOf(node);
}

/** What is no expression: the caller refuses it, so only its kind matters where it cannot be compared. */
function sameLeaf(a: unknown, b: unknown): boolean {
  return typeof a === typeof b && (typeof a === "function" || Object.is(a, b));
}
