/**
 * Replacements of the author's text: their edits, and the methods and functions of `tl` in place of JavaScript's operators
 * and `Math` functions.
 */
import { ts } from "./typescript.js";
import { type Choice, hiddenCoercion, methodForOperator } from "../diagnostics/catalog/source-codes.js";
import type { Edit, Location, MessageOfCode, SourceFix } from "../diagnostics/diagnostic.js";
import { locate, unwrap } from "./sites.js";
import { property } from "./spec-locations.js";

/** A node and its replacement text. */
export interface TextReplacement {
  readonly node: ts.Node;
  readonly text: string;
}

export function startOf(node: ts.Node): Location {
  const file = node.getSourceFile();
  return locate(file, node.getStart(file));
}

export function toEdit({ node, text }: TextReplacement): Edit {
  return { at: startOf(node), end: locate(node.getSourceFile(), node.getEnd()), text };
}

/** The replacement texts of expressions that were reported before. */
export type ReplacedTexts = WeakMap<ts.Node, string>;

/** Formats `receiver.method(argument)`, with parentheses only if the receiver needs them. */
export function methodCall(
  replaced: ReplacedTexts,
  receiver: ts.Expression,
  method: string,
  argument?: ts.Expression,
): string {
  return `${asReceiver(replaced, receiver)}.${method}(${argument ? replacedText(replaced, unwrap(argument)) : ""})`;
}

function asReceiver(replaced: ReplacedTexts, node: ts.Expression): string {
  if (ts.isParenthesizedExpression(node)) return asReceiver(replaced, node.expression);
  const text = replacedText(replaced, node);
  const isCallable = replaced.has(node) || (ts.isLeftHandSideExpression(node) && !ts.isNumericLiteral(node));
  return isCallable ? text : `(${text})`;
}

/** True for an operand of JavaScript's operators. */
const isOperand = ({ parent }: ts.Expression): boolean =>
  ts.isParenthesizedExpression(parent)
    ? isOperand(parent)
    : ts.isBinaryExpression(parent) || ts.isPrefixUnaryExpression(parent);

/** The author's text with the replacements of its parts. A replacement is a call and needs no parentheses. */
function replacedText(replaced: ReplacedTexts, node: ts.Node): string {
  if (ts.isExpression(node) && isOperand(node) && isState(node)) return `${node.text}.value`;
  const own = replaced.get(ts.isParenthesizedExpression(node) ? node.expression : node);
  if (own !== undefined) return own;
  const file = node.getSourceFile();
  let [text, end] = ["", node.getStart(file)];
  ts.forEachChild(node, (child) => {
    const start = child.getStart(file);
    if (start < end) return;
    text += `${file.text.slice(end, start)}${replacedText(replaced, child)}`;
    end = child.getEnd();
  });
  return `${text}${file.text.slice(end, node.getEnd())}`;
}

/** True for a sum that is the address of an access or a part of it: `tl.load(x + row * N + cols)`. */
export function isInAddress(node: ts.BinaryExpression): boolean {
  const { parent } = node;
  if (isInnerSum(node)) return isInAddress(parent as ts.BinaryExpression);
  const isAccess = ts.isCallExpression(parent) && parent.arguments[0] === node;
  return isAccess && /\.(?:load|store|atomic\w*)$/.test(parent.expression.getText());
}

const isSum = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;

export const isInnerSum = (node: ts.BinaryExpression): boolean => isSum(node.parent) && node.parent.left === node;

export const firstTerm = (node: ts.Expression): ts.Expression => (isSum(node) ? firstTerm(node.left) : node);

/** The author's text with methods in place of operators, if the text shows which operand has the method. */
export function methodText(node: ts.Expression): string {
  const e = unwrap(node);
  if (isState(e)) return `${e.text}.value`;
  if (!ts.isBinaryExpression(e) || e.operatorToken.kind === ts.SyntaxKind.SlashToken) return e.getText();
  const remedy = methodForOperator(e.operatorToken.getText(), !ts.isNumericLiteral(unwrap(e.left)));
  if (!remedy) return e.getText();
  const [receiver, argument] = remedy.isSwapped ? [e.right, e.left] : [e.left, e.right];
  return `${methodText(receiver)}.${remedy.method}(${methodText(argument)})`;
}

/** The kind of statement or expression whose whole condition is this expression. */
export function choiceOf(node: ts.Expression): Choice {
  const { parent } = node;
  if (ts.isParenthesizedExpression(parent)) return choiceOf(parent);
  if (ts.isIfStatement(parent) && parent.expression === node) return "if";
  if (ts.isWhileStatement(parent)) return "while";
  return ts.isConditionalExpression(parent) && parent.condition === node ? "conditional" : undefined;
}

/**
 * True for a variable that is always a `tl.mut`: `const acc = tl.mut(…)`. A parameter may be a `tl.mut` in one call and
 * a tile in another.
 */
export function isState(node: ts.Expression): node is ts.Identifier {
  const call = ts.isIdentifier(node) ? constantValue(node) : undefined;
  if (!call || !ts.isCallExpression(call)) return false;
  const callee = unwrap(call.expression);
  const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
  return ts.isIdentifier(name) && name.text === "mut";
}

/** The value of a variable that is declared with `const`. */
function constantValue(name: ts.Identifier): ts.Expression | undefined {
  for (let scope: ts.Node = name.parent; scope; scope = scope.parent) {
    const declaration = declarationIn(scope, name.text);
    if (!declaration) continue;
    const isConstant = ts.isVariableDeclaration(declaration) && declaration.parent.flags & ts.NodeFlags.Const;
    return isConstant && declaration.initializer ? unwrap(declaration.initializer) : undefined;
  }
  return undefined;
}

/** The declaration of a name directly in a block, a loop head or a parameter list. */
function declarationIn(scope: ts.Node, name: string): ts.Node | undefined {
  let declaration: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    const isDeclaration =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node);
    if (isDeclaration && node.name && ts.isIdentifier(node.name) && node.name.text === name) declaration = node;
    const isContainer =
      ts.isVariableStatement(node) || ts.isVariableDeclarationList(node) || ts.isVariableDeclaration(node);
    if (isContainer || ts.isParameter(node) || ts.isBindingName(node) || ts.isBindingElement(node))
      ts.forEachChild(node, visit);
  };
  ts.forEachChild(scope, visit);
  return declaration;
}

/** Replacements of `Math` functions with another name in TileScript. */
const MATH_REPLACEMENTS: Readonly<Record<string, string>> = {
  max: "tl.maximum",
  min: "tl.minimum",
  pow: "libdevice.pow",
  round: "libdevice.rint",
  trunc: "libdevice.trunc",
};
const TL_MATH_FUNCTIONS = /^(?:abs|exp|log|log2|sqrt|sin|cos|floor|ceil)$/;

/** The message for a `Math` function of traced values. */
export function mathMessage(node: ts.CallExpression, name: string): MessageOfCode {
  const replacement = MATH_REPLACEMENTS[name] ?? `${TL_MATH_FUNCTIONS.test(name) ? "tl" : "libdevice"}.${name}`;
  const args = node.arguments.map((argument) => unwrap(argument).getText()).join(", ");
  return hiddenCoercion.ofNumbers(`Math.${name}`, `${replacement}(${args.length > 40 ? "…" : args})`);
}

// The edits for fixes of calls and property accesses.

/** The fix of a call or property access; undefined if its text does not show what to change. */
export function fixCall(node: ts.Node, fix: SourceFix): Edit | undefined {
  switch (fix.kind) {
    case "rename":
      return ts.isCallExpression(node) ? renameOption(node, fix.from, fix.to) : undefined;
    case "value": {
      const state = operandsOf(node).map(unwrap).find(isState);
      return state && toEdit({ node: state, text: `${state.getText()}.value` });
    }
    case "require":
      return ts.isCallExpression(node) ? addRequirement(node.arguments[1], fix) : undefined;
    case "mask": {
      const [claim, ...others] = operandsOf(node).map(unwrap).filter(isView).flatMap(claimsOf);
      const index = claim?.arguments[0];
      return claim && index && others.length === 0 ? toEdit({ node: claim, text: index.getText() }) : undefined;
    }
    case "declare": {
      const spec = ts.isCallExpression(node) ? node.arguments[1] : undefined;
      const declared = property(property(spec, "params"), fix.param);
      const declaration = declared && paramCallIn(declared);
      return declaration && setOption(declaration, fix.option, fix.value);
    }
    case "barrier": {
      const statement = statementOf(node);
      return statement && !accessesFirst(node) ? insertBefore(statement, "tl.debugBarrier();") : undefined;
    }
    case "other":
      return ts.isCallExpression(node) ? setOption(node, "other", String(fix.value)) : undefined;
    case "omit": {
      const statement = statementOf(node);
      return statement && ts.isExpressionStatement(statement) && unwrap(statement.expression) === node
        ? removeStatement(statement)
        : undefined;
    }
    default:
      return fix satisfies never;
  }
}

/** The call that declares a param: `tensor(…)` of `tensor(…).optional()`. */
function paramCallIn(declared: ts.Expression): ts.CallExpression | undefined {
  if (!ts.isCallExpression(declared)) return undefined;
  const { expression: callee } = declared;
  const inner = ts.isPropertyAccessExpression(callee) ? paramCallIn(unwrap(callee.expression)) : undefined;
  return inner ?? declared;
}

/** The call with an option. Its last argument contains the other options. */
function setOption(call: ts.CallExpression, name: string, value: string): Edit | undefined {
  const text = `${name}: ${value}`;
  const options = optionsOf(call);
  const last = call.arguments.at(-1);
  if (!options) return last && toEdit({ node: last, text: `${last.getText()}, { ${text} }` });
  const present = options.properties.find((each) => each.name?.getText() === name);
  if (present) return toEdit({ node: present, text });
  return toEdit({
    node: options,
    text: `{ ${[...options.properties.map((each) => each.getText()), text].join(", ")} }`,
  });
}

/** The statement of a block that contains a node, in the same function. */
function statementOf(node: ts.Node): ts.Statement | undefined {
  for (let each = node; !ts.isFunctionLike(each) && !ts.isSourceFile(each); each = each.parent)
    if (ts.isStatement(each)) return ts.isBlock(each.parent) ? each : undefined;
  return undefined;
}

/** True if arguments of a call access memory before the call does, as in `tl.store(y.at(i), tl.load(…))`. */
const accessesFirst = (node: ts.Node): boolean =>
  ts.forEachChild(node, (child) => {
    const isAccess = ts.isCallExpression(child) && /\b(?:load|store|atomic\w*)$/.test(child.expression.getText());
    return isAccess || accessesFirst(child);
  }) ?? false;

function insertBefore(statement: ts.Statement, text: string): Edit {
  const file = statement.getSourceFile();
  const start = statement.getStart(file);
  const at = locate(file, start);
  const indent = /[ \t]*$/.exec(file.text.slice(0, start))?.[0] ?? "";
  return { at, end: at, text: `${text}\n${indent}` };
}

/** Removes a statement with the line break before it. */
function removeStatement(statement: ts.Statement): Edit {
  const file = statement.getSourceFile();
  const before = /\s*$/.exec(file.text.slice(0, statement.getStart(file)))?.[0] ?? "";
  return {
    at: locate(file, statement.getStart(file) - before.length),
    end: locate(file, statement.getEnd()),
    text: "",
  };
}

/** `x.at(…)` */
const isView = (node: ts.Expression): node is ts.CallExpression => ts.isCallExpression(node) && isNamed(node, "at");

const isNamed = ({ expression }: ts.CallExpression, name: string): boolean =>
  ts.isPropertyAccessExpression(expression) && expression.name.text === name;

/** The calls of `tl.inBounds` around the indices of a view, also in the declarations of constants. */
function claimsOf(view: ts.CallExpression): readonly ts.CallExpression[] {
  return view.arguments.flatMap((argument) => {
    const index = unwrap(argument);
    const value = ts.isIdentifier(index) ? constantValue(index) : index;
    return value && ts.isCallExpression(value) && isNamed(value, "inBounds") ? [value] : [];
  });
}

type Requirement = Extract<SourceFix, { kind: "require" }>;

function addRequirement(spec: ts.Expression | undefined, { names, condition }: Requirement): Edit | undefined {
  const requires = property(spec, "requires");
  if (requires) return extendRequirements(requires, names, condition);
  const literal = spec && unwrap(spec);
  if (!literal || !ts.isObjectLiteralExpression(literal)) return undefined;
  const members = literal.properties;
  const grid = members.find((member) => member.name?.getText() === "grid")?.name;
  if (!grid || members.some((member) => member.name?.getText() === "requires")) return undefined;
  const indent = /[ \t]*$/.exec(grid.getSourceFile().text.slice(0, grid.getStart()))?.[0] ?? "";
  return toEdit({ node: grid, text: `requires: ({ ${names.join(", ")} }) => [${condition}],\n${indent}grid` });
}

/** Extends `({ N }) => [N.ge(1)]`; undefined for any other form. */
function extendRequirements(requires: ts.Expression, names: readonly string[], condition: string): Edit | undefined {
  if (!ts.isArrowFunction(requires) || ts.isBlock(requires.body)) return undefined;
  const [param] = requires.parameters;
  const body = unwrap(requires.body);
  if (!param || !ts.isObjectBindingPattern(param.name) || !ts.isArrayLiteralExpression(body)) return undefined;
  const elements = param.name.elements.map((element) => element.getText());
  const list = [...elements, ...names.filter((name) => !elements.includes(name))].join(", ");
  const conditions = [...body.elements.map((element) => element.getText()), condition].join(", ");
  return toEdit({ node: requires, text: `({ ${list} }) => [${conditions}]` });
}

function optionsOf(call: ts.CallExpression): ts.ObjectLiteralExpression | undefined {
  const last = call.arguments.at(-1);
  const literal = last && unwrap(last);
  return literal && ts.isObjectLiteralExpression(literal) ? literal : undefined;
}

function renameOption(call: ts.CallExpression, from: string, to: string): Edit | undefined {
  const option = optionsOf(call)?.properties.find((each) => each.name?.getText() === from);
  if (!option?.name) return undefined;
  if (ts.isShorthandPropertyAssignment(option)) return toEdit({ node: option, text: `${to}: ${from}` });
  return toEdit({ node: option.name, text: to });
}

/** The receiver of a method or property, the arguments including items of lists and options, and the assigned value. */
function operandsOf(node: ts.Node): readonly ts.Expression[] {
  if (ts.isCallExpression(node)) {
    const callee = unwrap(node.expression);
    const receiver = ts.isPropertyAccessExpression(callee) ? [callee.expression] : [];
    return [...receiver, ...node.arguments.flatMap(itemsOf)];
  }
  if (!ts.isPropertyAccessExpression(node)) return [];
  const { parent } = node;
  const isTarget = ts.isBinaryExpression(parent) && parent.left === node;
  return isTarget ? [parent.right] : [node.expression];
}

function itemsOf(argument: ts.Expression): readonly ts.Expression[] {
  const value = unwrap(argument);
  if (ts.isArrayLiteralExpression(value)) return value.elements;
  if (!ts.isObjectLiteralExpression(value)) return [value];
  return value.properties.flatMap((each) => (ts.isPropertyAssignment(each) ? [each.initializer] : []));
}
