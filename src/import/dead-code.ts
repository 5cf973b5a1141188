/** Code that needs a parameter that no call gives, or a pointer where calls give a number: Triton compiles it for none. */
import type { Context, KernelContext } from "./context.js";
import type { FunctionScope } from "./function-scope.js";
import { childrenOf, liveBefore, reads, writes } from "./liveness.js";
import type { Call, Choice, Expression, If, Statement } from "./tree.js";
import { constantKind, isConstant } from "./value.js";

/** Why the condition of such code must not hold. */
export const NOT_GIVEN = "what it needs is not given";

/** Whether these statements, or an expression, do so wherever they run. */
export function usesOmittedParam(nodes: readonly (Statement | Expression)[], { scope, kernel }: Context): boolean {
  const statements = nodes.filter((node): node is Statement => !("types" in node) || node.kind === "AugAssign");
  const read = liveBefore(statements, new Set());
  const isRead = (name: string): boolean => statements.length === 0 || read.has(name);
  const isAbsent = (node: object): boolean =>
    "id" in node && typeof node.id === "string" && scope.variable(node.id)?.value.kind === "none" && isRead(node.id);
  const visit = (node: object): boolean => {
    if (!("kind" in node)) return childrenOf(node).some(visit);
    if ("id" in node && scope.lost.has(String(node.id)) && isRead(String(node.id))) return true;
    // Branches have conditions of their own; where the program decides, Triton compiles both arms.
    if (node.kind === "If" || node.kind === "IfExp") {
      const { test, body, orelse } = node as If | Choice;
      const arms = [body, orelse].map((arm) => [arm].flat().some(visit));
      return visit(test) || (isConstantTest(test, scope) ? arms.every(Boolean) : arms.some(Boolean));
    }
    if (isComputed(node) && childrenOf(node).some(isAbsent)) return true;
    if (failsInHelper(node, isAbsent, kernel)) return true;
    const [first] = node.kind === "Call" && "args" in node ? (node.args as readonly Expression[]) : [];
    const isLost = first !== undefined && isMemory(node) && (isAbsent(first) || isNumber(rootOf(first), scope));
    return isLost || childrenOf(node).some(visit);
  };
  return nodes.some(visit);
}

/** Whether a call hands what is None to a helper function that computes with it on every way. */
function failsInHelper(node: object, isAbsent: (node: object) => boolean, kernel: KernelContext): boolean {
  const { callee, bound } = node as Partial<Call>;
  if (callee?.what !== "helper" || !bound) return false;
  const isNone = (given: object): boolean => isAbsent(given) || ("of" in given && given.of === "NoneType");
  const names = Object.entries(bound).flatMap(([name, given]) => (isNone(given) ? [name] : []));
  if (names.length === 0) return false;
  const { body } = kernel.functionTree(callee.number);
  const read = liveBefore(body, new Set());
  const none = new Set(names.filter((name) => read.has(name)));
  const isOfNone = (each: object): boolean => "id" in each && none.has(String(each.id));
  const visit = (each: object): boolean => {
    if ("kind" in each && (each.kind === "If" || each.kind === "IfExp")) {
      const { test, body: arm, orelse } = each as If | Choice;
      return visit(test) || [arm, orelse].every((part) => [part].flat().some(visit));
    }
    if (isComputed(each) && childrenOf(each).some(isOfNone)) return true;
    return failsInHelper(each, isOfNone, kernel) || childrenOf(each).some(visit);
  };
  return body.some(visit);
}

/** Whether Triton compiled these statements neither for a call nor for other constants: it found no type in one of them. */
export const isDeadCode = (body: readonly Statement[]): boolean =>
  body.some((statement) => {
    const value = "value" in statement ? statement.value : undefined;
    return value?.types.length === 0 && value.kind !== "Constant";
  });

/** What Python has for no None: operators, orders such as `x < y`, `x[…]` and methods such as `x.to(…)`. */
const COMPUTED: ReadonlySet<string> = new Set(["BinOp", "AugAssign", "Subscript", "Attribute"]);
const ORDERS: ReadonlySet<string> = new Set(["Lt", "LtE", "Gt", "GtE"]);
const isComputed = (node: { readonly kind?: unknown; readonly ops?: unknown }): boolean =>
  COMPUTED.has(node.kind as string) ||
  (node.kind === "Compare" && (node.ops as readonly string[]).some((each) => ORDERS.has(each)));

/** Whether Triton knows all that a condition names. */
function isConstantTest(test: Expression, scope: FunctionScope): boolean {
  if (test.types.length > 0) return constantKind(test) !== undefined;
  return [...reads(test)].every((name) => {
    const value = scope.variable(name)?.value;
    return value === undefined ? !writes(scope.tree.body).includes(name) : value.kind !== "traced" || isConstant(value);
  });
}

/** What an address starts from. */
export const rootOf = (node: Expression): Expression => (node.kind === "BinOp" ? rootOf(node.left) : node);

function isNumber(node: Expression, scope: FunctionScope): boolean {
  const value = node.kind === "Name" ? scope.variable(node.id)?.value : undefined;
  return value?.kind === "traced" && value.of === "scalar";
}

const isMemory = (node: object): boolean =>
  "callee" in node &&
  typeof node.callee === "object" &&
  node.callee !== null &&
  "name" in node.callee &&
  /^tl\.(load|store|atomic_\w+)$/.test(String(node.callee.name));
