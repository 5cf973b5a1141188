/**
 * Creates `dist` as published on npm; called by `npm pack`. Declarations keep the comments that an editor shows. The
 * comments and types of the Python, and internal function names, are only for readers of the repository.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { codesByArea } from "../src/diagnostics/explanations/index.js";
import { bundle, exportedFiles } from "./bundle.js";
import { declarationsOf } from "./declarations.js";
import { withoutComments } from "./python-code.js";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Writes the codes as one union: the types that they are derived from contain every message of the catalog. */
function withCodes(file: string, text: string): string {
  if (!file.endsWith("diagnostics/catalog/index.d.ts")) return text;
  const union = (codes: readonly string[]): string => codes.map((code) => `"${code}"`).join(" | ");
  const unions = { DiagnosticCode: Object.values(codesByArea).flat(), FindingCode: codesByArea.findings };
  return Object.entries(unions).reduce(
    (result, [name, codes]) =>
      result.replace(
        new RegExp(`^(export type ${name} = )[^;]*(?:\\n(?! *\\/\\*\\*|export).*)*;$`, "m"),
        `$1${union(codes)};`,
      ),
    text,
  );
}

function writeDeclarations(): void {
  const declarationFolder = join(root, ".cache/declared");
  rmSync(declarationFolder, { recursive: true, force: true });
  const flags = [
    "-p",
    "tsconfig.build.json",
    "--emitDeclarationOnly",
    "--stripInternal",
    "--outDir",
    declarationFolder,
  ];
  execFileSync(join(root, "node_modules/.bin/tsc"), flags, { cwd: root, stdio: ["ignore", 2, 2] });
  const entries = exportedFiles.filter((file) => file.endsWith(".d.ts")).map((file) => file.replace("./dist/", ""));
  const read = (file: string): string => withCodes(file, readFileSync(file, "utf8"));
  const files = entries.map((name) => join(declarationFolder, name));
  const reindent = (text: string): string => text.replaceAll(/^(?: {4})+/gm, (spaces) => " ".repeat(spaces.length / 4));
  for (const [file, text] of declarationsOf(files, read)) write(file.replace(declarationFolder, dist), reindent(text));
  rmSync(declarationFolder, { recursive: true });
}

/** Copies the Python. Each line keeps its number. */
function copyPython(): void {
  const pythonFolder = join(root, "python");
  for (const name of readdirSync(pythonFolder, { recursive: true, encoding: "utf8" })) {
    // The bundle contains the text of the runtime.
    if (!/\.(?:py|toml|lock)$/.test(name) || /^runtime\b/.test(name)) continue;
    const text = readFileSync(join(pythonFolder, name), "utf8");
    write(join(dist, "python", name), name.endsWith(".py") ? withoutComments(text) : text);
  }
}

if (process.argv[1] === import.meta.filename) {
  rmSync(dist, { recursive: true, force: true });
  writeDeclarations();
  for (const { file, code } of await bundle()) write(join(dist, file), code);
  copyPython();
}
