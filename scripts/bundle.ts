/**
 * The scripts as published on npm. A few modules, because each file that a process reads costs time, and entries that
 * share them, so that each class exists once. `source-position.ts` maps a position in a module back to a line of the sources.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { rolldown, type OutputChunk } from "rolldown";
import { parseAst } from "rolldown/parseAst";
import { librarySourcesCode, librarySourcesFile } from "./library-text.js";

const root = resolve(import.meta.dirname, "..");
const sources = join(root, "src");

interface Manifest {
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

/** The files that `exports` of package.json names. */
export const exportedFiles = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === "string" ? [] : Object.values(entry),
);

/** The limit on the length of a line. Node prints the whole line of an uncaught exception. */
const MAX_LINE_LENGTH = 1000;

export interface BundledModule {
  /** Its path in `dist`. */
  readonly file: string;
  readonly code: string;
  /** The offsets in `unbroken` at which its lines were broken. */
  readonly breaks: readonly number[];
  readonly unbroken: string;
  /** From `unbroken` to the sources. */
  readonly map: string | undefined;
  /** The code of each source before minification, by the source's path in `src`. */
  readonly sourceTexts: ReadonlyMap<string, string>;
}

/** Bundles the package. A module's name is a hash of its content. */
export async function bundle(options: { readonly maps?: true } = {}): Promise<readonly BundledModule[]> {
  const entries = ["./dist/binary.js", ...exportedFiles.filter((file) => file.endsWith(".js"))];
  const names = entries.map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""));
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(sources, `${name}.ts`)])),
    external: (id) => !/^(?:[./]|[A-Z]:)/.test(id),
    plugins: [
      {
        name: "library-text",
        load: (id) => (librarySourcesFile.test(id) ? { code: librarySourcesCode, moduleType: "js" } : null),
      },
    ],
    platform: "node",
    resolve: { extensionAlias: { ".js": [".ts"] } },
    transform: {
      target: `node${/\d+/.exec(manifest.engines.node)?.[0]}`,
      // Self-checks of TileScript, which only its tests enable.
      define: { "process.env.TILESCRIPT_STAGES": "undefined" },
    },
    preserveEntrySignatures: "strict",
  });
  const { output } = await build.generate({
    format: "esm",
    minify: true,
    // `new Map` is known as pure without an annotation, and nothing else is dropped from a user's bundle.
    comments: false,
    sourcemap: options.maps ? "hidden" : false,
    // `src/diagnostics/callsite.ts` knows our frames by this folder.
    chunkFileNames: "tilescript-modules/[hash].js",
    codeSplitting: { groups: [{ name: coreOf(join(sources, "browser.ts")), debugName: "core" }] },
  });
  await build.close();
  return output.filter((file) => file.type === "chunk").map(moduleOf);
}

interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

/**
 * Puts the modules of the browser entry into one module: others that import half of it would need hundreds of names.
 */
function coreOf(browser: string): (id: string, graph: Graph) => string | null {
  let core: Set<string> | undefined;
  return (id, graph) => {
    if (!core) {
      core = new Set([browser]);
      // The loop extends the set that it iterates over, so it also visits indirect imports.
      for (const module of core)
        graph.getModuleInfo(module)?.importedIds.forEach((importedId) => core!.add(importedId));
    }
    return id !== browser && core.has(id) ? "core" : null;
  };
}

function moduleOf({ fileName: file, code, map, modules }: OutputChunk): BundledModule {
  const breaks = lineBreaks(code);
  const lines = [0, ...breaks].map((start, i) => code.slice(start, breaks[i]));
  // The bundler's own module is no source.
  const sourceTexts = Object.entries(modules).flatMap(([path, { code: text }]) =>
    path.startsWith(sources) ? [[path.slice(sources.length + 1).replaceAll("\\", "/"), text ?? ""] as const] : [],
  );
  return {
    file,
    code: lines.join("\n"),
    breaks,
    unbroken: code,
    map: map?.toString(),
    sourceTexts: new Map(sourceTexts),
  };
}

/** Offsets of line breaks: after a comma, a semicolon or a bracket, a newline does not change the program. */
function lineBreaks(code: string): readonly number[] {
  const starts = nodeStarts(parseAst(code))
    .filter((start) => /[,;{([]/.test(code[start - 1] ?? ""))
    .sort((a, b) => a - b);
  const breaks: number[] = [];
  starts.forEach((start, i) => {
    const lineStart = breaks.at(-1) ?? 0;
    if (start > lineStart && (starts[i + 1] ?? code.length) - lineStart > MAX_LINE_LENGTH) breaks.push(start);
  });
  return breaks;
}

/** The start offsets of the nodes of a program, except the text of template strings. */
function nodeStarts(program: unknown): number[] {
  const starts: number[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, start } = node as { readonly type?: string; readonly start?: number };
    if (start !== undefined && type !== "TemplateElement") starts.push(start);
    Object.values(node).forEach(visit);
  };
  visit(program);
  return starts;
}
