/** Texts as modules: types are blanked, so that lines and columns stay, and imports refer to the page's own copies. */
import blankSpace from "ts-blank-space";
import * as tilescript from "../../src/browser.js";
import { ts } from "../../src/source/typescript.js";
import { resolvePath } from "../../src/source/author-modules.js";
import type { Mark } from "./protocol.js";

export type Files = ReadonlyMap<string, string>;

/** The origin of texts in stack traces. The host does not exist, so no message refers to a file of this site. */
const ORIGIN = "https://playground.invalid";
let importCount = 0;

/** A module with the exports of TileScript, which a text cannot access otherwise. */
function libraryModule(): string {
  const main = (_: unknown, ...kernels: readonly unknown[]): void => void mains.push(...kernels);
  Object.assign(globalThis, { tilescriptOfThisPage: { ...tilescript, main } });
  const names = Object.keys(tilescript).join(", ");
  return blobOf(`export const { ${names} } = globalThis.tilescriptOfThisPage;`);
}
let library: string | undefined;
/** The arguments of `main` during the import. */
const mains: unknown[] = [];

const blobOf = (text: string): string => URL.createObjectURL(new Blob([text], { type: "text/javascript" }));

export interface ImportedModules {
  readonly exports: Readonly<Record<string, unknown>>;
  /** The arguments of `main` in the text, or in one that it imports. */
  readonly mains: readonly unknown[];
  /** The texts by the paths that stack traces have. */
  readonly texts: ReadonlyMap<string, string>;
  /** Replaces these paths by the reader's file names, also in sentences. */
  nameOf(text: string): string;
}

/** Texts that are no TypeScript, with the parser's messages at their lines. */
export class BrokenText extends Error {
  constructor(readonly marks: readonly Mark[]) {
    super("a text is no TypeScript");
  }
}

/** The parser's messages on a text. */
function syntaxMarks(file: string, text: string): readonly Mark[] {
  const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true, fileName: file });
  return diagnostics.map(({ start = 0, messageText, code }) => {
    const before = text.slice(0, start).split("\n");
    const at = { file, line: before.length, column: before.at(-1)!.length + 1 };
    return { kind: "error", code: `TS${code}`, message: ts.flattenDiagnosticMessageText(messageText, "\n"), at };
  });
}

/** @throws BrokenText; Error for an import that names neither TileScript nor one of the texts; and what the text itself throws. */
export async function importTexts(files: Files, main: string): Promise<ImportedModules> {
  const base = `${ORIGIN}/${++importCount}/`;
  const urls = new Map<string, string>();
  const texts = new Map(Array.from(files, ([name, text]) => [base + name, text]));
  const nameOf = (text: string): string => text.replaceAll(base, "");
  const urlOf = (path: string): string => {
    const cachedUrl = urls.get(path);
    if (cachedUrl !== undefined) return cachedUrl;
    const script = withImports(blankSpace(texts.get(path)!), (specifier) => {
      if (specifier === "tilescript") return (library ??= libraryModule());
      const target = specifier.startsWith(".") ? resolvePath(path, specifier).replace(/\.js$/, ".ts") : undefined;
      if (target === undefined || !texts.has(target))
        throw new Error(`${nameOf(path)} imports "${specifier}"; this page has only "tilescript" and its examples`);
      return urlOf(target);
    });
    const url = blobOf(`${script}\n//# sourceURL=${path}\n`);
    urls.set(path, url);
    return url;
  };
  try {
    const exports = (await import(/* @vite-ignore */ urlOf(base + main))) as Record<string, unknown>;
    return { exports, mains: mains.splice(0), texts, nameOf };
  } catch (error) {
    // The engine's message has no line.
    const marks = error instanceof SyntaxError ? syntaxMarks(main, files.get(main)!) : [];
    throw marks.length > 0 ? new BrokenText(marks) : error;
  } finally {
    for (const url of urls.values()) URL.revokeObjectURL(url);
  }
}

/** Replaces import specifiers. Code after an import on the same line moves; calls are on separate lines. */
function withImports(script: string, urlOf: (specifier: string) => string): string {
  return script.replace(
    /^(\s*(?:import|export)\b[^"';]*?\bfrom\s*|\s*import\s*)(["'])([^"']+)\2/gm,
    (_, prefix: string, quote: string, specifier: string) => `${prefix}${quote}${urlOf(specifier)}${quote}`,
  );
}
