/** Fixes for calls that the trace rejected: renames an option, or adds `.value` to a loop-carried variable. */
import { ts } from "./typescript.js";
import type { Edit } from "../diagnostics/diagnostic.js";
import type { SourceFix } from "../ir/source-index.js";
import { toEdit } from "./text-edits.js";
import { unwrap } from "./sites.js";

/** The fix of a call or property access; undefined if its text does not show what to change. */
export function fixCall(node: ts.Node, fix: SourceFix): Edit | undefined {
  if (fix.kind === "rename") return ts.isCallExpression(node) ? renameOption(node, fix.from, fix.to) : undefined;
  const state = operandsOf(node).map(unwrap).find(isState);
  return state && toEdit({ node: state, text: `${state.getText()}.value` });
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

/**
 * True for a variable that is always a `tl.mut`: `const acc = tl.mut(…)`. A parameter may be a `tl.mut` in one call and
 * a tile in another.
 */
function isState(node: ts.Expression): boolean {
  if (!ts.isIdentifier(node)) return false;
  for (let scope: ts.Node = node.parent; scope; scope = scope.parent) {
    const declaration = declarationIn(scope, node.text);
    if (declaration) return ts.isVariableDeclaration(declaration) && isMut(declaration);
  }
  return false;
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

function isMut({ initializer, parent }: ts.VariableDeclaration): boolean {
  const call = initializer && unwrap(initializer);
  if (!call || !ts.isCallExpression(call) || !(parent.flags & ts.NodeFlags.Const)) return false;
  const callee = unwrap(call.expression);
  const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
  return ts.isIdentifier(name) && name.text === "mut";
}
