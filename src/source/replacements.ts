/** What authors mean by JavaScript's operators and functions, as the text of methods and functions of `tl`. */
import { ts } from "./typescript.js";
import { type Choice, hiddenCoercion, methodOf } from "../diagnostics/catalog/source-codes.js";
import type { MessageOfCode } from "../diagnostics/diagnostic.js";
import { unwrap } from "./sites.js";

/** Whether a sum is what an access takes for its address: `tl.load(x + row * N + cols)`, or a part of it. */
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

/** The author's text with methods for operators, so far as the text shows which side has them. */
export function methodText(node: ts.Expression): string {
  const e = unwrap(node);
  if (isState(e)) return `${e.text}.value`;
  if (!ts.isBinaryExpression(e) || e.operatorToken.kind === ts.SyntaxKind.SlashToken) return e.getText();
  const remedy = methodOf(e.operatorToken.getText(), !ts.isNumericLiteral(unwrap(e.left)));
  if (!remedy) return e.getText();
  const [receiver, argument] = remedy.swapped ? [e.right, e.left] : [e.left, e.right];
  return `${methodText(receiver)}.${remedy.method}(${methodText(argument)})`;
}

/** Whether an expression is all that an `if` or a `?:` asks. */
export function choiceOf(node: ts.Expression): Choice {
  const { parent } = node;
  if (ts.isParenthesizedExpression(parent)) return choiceOf(parent);
  if (ts.isIfStatement(parent) && parent.expression === node) return "if";
  if (ts.isWhileStatement(parent)) return "while";
  return ts.isConditionalExpression(parent) && parent.condition === node ? "conditional" : undefined;
}

/** Whether a name is that of state, `const acc = tl.mut(…)`, in the nearest block that declares it. */
export function isState(node: ts.Expression): node is ts.Identifier {
  if (!ts.isIdentifier(node)) return false;
  for (let at: ts.Node = node; at; at = at.parent) {
    if (!ts.isBlock(at) && !ts.isSourceFile(at)) continue;
    const declared = at.statements
      .filter(ts.isVariableStatement)
      .flatMap(({ declarationList }) => [...declarationList.declarations])
      .find(({ name }) => ts.isIdentifier(name) && name.text === node.text);
    if (declared) return declared.initializer?.getText().startsWith("tl.mut(") === true;
  }
  return false;
}

/** Functions of JavaScript's `Math` that have another name for values of the program. */
const MATHS: Readonly<Record<string, string>> = {
  max: "tl.maximum",
  min: "tl.minimum",
  pow: "libdevice.pow",
  round: "libdevice.rint",
  trunc: "libdevice.trunc",
};
const OF_TL = /^(?:abs|exp|log|log2|sqrt|sin|cos|floor|ceil)$/;

/** What is said of `Math.sqrt(x)` and its like. */
export function ofTheProgram(node: ts.CallExpression, name: string): MessageOfCode {
  const instead = MATHS[name] ?? `${OF_TL.test(name) ? "tl" : "libdevice"}.${name}`;
  const given = node.arguments.map((argument) => unwrap(argument).getText()).join(", ");
  return hiddenCoercion.ofNumbers(`Math.${name}`, `${instead}(${given.length > 40 ? "…" : given})`);
}
