/**
 * Rewrites the lists of configs in the author's file by ts-morph, which keeps the text around them.
 *
 * The import of ts-morph takes a fifth of a second, so this file is loaded with a dynamic `import()`.
 */
import {
  type ArrayLiteralExpression,
  type CodeBlockWriter,
  IndentationText,
  Node,
  Project,
  type SourceFile,
  SyntaxKind,
} from "ts-morph";
import { formatLiteral } from "../compiled/canonical-json.js";
import type { Config, FoundConfigs } from "../compiled/compiled-kernel.js";
import { type Architecture, configsForExactGpu, formatGpu, listsOf } from "../compiled/gpus.js";
import { isSameLocation } from "../diagnostics/diagnostic.js";
import type { RewrittenText } from "../ir/source-index.js";
import { property, type ConfigsLiteral, configsLiteral } from "./spec-locations.js";
import { locate } from "./sites.js";
import type { ts } from "./typescript.js";

/**
 * The original text of the call's file and the text with the new configs. Undefined if the configs are not list
 * literals.
 */
export function rewriteConfigs(call: ts.Node, results: readonly FoundConfigs[]): RewrittenText | undefined {
  const literal = configsLiteral(call);
  if (!literal) return undefined;
  const { fileName, text: before } = call.getSourceFile();
  const indentationText = /^\t/m.test(before) ? IndentationText.Tab : IndentationText.TwoSpaces;
  const manipulationSettings = { indentationText, useTrailingCommas: true };
  const file = new Project({ useInMemoryFileSystem: true, manipulationSettings }).createSourceFile(fileName, before);
  if (literal.kind === "list") replaceElements(authorList(file, literal.list), results);
  else replaceListsByGpu(file, literal, results);
  return { before, text: file.getFullText() };
}

/** A list of configs. */
interface ConfigList {
  readonly node: ArrayLiteralExpression;
  /** The list as parsed for the lint, with the positions before any change; absent if the list is new. */
  readonly original?: ts.ArrayLiteralExpression;
}

const authorList = (file: SourceFile, original: ts.ArrayLiteralExpression): ConfigList => ({
  node: nodeOf(file, original, Node.isArrayLiteralExpression),
  original,
});

/** The node of ts-morph for a parsed node. */
function nodeOf<Kind extends Node>(file: SourceFile, { pos }: ts.Node, isKind: (node: Node) => node is Kind): Kind {
  return file.getFirstDescendantOrThrow((each): each is Kind => each.getPos() === pos && isKind(each));
}

/** Replaces the list of each tuned GPU, or adds a list for it. Lists of other GPUs remain. */
function replaceListsByGpu(
  file: SourceFile,
  literal: Extract<ConfigsLiteral, { kind: "by GPU" }>,
  results: readonly FoundConfigs[],
): void {
  const object = nodeOf(file, literal.object, Node.isObjectLiteralExpression);
  const [cuda, hip] = (["cuda", "hip"] as const).map((vendor) => {
    const value = property(literal.object, vendor);
    return value && nodeOf(file, value, Node.isObjectLiteralExpression);
  });
  const vendorObjects = { cuda, hip };
  const addList = ([vendor, arch]: Architecture): ConfigList => {
    vendorObjects[vendor] ??= object
      .addPropertyAssignment({ name: vendor, initializer: "{}" })
      .getInitializerIfKindOrThrow(SyntaxKind.ObjectLiteralExpression);
    const node = vendorObjects[vendor]
      .addPropertyAssignment({ name: String(arch), initializer: "[]" })
      .getInitializerIfKindOrThrow(SyntaxKind.ArrayLiteralExpression);
    return { node };
  };
  const lists = new Map(listsOf(literal).map(({ gpu, list }) => [formatGpu(gpu), authorList(file, list)]));
  const gpuOf = ({ architecture }: FoundConfigs): string =>
    formatGpu(architecture ? configsForExactGpu(architecture) : undefined);
  for (const result of results)
    if (result.architecture && !lists.has(gpuOf(result))) lists.set(gpuOf(result), addList(result.architecture));
  for (const [gpu, list] of lists) {
    const ownResults = results.filter((result) => gpuOf(result) === gpu);
    if (ownResults.length > 0) replaceElements(list, ownResults);
  }
}

/** Replaces the elements of a list. A comment above each config names the GPUs on which it was the fastest. */
function replaceElements({ node, original }: ConfigList, results: readonly FoundConfigs[]): void {
  const writeConfig = (writer: CodeBlockWriter, config: Config): void => {
    const kinds = results.flatMap(({ kind, configs }) => (kind !== undefined && configs.includes(config) ? kind : []));
    if (kinds.length > 0) writer.writeLine(`${COMMENT_PREFIX}${kinds.join(", ")}`);
    // The first line is indented; the author's further lines already are.
    writer.write("").withIndentationLevel(0, () => writer.write(originalText(original, config) ?? configText(config)));
    writer.write(",").newLine();
  };
  node.replaceWithText((writer) => {
    writer.write("[").newLine();
    writer.indent(() =>
      new Set(results.flatMap(({ configs }) => configs)).forEach((each) => writeConfig(writer, each)),
    );
    writer.write("]");
  });
}

/** The start of the comment that names the GPUs on which a config was the fastest. */
const COMMENT_PREFIX = "// Fastest on ";

/** The author's text of a config, including the comments above it except those of an earlier search. */
function originalText(list: ts.ArrayLiteralExpression | undefined, { at: location }: Config): string | undefined {
  const match = list?.elements.find((element) =>
    isSameLocation(locate(list.getSourceFile(), element.getStart()), location),
  );
  const lines = match?.getFullText().trim().split("\n");
  return lines
    ?.filter((line) => !line.trim().startsWith(COMMENT_PREFIX))
    .join("\n")
    .trim();
}

/** `{ BLOCK_M: 128, numWarps: 8 }` */
function configText(config: Config): string {
  const { at: _, gpu: __, values, ...launch } = config;
  const entries = Object.entries({ ...values, ...launch }).filter(([, value]) => value !== undefined);
  return `{ ${entries.map(([name, value]) => `${name}: ${formatLiteral(value)}`).join(", ")} }`;
}
