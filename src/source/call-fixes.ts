/** Mechanical remedies for calls that tracing refused: an option's name, and the `value` of state. */
import { ts } from "./typescript.js";
import type { Edit } from "../diagnostics/diagnostic.js";
import type { SourceFix } from "../ir/source.js";
import { editOf } from "./text-edits.js";
import { unwrap } from "./sites.js";

/** The change of a call or property access; undefined where its text does not show what to change. */
export function fixedCall(node: ts.Node, how: SourceFix): Edit | undefined {
  if (how.kind === "rename") return ts.isCallExpression(node) ? renamed(node, how.from, how.to) : undefined;
  const state = givenTo(node).map(unwrap).find(isState);
  return state && editOf({ node: state, text: `${state.getText()}.value` });
}

function options(call: ts.CallExpression): ts.ObjectLiteralExpression | undefined {
  const last = call.arguments.at(-1);
  const given = last && unwrap(last);
  return given && ts.isObjectLiteralExpression(given) ? given : undefined;
}

function renamed(call: ts.CallExpression, from: string, to: string): Edit | undefined {
  const found = options(call)?.properties.find((each) => each.name?.getText() === from);
  if (!found?.name) return undefined;
  if (ts.isShorthandPropertyAssignment(found)) return editOf({ node: found, text: `${to}: ${from}` });
  return editOf({ node: found.name, text: to });
}

/** The object of a method or property, the arguments with the items of lists and options, and what is assigned. */
function givenTo(node: ts.Node): readonly ts.Expression[] {
  if (ts.isCallExpression(node)) {
    const callee = unwrap(node.expression);
    const receiver = ts.isPropertyAccessExpression(callee) ? [callee.expression] : [];
    return [...receiver, ...node.arguments.flatMap(parts)];
  }
  if (!ts.isPropertyAccessExpression(node)) return [];
  const { parent } = node;
  const isTarget = ts.isBinaryExpression(parent) && parent.left === node;
  return isTarget ? [parent.right] : [node.expression];
}

function parts(argument: ts.Expression): readonly ts.Expression[] {
  const given = unwrap(argument);
  if (ts.isArrayLiteralExpression(given)) return given.elements;
  if (!ts.isObjectLiteralExpression(given)) return [given];
  return given.properties.flatMap((each) => (ts.isPropertyAssignment(each) ? [each.initializer] : []));
}

/**
 * Whether a variable holds state and nothing else: `const acc = tl.mut(…)`. A parameter may be state in one call and a
 * tile in the next.
 */
function isState(node: ts.Expression): boolean {
  if (!ts.isIdentifier(node)) return false;
  for (let scope: ts.Node = node.parent; scope; scope = scope.parent) {
    const declared = declarationIn(scope, node.text);
    if (declared) return ts.isVariableDeclaration(declared) && isMut(declared);
  }
  return false;
}

/** What declares the name directly in a block, a loop's head or a function's parameters. */
function declarationIn(scope: ts.Node, name: string): ts.Node | undefined {
  let found: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    const declares =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node);
    if (declares && node.name && ts.isIdentifier(node.name) && node.name.text === name) found = node;
    const isOuter =
      ts.isVariableStatement(node) || ts.isVariableDeclarationList(node) || ts.isVariableDeclaration(node);
    if (isOuter || ts.isParameter(node) || ts.isBindingName(node) || ts.isBindingElement(node))
      ts.forEachChild(node, visit);
  };
  ts.forEachChild(scope, visit);
  return found;
}

function isMut({ initializer, parent }: ts.VariableDeclaration): boolean {
  const made = initializer && unwrap(initializer);
  if (!made || !ts.isCallExpression(made) || !(parent.flags & ts.NodeFlags.Const)) return false;
  const callee = unwrap(made.expression);
  const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
  return ts.isIdentifier(name) && name.text === "mut";
}
