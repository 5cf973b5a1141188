/** Detects code that Triton cannot compile: it needs an omitted argument, or a pointer where calls pass a number. */
import type { Context, KernelContext } from "./context.js";
import type { FunctionScope } from "./function-scope.js";
import { childrenOf, liveBefore, readNames, writtenNames } from "./liveness.js";
import type { Call, Choice, Expression, If, Statement } from "./tree.js";
import { constantKind, isConstant } from "./value.js";

/** The reason for the assertion that rules out the condition of dead code. */
export const MISSING_ARGUMENT = "it uses an argument that is not passed";

/** True if every execution of these nodes needs an omitted argument. */
export function usesOmittedParam(nodes: readonly (Statement | Expression)[], { scope, kernel }: Context): boolean {
  const statements = nodes.filter((node): node is Statement => !("types" in node) || node.kind === "AugAssign");
  const read = liveBefore(statements, new Set());
  const isRead = (name: string): boolean => statements.length === 0 || read.has(name);
  const isAbsent = (node: object): boolean =>
    "id" in node && typeof node.id === "string" && scope.variable(node.id)?.value.kind === "none" && isRead(node.id);
  const visit = (node: object): boolean => {
    if (!("kind" in node)) return childrenOf(node).some(visit);
    if ("id" in node && scope.undefinedNames.has(String(node.id)) && isRead(String(node.id))) return true;
    // A branch has its own condition. Triton compiles both arms if the condition is not a compile-time constant.
    if (node.kind === "If" || node.kind === "IfExp") {
      const { test, body, orelse } = node as If | Choice;
      const arms = [body, orelse].map((arm) => [arm].flat().some(visit));
      return visit(test) || (isConstantTest(test, scope) ? arms.every(Boolean) : arms.some(Boolean));
    }
    if (needsNonNone(node) && childrenOf(node).some(isAbsent)) return true;
    if (failsInHelper(node, isAbsent, kernel)) return true;
    const [first] = node.kind === "Call" && "args" in node ? (node.args as readonly Expression[]) : [];
    const isInvalidAccess =
      first !== undefined && isMemoryAccess(node) && (isAbsent(first) || isScalar(rootOf(first), scope));
    return isInvalidAccess || childrenOf(node).some(visit);
  };
  return nodes.some(visit);
}

/** True if a call passes None to a helper function that uses the parameter on every path. */
function failsInHelper(node: object, isAbsent: (node: object) => boolean, kernel: KernelContext): boolean {
  const { callee, bound } = node as Partial<Call>;
  if (callee?.what !== "helper" || !bound) return false;
  const isNone = (argument: object): boolean => isAbsent(argument) || ("of" in argument && argument.of === "NoneType");
  const names = Object.entries(bound).flatMap(([name, argument]) => (isNone(argument) ? [name] : []));
  if (names.length === 0) return false;
  const { body } = kernel.functionTree(callee.number);
  const read = liveBefore(body, new Set());
  const none = new Set(names.filter((name) => read.has(name)));
  const isNoneParameter = (child: object): boolean => "id" in child && none.has(String(child.id));
  const visit = (child: object): boolean => {
    if ("kind" in child && (child.kind === "If" || child.kind === "IfExp")) {
      const { test, body: arm, orelse } = child as If | Choice;
      return visit(test) || [arm, orelse].every((part) => [part].flat().some(visit));
    }
    if (needsNonNone(child) && childrenOf(child).some(isNoneParameter)) return true;
    return failsInHelper(child, isNoneParameter, kernel) || childrenOf(child).some(visit);
  };
  return body.some(visit);
}

/** True if Triton compiled these statements neither for a call nor for other constants: one of them has no type. */
export const isDeadCode = (body: readonly Statement[]): boolean =>
  body.some((statement) => {
    const value = "value" in statement ? statement.value : undefined;
    return value?.types.length === 0 && value.kind !== "Constant";
  });

/** Node kinds that raise for None: operators, orderings such as `x < y`, `x[…]` and methods such as `x.to(…)`. */
const NON_NONE_KINDS: ReadonlySet<string> = new Set(["BinOp", "AugAssign", "Subscript", "Attribute"]);
const ORDER_COMPARISONS: ReadonlySet<string> = new Set(["Lt", "LtE", "Gt", "GtE"]);
const needsNonNone = (node: { readonly kind?: unknown; readonly ops?: unknown }): boolean =>
  NON_NONE_KINDS.has(node.kind as string) ||
  (node.kind === "Compare" && (node.ops as readonly string[]).some((each) => ORDER_COMPARISONS.has(each)));

/** True if a condition depends only on compile-time constants. */
function isConstantTest(test: Expression, scope: FunctionScope): boolean {
  if (test.types.length > 0) return constantKind(test) !== undefined;
  return [...readNames(test)].every((name) => {
    const value = scope.variable(name)?.value;
    return value === undefined
      ? !writtenNames(scope.tree.body).includes(name)
      : value.kind !== "traced" || isConstant(value);
  });
}

/** The leftmost operand of an address. */
export const rootOf = (node: Expression): Expression => (node.kind === "BinOp" ? rootOf(node.left) : node);

function isScalar(node: Expression, scope: FunctionScope): boolean {
  const value = node.kind === "Name" ? scope.variable(node.id)?.value : undefined;
  return value?.kind === "traced" && value.typeTag === "scalar";
}

const isMemoryAccess = (node: object): boolean =>
  "callee" in node &&
  typeof node.callee === "object" &&
  node.callee !== null &&
  "name" in node.callee &&
  /^tl\.(load|store|atomic_\w+)$/.test(String(node.callee.name));
