/**
 * Translates Python statements. A variable becomes `tl.mut` if a loop or a branch changes it, and `const` otherwise.
 */
import { translateIf, choiceOrNone } from "./translate-branches.js";
import { pythonName } from "./author-name.js";
import { type Context, type StoredValue, toStoredValue } from "./context.js";
import { translateCondition, translateExpression } from "./translate-expressions.js";
import { declaredConstant } from "./hoist-constants.js";
import { isReassignedInBlock, liveBefore } from "./liveness.js";
import { isSideEffectFree } from "./op-calls.js";
import { translateFor, translateWhile } from "./translate-loops.js";
import { translateBinary } from "./operators.js";
import { keepsItsValue } from "./live-ranges.js";
import { type Augmented, type Expression, isSequence, type Statement } from "./tree.js";
import { isCompileTimeConstant, list, UnsupportedConstruct, type Traced, traced, type Value } from "./value.js";

type Names = ReadonlySet<string>;

/** Emits statements. `liveAfter` contains the names that are live after them. Returns true if they always return. */
export function translateStatements(body: readonly Statement[], liveAfter: Names, context: Context): boolean {
  for (const [i, statement] of body.entries()) {
    if (keepsItsValue(statement)) {
      context.scope.advance(statement);
      continue;
    }
    const following = body.slice(i + 1);
    context.scope.layout(statement);
    try {
      if (translateStatement(statement, following, liveAfter, context)) return true;
    } catch (error) {
      if (error instanceof UnsupportedConstruct) error.line ??= statement.line;
      throw error;
    }
  }
  return false;
}

function translateStatement(
  statement: Statement,
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): boolean {
  const { scope } = context;
  switch (statement.kind) {
    case "Assign": {
      const [firstTarget, ...others] = statement.targets;
      const choice =
        firstTarget && others.length === 0 ? choiceOrNone(firstTarget, statement.value, context) : undefined;
      if (choice) return translateIf(choice, following, liveAfter, context);
      for (const target of statement.targets)
        translateAssignment(target, statement.value, following, liveAfter, context);
      return false;
    }
    case "AnnAssign": {
      if (!statement.value || statement.target.kind !== "Name") return false;
      const constant = declaredConstant(statement);
      if (constant) define(statement.target.id, translateExpression(constant, context), context);
      else translateAssignment(statement.target, statement.value, following, liveAfter, context);
      return false;
    }
    case "AugAssign":
      translateAugmented(statement, following, liveAfter, context);
      return false;
    case "Expr":
      emitExpressionStatement(statement.value, context);
      return false;
    case "If":
      return translateIf(statement, following, liveAfter, context);
    case "For":
      translateFor(statement, liveBefore(following, liveAfter), context);
      return false;
    case "While":
      translateWhile(statement, liveBefore(following, liveAfter), context);
      return false;
    case "Return":
      return emitReturn(statement.value, context);
    case "Assert":
      emitAssertion(statement.test, context);
      return false;
    case "Pass":
      return false;
    case "Unsupported":
      return scope.refuse(
        `the statement ${statement.construct.toLowerCase()}`,
        "write if, for, while and assignments",
        statement,
      );
    default:
      return statement satisfies never;
  }
}

function emitAssertion(test: Expression, context: Context): void {
  const condition = translateCondition(test, context);
  if (condition.kind === "truth") return;
  const check = isCompileTimeConstant(condition, test) ? "staticAssert" : "deviceAssert";
  context.scope.emit(`tl.${check}(${condition.text});`);
}

/** Emits a call for its effect. A hint rebinds its operand, because Triton's hints modify their operand. */
function emitExpressionStatement(node: Expression, context: Context): void {
  const { scope } = context;
  if (node.kind === "Constant") return;
  const value = translateExpression(node, context);
  if (value.kind === "nothing") return;
  const hintedOperand =
    node.kind === "Call" && /^tl\.(multiple_of|max_contiguous|max_constancy)$/.test(calleeName(node)) && node.args[0];
  if (hintedOperand && hintedOperand.kind === "Name") define(hintedOperand.id, value, context);
  else scope.emit(`${value.text};`);
}

const calleeName = (node: Extract<Expression, { kind: "Call" }>): string =>
  node.callee?.what === "function" ? node.callee.name : "";

function emitReturn(value: Expression | null, context: Context): boolean {
  const { scope } = context;
  scope.hasReturned = true;
  if (scope.isKernel) {
    if (scope.loops > 0) scope.refuseReturnInLoop();
    if (scope.depth > scope.bodyDepth) scope.emit("tl.exit();");
    return true;
  }
  if (!value) return true;
  const result = returnedValue(translateExpression(value, context), value);
  if (result.kind === "none") return true;
  scope.emit(`return ${result.text}${result.kind === "list" ? " as const" : ""};`);
  return true;
}

/** Triton converts the constants that a function returns to scalars. */
function returnedValue(value: Value, source: Expression): Value {
  if (value.kind !== "list") return toStoredValue(value, source).typed;
  const nodes = isSequence(source) ? source.elts : [];
  return list(value.items.map((item, i) => toStoredValue(item, nodes[i]).typed));
}

function translateAugmented(
  statement: Augmented,
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): void {
  const { target } = statement;
  if (target.kind !== "Name") return refuseTarget(target, context);
  const lhs = { value: translateExpression(target, context), source: target };
  const rhs = { value: translateExpression(statement.value, context), source: statement.value };
  const node = { ...statement, kind: "BinOp", left: target, right: statement.value } as Expression;
  assignVariable(
    target.id,
    toStoredValue(translateBinary(statement.op, lhs, rhs, node, context), node),
    following,
    liveAfter,
    context,
  );
}

function translateAssignment(
  target: Expression,
  source: Expression,
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): void {
  const { scope } = context;
  if (target.kind === "Name") {
    // Drops dead assignments, as Triton does.
    if (!liveBefore(following, liveAfter).has(target.id) && isSideEffectFree(source)) return;
    assignVariable(
      target.id,
      toStoredValue(translateExpression(source, context), source),
      following,
      liveAfter,
      context,
    );
    return;
  }
  if (!isSequence(target)) return refuseTarget(target, context);
  const names = target.elts.map((each) =>
    each.kind === "Name" ? each.id : scope.refuse("a nested target", "unpack one level at a time", target),
  );
  const value = translateExpression(source, context);
  if (value.kind === "list") unpackList(names, value.items, source, following, liveAfter, context);
  else unpack(names, value, following, liveAfter, context);
}

const refuseTarget = (target: Expression, { scope }: Context): never =>
  scope.refuse("an assignment to something other than a variable", "assign to a name", target);

/** `a, b = b, a`: reads all values before it assigns any. */
function unpackList(
  names: readonly string[],
  items: readonly Value[],
  source: Expression,
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): void {
  const { scope } = context;
  if (names.length !== items.length)
    return scope.refuse("a tuple of another length", "write a name for each item", source);
  const itemNodes = isSequence(source) ? source.elts : [];
  const isRead =
    names.some((name) => scope.variable(name)?.isMutable === true) && items.some(({ kind }) => kind === "traced");
  const assignments = names.map((name, i) => {
    const [item, node] = [items[i]!, itemNodes[i]];
    if (!isRead || item.kind !== "traced") return { name, stored: toStoredValue(item, node) };
    const text = scope.fresh(name, "_next");
    scope.emit(`const ${text} = ${item.text};`);
    return { name, stored: toStoredValue(traced(text), node) };
  });
  for (const { name, stored } of assignments) assignVariable(name, stored, following, liveAfter, context);
}

/** `a, b = f(x)`. */
function unpack(
  names: readonly string[],
  value: Value,
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): void {
  const { scope } = context;
  const targets = names.map((name) => {
    const isPlain = !scope.carriedNames.has(name) && !isReassignedInBlock(name, following, liveAfter);
    return { name, isPlain, text: scope.fresh(name, isPlain ? "" : "_next") };
  });
  scope.emit(`const [${targets.map(({ text }) => text).join(", ")}] = ${value.text};`);
  for (const { name, isPlain, text } of targets)
    if (isPlain) scope.bind(name, traced(text));
    else assignVariable(name, traced(text), following, liveAfter, context);
}

function assignVariable(
  name: string,
  stored: StoredValue | Value,
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): void {
  const { scope } = context;
  const { value, typed } = "kind" in stored ? { value: stored, typed: stored } : stored;
  const variable = scope.variable(name);
  if (variable?.isMutable && scope.carriedNames.has(name)) {
    scope.emit(`${variable.value.text}.value = ${typed.text};`);
    return;
  }
  if (!isReassignedInBlock(name, following, liveAfter)) {
    // Triton converts an assigned constant to a scalar, unless it is annotated as constexpr.
    define(name, value.kind === "traced" ? withoutConstancy(value) : value, context);
    return;
  }
  if (typed.kind !== "traced") return define(name, value, context);
  const text = scope.fresh(name);
  scope.emit(`const ${text} = tl.mut(${typed.text});`);
  scope.bind(name, traced(text), true);
}

/** A scalar or a pointer; the tag of a constant remains, because an arm that returns it must give it a dtype. */
const withoutConstancy = ({ kind, text, typeTag }: Traced): Value => ({
  kind,
  text,
  ...(typeTag !== undefined && /^(int|float|bool)$/.test(typeTag) && { typeTag }),
});

/** Binds a variable with one value. Values that are known during translation need no `const`. */
function define(name: string, value: Value, { scope }: Context): void {
  if (value.kind === "list") {
    const items = value.items.map((item, i) => (item.kind === "traced" ? emitNamed(name, item, scope, `_${i}`) : item));
    scope.bind(name, list(items));
    return;
  }
  scope.bind(name, emitNamed(name, value, scope));
}

function emitNamed(name: string, value: Value, scope: Context["scope"], ending = ""): Value {
  if (value.kind !== "traced" && value.kind !== "number") return value;
  const isName = /^[\w$]+$/.test(value.text);
  if (value.kind === "traced" && isName && (ending !== "" || value.text === pythonName(name))) return value;
  const text = scope.fresh(name, ending);
  scope.emit(`const ${text} = ${value.text};`);
  return { ...value, text };
}
