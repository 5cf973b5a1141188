/** The author's file with other configs: only the lists of configs change. */
import { formatLiteral } from "../compiled/canonical-json.js";
import { ts } from "./typescript.js";
import type { Config, FoundConfigs } from "../compiled/compiled-kernel.js";
import { configsForExactGpu, formatGpu } from "../compiled/configs-by-gpu.js";
import type { SourceIndex } from "../ir/source.js";
import { property, type WrittenConfigs, writtenConfigs } from "./spec-locations.js";
import { locate } from "./sites.js";

/** A text in place of what stands from one offset to another. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The call's file as it was read, and with what was found; undefined where configs are not written as lists. */
export function withConfigs(call: ts.Node, found: readonly FoundConfigs[]): ReturnType<SourceIndex["withConfigs"]> {
  const written = writtenConfigs(call);
  if (!written) return undefined;
  const changes = written.kind === "list" ? [replaced(written.list, found)] : changesByGpu(written, found);
  const before = call.getSourceFile().text;
  const text = changes
    .toSorted((a, b) => b.from - a.from)
    .reduce((all, change) => all.slice(0, change.from) + change.text + all.slice(change.to), before);
  return { before, text };
}

// ---- lists by GPU ---------------------------------------------------------------------------------------------------

type ByGpu = Extract<WrittenConfigs, { kind: "by GPU" }>;

/** Each GPU has its list replaced, or gets one of its own: another GPU keeps what was found for it. */
function changesByGpu(written: ByGpu, found: readonly FoundConfigs[]): readonly Change[] {
  const groups = new Map<string, readonly FoundConfigs[]>();
  for (const each of found) {
    const gpu = formatGpu(each.architecture ? configsForExactGpu(each.architecture) : undefined);
    groups.set(gpu, [...(groups.get(gpu) ?? []), each]);
  }
  const added: Record<"cuda" | "hip", (readonly [string, readonly FoundConfigs[]])[]> = { cuda: [], hip: [] };
  const changes = [...groups.values()].flatMap((group): Change[] => {
    const architecture = group[0]?.architecture;
    if (!architecture) return [replaced(written.default, group)];
    const [vendor, arch] = architecture;
    const list = written[vendor]?.[String(arch)];
    if (list) return [replaced(list, group)];
    added[vendor].push([String(arch), group]);
    return [];
  });
  const vendors = (["cuda", "hip"] as const).filter((vendor) => added[vendor].length > 0);
  const fresh = vendors.filter((vendor) => !property(written.object, vendor));
  const into = vendors.flatMap((vendor) => {
    const object = property(written.object, vendor);
    return object && ts.isObjectLiteralExpression(object) ? addedTo(object, listsText(object, added[vendor])) : [];
  });
  const indent = `${indentOf(written.object)}  `;
  const objects = fresh.map(
    (vendor) => `${indent}${vendor}: {\n${listsText(written.object, added[vendor], indent)}${indent}},\n`,
  );
  return [...changes, ...into, ...(objects.length > 0 ? addedTo(written.object, objects.join("")) : [])];
}

/** `90: […],` for each of the GPUs. */
function listsText(
  node: ts.Node,
  lists: readonly (readonly [string, readonly FoundConfigs[]])[],
  indent = indentOf(node),
): string {
  return lists.map(([gpu, found]) => `${indent}  ${gpu}: ${listText(undefined, found, `${indent}  `)},\n`).join("");
}

/** The changes that put further properties at an object's end. */
function addedTo(object: ts.ObjectLiteralExpression, text: string): readonly Change[] {
  const { properties } = object;
  const last = properties.at(-1);
  const [afterLast, brace] = [last?.getEnd() ?? 0, object.getEnd() - 1];
  const comma = last && !properties.hasTrailingComma ? [{ from: afterLast, to: afterLast, text: "," }] : [];
  return [...comma, { from: brace, to: brace, text: `\n${text}${indentOf(object)}` }];
}

// ---- one list -------------------------------------------------------------------------------------------------------

/** The list with what was found in place of what it holds. */
function replaced(list: ts.ArrayLiteralExpression, found: readonly FoundConfigs[]): Change {
  return { from: list.getStart(), to: list.getEnd(), text: listText(list, found, indentOf(list)) };
}

/** The white space at the start of a node's line. */
function indentOf(node: ts.Node): string {
  const { text } = node.getSourceFile();
  const lineStart = text.lastIndexOf("\n", node.getStart() - 1) + 1;
  return /^\s*/.exec(text.slice(lineStart))![0];
}

/** The configs, each below the kinds of GPU on which it was the fastest. */
function listText(list: ts.ArrayLiteralExpression | undefined, found: readonly FoundConfigs[], indent: string): string {
  const configs = [...new Set(found.flatMap((each) => each.configs))];
  const written = configs
    .map((config) => {
      const kinds = found.flatMap((each) =>
        each.kind !== undefined && each.configs.includes(config) ? each.kind : [],
      );
      const above = kinds.length > 0 ? `${indent}  ${FOR}${kinds.join(", ")}\n` : "";
      return `${above}${indent}  ${kept(list, config) ?? configText(config)},\n`;
    })
    .join("");
  return `[\n${written}${indent}]`;
}

/** The comment above a config that names the kinds of GPU on which it was the fastest. */
const FOR = "// Fastest on ";

/** A config of the list as the author wrote it, with the comments above it but for what an earlier search wrote. */
function kept(list: ts.ArrayLiteralExpression | undefined, { at }: Config): string | undefined {
  const found = list?.elements.find((element) => {
    const place = locate(list.getSourceFile(), element.getStart());
    return place.line === at?.line && place.column === at.column && place.file === at.file;
  });
  const lines = found?.getFullText().trim().split("\n");
  return lines
    ?.filter((line) => !line.trim().startsWith(FOR))
    .join("\n")
    .trim();
}

/** `{ BLOCK_M: 128, numWarps: 8 }` */
function configText(config: Config): string {
  const { at: _, gpu: __, values, ...launch } = config;
  const entries = Object.entries({ ...values, ...launch }).filter(([, value]) => value !== undefined);
  return `{ ${entries.map(([name, value]) => `${name}: ${formatLiteral(value)}`).join(", ")} }`;
}
