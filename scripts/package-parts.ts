/** What the tarball's bytes are spent on: kinds of files, and the scripts by what they are for. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { minifySync } from "rolldown/utils";
import { bundle } from "./bundle.js";

export interface Part {
  readonly what: string;
  /** As gzip packs the part by itself; a script's share is that of its length, minified. */
  readonly bytes: number;
}

/** The first that fits a source's path. */
const AREAS: readonly (readonly [what: string, RegExp])[] = [
  ["scripts: kernels of Hopper whose warps share out the work", /^(?:specialize|codegen\/gluon)\//],
  ["scripts: import of Triton kernels", /^(?:import|runtime\/importing)\//],
  ["scripts: proofs", /^(?:prove|terms)\//],
  ["scripts: evaluator, numbers and PyTorch's functions", /^(?:eval|numerics|values|torch)\//],
  ["scripts: messages and their explanations", /^diagnostics\//],
  ["scripts: Python that is emitted", /^codegen\//],
  ["scripts: commands, devices and reports", /^(?:runtime|testing|picture)\//],
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
export async function partsOf(installed: string): Promise<readonly Part[]> {
  const texts = new Map<string, string[]>(FILES.map(([what]) => [what, []]));
  for (const entry of readdirSync(installed, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(installed.length + 1).replaceAll("\\", "/");
    const [what] = FILES.find(([, pattern]) => pattern.test(name))!;
    if (entry.isFile()) texts.get(what)!.push(readFileSync(path, "utf8"));
  }
  const packed = [...texts].map(([what, each]): Part => ({
    what,
    bytes: gzipSync(each.join(""), { level: 9 }).length,
  }));
  const scripts = packed.find(({ what }) => what === "scripts")!;
  const others = packed.filter((part) => part !== scripts);
  return [...others, ...(await sharedOut(scripts.bytes))].sort((a, b) => b.bytes - a.bytes);
}

/** A source alone seems to need nothing of itself, so nothing is left out. */
const ALONE = { module: true, compress: false, mangle: { toplevel: true } } as const;

async function sharedOut(total: number): Promise<readonly Part[]> {
  const lengths = new Map<string, number>();
  for (const module of await bundle())
    for (const [path, part] of module.parts) {
      const { length } = minifySync(path, part, ALONE).code;
      const [what] = AREAS.find(([, pattern]) => pattern.test(path))!;
      lengths.set(what, (lengths.get(what) ?? 0) + length);
    }
  const all = [...lengths.values()].reduce((sum, length) => sum + length, 0);
  return [...lengths].map(([what, length]) => ({ what, bytes: Math.round((total * length) / all) }));
}
