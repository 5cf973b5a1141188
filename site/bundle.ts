/** Bundles the playground: its page, its worker, and the workers of the editor. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";

const here = import.meta.dirname;
const root = resolve(here, "..");
/** Where the package's declarations are made. */
export const TYPES = join(here, ".cache/types");
const monaco = resolve(here, "node_modules/monaco-editor/esm/vs");

/** Writes the playground's scripts and data into a folder. */
export async function bundlePlayground(out: string): Promise<void> {
  mkdirSync(out, { recursive: true });
  const bundled = build({
    entryPoints: {
      page: join(here, "playground/page.ts"),
      editors: join(here, "playground/editors.ts"),
      worker: join(here, "playground/worker.ts"),
      "ts.worker": join(monaco, "languages/features/typescript/ts.worker.js"),
      "editor.worker": join(monaco, "editor/editor.worker.js"),
    },
    outdir: out,
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    target: "es2023",
    loader: { ".ttf": "file" },
    plugins: [onePage],
    tsconfigRaw: {},
    nodePaths: [resolve(here, "node_modules"), resolve(root, "node_modules")],
    logLevel: "error",
  });
  const [types] = await Promise.all([declarations(), bundled]);
  writeFileSync(join(out, "examples.json"), JSON.stringify(examples()));
  writeFileSync(join(out, "declarations.json"), JSON.stringify(types));
}

/** The text of each example, by file name. */
export function examples(): Record<string, string> {
  const folder = join(root, "examples");
  const names = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** What a page has in place of Node's modules, and the editor's TypeScript for all who parse. */
const onePage: Plugin = {
  name: "one-page",
  setup({ onResolve, onLoad }) {
    const typescript = "page-typescript";
    onResolve({ filter: /^(@ts-morph\/common|typescript)$/ }, ({ path }) => ({ path, namespace: typescript }));
    onLoad({ filter: /.*/, namespace: typescript }, () => ({
      contents: `import { typescript as ts } from "monaco-editor/languages/features/typescript/lib/typescriptServices.js"; export { ts }; export default ts;`,
      resolveDir: here,
    }));
    // Of the many libraries of TypeScript only those that a kernel file needs.
    onLoad({ filter: /typescript[\\/]lib[\\/]lib\.js$/ }, async ({ path }) => {
      const { libFileMap } = (await import(path)) as { libFileMap: Readonly<Record<string, string>> };
      const needed = closure(
        ["lib.es2023.d.ts", "lib.es5.d.ts", "lib.decorators.d.ts", "lib.decorators.legacy.d.ts"],
        (name) =>
          Array.from((libFileMap[name] ?? "").matchAll(/reference lib="([^"]+)"/g), ([, lib]) => `lib.${lib}.d.ts`),
      );
      const kept = Object.fromEntries(
        [...needed].flatMap((name) => (libFileMap[name] ? [[name, libFileMap[name]]] : [])),
      );
      return { contents: `export const libFileMap = ${JSON.stringify(kept)}`, loader: "js" };
    });
  },
};

function closure(start: readonly string[], next: (name: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    next(name).forEach(visit);
  };
  start.forEach(visit);
  return found;
}

/** The declaration files that the package's types need in a page, by path. */
async function declarations(): Promise<Record<string, string>> {
  const tsc = join(dirname(createRequire(join(root, "package.json")).resolve("typescript/package.json")), "bin/tsc");
  const flags = ["-p", join(root, "tsconfig.build.json"), "--emitDeclarationOnly", "--outDir", TYPES];
  await promisify(execFile)(process.execPath, [tsc, ...flags]);
  const read = (path: string): string => readFileSync(path, "utf8").replace(/\n\/\/# sourceMappingURL.*$/m, "");
  const needed = closure([join(TYPES, "browser.d.ts")], (path) =>
    Array.from(read(path).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g), ([, specifier]) =>
      resolve(dirname(path), specifier!.replace(/\.js$/, ".d.ts")),
    ),
  );
  return Object.fromEntries([...needed].map((path) => [relative(TYPES, path), read(path)]));
}
