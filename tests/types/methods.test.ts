/**
 * An op that is a method of tiles has two declarations, the function's and the method's, because TypeScript cannot derive
 * one generic signature from another. Here they take the same arguments and options; `calls-agree.test.ts` asks both
 * what they accept and give.
 */
import { join } from "node:path";
import { Project, type Symbol as Declared, ts, type Type } from "ts-morph";
import { expect, test } from "vitest";
import { table } from "../../src/ops/table.js";
import { root } from "../support/tsc.js";

const project = new Project({ tsConfigFilePath: join(root, "tsconfig.json"), skipAddingFilesFromTsConfig: true });
const source = project.createSourceFile(
  join(root, "examples/methods.ts"),
  `import { tl, type Tile } from "tilescript";
export declare const x: Tile<"float32", ["M"]>;
export const namespace = tl;
`,
);
const typeOf = (name: string): Type => source.getVariableDeclarationOrThrow(name).getType();
const functions = typeOf("namespace");
const methods = typeOf("x");

/** The options of a parameter's type, or undefined if the parameter is no object of options. */
function optionsOf(type: Type): string | undefined {
  const parts = (type.isUnion() ? type.getUnionTypes() : [type]).filter((part) => !part.isUndefined());
  const names = parts.flatMap((part) => part.getProperties().map((each) => each.getName()));
  const isOptions = parts.every((part) => part.isObject() || part.isIntersection()) && !names.includes("toString");
  return isOptions && names.length > 0 ? `{ ${[...new Set(names)].toSorted().join(", ")} }` : undefined;
}

/** How a parameter is called: by position, left out, several at once, or as options by name. */
function written(parameter: Declared): string {
  const declared = parameter.getValueDeclarationOrThrow().asKindOrThrow(ts.SyntaxKind.Parameter);
  const kind = declared.isRestParameter() ? "…" : declared.isOptional() ? "x?" : "x";
  return optionsOf(parameter.getTypeAtLocation(source)) ?? kind;
}

/** The parameters of each overload, without the receiver. */
function signatures(of: Type, name: string, receivers: 0 | 1): readonly string[] {
  const calls = of.getPropertyOrThrow(name).getTypeAtLocation(source).getCallSignatures();
  return calls.map((call) => call.getParameters().slice(receivers).map(written).join(", ")).toSorted();
}

const both = table.filter(({ method, name }) => method && functions.getProperty(name));

test.each(both.map((op) => [op.name, op] as const))("%s takes the same as a function and as a method", (name, op) => {
  // Sums and products of many are written as methods, `a.add(b, c)`.
  const ofFunction = op.variadic ? ["…"] : signatures(functions, name, 1);
  expect(signatures(methods, name, 0)).toEqual(ofFunction);
});
