/** Bundles the playground: its page, its worker, and the workers of the editor. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { hashOf } from "./shell.js";
import { librarySourcesPlugin } from "../scripts/library-text.js";

const siteFolder = import.meta.dirname;
const root = resolve(siteFolder, "..");
/** The folder for the package's declarations. */
export const TYPES = join(siteFolder, ".cache/types");
const monaco = resolve(siteFolder, "node_modules/monaco-editor/esm/vs");

/** Writes the playground's scripts and data into a folder. */
export async function bundlePlayground(outFolder: string): Promise<void> {
  mkdirSync(outFolder, { recursive: true });
  const bundling = build({
    entryPoints: {
      page: join(siteFolder, "playground/page.ts"),
      editors: join(siteFolder, "playground/editors.ts"),
      worker: join(siteFolder, "playground/worker.ts"),
      "ts.worker": join(monaco, "languages/features/typescript/ts.worker.js"),
      "editor.worker": join(monaco, "editor/editor.worker.js"),
    },
    outdir: outFolder,
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    target: "es2023",
    loader: { ".ttf": "file" },
    plugins: [browserModules, librarySourcesPlugin],
    tsconfigRaw: {},
    nodePaths: [resolve(siteFolder, "node_modules"), resolve(root, "node_modules")],
    logLevel: "error",
  });
  const [types, frame] = await Promise.all([declarations(), sandboxPage(), bundling]);
  writeFileSync(join(outFolder, "sandbox.html"), frame);
  writeFileSync(join(outFolder, "examples.json"), JSON.stringify(examples()));
  writeFileSync(join(outFolder, "declarations.json"), JSON.stringify(types));
}

/** The page of the sandboxed frame. Its policy is that of its workers too: no address but those of its own modules. */
async function sandboxPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(siteFolder, "playground/sandbox-frame.ts")],
    bundle: true,
    minify: true,
    write: false,
    tsconfigRaw: {},
  });
  const script = outputFiles[0]!.text.trim();
  // The evaluator makes loops from text.
  const policy = `default-src 'none'; script-src ${hashOf(script)} blob: 'unsafe-eval'; worker-src blob:`;
  return `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><title>Sandbox</title><script>${script}</script>\n`;
}

/** The text of each example, by file name, after the kernel of the tutorial. */
export function examples(): Record<string, string> {
  const folder = join(root, "examples");
  const names = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const [, tutorial = ""] = /^```ts\n([^]*?)^```/m.exec(readFileSync(join(root, "docs/first-kernel.md"), "utf8")) ?? [];
  const texts = names.map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
  return Object.fromEntries([["scale.ts", tutorial], ...texts]);
}

/** Replaces Node's modules in a page, and makes all parsers share the editor's TypeScript. */
const browserModules: Plugin = {
  name: "one-page",
  setup({ onResolve, onLoad }) {
    const typescript = "page-typescript";
    onResolve({ filter: /^(@ts-morph\/common|typescript)$/ }, ({ path }) => ({ path, namespace: typescript }));
    onLoad({ filter: /.*/, namespace: typescript }, () => ({
      contents: `import { typescript as ts } from "monaco-editor/languages/features/typescript/lib/typescriptServices.js"; export { ts }; export default ts;`,
      resolveDir: siteFolder,
    }));
    // Keeps only the TypeScript libraries that a kernel file needs.
    onLoad({ filter: /typescript[\\/]lib[\\/]lib\.js$/ }, async ({ path }) => {
      const { libFileMap } = (await import(path)) as { libFileMap: Readonly<Record<string, string>> };
      const neededLibraries = reachableFrom(
        ["lib.es2023.d.ts", "lib.es5.d.ts", "lib.decorators.d.ts", "lib.decorators.legacy.d.ts"],
        (name) =>
          Array.from((libFileMap[name] ?? "").matchAll(/reference lib="([^"]+)"/g), ([, lib]) => `lib.${lib}.d.ts`),
      );
      const keptLibraries = Object.fromEntries(
        [...neededLibraries].flatMap((name) => (libFileMap[name] ? [[name, libFileMap[name]]] : [])),
      );
      return { contents: `export const libFileMap = ${JSON.stringify(keptLibraries)}`, loader: "js" };
    });
  },
};

function reachableFrom(
  start: readonly string[],
  neighborsOf: (name: string) => readonly string[],
): ReadonlySet<string> {
  const reached = new Set<string>();
  const visit = (name: string): void => {
    if (reached.has(name)) return;
    reached.add(name);
    neighborsOf(name).forEach(visit);
  };
  start.forEach(visit);
  return reached;
}

/** The declaration files that the package's types need in a page, by path. */
async function declarations(): Promise<Record<string, string>> {
  const tsc = join(dirname(createRequire(join(root, "package.json")).resolve("typescript/package.json")), "bin/tsc");
  const flags = ["-p", join(root, "tsconfig.build.json"), "--emitDeclarationOnly", "--outDir", TYPES];
  await promisify(execFile)(process.execPath, [tsc, ...flags]);
  const read = (path: string): string => readFileSync(path, "utf8").replace(/\n\/\/# sourceMappingURL.*$/m, "");
  const neededFiles = reachableFrom([join(TYPES, "browser.d.ts")], (path) =>
    Array.from(read(path).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g), ([, specifier]) =>
      resolve(dirname(path), specifier!.replace(/\.js$/, ".d.ts")),
    ),
  );
  return Object.fromEntries([...neededFiles].map((path) => [relative(TYPES, path), read(path)]));
}
