/** Texts as modules: types are blanked, so that lines and columns stay, and imports point at the page's own copies. */
import blankSpace from "ts-blank-space";
import * as tilescript from "../../src/browser.js";
import { pathBeside } from "../../src/source/paths.js";

export type Files = ReadonlyMap<string, string>;

/** Where texts lie for stack traces. A host that does not exist, so no message names a place of this site. */
const ORIGIN = "https://playground.invalid";
let turn = 0;

/** A module that has the exports of TileScript, which a text cannot reach otherwise. */
function libraryModule(): string {
  const main = (_: unknown, ...kernels: readonly unknown[]): void => void mains.push(...kernels);
  Object.assign(globalThis, { tilescriptOfThisPage: { ...tilescript, main } });
  const names = Object.keys(tilescript).join(", ");
  return blobOf(`export const { ${names} } = globalThis.tilescriptOfThisPage;`);
}
let library: string | undefined;
/** What texts gave to `main` while they were imported. */
const mains: unknown[] = [];

const blobOf = (text: string): string => URL.createObjectURL(new Blob([text], { type: "text/javascript" }));

export interface Imported {
  readonly exports: Readonly<Record<string, unknown>>;
  /** What the text, or one that it imports, gave to `main`. */
  readonly mains: readonly unknown[];
  /** The texts by the paths that stack traces have. */
  readonly texts: ReadonlyMap<string, string>;
  /** Such paths, in a sentence too, as the reader's names. */
  nameOf(words: string): string;
}

/** @throws Error for an import that names neither TileScript nor one of the texts; and what the text itself throws. */
export async function importTexts(files: Files, main: string): Promise<Imported> {
  const base = `${ORIGIN}/${++turn}/`;
  const urls = new Map<string, string>();
  const texts = new Map(Array.from(files, ([name, text]) => [base + name, text]));
  const nameOf = (words: string): string => words.replaceAll(base, "");
  const urlOf = (path: string): string => {
    const known = urls.get(path);
    if (known !== undefined) return known;
    const script = withImports(blankSpace(texts.get(path)!), (specifier) => {
      if (specifier === "tilescript") return (library ??= libraryModule());
      const target = specifier.startsWith(".") ? pathBeside(path, specifier).replace(/\.js$/, ".ts") : undefined;
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
  } finally {
    for (const url of urls.values()) URL.revokeObjectURL(url);
  }
}

/** What follows an import on its line moves; calls stand on lines of their own. */
function withImports(script: string, urlOf: (specifier: string) => string): string {
  return script.replace(
    /^(\s*(?:import|export)\b[^"';]*?\bfrom\s*|\s*import\s*)(["'])([^"']+)\2/gm,
    (_, before: string, quote: string, specifier: string) => `${before}${quote}${urlOf(specifier)}${quote}`,
  );
}
