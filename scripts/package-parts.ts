/** The parts of the tarball: kinds of files, and the scripts by purpose. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { minifySync } from "rolldown/utils";
import { bundle } from "./bundle.js";

export interface Part {
  readonly what: string;
  /** Gzipped size of the part alone. A script's size is its share by minified length. */
  readonly bytes: number;
}

/** Areas of the scripts. The first pattern that matches a source's path decides. */
const AREAS: readonly (readonly [what: string, RegExp])[] = [
  ["scripts: warp-specialized kernels for Hopper", /^codegen\/warp-specialize\//],
  ["scripts: import of Triton kernels", /^(?:import|runtime\/import-check)\//],
  ["scripts: proofs", /^(?:prove|symbolic)\//],
  ["scripts: evaluator, numbers and PyTorch's functions", /^(?:eval|numerics|values|torch)\//],
  ["scripts: messages and their explanations", /^diagnostics\//],
  ["scripts: code generation", /^codegen\//],
  ["scripts: commands, devices and reports", /^(?:runtime|testing|compiled|host-call|visualize)\//],
  ["scripts: the language, its ops and checks", /./],
];

const FILES: readonly (readonly [what: string, RegExp])[] = [
  ["declarations, with the comments that an editor shows", /\.d\.ts$/],
  ["scripts", /^dist\/.*\.js$/],
  ["Python: the worker, `verify-kernel`, `benchmark-kernel`", /^dist\/python\//],
  ["for coding agents: the page and the skill", /^(?:docs|skills)\/|^llms\.txt$/],
  ["readme, license, templates and the manifest", /./],
];

/** The parts of an installed package, the largest first. */
export async function partsOf(packageFolder: string): Promise<readonly Part[]> {
  const texts = new Map<string, string[]>(FILES.map(([label]) => [label, []]));
  for (const entry of readdirSync(packageFolder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(packageFolder.length + 1).replaceAll("\\", "/");
    const [label] = FILES.find(([, pattern]) => pattern.test(name))!;
    if (entry.isFile()) texts.get(label)!.push(readFileSync(path, "utf8"));
  }
  const compressed = [...texts].map(([label, contents]): Part => ({
    what: label,
    bytes: gzipSync(contents.join(""), { level: 9 }).length,
  }));
  const scripts = compressed.find(({ what }) => what === "scripts")!;
  const otherParts = compressed.filter((part) => part !== scripts);
  return [...otherParts, ...(await scriptParts(scripts.bytes))].sort((a, b) => b.bytes - a.bytes);
}

/** A single source seems not to use its own exports, so compression is off and nothing is dropped. */
const MINIFY_OPTIONS = { module: true, compress: false, mangle: { toplevel: true } } as const;

async function scriptParts(total: number): Promise<readonly Part[]> {
  const lengths = new Map<string, number>();
  for (const module of await bundle())
    for (const [path, part] of module.sourceTexts) {
      const { length } = minifySync(path, part, MINIFY_OPTIONS).code;
      const [label] = AREAS.find(([, pattern]) => pattern.test(path))!;
      lengths.set(label, (lengths.get(label) ?? 0) + length);
    }
  const totalLength = [...lengths.values()].reduce((sum, length) => sum + length, 0);
  return [...lengths].map(([label, length]) => ({ what: label, bytes: Math.round((total * length) / totalLength) }));
}
