/**
 * Makes `dist` as npm gets it: `npm pack` calls this. Scripts are without comments, which stand in the declarations, and
 * of the declarations only those are kept that a type of the public entries names.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");

function compile(...flags: readonly string[]): void {
  const tsc = join(root, "node_modules/.bin/tsc");
  execFileSync(tsc, ["-p", "tsconfig.build.json", ...flags], { cwd: root, stdio: ["ignore", 2, 2] });
}

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

/** The declarations that `exports` of package.json names. */
function entries(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : [join(root, entry.types)]));
}

if (process.argv[1] === import.meta.filename) {
  rmSync(dist, { recursive: true, force: true });
  compile("--emitDeclarationOnly");
  compile("--removeComments", "--declaration", "false");
  const kept = declarationsOf(entries());
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.name.endsWith(".d.ts") && !kept.has(file)) rmSync(file);
  }
}
