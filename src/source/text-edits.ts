/** Mechanical remedies: the author's text as it should be. */
import { ts } from "./typescript.js";
import type { Edit, Location } from "../diagnostics/diagnostic.js";
import { locate, unwrap } from "./sites.js";

/** A node, and the text that should stand there. */
export interface TextReplacement {
  readonly node: ts.Node;
  readonly text: string;
}

export function start(node: ts.Node): Location {
  const file = node.getSourceFile();
  return locate(file, node.getStart(file));
}

export function editOf({ node, text }: TextReplacement): Edit {
  return { at: start(node), end: locate(node.getSourceFile(), node.getEnd()), text };
}

/** `receiver.method(argument)`, with parentheses only where the receiver needs them. */
export function methodCall(receiver: ts.Expression, method: string, argument?: ts.Expression): string {
  return `${asReceiver(receiver)}.${method}(${argument ? unwrap(argument).getText() : ""})`;
}

function asReceiver(node: ts.Expression): string {
  const isCallable = ts.isLeftHandSideExpression(node) && !ts.isNumericLiteral(node);
  return isCallable ? node.getText() : `(${node.getText()})`;
}
