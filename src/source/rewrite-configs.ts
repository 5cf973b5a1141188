/** The author's file with other configs: only the list of configs changes. */
import { ts } from "./typescript.js";
import type { Config } from "../contract/compiled.js";
import type { SourceIndex } from "../ir/source.js";
import { configList } from "./spec-places.js";
import { locate } from "./sites.js";

/** The call's file as it was read, and with these configs; undefined where they are not written as a list. */
export function withConfigs(
  call: ts.Node,
  configs: readonly Config[],
  kindsOf: (config: Config) => readonly string[] = () => [],
): ReturnType<SourceIndex["withConfigs"]> {
  const list = configList(call);
  if (!list) return undefined;
  const file = list.getSourceFile();
  const before = file.text;
  const lineStart = before.lastIndexOf("\n", list.getStart() - 1) + 1;
  const indent = /^\s*/.exec(before.slice(lineStart))![0];
  const written = configs
    .map((config) => {
      const kinds = kindsOf(config);
      const above = kinds.length > 0 ? `${indent}  ${FOR}${kinds.join(", ")}\n` : "";
      return `${above}${indent}  ${kept(list, config) ?? configText(config)},\n`;
    })
    .join("");
  const text = `${before.slice(0, list.getStart())}[\n${written}${indent}]${before.slice(list.getEnd())}`;
  return { before, text };
}

/** The comment above a config that names the kinds of GPU on which it was the fastest. */
const FOR = "// Fastest on ";

/** A config of the list as the author wrote it, with the comments above it but for what an earlier search wrote. */
function kept(list: ts.ArrayLiteralExpression, { at }: Config): string | undefined {
  const found = list.elements.find((element) => {
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
  const { at: _, values, ...launch } = config;
  const entries = Object.entries({ ...values, ...launch }).filter(([, value]) => value !== undefined);
  return `{ ${entries.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")} }`;
}
