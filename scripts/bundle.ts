/**
 * The scripts as npm gets them: a few modules, since each file that a process reads costs, and entries that share them,
 * so that each class exists once. `where.ts` says which line of the sources a position in one of them is.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { rolldown, type OutputChunk } from "rolldown";
import { parseAst } from "rolldown/parseAst";

const root = resolve(import.meta.dirname, "..");
const sources = join(root, "src");

interface Manifest {
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

/** What `exports` of package.json names. */
export const exported = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === "string" ? [] : Object.values(entry),
);

/** Node prints the whole line of an exception that nothing catches. */
const LONGEST_LINE = 1000;

export interface BundledModule {
  /** Its path in `dist`. */
  readonly file: string;
  readonly code: string;
  /** Where in `unbroken` its lines were broken. */
  readonly breaks: readonly number[];
  readonly unbroken: string;
  /** From `unbroken` to the sources. */
  readonly map: string | undefined;
  /** What each source adds, before it is minified, by the source's path in `src`. */
  readonly parts: ReadonlyMap<string, string>;
}

/** Names of modules are hashes of what they hold. */
export async function bundle(options: { readonly maps?: true } = {}): Promise<readonly BundledModule[]> {
  const entries = ["./dist/binary.js", ...exported.filter((file) => file.endsWith(".js"))];
  const names = entries.map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""));
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(sources, `${name}.ts`)])),
    external: (id) => !/^(?:[./]|[A-Z]:)/.test(id),
    platform: "node",
    resolve: { extensionAlias: { ".js": [".ts"] } },
    transform: {
      target: `node${/\d+/.exec(manifest.engines.node)?.[0]}`,
      // Checks of TileScript itself, which only its tests ask for.
      define: { "process.env.TILESCRIPT_STAGES": "undefined" },
    },
    preserveEntrySignatures: "strict",
  });
  const { output } = await build.generate({
    format: "esm",
    minify: true,
    // `new Map` needs no mark to be known as pure, and nothing else is left out of a user's bundle.
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

/** What runs in browsers is one module: others that import half of it would need hundreds of names. */
function coreOf(browser: string): (id: string, graph: Graph) => string | null {
  let core: Set<string> | undefined;
  return (id, graph) => {
    if (!core) {
      core = new Set([browser]);
      // Found while it is gone through, so that what they import is found too.
      for (const each of core) graph.getModuleInfo(each)?.importedIds.forEach((other) => core!.add(other));
    }
    return id !== browser && core.has(id) ? "core" : null;
  };
}

function moduleOf({ fileName: file, code, map, modules }: OutputChunk): BundledModule {
  const breaks = breaksOf(code);
  const lines = [0, ...breaks].map((from, i) => code.slice(from, breaks[i]));
  const parts = Object.entries(modules).map(
    ([path, part]) => [path.slice(sources.length + 1).replaceAll("\\", "/"), part.code ?? ""] as const,
  );
  return {
    file,
    code: lines.join("\n"),
    breaks,
    unbroken: code,
    map: map?.toString(),
    parts: new Map(parts),
  };
}

/** Where lines end: after a comma, a semicolon or a bracket no newline changes what a program means. */
function breaksOf(code: string): readonly number[] {
  const starts = startsOf(parseAst(code))
    .filter((at) => /[,;{([]/.test(code[at - 1] ?? ""))
    .sort((a, b) => a - b);
  const breaks: number[] = [];
  starts.forEach((at, i) => {
    const from = breaks.at(-1) ?? 0;
    if (at > from && (starts[i + 1] ?? code.length) - from > LONGEST_LINE) breaks.push(at);
  });
  return breaks;
}

/** Where the nodes of a program start, but for the texts of template strings. */
function startsOf(program: unknown): number[] {
  const found: number[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, start } = node as { readonly type?: string; readonly start?: number };
    if (start !== undefined && type !== "TemplateElement") found.push(start);
    Object.values(node).forEach(visit);
  };
  visit(program);
  return found;
}
