/** Where the author wrote the parts of a kernel's spec. */
import { ts } from "./typescript.js";
import { type PerGpu, listsOf } from "../compiled/configs-by-gpu.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { SpecPlaces } from "../ir/source.js";
import { locate, unwrap } from "./sites.js";

/** The places of a `kernel` call's arguments. */
export function specPlaces(call: ts.Node): SpecPlaces | undefined {
  if (!ts.isCallExpression(call)) return undefined;
  const spec = call.arguments[1];
  const body = call.arguments[2] && unwrap(call.arguments[2]);
  const returned = body && returnedBy(body);
  return {
    configs: configPlaces(spec),
    parts: partPlaces(spec),
    body: body && placeOf(body),
    returned: returned && placeOf(returned),
  };
}

/** The first value that a function returns. */
function returnedBy(node: ts.Node): ts.Node | undefined {
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return node.body;
  const find = (inner: ts.Node): ts.Node | undefined => {
    if (ts.isReturnStatement(inner)) return inner.expression && inner;
    return ts.isFunctionLike(inner) ? undefined : ts.forEachChild(inner, find);
  };
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node) ? find(node.body) : undefined;
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

/** Each of `autotune.configs`, or `config`, in the order of the kernel's configs; none where they are computed. */
function configPlaces(spec: ts.Expression | undefined): readonly Location[] {
  const single = property(spec, "config");
  if (single) return [placeOf(single)];
  const written = configsIn(spec);
  if (!written) return [];
  if (written.kind === "list") return written.list.elements.map(placeOf);
  return listsOf(written).flatMap(({ list }) => list.elements.map(placeOf));
}

/** How `autotune.configs` is written: a list, or lists by GPU, with the object that has those. */
export type WrittenConfigs =
  | { readonly kind: "list"; readonly list: ts.ArrayLiteralExpression }
  | ({ readonly kind: "by GPU"; readonly object: ts.ObjectLiteralExpression } & PerGpu<ts.ArrayLiteralExpression>);

/** Those of a call of `kernel`; undefined where they are computed. */
export function writtenConfigs(call: ts.Node): WrittenConfigs | undefined {
  return ts.isCallExpression(call) ? configsIn(call.arguments[1]) : undefined;
}

function configsIn(spec: ts.Expression | undefined): WrittenConfigs | undefined {
  const configs = property(property(spec, "autotune"), "configs");
  const list = listIn(configs);
  if (list) return { kind: "list", list };
  if (!configs || !ts.isObjectLiteralExpression(configs)) return undefined;
  const [others, cuda, hip] = [listIn(property(configs, "default")), listsIn(configs, "cuda"), listsIn(configs, "hip")];
  return others && cuda && hip ? { kind: "by GPU", object: configs, default: others, cuda, hip } : undefined;
}

/** The lists of one vendor's GPUs; undefined where one of them is computed. */
function listsIn(
  configs: ts.ObjectLiteralExpression,
  vendor: "cuda" | "hip",
): Readonly<Record<string, ts.ArrayLiteralExpression>> | undefined {
  const given = property(configs, vendor);
  if (!given) return configs.properties.some((member) => member.name?.getText() === vendor) ? undefined : {};
  if (!ts.isObjectLiteralExpression(given)) return undefined;
  const found: Record<string, ts.ArrayLiteralExpression> = {};
  for (const member of given.properties) {
    const list = ts.isPropertyAssignment(member) ? listIn(unwrap(member.initializer)) : undefined;
    const key = member.name && (ts.isStringLiteral(member.name) ? member.name.text : member.name.getText());
    if (!list || key === undefined) return undefined;
    found[key] = list;
  }
  return found;
}

function listIn(configs: ts.Expression | undefined): ts.ArrayLiteralExpression | undefined {
  const isList = configs && ts.isArrayLiteralExpression(configs) && !configs.elements.some(ts.isSpreadElement);
  return isList ? configs : undefined;
}

/** The value of an object literal's property. */
export function property(object: ts.Expression | undefined, name: string): ts.Expression | undefined {
  const literal = object && unwrap(object);
  if (!literal || !ts.isObjectLiteralExpression(literal)) return undefined;
  for (const member of literal.properties)
    if (ts.isPropertyAssignment(member) && member.name.getText() === name) return unwrap(member.initializer);
  return undefined;
}

function placeOf(node: ts.Node): Location {
  return locate(node.getSourceFile(), node.getStart());
}
