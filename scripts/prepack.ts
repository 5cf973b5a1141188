/**
 * Makes `dist` as npm gets it: `npm pack` calls this. Scripts are bundled into a few modules, since each file that a
 * process reads costs; entries share modules, so that each class exists once. Declarations keep the comments that an
 * editor shows. Comments of the Python, and names of our own functions, are for readers of the repository: `where.ts`
 * says which line of it a position in a module of the bundle is.
 */
import { buildSync, type BuildOptions, type BuildResult } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { codesByArea } from "../src/diagnostics/catalogue/index.js";
import { declarationsOf } from "./declarations.js";
import { withoutComments } from "./python-code.js";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");

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

/** The codes as one union: the types that they follow from name every message of the catalogue. */
function withCodes(file: string, text: string): string {
  if (!file.endsWith("diagnostics/catalogue/index.d.ts")) return text;
  const union = (codes: readonly string[]): string => codes.map((code) => `"${code}"`).join(" | ");
  const written = { DiagnosticCode: Object.values(codesByArea).flat(), FindingCode: codesByArea.findings };
  return Object.entries(written).reduce(
    (done, [name, codes]) =>
      done.replace(
        new RegExp(`^(export type ${name} = )[^;]*(?:\\n(?! *\\/\\*\\*|export).*)*;$`, "m"),
        `$1${union(codes)};`,
      ),
    text,
  );
}

function declare(): void {
  const made = join(root, ".cache/declared");
  rmSync(made, { recursive: true, force: true });
  compile("--emitDeclarationOnly", "--stripInternal", "--outDir", made);
  const entries = exported.filter((file) => file.endsWith(".d.ts")).map((file) => file.replace("./dist/", ""));
  const read = (file: string): string => withCodes(file, readFileSync(file, "utf8"));
  for (const [file, text] of declarationsOf(
    entries.map((name) => join(made, name)),
    read,
  )) {
    const to = file.replace(made, dist);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
  }
  rmSync(made, { recursive: true });
}

/** The bundle. Names of its modules are hashes of what they hold and of where in the repository they were compiled. */
export function bundle(options: BuildOptions): BuildResult<{ metafile: true }> {
  const compiled = join(root, ".cache/compiled");
  const entries = ["./dist/binary.js", ...exported.filter((file) => file.endsWith(".js"))];
  const maps = String(options.sourcemap !== undefined);
  compile("--declaration", "false", "--removeComments", "--sourceMap", maps, "--outDir", compiled);
  try {
    return buildSync({
      absWorkingDir: root,
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
      minify: true,
      // Node prints the line of an exception that nothing catches.
      lineLimit: 400,
      logLevel: "warning",
      ...options,
      metafile: true,
    });
  } finally {
    rmSync(compiled, { recursive: true });
  }
}

/** Each line keeps its number. */
function copyPython(): void {
  const from = join(root, "python");
  for (const name of readdirSync(from, { recursive: true, encoding: "utf8" })) {
    if (!/\.(?:py|toml|lock)$/.test(name)) continue;
    const to = join(dist, "python", name);
    mkdirSync(dirname(to), { recursive: true });
    if (name.endsWith(".py")) writeFileSync(to, withoutComments(readFileSync(join(from, name), "utf8")));
    else cpSync(join(from, name), to);
  }
}

if (process.argv[1] === import.meta.filename) {
  rmSync(dist, { recursive: true, force: true });
  declare();
  bundle({});
  copyPython();
}
