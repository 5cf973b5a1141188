/** Fixes for calls that the trace rejected: renames an option, or adds `.value` to a loop-carried variable. */
import { ts } from "./typescript.js";
import type { Edit } from "../diagnostics/diagnostic.js";
import type { SourceFix } from "../ir/source-index.js";
import { isState, toEdit } from "./replacements.js";
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
