/** Calls of the author's functions: walks their bodies with the abstract values of the arguments. */
import { ts } from "./typescript.js";
import { applyAnnotation } from "./annotations.js";
import { region, type Region } from "./regions.js";
import {
  type AbstractValue,
  type FunctionNode,
  holder,
  join,
  PLAIN,
  signature,
  weaken,
  Scope,
} from "./abstract-values.js";
import { type Frame, invocation, type Walk } from "./walk.js";

type FunctionValue = AbstractValue & { readonly kind: "function" };

export interface Functions {
  readonly value: Walk["functionValue"];
  readonly invoke: Walk["invoke"];
  /** Walks functions without a call: exported helpers, callbacks passed to other code. */
  walkUncalled(): void;
}

/** The maximum number of nested calls of a recursive function. */
const MAX_RECURSION_DEPTH = 2;

export function createFunctions(walk: () => Walk): Functions {
  const results = new Map<string, AbstractValue>();
  const walkedFunctions = new Set<FunctionNode>();
  const activeDepths = new Map<FunctionNode, number>();
  const pending = new Map<string, { value: FunctionValue; parent: Region | undefined }>();

  function functionValue(node: FunctionNode, frame: Frame): FunctionValue {
    const callee: FunctionValue = { kind: "function", node, scope: frame.scope };
    const key = signature(callee);
    if (!pending.has(key)) pending.set(key, { value: callee, parent: frame.region });
    return callee;
  }

  function invoke(callee: FunctionValue, args: readonly AbstractValue[], parent: Region | undefined): AbstractValue {
    walkedFunctions.add(callee.node);
    if (callee.bound) return invoke(unboundFunction(callee), [...callee.bound, ...args], parent);
    const key = `${signature(callee)}@${innermostBoundary(parent)?.id}(${args.map(signature).join()})`;
    const cachedResult = results.get(key);
    if (cachedResult) return cachedResult;
    // A recursive call returns a plain value: immediately, or after a few levels if its arguments differ.
    results.set(key, PLAIN);
    const depth = activeDepths.get(callee.node) ?? 0;
    if (depth >= MAX_RECURSION_DEPTH) return PLAIN;
    activeDepths.set(callee.node, depth + 1);
    const result = resultOf(callee, args, parent, walk());
    activeDepths.set(callee.node, depth);
    results.set(key, result);
    return result;
  }

  return {
    value: functionValue,
    invoke,
    walkUncalled() {
      for (const [key, { value, parent }] of pending) {
        pending.delete(key);
        if (!walkedFunctions.has(value.node)) invoke(value, [], parent);
      }
    },
  };
}

function unboundFunction({ kind, node, scope }: FunctionValue): FunctionValue {
  return { kind, node, scope };
}

/** Walks a function's body with these arguments and returns its result. */
function resultOf(
  { node, scope }: FunctionValue,
  args: readonly AbstractValue[],
  parent: Region | undefined,
  walk: Walk,
): AbstractValue {
  const call = invocation();
  const frame: Frame = { scope: new Scope(scope), region: region("function", parent), call };
  node.parameters.forEach((parameter, index) => bindParameter(parameter, args.slice(index), frame, walk));
  const { body } = node;
  if (!body) return applyAnnotation(node.type, PLAIN);
  if (!ts.isBlock(body)) return declaredResult(node, walk.evaluate(body, frame));
  walk.walkStatements(body.statements, frame);
  if (call.yields === "loops") return { kind: "range" };
  if (node.asteriskToken) return holder(new Map(), call.returns.length ? call.returns.reduce(join) : PLAIN);
  if (call.returns.length === 0) return PLAIN;
  const returnValue = call.returns.reduce(join);
  return declaredResult(node, canFallThrough(body.statements.at(-1)) ? weaken(returnValue) : returnValue);
}

/** Binds one parameter. `args` starts with its argument; a rest parameter binds all of `args`. */
function bindParameter(
  parameter: ts.ParameterDeclaration,
  args: readonly AbstractValue[],
  frame: Frame,
  walk: Walk,
): void {
  const restValue = parameter.dotDotDotToken && holder(new Map(args.map((each, i) => [String(i), each])));
  const argument = applyAnnotation(parameter.type, restValue ?? args[0]);
  const fallback = parameter.initializer && walk.evaluate(parameter.initializer, frame);
  const value = parameter.questionToken ? weaken(argument) : argument;
  walk.bind(parameter.name, fallback ? join(value, fallback) : value, frame);
  const binding = ts.isIdentifier(parameter.name) ? frame.scope.lookup(parameter.name.text) : undefined;
  if (binding) binding.isParameter = true;
}

/** The innermost loop or branch around a call, on which its diagnostics depend. */
function innermostBoundary(innerRegion: Region | undefined): Region | undefined {
  return innerRegion?.kind === "function" ? innermostBoundary(innerRegion.parent) : innerRegion;
}

/** Applies the declared result type, which may exclude a traced value. An async function returns a promise. */
function declaredResult(node: FunctionNode, value: AbstractValue): AbstractValue {
  if (node.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.AsyncKeyword)) return PLAIN;
  return node.type ? applyAnnotation(node.type, value) : value;
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
