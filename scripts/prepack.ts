/**
 * Makes `dist` as npm gets it: `npm pack` calls this. Scripts are bundled into a few modules without comments, since
 * each file that a process reads costs; entries share modules, so that each class exists once. Of the declarations,
 * which have the comments, only those are kept that a type of the public entries names.
 */
import { buildSync } from "esbuild";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");

/** The files that these declarations name, and they themselves. */
export function declarationsOf(entries: readonly string[], read = (file: string) => readFileSync(file, "utf8")) {
  const found = new Set<string>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const [, specifier] of read(file).matchAll(/(?:from|import\(|import)\s*"(\.[^"]+)"/g))
      visit(resolve(dirname(file), specifier!.replace(/\.js$/, ".d.ts")));
  };
  entries.forEach(visit);
  return found;
}

interface Manifest {
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
/** What `exports` of package.json names. */
const exported = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === "string" ? [] : Object.values(entry),
);

function compile(...flags: readonly string[]): void {
  const tsc = join(root, "node_modules/.bin/tsc");
  execFileSync(tsc, ["-p", "tsconfig.build.json", ...flags], { cwd: root, stdio: ["ignore", 2, 2] });
}

function declare(): void {
  compile("--emitDeclarationOnly");
  const entries = exported.filter((file) => file.endsWith(".d.ts"));
  const kept = declarationsOf(entries.map((file) => join(root, file)));
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && !kept.has(file)) rmSync(file);
  }
}

function bundle(): void {
  const entries = ["./dist/binary.js", ...exported.filter((file) => file.endsWith(".js"))];
  // In the repository, where packages are found. esbuild itself keeps the comments of properties.
  const compiled = join(root, ".cache/compiled");
  compile("--declaration", "false", "--removeComments", "--outDir", compiled);
  buildSync({
    entryPoints: entries.map((file) => join(compiled, file.replace("./dist/", ""))),
    outdir: dist,
    // `src/diagnostics/callsite.ts` knows our frames by this folder.
    chunkNames: "tilescript-modules/[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    target: `node${/\d+/.exec(manifest.engines.node)?.[0]}`,
    // Names stay, and lines stay short: a stack trace says which function, and where in it.
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: 120,
    logLevel: "warning",
  });
  rmSync(compiled, { recursive: true });
}

if (process.argv[1] === import.meta.filename) {
  rmSync(dist, { recursive: true, force: true });
  declare();
  bundle();
}
