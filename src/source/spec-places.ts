/** Where the author wrote the parts of a kernel's spec. */
import { ts } from "./typescript.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { SpecPlaces } from "../ir/source.js";
import { locate, unwrap } from "./sites.js";

/** The places of a `kernel` call's arguments. */
export function specPlaces(call: ts.Node): SpecPlaces | undefined {
  if (!ts.isCallExpression(call)) return undefined;
  const spec = call.arguments[1];
  return { configs: configPlaces(spec), parts: partPlaces(spec) };
}

function partPlaces(spec: ts.Expression | undefined): SpecPlaces["parts"] {
  const literal = spec && unwrap(spec);
  if (!literal || !ts.isObjectLiteralExpression(literal)) return {};
  const places = literal.properties.flatMap((member) => {
    if (!member.name) return [];
    const given = ts.isPropertyAssignment(member) ? unwrap(member.initializer) : member;
    return [[member.name.getText(), placeOf(given)] as const];
  });
  return Object.fromEntries(places);
}

/** Each of `autotune.configs`, or `config`; none where they are computed. */
function configPlaces(spec: ts.Expression | undefined): readonly Location[] {
  const single = property(spec, "config");
  if (single) return [placeOf(single)];
  return listIn(spec)?.elements.map(placeOf) ?? [];
}

/** The list of `autotune.configs` in a call of `kernel`; undefined where it is computed. */
export function configList(call: ts.Node): ts.ArrayLiteralExpression | undefined {
  return ts.isCallExpression(call) ? listIn(call.arguments[1]) : undefined;
}

function listIn(spec: ts.Expression | undefined): ts.ArrayLiteralExpression | undefined {
  const configs = property(property(spec, "autotune"), "configs");
  const isList = configs && ts.isArrayLiteralExpression(configs) && !configs.elements.some(ts.isSpreadElement);
  return isList ? configs : undefined;
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
