/**
 * `npm run where -- MODULE.js:LINE:COLUMN…`: which line of the sources a position in the published bundle is, as a bug
 * report or a stack names it. Run it in a checkout of the version that the report names: the module's name is a hash of
 * what it holds, so another checkout has no such module.
 */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, type BundledModule } from "./bundle.js";

const root = resolve(import.meta.dirname, "..");

/** Where each of these positions, `MODULE.js:LINE:COLUMN`, comes from. */
export async function placesOf(positions: readonly string[]): Promise<readonly string[]> {
  const modules = await bundle({ maps: true });
  return positions.map((position) => {
    const [, name = position, line, column] = /([\w-]+\.js):(\d+):(\d+)/.exec(position) ?? [];
    const module = modules.find(({ file, map }) => map !== undefined && file.endsWith(`/${name}`));
    if (!module) return `${name} is no module of this checkout; check out the version of the report`;
    const from = `file://${join(root, "dist", dirname(module.file))}/`;
    const map = new TraceMap(module.map!, from);
    const found = originalPositionFor(map, unbroken(module, Number(line), Number(column)));
    const source = found.source === null ? "nothing" : `${relative(root, fileURLToPath(found.source))}:${found.line}`;
    return `${name}:${line}:${column} is ${source}`;
  });
}

/** A position, counted from 1, as it was before lines were broken; its column is counted from 0. */
function unbroken({ code, breaks, unbroken }: BundledModule, line: number, column: number) {
  const lineStart = code.split("\n", line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const broken = lineStart + column - 1;
  const before = unbroken.slice(0, broken - breaks.filter((at, i) => at + i < broken).length);
  return { line: before.split("\n").length, column: before.length - (before.lastIndexOf("\n") + 1) };
}

if (process.argv[1] === import.meta.filename) console.log((await placesOf(process.argv.slice(2))).join("\n"));
