/** Calls of the author's functions: their bodies are walked with what they are given. */
import { ts } from "./typescript.js";
import { annotated } from "./annotations.js";
import { type Frame, invocation, region, type Region, Scope, type Walk } from "./regions.js";
import { type AbstractValue, type FunctionNode, holder, join, PLAIN, signature, weaken } from "./abstract-values.js";

type FunctionValue = AbstractValue & { readonly kind: "function" };

export interface Functions {
  readonly value: Walk["functionValue"];
  readonly invoke: Walk["invoke"];
  /** Walks functions that nothing called: exported helpers, callbacks passed to other code. */
  rest(): void;
}

/** How deep a recursive function is followed. */
const DEPTH = 2;

export function createFunctions(walk: () => Walk): Functions {
  const results = new Map<string, AbstractValue>();
  const walked = new Set<FunctionNode>();
  const active = new Map<FunctionNode, number>();
  const pending = new Map<string, { value: FunctionValue; from: Region | undefined }>();

  function value(node: FunctionNode, frame: Frame): FunctionValue {
    const made: FunctionValue = { kind: "function", node, scope: frame.scope };
    const key = signature(made);
    if (!pending.has(key)) pending.set(key, { value: made, from: frame.region });
    return made;
  }

  function invoke(callee: FunctionValue, args: readonly AbstractValue[], from: Region | undefined): AbstractValue {
    walked.add(callee.node);
    if (callee.bound) return invoke(unbound(callee), [...callee.bound, ...args], from);
    const key = `${signature(callee)}@${onceIn(from)?.id}(${args.map(signature).join()})`;
    const known = results.get(key);
    if (known) return known;
    // Recursion sees a plain value, at once or (with other arguments) after a few rounds.
    results.set(key, PLAIN);
    const depth = active.get(callee.node) ?? 0;
    if (depth >= DEPTH) return PLAIN;
    active.set(callee.node, depth + 1);
    const result = resultOf(callee, args, from, walk());
    active.set(callee.node, depth);
    results.set(key, result);
    return result;
  }

  return {
    value,
    invoke,
    rest() {
      for (const [key, { value, from }] of pending) {
        pending.delete(key);
        if (!walked.has(value.node)) invoke(value, [], from);
      }
    },
  };
}

function unbound({ kind, node, scope }: FunctionValue): FunctionValue {
  return { kind, node, scope };
}

/** Walks a function's body with what it is given; what it returns. */
function resultOf(
  { node, scope }: FunctionValue,
  args: readonly AbstractValue[],
  from: Region | undefined,
  walk: Walk,
): AbstractValue {
  const call = invocation();
  const frame: Frame = { scope: new Scope(scope), region: region("function", from), call };
  node.parameters.forEach((parameter, index) => bindParameter(parameter, args.slice(index), frame, walk));
  const { body } = node;
  if (!body) return annotated(node.type, PLAIN);
  if (!ts.isBlock(body)) return declaredResult(node, walk.evaluate(body, frame));
  walk.statements(body.statements, frame);
  if (call.yields === "loops") return { kind: "range" };
  if (node.asteriskToken) return holder(new Map(), call.returns.length ? call.returns.reduce(join) : PLAIN);
  if (call.returns.length === 0) return PLAIN;
  const returned = call.returns.reduce(join);
  return declaredResult(node, canFallThrough(body.statements.at(-1)) ? weaken(returned) : returned);
}

/** `args` starts with the parameter's own argument; a rest parameter takes all of it. */
function bindParameter(
  parameter: ts.ParameterDeclaration,
  args: readonly AbstractValue[],
  frame: Frame,
  walk: Walk,
): void {
  const rest = parameter.dotDotDotToken && holder(new Map(args.map((each, i) => [String(i), each])));
  const read = annotated(parameter.type, rest ?? args[0]);
  const fallback = parameter.initializer && walk.evaluate(parameter.initializer, frame);
  const optional = parameter.questionToken ? weaken(read) : read;
  walk.bind(parameter.name, fallback ? join(optional, fallback) : optional, frame);
  const binding = ts.isIdentifier(parameter.name) ? frame.scope.lookup(parameter.name.text) : undefined;
  if (binding) binding.isParameter = true;
}

/** What a call's findings depend on: the innermost loop or branch. */
function onceIn(from: Region | undefined): Region | undefined {
  return from?.kind === "function" ? onceIn(from.parent) : from;
}

/** An async function returns a promise; a declared result type may rule out a traced value. */
function declaredResult(node: FunctionNode, value: AbstractValue): AbstractValue {
  if (node.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.AsyncKeyword)) return PLAIN;
  return node.type ? annotated(node.type, value) : value;
}

function canFallThrough(last: ts.Statement | undefined): boolean {
  if (!last) return true;
  if (ts.isReturnStatement(last) || ts.isThrowStatement(last)) return false;
  if (ts.isBlock(last)) return canFallThrough(last.statements.at(-1));
  if (ts.isIfStatement(last)) {
    return !last.elseStatement || canFallThrough(last.thenStatement) || canFallThrough(last.elseStatement);
  }
  return !ts.isSwitchStatement(last) && !ts.isTryStatement(last);
}
