/**
 * Replacements of the author's text: their edits, and the methods and functions of `tl` in place of JavaScript's operators
 * and `Math` functions.
 */
import { ts } from "./typescript.js";
import { type Choice, hiddenCoercion, methodForOperator } from "../diagnostics/catalog/source-codes.js";
import type { Edit, Location, MessageOfCode } from "../diagnostics/diagnostic.js";
import { locate, unwrap } from "./sites.js";

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
export function constantValue(name: ts.Identifier): ts.Expression | undefined {
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
