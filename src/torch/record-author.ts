/**
 * Runs an author's function of torch expressions: a reference, a provider, inputs, an operator. JavaScript runs it once
 * for all calls, so the function is run a second time and must give the same expressions, and each expression that it
 * makes must reach a result: what is left over was probably meant to decide or to change something.
 */
import { changedState, unusedValue } from "../diagnostics/catalog/control-codes.js";
import { referenceArgument, referenceFlag, referenceInPlace } from "../diagnostics/catalog/reference-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { fail, type Location, TileScriptError } from "../diagnostics/diagnostic.js";
import { operandsOf, sameRecordings } from "./same-expressions.js";
import { UnsupportedByEvaluator } from "./errors.js";
import { isTruth } from "./facts.js";
import { isCallNode, isTorchNode, type Launch, partsOf, type TorchArgument, type TorchNode } from "./node.js";
import {
  allInputs,
  isTensorCall,
  type Made,
  making,
  namespaceProxy,
  nodeOf,
  numberProxy,
  tensorProxy,
  withVariables,
} from "./proxy.js";

export type Author = (inputs: Readonly<Record<string, unknown>>, torch: unknown) => unknown;

/** What an author's function is given besides torch. */
export interface RecorderArguments {
  /** What messages call the function: `the reference`. */
  readonly what: string;
  readonly tensors: readonly string[];
  /** Sizes, scalars and constexprs: Python numbers. */
  readonly numbers: readonly string[];
  /** Which of these are flags and choices of words, which authors may want to ask with JavaScript's `?:`. */
  readonly flags?: readonly string[];
  /** How each dtype variable is read off the arguments. */
  readonly variables?: Readonly<Record<string, TorchNode>>;
}

/** What one run of an author's function gave. */
export interface Recorded {
  readonly result: unknown;
  /** All that it made, in order. */
  readonly made: readonly Made[];
  /** The flags that it took by name. */
  readonly taken: ReadonlySet<string>;
}

/**
 * Runs the author's function, which the author wrote at `at`, twice.
 *
 * @throws TileScriptError if the second run differs from the first, or an expression reaches no result.
 */
export function record(author: Author, given: RecorderArguments, at: Location | undefined): Recorded {
  const first = runOnce(author, given, at);
  let second: Recorded;
  try {
    second = runOnce(author, given, at);
  } catch (error) {
    const [said] = error instanceof TileScriptError ? error.diagnostics : [];
    return fail(changedState.throws(given.what, said?.message ?? String(error)), said?.at ?? at);
  }
  const different = sameRecordings(first, second);
  if (different) {
    const isCall = different.at !== undefined;
    fail(isCall ? changedState.outside(given.what) : changedState.outsideResult(given.what), different.at ?? at);
  }
  checkUsed(first, at);
  return first;
}

function runOnce(
  author: Author,
  { tensors, numbers, flags = [], variables = {} }: RecorderArguments,
  at: Location | undefined,
) {
  const inputs: Record<string, unknown> = Object.fromEntries([
    ...tensors.map((name) => [name, tensorProxy({ kind: "input", name }, at)]),
    ...numbers.map((name) => [name, numberProxy({ kind: "input", name }, at)]),
  ]);
  const taken = new Set<string>();
  let isByName = true;
  const watched = new Proxy(inputs, {
    get(_, key) {
      if (typeof key === "string" && !Object.hasOwn(inputs, key) && key !== "then" && key !== "toJSON")
        fail(referenceArgument.unknown(key, Object.keys(inputs)), captureLocation() ?? at);
      if (isByName && flags.includes(String(key))) taken.add(String(key));
      return inputs[String(key)];
    },
    // `{ x, ...others }` takes all.
    ownKeys() {
      isByName = false;
      return Object.keys(inputs);
    },
  });
  allInputs.add(watched);
  const made: Made[] = [];
  const result = withVariables(variables, () =>
    making(
      (each) => void made.push(each),
      () => author(watched, namespaceProxy("", at)),
    ),
  );
  return { result, made, taken };
}

/** Fails for an expression, and for a flag, that no result depends on. Calls of kernels may also update a tensor. */
function checkUsed({ result, made, taken }: Recorded, at: Location | undefined): void {
  const launches = made.flatMap(({ node }) => (node.kind === "launch" ? operandsOf(node) : []));
  const used = reached([...expressionsIn(result), ...launches]);
  const expressions = made.filter((each): each is Made<TorchNode> => each.node.kind !== "launch");
  const changing = expressions.find(({ node }) => changesInPlace(node));
  if (changing) fail(referenceInPlace(nameOf(changing.node)), changing.at ?? at);
  const unused = expressions.filter(({ node }) => !used.has(node));
  const truth = unused.find(({ node }) => mayDecide(node));
  if (truth) fail(unusedValue.recordedTruth(nameOf(truth.node)), truth.at ?? at);
  const inputs = new Set([...used].flatMap((node) => (node.kind === "input" ? [node.name] : [])));
  for (const flag of taken) if (!inputs.has(flag)) fail(referenceFlag(flag), at);
  const [idle] = unused;
  if (idle) fail(unusedValue.recorded(nameOf(idle.node)), idle.at ?? at);
}

/** By PyTorch's names, `x.mul_(2)`, or as an option. */
function changesInPlace(node: TorchNode): boolean {
  return isCallNode(node) && (/[^_]_$/.test(node.name) || node.keywords["inplace"] === true);
}

/** Whether it is a truth value. What cannot be evaluated here is none, as far as known. */
function mayDecide(node: TorchNode): boolean {
  try {
    return isTruth(node, {});
  } catch (error) {
    if (error instanceof UnsupportedByEvaluator) return false;
    throw error;
  }
}

/** The calls of kernels and of torch functions that give tensors, in order. */
export function stepsOf<Step extends TorchNode | Launch>(made: readonly Made<Step>[]): readonly Step[] {
  return made.map(({ node }) => node).filter((node) => node.kind === "launch" || isTensorCall(node));
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
    default:
      return node.kind;
  }
}

/** The expressions of what an author's function returned: one, a list, or an object of them. */
function expressionsIn(result: unknown): readonly TorchNode[] {
  const node = nodeOf(result);
  if (node) return [node];
  if (typeof result !== "object" || result === null) return [];
  return Object.values(result).flatMap(expressionsIn);
}

/** All expressions that these are made of, themselves included. */
function reached(from: readonly TorchArgument[]): ReadonlySet<TorchNode> {
  const seen = new Set<TorchNode>();
  const visit = (argument: TorchArgument): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument) || seen.has(argument)) return;
    seen.add(argument);
    partsOf(argument).forEach(visit);
    if (argument.kind === "launched") Object.values(argument.launch.args).forEach(visit);
  };
  from.forEach(visit);
  return seen;
}

/** Runs `body`, whose messages about recorded torch begin with "reference:", and lets them begin with `subject`. */
export function prefixMessages<T>(subject: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    const say = (message: string) => message.replace(/^reference:/, subject);
    throw new TileScriptError(error.diagnostics.map((each) => ({ ...each, message: say(each.message) })));
  }
}
