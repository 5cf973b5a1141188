/** Source locations of the fields of a kernel's spec. */
import { ts } from "./typescript.js";
import { type PerGpu, listsOf } from "../compiled/gpus.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { SpecLocations } from "../ir/source-index.js";
import { locate, unwrap } from "./sites.js";

/** The locations of the arguments of a `kernel` call. */
export function specLocations(call: ts.Node): SpecLocations | undefined {
  if (!ts.isCallExpression(call)) return undefined;
  const spec = call.arguments[1];
  const body = call.arguments[2] && unwrap(call.arguments[2]);
  const result = body && returnedNode(body);
  return {
    configs: configLocations(spec),
    parts: partLocations(spec),
    body: body && locationOf(body),
    firstReturn: result && locationOf(result),
  };
}

/** The first return statement with a value, or the body of an arrow function without braces. */
function returnedNode(node: ts.Node): ts.Node | undefined {
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return node.body;
  const find = (inner: ts.Node): ts.Node | undefined => {
    if (ts.isReturnStatement(inner)) return inner.expression && inner;
    return ts.isFunctionLike(inner) ? undefined : ts.forEachChild(inner, find);
  };
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node) ? find(node.body) : undefined;
}

function partLocations(spec: ts.Expression | undefined): SpecLocations["parts"] {
  const literal = spec && unwrap(spec);
  if (!literal || !ts.isObjectLiteralExpression(literal)) return {};
  const entries = literal.properties.flatMap((member) => {
    if (!member.name) return [];
    const value = ts.isPropertyAssignment(member) ? unwrap(member.initializer) : member;
    return [[member.name.getText(), locationOf(value)] as const];
  });
  return Object.fromEntries(entries);
}

/**
 * The locations of `autotune.configs`, or of `config`, in the order of the kernel's configs. Empty if they are
 * computed.
 */
function configLocations(spec: ts.Expression | undefined): readonly Location[] {
  const single = property(spec, "config");
  if (single) return [locationOf(single)];
  const literal = configsIn(spec);
  if (!literal) return [];
  if (literal.kind === "list") return literal.list.elements.map(locationOf);
  return listsOf(literal).flatMap(({ list }) => list.elements.map(locationOf));
}

/** The literal of `autotune.configs`: a list, or lists by GPU with the object that contains them. */
export type ConfigsLiteral =
  | { readonly kind: "list"; readonly list: ts.ArrayLiteralExpression }
  | ({ readonly kind: "by GPU"; readonly object: ts.ObjectLiteralExpression } & PerGpu<ts.ArrayLiteralExpression>);

/** The configs literal of a `kernel` call; undefined if the configs are computed. */
export function configsLiteral(call: ts.Node): ConfigsLiteral | undefined {
  return ts.isCallExpression(call) ? configsIn(call.arguments[1]) : undefined;
}

function configsIn(spec: ts.Expression | undefined): ConfigsLiteral | undefined {
  const configs = property(property(spec, "autotune"), "configs");
  const list = listIn(configs);
  if (list) return { kind: "list", list };
  if (!configs || !ts.isObjectLiteralExpression(configs)) return undefined;
  const [defaultList, cuda, hip] = [
    listIn(property(configs, "default")),
    listsIn(configs, "cuda"),
    listsIn(configs, "hip"),
  ];
  return defaultList && cuda && hip ? { kind: "by GPU", object: configs, default: defaultList, cuda, hip } : undefined;
}

/** The lists of one vendor's GPUs; undefined if one of them is computed. */
function listsIn(
  configs: ts.ObjectLiteralExpression,
  vendor: "cuda" | "hip",
): Readonly<Record<string, ts.ArrayLiteralExpression>> | undefined {
  const object = property(configs, vendor);
  if (!object) return configs.properties.some((member) => member.name?.getText() === vendor) ? undefined : {};
  if (!ts.isObjectLiteralExpression(object)) return undefined;
  const lists: Record<string, ts.ArrayLiteralExpression> = {};
  for (const member of object.properties) {
    const list = ts.isPropertyAssignment(member) ? listIn(unwrap(member.initializer)) : undefined;
    const key = member.name && (ts.isStringLiteral(member.name) ? member.name.text : member.name.getText());
    if (!list || key === undefined) return undefined;
    lists[key] = list;
  }
  return lists;
}

function listIn(configs: ts.Expression | undefined): ts.ArrayLiteralExpression | undefined {
  const isList = configs && ts.isArrayLiteralExpression(configs) && !configs.elements.some(ts.isSpreadElement);
  return isList ? configs : undefined;
}

/** The value of a property of an object literal. */
export function property(object: ts.Expression | undefined, name: string): ts.Expression | undefined {
  const literal = object && unwrap(object);
  if (!literal || !ts.isObjectLiteralExpression(literal)) return undefined;
  for (const member of literal.properties)
    if (ts.isPropertyAssignment(member) && member.name.getText() === name) return unwrap(member.initializer);
  return undefined;
}

function locationOf(node: ts.Node): Location {
  return locate(node.getSourceFile(), node.getStart());
}
