/** The files of a kernel. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The files and their transitive relative imports. `texts` are read instead of the files on disk. */
export function sourcesOf(files: readonly string[], texts: Readonly<Record<string, string>> = {}): Set<string> {
  const sources = new Set<string>();
  const queue = files.map((file) => resolve(file));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (sources.has(file) || !existsSync(file)) continue;
    sources.add(file);
    for (const [, path = ""] of (texts[file] ?? readFileSync(file, "utf8")).matchAll(
      /(?:from|import\(?)\s*["'](\.{1,2}\/[^"']+)["']/g,
    )) {
      const imported = join(dirname(file), path);
      queue.push(imported, imported.replace(/\.([cm]?)js$/, ".$1ts"), `${imported}.ts`);
    }
  }
  return sources;
}
