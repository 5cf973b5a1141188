/** Text edits that fix a diagnostic. */
import { ts } from "./typescript.js";
import type { Edit, Location } from "../diagnostics/diagnostic.js";
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

/** Formats `receiver.method(argument)`, with parentheses only if the receiver needs them. */
export function methodCall(receiver: ts.Expression, method: string, argument?: ts.Expression): string {
  return `${asReceiver(receiver)}.${method}(${argument ? unwrap(argument).getText() : ""})`;
}

function asReceiver(node: ts.Expression): string {
  const isCallable = ts.isLeftHandSideExpression(node) && !ts.isNumericLiteral(node);
  return isCallable ? node.getText() : `(${node.getText()})`;
}
