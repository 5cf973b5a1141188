/**
 * `npm run package -- where MODULE.js:LINE:COLUMN…`: maps a position in the published bundle, from a bug report or a
 * stack, to a line of the sources. Run it in a checkout of the version that the report names: the module's name is a
 * hash of its content, so other checkouts have no such module.
 */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, type BundledModule } from "./bundle.js";

const root = resolve(import.meta.dirname, "..");

/** The source position of each of these positions, `MODULE.js:LINE:COLUMN`. */
export async function placesOf(positions: readonly string[]): Promise<readonly string[]> {
  const modules = await bundle({ maps: true });
  return positions.map((position) => {
    const [, name = position, line, column] = /([\w-]+\.js):(\d+):(\d+)/.exec(position) ?? [];
    const module = modules.find(({ file, map }) => map !== undefined && file.endsWith(`/${name}`));
    if (!module) return `${name} is no module of this checkout; check out the version of the report`;
    const sourceRoot = `file://${join(root, "dist", dirname(module.file))}/`;
    const map = new TraceMap(module.map!, sourceRoot);
    const original = originalPositionFor(map, unbroken(module, Number(line), Number(column)));
    const source =
      original.source === null ? "nothing" : `${relative(root, fileURLToPath(original.source))}:${original.line}`;
    return `${name}:${line}:${column} is ${source}`;
  });
}

/** A position, counted from 1, as it was before lines were broken; its column is counted from 0. */
function unbroken({ code, breaks, unbroken }: BundledModule, line: number, column: number) {
  const lineStart = code.split("\n", line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const broken = lineStart + column - 1;
  const brokenBefore = unbroken.slice(0, broken - breaks.filter((lineBreak, i) => lineBreak + i < broken).length);
  return { line: brokenBefore.split("\n").length, column: brokenBefore.length - (brokenBefore.lastIndexOf("\n") + 1) };
}

if (process.argv[1] === import.meta.filename) console.log((await placesOf(process.argv.slice(2))).join("\n"));
