/** The gallery: a page per example, generated from the example itself and from records. */
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CompiledKernel, ProofProperty, Verdict } from "../src/compiled/compiled-kernel.js";
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { accessPicture } from "../src/visualize/access-picture.js";
import { programMap } from "../src/visualize/program-map.js";
import { build } from "../src/pipeline/build.js";
import { formatCase } from "../src/runtime/cases/cases.js";
import { proofSummary } from "../src/runtime/report/proof-text.js";
import { figuresOf } from "./figures.js";
import type { Highlight } from "./highlight.js";
import type { Hover } from "./hovers.js";
import { shownCase } from "./playground/shown-case.js";
import { escape } from "./shell.js";

const root = resolve(import.meta.dirname, "..");

export interface Entry {
  /** The file's name without its extension. */
  readonly name: string;
  readonly text: string;
  /** The comment at the head of the file. */
  readonly idea: string;
  readonly kernel: CompiledKernel;
  /** A caption and two pictures of what programs touch, or the reason why there are none. */
  readonly pictures: readonly string[];
}

/** The kernel or operator that an example passes to `main`, and the header comment of its file. */
export async function entryOf(file: string): Promise<Entry> {
  const path = join(root, "examples", file);
  const text = readFileSync(path, "utf8");
  const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  const definition = module[/^main\(import\.meta, (\w+)/m.exec(text)?.[1] ?? ""];
  const idea =
    /^\/\*\*([\s\S]*?)\*\//
      .exec(text)?.[1]
      ?.replaceAll(/^\s*\* ?/gm, "")
      .trim() ?? "";
  const kernel = await build(definition);
  return { name: basename(file, ".ts"), text, idea, kernel, pictures: picturesOf(definition, kernel) };
}

export function galleryPage(entry: Entry, highlight: Highlight, hovers: readonly Hover[]): string {
  const { name, idea, kernel } = entry;
  const kernels = [kernel, ...(kernel.parts ?? [])].map(({ signature }) => signature.name);
  return [
    `<h1>${escape(name)}</h1>`,
    `<p>${withCode(idea)}</p>`,
    `<p><a class="button" href="../playground/index.html#${name}">Open in the playground</a></p>`,
    `<h2 id="code">TypeScript and the Python that it emits</h2>`,
    `<p>Point at a line: the lines that belong to it are marked in the other language. Point at a name: its type.</p>`,
    pairOf(entry, highlight, hovers),
    `<h2 id="picture">What programs touch</h2>`,
    ...entry.pictures,
    `<h2 id="proofs">What is proved</h2>`,
    certificateOf(kernel),
    figuresOf(kernel.signature.name, kernels),
  ].join("\n");
}

/** An example next to its emitted Python; corresponding lines share a number. */
export function pairOf({ name, text, kernel }: Entry, highlight: Highlight, hovers: readonly Hover[]): string {
  const origins = originsOf(kernel);
  const linkedLines = new Set(origins);
  const textOrigins = text.split("\n").map((_, i) => (linkedLines.has(i + 1) ? i + 1 : null));
  return `<div class="pair"><figure><figcaption>${name}.ts</figcaption>${highlight(text, "ts", { hovers, origins: textOrigins })}</figure>
<figure><figcaption>${kernel.file}</figcaption>${highlight(kernel.python, "python", { origins })}</figure></div>`;
}

/** The author's line for each line of Python. */
function originsOf({ map, python }: CompiledKernel): readonly (number | null)[] {
  const traceMap = new TraceMap(map);
  return python.split("\n").map((_, i) => originalPositionFor(traceMap, { line: i + 1, column: 999 }).line);
}

/** The limit on the lanes of a picture: larger ones take seconds to draw. */
const MAX_LANES = 1_000_000;

function picturesOf(definition: unknown, kernel: CompiledKernel): readonly string[] {
  const picturedCase = shownCase(definition, kernel, undefined);
  if ("refusal" in picturedCase) return [`<p>There is no picture: ${escape(picturedCase.refusal)}.</p>`];
  const { accesses = [], unchecked } = picturedCase.kernel.evaluate(picturedCase.at, { accesses: "all" });
  const lanes = accesses.reduce((sum, { active }) => sum + active.length, 0);
  const missing = unchecked.map((text) => text.replaceAll(`${root}/`, "")).join("; ");
  if (accesses.length === 0) return [`<p>There is no picture: ${escape(missing)}.</p>`];
  if (lanes > MAX_LANES) return [`<p>There is no picture: ${lanes} lanes are more than a page can show.</p>`];
  // A program in the middle of the grid: the first and the last program are special.
  const { program, grid } = accesses[Math.floor(accesses.length / 2)]!;
  const accessesOfProgram = accesses.filter((each) => each.program.join() === program.join());
  const config = picturedCase.kernel.configs[picturedCase.at.config]?.values ?? {};
  const caseText = [formatCase(picturedCase.at), ...Object.entries(config).map((pair) => pair.join("="))].join(" ");
  const caption = `Program (${program.join(", ")}) of ${grid.join(" × ")}, at ${caseText}.`;
  return [
    `<p>${escape(caption)} The <a href="../playground/index.html#playground">playground</a> steps through them.</p>`,
    `<div class="picture" tabindex="0">${accessPicture(accessesOfProgram)}</div>`,
    `<div class="picture" tabindex="0">${programMap(accesses)}</div>`,
  ];
}

const PROPERTIES: Readonly<Record<ProofProperty, string>> = {
  bounds: "in bounds",
  claim: "what the author claims",
  coverage: "every element written",
  race: "no race",
  order: "lanes in order",
  termination: "loops end",
  barriers: "warp groups in order",
  launch: "can be launched",
  dividend: "dividends not negative",
  overflow: "no int32 wrap",
  padding: "padding changes nothing",
  requirement: "what the author requires",
};

function verdictOf(verdict: Verdict): string {
  if (verdict.kind === "unknown") return `open: ${verdict.missing}`;
  return verdict.kind === "waived" ? `the author says: ${verdict.reason}` : verdict.kind;
}

/** The head and the rows of a certificate. */
export function certificateRows(kernel: CompiledKernel): string {
  const rows = kernel.proof().obligations.map(({ property, of: subject, at: location, verdict }) => {
    const cells = [location ? String(location.line) : "", subject, PROPERTIES[property], verdictOf(verdict)];
    return `<tr class="${verdict.kind}">${cells.map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`;
  });
  const head = ["line", "of", "property", "verdict"].map((title) => `<th scope="col">${title}</th>`).join("");
  return `<thead><tr>${head}</tr></thead><tbody>${rows.join("")}</tbody>`;
}

function certificateOf(kernel: CompiledKernel): string {
  const proof = kernel.proof();
  const promises = [...proof.promises, ...proof.limits].map((promise) => `<li><code>${escape(promise)}</code></li>`);
  return [
    `<p>${escape(proofSummary(proof))}. <a href="../proofs.html">What that promises.</a></p>`,
    promises.length > 0 ? `<p>It rests on:</p><ul>${promises.join("")}</ul>` : "",
    `<details><summary>The certificate: ${proof.obligations.length} properties</summary><div class="table" tabindex="0"><table>${certificateRows(kernel)}</table></div></details>`,
  ].join("\n");
}

/** The examples by purpose. */
const PURPOSES: Readonly<Record<string, readonly string[]>> = {
  "First steps": ["vector-add", "vector-sum", "softmax-rows", "softmax", "softmax-long"],
  "Matrix products": [
    "gemm",
    "gemm-float32",
    "gemm-persistent",
    "gemm-tma",
    "gemm-persistent-tma",
    "gemm-split-k",
    "gemm-stream-k",
    "grouped-gemm",
    "moe-gemm",
    "linear-gelu",
  ],
  "Quantized products": ["int8-gemm", "int4-gemm", "fp8-gemm", "fp8-gemm-block-scaled", "gemm-block-scaled"],
  Attention: [
    "flash-attention",
    "attention-gradients",
    "relative-attention",
    "varlen-attention",
    "paged-attention",
    "decode-attention",
  ],
  Normalization: ["layer-norm", "rms-norm", "add-layer-norm", "add-rms-norm", "jagged-softmax"],
  "Elementwise, with gradients": [
    "silu-mul",
    "bias-gelu",
    "gelu-dropout",
    "dropout",
    "rotary",
    "asin",
    "stochastic-rounding",
    "dependent-launch",
  ],
  "Losses, reductions and sorting": [
    "cross-entropy",
    "cross-entropy-with-gradient",
    "linear-cross-entropy",
    "histogram",
    "bitonic-topk",
    "max-pool-3d",
    "mamba-chunk-scan",
  ],
  "Several GPUs": ["all-reduce"],
};

/** The file with the picture of what one program touches, for the list. It is drawn for a light ground. */
export function thumbnailOf({ pictures: [, picture] }: Entry): string | undefined {
  const svg = /<svg[^]*<\/svg>/.exec(picture ?? "")?.[0];
  return svg?.replace(/@media \(prefers-color-scheme:dark\)\{[^}]*\}\}/, "");
}

/** `pictured` has the names of the examples with a thumbnail. */
export function galleryIndex(entries: readonly Entry[], pictured: ReadonlySet<string>): string {
  const listed = new Set(Object.values(PURPOSES).flat());
  const unlisted = entries.filter(({ name }) => !listed.has(name)).map(({ name }) => name);
  if (unlisted.length > 0) throw new Error(`PURPOSES of site/gallery.ts lacks ${unlisted.join(", ")}`);
  const groups = Object.entries(PURPOSES).map(([purpose, names]) => {
    const cards = entries
      .filter(({ name }) => names.includes(name))
      .toSorted((a, b) => names.indexOf(a.name) - names.indexOf(b.name))
      .map(({ name, idea }) => {
        const image = pictured.has(name)
          ? `<img src="./${name}.svg" alt="" loading="lazy" width="320" height="150">`
          : "";
        return `<li><a href="./${name}.html">${image}<span>${name}</span></a><p>${withCode(idea.split(/(?<=\.)\s/)[0] ?? "")}</p></li>`;
      });
    return `<h2 id="${purpose.toLowerCase().replaceAll(/\W+/g, "-")}">${purpose}</h2><ul class="cards">${cards.join("")}</ul>`;
  });
  return `<h1>Gallery</h1><p>Each example with its Python, what its programs touch, what is proved of it, and what it takes on a GPU where that was measured. A picture shows what one program reads and writes.</p>${groups.join("")}`;
}

const withCode = (text: string): string => escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
