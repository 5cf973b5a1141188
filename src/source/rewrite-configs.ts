/** Rewrites the lists of configs in the author's file. */
import { formatLiteral } from "../compiled/canonical-json.js";
import { ts } from "./typescript.js";
import type { Config, FoundConfigs } from "../compiled/compiled-kernel.js";
import { configsForExactGpu, formatGpu } from "../compiled/configs-by-gpu.js";
import type { SourceIndex } from "../ir/source.js";
import { property, type ConfigsLiteral, configsLiteral } from "./spec-locations.js";
import { locate } from "./sites.js";

/** A replacement text for the range between two offsets. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * The original text of the call's file and the text with the new configs. Undefined if the configs are not list
 * literals.
 */
export function rewriteConfigs(
  call: ts.Node,
  results: readonly FoundConfigs[],
): ReturnType<SourceIndex["withConfigs"]> {
  const literal = configsLiteral(call);
  if (!literal) return undefined;
  const changes = literal.kind === "list" ? [replaceList(literal.list, results)] : changesByGpu(literal, results);
  const original = call.getSourceFile().text;
  const text = changes
    .toSorted((a, b) => b.from - a.from)
    .reduce((all, change) => all.slice(0, change.from) + change.text + all.slice(change.to), original);
  return { before: original, text };
}

// ---- lists by GPU ---------------------------------------------------------------------------------------------------

type LiteralByGpu = Extract<ConfigsLiteral, { kind: "by GPU" }>;

/** Replaces the list of each tuned GPU, or adds a list for it. Lists of other GPUs remain. */
function changesByGpu(literal: LiteralByGpu, results: readonly FoundConfigs[]): readonly Change[] {
  const groups = new Map<string, readonly FoundConfigs[]>();
  for (const result of results) {
    const gpu = formatGpu(result.architecture ? configsForExactGpu(result.architecture) : undefined);
    groups.set(gpu, [...(groups.get(gpu) ?? []), result]);
  }
  const addedLists: Record<"cuda" | "hip", (readonly [string, readonly FoundConfigs[]])[]> = { cuda: [], hip: [] };
  const changes = [...groups.values()].flatMap((group): Change[] => {
    const architecture = group[0]?.architecture;
    if (!architecture) return [replaceList(literal.default, group)];
    const [vendor, arch] = architecture;
    const list = literal[vendor]?.[String(arch)];
    if (list) return [replaceList(list, group)];
    addedLists[vendor].push([String(arch), group]);
    return [];
  });
  const vendors = (["cuda", "hip"] as const).filter((vendor) => addedLists[vendor].length > 0);
  const newVendors = vendors.filter((vendor) => !property(literal.object, vendor));
  const insertions = vendors.flatMap((vendor) => {
    const object = property(literal.object, vendor);
    return object && ts.isObjectLiteralExpression(object)
      ? appendProperties(object, listsText(object, addedLists[vendor]))
      : [];
  });
  const indent = `${indentOf(literal.object)}  `;
  const objects = newVendors.map(
    (vendor) => `${indent}${vendor}: {\n${listsText(literal.object, addedLists[vendor], indent)}${indent}},\n`,
  );
  return [...changes, ...insertions, ...(objects.length > 0 ? appendProperties(literal.object, objects.join("")) : [])];
}

/** Formats one property per GPU: `90: […],`. */
function listsText(
  node: ts.Node,
  lists: readonly (readonly [string, readonly FoundConfigs[]])[],
  indent = indentOf(node),
): string {
  return lists.map(([gpu, results]) => `${indent}  ${gpu}: ${listText(undefined, results, `${indent}  `)},\n`).join("");
}

/** The changes that append properties to an object literal. */
function appendProperties(object: ts.ObjectLiteralExpression, text: string): readonly Change[] {
  const { properties } = object;
  const last = properties.at(-1);
  const [afterLast, brace] = [last?.getEnd() ?? 0, object.getEnd() - 1];
  const comma = last && !properties.hasTrailingComma ? [{ from: afterLast, to: afterLast, text: "," }] : [];
  return [...comma, { from: brace, to: brace, text: `\n${text}${indentOf(object)}` }];
}

// ---- one list -------------------------------------------------------------------------------------------------------

/** The change that replaces the elements of a list with the results. */
function replaceList(list: ts.ArrayLiteralExpression, results: readonly FoundConfigs[]): Change {
  return { from: list.getStart(), to: list.getEnd(), text: listText(list, results, indentOf(list)) };
}

/** The white space at the start of a node's line. */
function indentOf(node: ts.Node): string {
  const { text } = node.getSourceFile();
  const lineStart = text.lastIndexOf("\n", node.getStart() - 1) + 1;
  return /^\s*/.exec(text.slice(lineStart))![0];
}

/** The text of a list of configs. A comment above each config names the GPUs on which it was the fastest. */
function listText(
  list: ts.ArrayLiteralExpression | undefined,
  results: readonly FoundConfigs[],
  indent: string,
): string {
  const configs = [...new Set(results.flatMap((each) => each.configs))];
  const lines = configs
    .map((config) => {
      const kinds = results.flatMap((result) =>
        result.kind !== undefined && result.configs.includes(config) ? result.kind : [],
      );
      const comment = kinds.length > 0 ? `${indent}  ${COMMENT_PREFIX}${kinds.join(", ")}\n` : "";
      return `${comment}${indent}  ${originalText(list, config) ?? configText(config)},\n`;
    })
    .join("");
  return `[\n${lines}${indent}]`;
}

/** The start of the comment that names the GPUs on which a config was the fastest. */
const COMMENT_PREFIX = "// Fastest on ";

/** The author's text of a config, including the comments above it except those of an earlier search. */
function originalText(list: ts.ArrayLiteralExpression | undefined, { at: location }: Config): string | undefined {
  const match = list?.elements.find((element) => {
    const start = locate(list.getSourceFile(), element.getStart());
    return start.line === location?.line && start.column === location.column && start.file === location.file;
  });
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
