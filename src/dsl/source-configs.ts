/** Where the author wrote each config of a kernel. */
import { ts } from "ts-morph";
import type { Location } from "../diagnostics.js";
import { locate, unwrap } from "./source-site.js";

/** The places of `autotune.configs`, or of `config`, in a call of `kernel`; none where they are computed. */
export function configPlaces(call: ts.Node): Location[] {
  if (!ts.isCallExpression(call)) return [];
  const spec = call.arguments[1];
  const single = property(spec, "config");
  if (single) return [placeOf(single)];
  const configs = property(property(spec, "autotune"), "configs");
  const elements = configs && ts.isArrayLiteralExpression(configs) ? configs.elements : [];
  return elements.some(ts.isSpreadElement) ? [] : elements.map(placeOf);
}

function property(object: ts.Expression | undefined, name: string): ts.Expression | undefined {
  const literal = object && unwrap(object);
  if (!literal || !ts.isObjectLiteralExpression(literal)) return undefined;
  for (const member of literal.properties)
    if (ts.isPropertyAssignment(member) && member.name.getText() === name) return unwrap(member.initializer);
  return undefined;
}

function placeOf(node: ts.Node): Location {
  return locate(node.getSourceFile(), node.getStart());
}
