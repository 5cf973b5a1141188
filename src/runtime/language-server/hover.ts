/** The hover of a line with accesses: their proofs, their masks, and the emitted Python. */
import { type Hover, MarkupKind } from "vscode-languageserver-protocol";
import type { Obligation } from "../../compiled/compiled-kernel.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { type EmittedStatement, emittedStatements } from "../cases/mapped-lines.js";
import type { KernelAnalysis } from "./file-analysis.js";

/** The hover of a line; null if no kernel accesses memory there. */
export function hoverOf(kernels: readonly KernelAnalysis[], file: string, line: number): Hover | null {
  const sections = kernels.flatMap((kernel) => {
    const accesses = kernel.proof.obligations.filter(
      ({ property, at: location }) => property === "bounds" && location?.file === file && location.line === line,
    );
    return accesses.length === 0 ? [] : [sectionOf(kernel, accesses)];
  });
  // Launches with other dtypes share the text.
  const value = [...new Set(sections)].join("\n\n---\n\n");
  return value === "" ? null : { contents: { kind: MarkupKind.Markdown, value } };
}

function sectionOf({ python, map, proof }: KernelAnalysis, accesses: readonly Obligation[]): string {
  const statements = emittedStatements(python, map);
  const pythonStatements = [...new Set(accesses.flatMap(({ at: location }) => statementsOf(statements, location)))];
  const masks = [
    ...new Set(pythonStatements.flatMap(({ text }) => masksIn(text)).map((mask) => definitionOf(mask, statements))),
  ];
  const verdicts = accesses.map((access) => `- ${access.of}: ${verdictText(access, proof.configs)}`);
  const blocks = [verdicts.join("\n")];
  if (masks.length > 0) blocks.push(`Mask: ${masks.map((mask) => `\`${mask}\``).join(", ")}`);
  if (pythonStatements.length > 0)
    blocks.push(`\`\`\`python\n${pythonStatements.map(({ text }) => text).join("\n")}\n\`\`\``);
  return blocks.join("\n\n");
}

/** The emitted statements of the access's line, or the last one that starts before it. */
function statementsOf(
  statements: readonly EmittedStatement[],
  location: Location | undefined,
): readonly EmittedStatement[] {
  const inFile = statements.filter(({ at: { file } }) => file === location?.file);
  const ofLine = inFile.filter(({ at: { line } }) => line === location?.line);
  if (ofLine.length > 0 || !location) return ofLine;
  return inFile.filter(({ at: { line } }) => line < location.line).slice(-1);
}

/** The `mask` arguments of the calls in a statement. */
function masksIn(text: string): readonly string[] {
  return [...text.matchAll(/\bmask=/g)].map(({ index }) => {
    const argument = text.slice(index + "mask=".length);
    let depth = 0;
    const end = [...argument].findIndex((character) => {
      if (/[([]/.test(character)) depth++;
      if (/[)\]]/.test(character)) depth--;
      return depth < 0 || (depth === 0 && character === ",");
    });
    return argument.slice(0, end).replaceAll(/\s+/g, " ").trim();
  });
}

/** The expression that a variable of the kernel holds; other masks as they are. */
function definitionOf(mask: string, statements: readonly EmittedStatement[]): string {
  const definition = statements.find(({ text }) => text.startsWith(`${mask} = `));
  return definition ? definition.text.slice(`${mask} = `.length).replaceAll(/\s+/g, " ") : mask;
}

function verdictText({ verdict }: Obligation, configs: number): string {
  switch (verdict.kind) {
    case "proved":
      return `proved in bounds for all shapes and ${configs} config${configs === 1 ? "" : "s"}`;
    case "refuted":
      return "leaves its tensor";
    case "unknown":
      return `not proved to be in bounds: ${verdict.missing}`;
    case "waived":
      return `in bounds by the author's word: ${verdict.reason}`;
    case "impossible":
    case "unreached":
      return "no launch performs it";
    default:
      return verdict satisfies never;
  }
}
