/**
 * `npm run where -- MODULE.js:LINE:COLUMN…`: which line of the sources a position in the published bundle is, as a bug
 * report or a stack names it. Run it in a checkout of the version that the report names: the module's name is a hash of
 * what it holds, so another checkout has no such module.
 */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import type { Metafile, OutputFile } from "esbuild";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./prepack.js";

const root = resolve(import.meta.dirname, "..");

/** The sources that went into each module, which tell a bundle's modules apart whatever their names. */
const held = ({ outputs }: Metafile): ReadonlyMap<string, string> =>
  new Map(Object.entries(outputs).map(([path, { inputs }]) => [path, Object.keys(inputs).join()]));

/** Where each of these positions, `MODULE.js:LINE:COLUMN`, comes from. */
export function placesOf(positions: readonly string[]): readonly string[] {
  // Whether there are maps is part of the names, but not of what the modules hold.
  const published = held(bundle({ write: false }).metafile);
  const { metafile, outputFiles } = bundle({ write: false, sourcemap: "external", sourcesContent: false });
  const mapped = new Map([...held(metafile)].map(([path, inputs]) => [inputs, path]));
  const mapOf = (module: string): OutputFile | undefined => {
    const inputs = [...published].find(([path]) => path.endsWith(`/${module}`))?.[1];
    const path = inputs !== undefined && mapped.get(inputs);
    return outputFiles!.find((file) => relative(root, file.path) === `${path}.map`);
  };
  return positions.map((position) => {
    const [, module = position, line, column] = /([\w-]+\.js):(\d+):(\d+)/.exec(position) ?? [];
    const map = mapOf(module);
    if (map === undefined) return `${module} is no module of this checkout; check out the version of the report`;
    const at = { line: Number(line), column: Number(column) - 1 };
    const found = originalPositionFor(new TraceMap(map.text, `file://${map.path}`), at);
    const source = found.source === null ? "nothing" : `${relative(root, fileURLToPath(found.source))}:${found.line}`;
    return `${module}:${line}:${column} is ${source}`;
  });
}

if (process.argv[1] === import.meta.filename) console.log(placesOf(process.argv.slice(2)).join("\n"));
