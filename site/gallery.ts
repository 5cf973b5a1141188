/** The gallery: a page for each example, made of the example itself and of records. */
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CompiledKernel } from "../src/contract/compiled.js";
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { accessPicture } from "../src/picture/access-picture.js";
import { programMap } from "../src/picture/program-map.js";
import { build } from "../src/pipeline/build.js";
import { KernelDefinition } from "../src/dsl/definition.js";
import { OperatorDefinition } from "../src/dsl/operator.js";
import { smallCase } from "../src/runtime/cases/small-case.js";
import { caseText } from "../src/runtime/cases/case-text.js";
import { proofSummary } from "../src/runtime/report/proof-text.js";
import type { Highlight } from "./highlight.js";
import type { Hover } from "./hovers.js";
import { escape } from "./shell.js";

const root = resolve(import.meta.dirname, "..");

export interface Entry {
  /** The file's name without its extension. */
  readonly name: string;
  readonly text: string;
  /** The comment at the head of the file. */
  readonly idea: string;
  readonly kernel: CompiledKernel;
}

/** The kernel or operator of an example, and what its file says of itself. */
export async function entryOf(file: string): Promise<Entry> {
  const path = join(root, "examples", file);
  const text = readFileSync(path, "utf8");
  const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  const exported = Object.values(module).find(
    (value) => value instanceof OperatorDefinition || value instanceof KernelDefinition,
  );
  const idea =
    /^\/\*\*([\s\S]*?)\*\//
      .exec(text)?.[1]
      ?.replaceAll(/^\s*\* ?/gm, "")
      .trim() ?? "";
  return { name: basename(file, ".ts"), text, idea, kernel: await build(exported) };
}

export function galleryPage(entry: Entry, highlight: Highlight, hovers: readonly Hover[]): string {
  const { name, text, idea, kernel } = entry;
  const origins = originsOf(kernel);
  const known = new Set(origins);
  const ours = text.split("\n").map((_, i) => (known.has(i + 1) ? i + 1 : null));
  return [
    `<h1>${escape(name)}</h1>`,
    `<p>${escape(idea).replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>`,
    `<p><a class="button" href="../playground/index.html#${name}">Open in the playground</a></p>`,
    `<h2 id="code">TypeScript and the Python that it emits</h2>`,
    `<div class="pair"><figure><figcaption>${name}.ts</figcaption>${highlight(text, "ts", { hovers, origins: ours })}</figure>`,
    `<figure><figcaption>${kernel.file}</figcaption>${highlight(kernel.python, "python", { origins })}</figure></div>`,
    ...picturesOf(kernel),
    `<h2 id="proofs">What is proved</h2><p>${escape(proofSummary(kernel.proof()))}. <a href="../proofs.html">What that promises.</a></p>`,
    ...timesOf(kernel),
  ].join("\n");
}

/** For each line of Python, the author's line. */
function originsOf({ map, python }: CompiledKernel): readonly (number | null)[] {
  const traced = new TraceMap(map);
  return python.split("\n").map((_, i) => originalPositionFor(traced, { line: i + 1, column: 999 }).line);
}

/** A picture is bounded: one of more elements is left out. */
const MOST_LANES = 400_000;

function picturesOf(kernel: CompiledKernel): readonly string[] {
  const found = smallCase(kernel, { seed: 0 });
  if ("refusal" in found) return [];
  const { accesses = [], unchecked } = kernel.evaluate(found.at, { accesses: "all" });
  const first = accesses[0]?.program;
  const lanes = accesses.reduce((sum, { active }) => sum + active.length, 0);
  if (!first || lanes > MOST_LANES || unchecked.some((words) => words.includes("not kept"))) return [];
  const one = accesses.filter(({ program }) => program.join() === first.join());
  const at = escape(caseText(found.at));
  return [
    `<h2 id="picture">What programs touch</h2><p>At ${at}. The <a href="../playground/index.html#playground">playground</a> shows every program.</p>`,
    `<div class="picture" tabindex="0">${accessPicture(one)}</div>`,
    `<div class="picture" tabindex="0">${programMap(accesses)}</div>`,
  ];
}

interface Row {
  readonly kernel: string;
  readonly dtype: string;
  readonly sizes: Readonly<Record<string, number | boolean>>;
  readonly provider: string;
  readonly ms: number;
}

/** What `npm run bench:gallery` measured, if it measured this kernel. */
function timesOf({ signature }: CompiledKernel): readonly string[] {
  const record = JSON.parse(readFileSync(join(root, "bench/results/gallery-h200.json"), "utf8")) as {
    readonly device: string;
    readonly torch: string;
    readonly triton: string;
    readonly rows: readonly Row[];
  };
  const rows = record.rows.filter(({ kernel }) => kernel.replaceAll("-", "_") === signature.name);
  if (rows.length === 0) return [];
  const cells = rows.map(
    ({ dtype, sizes, provider, ms }) =>
      `<tr><td>${escape(
        Object.entries({ ...sizes, dtype })
          .map((pair) => pair.join("="))
          .join(" "),
      )}</td><td>${escape(provider)}</td><td>${ms.toPrecision(3)}</td></tr>`,
  );
  return [
    `<h2 id="times">Measured</h2><p>${escape(`${record.device}, torch ${record.torch}, Triton ${record.triton}.`)}</p>`,
    `<div class="table" tabindex="0"><table><thead><tr><th>sizes</th><th>function</th><th>ms</th></tr></thead><tbody>${cells.join("")}</tbody></table></div>`,
  ];
}

export function galleryIndex(entries: readonly Entry[]): string {
  const items = entries.map(
    ({ name, idea }) =>
      `<li><a href="./${name}.html">${name}</a><p>${escape(idea.split(/(?<=\.)\s/)[0] ?? "")}</p></li>`,
  );
  return `<h1>Gallery</h1><p>Each example with its Python, what its programs touch, what is proved of it, and what it takes on a GPU where that was measured.</p><ul class="cards">${items.join("")}</ul>`;
}
