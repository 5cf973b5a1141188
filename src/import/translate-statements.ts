/** Python's statements as TypeScript: `const` where a variable has one value, state where it lives through changes. */
import { translateIf, choiceOrNone } from "./translate-branches.js";
import type { Context } from "./context.js";
import { translateCondition, translateExpression } from "./translate-expressions.js";
import { isChanged, liveBefore } from "./liveness.js";
import { onlyComputes } from "./op-calls.js";
import { translateFor, whileLoop } from "./translate-loops.js";
import { binary } from "./operators.js";
import type { Augmented, Expression, Statement } from "./tree.js";
import { cast, constantKind, isKnown, list, UnsupportedConstruct, traced, type Value } from "./value.js";

type Names = ReadonlySet<string>;

/**
 * Writes statements; `after` are the names that are used behind them. Gives whether they always return, so that nothing
 * follows.
 */
export function translateStatements(body: readonly Statement[], after: Names, context: Context): boolean {
  for (const [i, statement] of body.entries()) {
    const rest = body.slice(i + 1);
    context.scope.layout(statement);
    try {
      if (write(statement, rest, after, context)) return true;
    } catch (error) {
      if (error instanceof UnsupportedConstruct) error.line ??= statement.line;
      throw error;
    }
  }
  return false;
}

function write(statement: Statement, rest: readonly Statement[], after: Names, context: Context): boolean {
  const { scope } = context;
  switch (statement.kind) {
    case "Assign": {
      const [only, ...others] = statement.targets;
      const chosen = only && others.length === 0 ? choiceOrNone(only, statement.value, context) : undefined;
      if (chosen) return translateIf(chosen, rest, after, context);
      for (const target of statement.targets) assign(target, statement.value, rest, after, context);
      return false;
    }
    case "AnnAssign": {
      if (!statement.value || statement.target.kind !== "Name") return false;
      const isConstant = statement.annotation.kind === "Attribute" && statement.annotation.attr === "constexpr";
      if (isConstant) define(statement.target.id, translateExpression(statement.value, context), context);
      else assign(statement.target, statement.value, rest, after, context);
      return false;
    }
    case "AugAssign":
      augment(statement, rest, after, context);
      return false;
    case "Expr":
      run(statement.value, context);
      return false;
    case "If":
      return translateIf(statement, rest, after, context);
    case "For":
      translateFor(statement, liveBefore(rest, after), context);
      return false;
    case "While":
      whileLoop(statement, liveBefore(rest, after), context);
      return false;
    case "Return":
      return leave(statement.value, context);
    case "Assert": {
      const asked = translateCondition(statement.test, context);
      if (asked.kind === "truth") return false;
      const check = isKnown(asked, statement.test) ? "staticAssert" : "deviceAssert";
      scope.emit(`tl.${check}(${asked.text});`);
      return false;
    }
    case "Pass":
      return false;
    default:
      return scope.refuse(`the statement ${statement.kind.toLowerCase()}`, statement);
  }
}

/** A call for its effect. Hints change their operand in Triton, so they give it a new value. */
function run(node: Expression, context: Context): void {
  const { scope } = context;
  if (node.kind === "Constant") return;
  const value = translateExpression(node, context);
  if (value.kind === "nothing") return;
  const hinted =
    node.kind === "Call" && /^tl\.(multiple_of|max_contiguous|max_constancy)$/.test(calleeName(node)) && node.args[0];
  if (hinted && hinted.kind === "Name") define(hinted.id, value, context);
  else scope.emit(`${value.text};`);
}

const calleeName = (node: Extract<Expression, { kind: "Call" }>): string =>
  node.callee?.what === "function" ? node.callee.name : "";

function leave(value: Expression | null, context: Context): boolean {
  const { scope } = context;
  scope.hasLeft = true;
  if (scope.isKernel) {
    if (scope.loops > 0) scope.refuse("a return inside of a loop");
    if (scope.depth > scope.home) scope.emit("tl.exit();");
    return true;
  }
  if (!value) return true;
  const given = translateExpression(value, context);
  if (given.kind === "none") return true;
  if (given.kind === "number" || given.kind === "truth") scope.refuse("a helper function that returns a number", value);
  scope.emit(`return ${given.text}${given.kind === "list" ? " as const" : ""};`);
  return true;
}

function augment(statement: Augmented, rest: readonly Statement[], after: Names, context: Context): void {
  const { target } = statement;
  if (target.kind !== "Name") return context.scope.refuse("an assignment to what is no variable", statement);
  const left = { value: translateExpression(target, context), from: target };
  const right = { value: translateExpression(statement.value, context), from: statement.value };
  const made = { ...statement, kind: "BinOp", left: target, right: statement.value } as Expression;
  store(target.id, held(binary(statement.op, left, right, made, context), made), rest, after, context);
}

function assign(
  target: Expression,
  from: Expression,
  rest: readonly Statement[],
  after: Names,
  context: Context,
): void {
  const { scope } = context;
  if (target.kind === "Name") {
    // What nothing reads is left out, as Triton leaves it out.
    if (!liveBefore(rest, after).has(target.id) && onlyComputes(from)) return;
    store(target.id, held(translateExpression(from, context), from), rest, after, context);
    return;
  }
  if (target.kind !== "Tuple" && target.kind !== "List")
    return scope.refuse("an assignment to what is no variable", target);
  const names = target.elts.map((each) => (each.kind === "Name" ? each.id : scope.refuse("a nested target", target)));
  const value = translateExpression(from, context);
  if (value.kind === "list") unpackList(names, value.items, from, rest, after, context);
  else unpack(names, value, rest, after, context);
}

/** `a, b = b, a`: everything is read before anything is written. */
function unpackList(
  names: readonly string[],
  items: readonly Value[],
  from: Expression,
  rest: readonly Statement[],
  after: Names,
  context: Context,
): void {
  const { scope } = context;
  if (names.length !== items.length) return scope.refuse("a tuple of another length", from);
  const parts = from.kind === "Tuple" || from.kind === "List" ? from.elts : [];
  const isRead =
    names.some((name) => scope.variable(name)?.isState === true) && items.some(({ kind }) => kind === "traced");
  const values = items.map((item, i) => {
    if (!isRead || item.kind !== "traced") return item;
    const text = scope.fresh(`${names[i]!}_next`);
    scope.emit(`const ${text} = ${item.text};`);
    return traced(text);
  });
  for (const [i, name] of names.entries()) store(name, held(values[i]!, parts[i]), rest, after, context);
}

/** `a, b = f(x)`. */
function unpack(
  names: readonly string[],
  value: Value,
  rest: readonly Statement[],
  after: Names,
  context: Context,
): void {
  const { scope } = context;
  const isPlain = (name: string): boolean => !scope.linked.has(name) && !isChanged(name, rest, after);
  const texts = names.map((name) => scope.fresh(isPlain(name) ? name : `${name}_next`));
  scope.emit(`const [${texts.join(", ")}] = ${value.text};`);
  for (const [i, name] of names.entries())
    if (isPlain(name)) scope.bind(name, traced(texts[i]!));
    else store(name, traced(texts[i]!), rest, after, context);
}

/** A value that a variable of the program holds: Triton makes a number of what it knows. */
interface Held {
  readonly value: Value;
  /** As state holds it: with a dtype. */
  readonly strong: Value;
}

function held(value: Value, from: Expression | undefined): Held {
  const kind = constantKind(from);
  const dtype = { int: "tl.int32", float: "tl.float32", bool: "tl.int1" }[kind ?? ""];
  if (value.kind === "number") return { value, strong: cast(value, value.isFloat ? "tl.float32" : "tl.int32") };
  if (value.kind === "truth") return { value, strong: cast(value, "tl.int1") };
  return { value, strong: value.kind === "traced" && dtype !== undefined ? cast(value, dtype) : value };
}

function store(name: string, given: Held | Value, rest: readonly Statement[], after: Names, context: Context): void {
  const { scope } = context;
  const { value, strong } = "kind" in given ? { value: given, strong: given } : given;
  const variable = scope.variable(name);
  if (variable?.isState && scope.linked.has(name)) {
    scope.emit(`${variable.value.text}.value = ${strong.text};`);
    return;
  }
  if (!isChanged(name, rest, after)) {
    // Triton makes a number of the program of a constant, unless it is annotated.
    define(name, value.kind === "traced" ? traced(value.text) : value, context);
    return;
  }
  if (strong.kind !== "traced") return define(name, value, context);
  const text = scope.fresh(name);
  scope.emit(`const ${text} = tl.mut(${strong.text});`);
  scope.bind(name, traced(text), true);
}

/** A variable with one value. What JavaScript knows while the text is written needs no variable. */
function define(name: string, value: Value, { scope }: Context): void {
  if (value.kind === "list") {
    const items = value.items.map((item, i) => (item.kind === "traced" ? named(`${name}_${i}`, item, scope) : item));
    scope.bind(name, list(items));
    return;
  }
  scope.bind(name, named(name, value, scope));
}

function named(name: string, value: Value, scope: Context["scope"]): Value {
  if (value.kind !== "traced" && value.kind !== "number") return value;
  const isName = /^[\w$]+$/.test(value.text);
  if (value.kind === "traced" && isName && value.text === name) return value;
  const text = scope.fresh(name);
  scope.emit(`const ${text} = ${value.text};`);
  return { ...value, text };
}

/** Makes state of variables that a loop or a branch changes and that have a plain value so far. */
export function makeState(names: readonly string[], context: Context): void {
  const { scope } = context;
  for (const name of names) {
    const variable = scope.variable(name);
    if (!variable || variable.isState) continue;
    const { value, under } = variable;
    if (value.kind !== "traced" && value.kind !== "number" && value.kind !== "truth")
      return scope.refuse(
        `${name}, which a loop or branch changes, is ${value.kind === "none" ? "None" : `a ${value.kind}`}`,
      );
    const strong = value.kind === "traced" ? value : held(value, undefined).strong;
    const text = scope.fresh(name);
    const made = `tl.mut(${strong.text})`;
    scope.emit(`const ${text} = ${under ? `tl.when(${under.text}, () => ${made}).value` : made};`);
    scope.bind(name, traced(text), true, under);
  }
}
