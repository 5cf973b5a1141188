/** GPU timings of an example, from the records in `bench/results`: a bar and a time per provider. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { changedParts, type Gallery, readGallery } from "../bench/gallery-record.js";
import { escape } from "./shell.js";

const results = resolve(import.meta.dirname, "../bench/results");

interface Row {
  readonly kernel: string;
  readonly dtype: string;
  readonly sizes: Readonly<Record<string, number | boolean>> | readonly number[];
  readonly provider: string;
  /** Milliseconds: the median, and the 20th and 80th percentile. */
  readonly ms: number;
  readonly low: number;
  readonly high: number;
}

interface Measurements {
  readonly device: string;
  readonly torch: string;
  readonly triton: string;
  readonly rows: readonly Row[];
}

const read = (name: string): Measurements => JSON.parse(readFileSync(join(results, name), "utf8")) as Measurements;

const PROVIDER_LABELS: Readonly<Record<string, string>> = {
  eager: "PyTorch",
  compiled: "torch.compile",
  "max-autotune": "torch.compile, max-autotune",
  flex: "FlexAttention",
  auto: "the form that the wrapper chooses",
  liger: "Liger-Kernel",
  helion: "Helion",
  copy: "a copy of as many bytes",
  fast: "with FAST_ACCUM",
  "hand-written": "Triton by hand",
};

/**
 * The function that a row of the gallery's record timed, as called by `bench/gallery_cases.py`; undefined for
 * PyTorch's. Most rows have the name of the function.
 */
function timedFunction({ kernel, provider, sizes }: Row): string | undefined {
  const [name = ""] = kernel.split(" ");
  if (provider === "tiled") return "gemm";
  if (provider === "operator") return "cross_entropy";
  if (provider === "fast") return name;
  if (provider !== "tilescript") return undefined;
  if (name === "gemm") return "gemm_persistent_tma";
  if (name === "attention") return "attention_with_gradients";
  if (name === "softmax" && !Array.isArray(sizes) && (sizes as { readonly N: number }).N > 32768) return "softmax_long";
  return kernel === "cross_entropy forward and backward" ? "cross_entropy_with_gradient" : name;
}

/** The rows of each case: of one kernel, dtype and sizes. */
function casesOf(rows: readonly Row[]): readonly (readonly Row[])[] {
  const cases = new Map<string, Row[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.kernel, row.dtype, row.sizes]);
    const caseRows = cases.get(key);
    if (caseRows) caseRows.push(row);
    else cases.set(key, [row]);
  }
  return [...cases.values()];
}

interface Case {
  readonly title: string;
  readonly rows: readonly { readonly label: string; readonly isOurs: boolean; readonly row: Row }[];
}

/** Cases of the gallery's record that time this function. */
function galleryCases({ rows }: Pick<Gallery, "rows">, name: string): readonly Case[] {
  return casesOf(rows)
    .filter((caseRows) => caseRows.some((row) => timedFunction(row) === name))
    .map((caseRows) => ({
      title: titleOf(caseRows[0]!),
      rows: caseRows.map((row) => {
        const functionName = timedFunction(row);
        const labels = [
          ...(functionName ? [functionName] : []),
          ...(functionName && !PROVIDER_LABELS[row.provider] ? [] : [PROVIDER_LABELS[row.provider] ?? row.provider]),
        ];
        return { label: labels.join(" "), isOurs: functionName === name, row };
      }),
    }));
}

/** Cases that time one of these kernels alternately with the same kernel written by hand. */
function twinCases({ rows }: Measurements, kernels: readonly string[]): readonly Case[] {
  return casesOf(rows.filter(({ kernel }) => kernels.includes(kernel))).map((caseRows) => ({
    title: titleOf(caseRows[0]!),
    rows: caseRows.map((row) => {
      const isOurs = row.provider === "emitted";
      return { label: isOurs ? row.kernel : (PROVIDER_LABELS[row.provider] ?? row.provider), isOurs, row };
    }),
  }));
}

function titleOf({ kernel, dtype, sizes }: Row): string {
  const sizeTexts = Array.isArray(sizes)
    ? [sizes.join(" × ")]
    : Object.entries(sizes).map(([name, size]) => `${name}=${size}`);
  return [kernel, ...sizeTexts, dtype.replace("torch.", "")].join(" ");
}

const COMPARISON_NOTE = "Measured alternately with PyTorch; every result was compared first.";

/** `name` is the function; `kernels` are the names of the kernels that it launches. */
export function figuresOf(name: string, kernels: readonly string[]): string {
  const gallery = readGallery();
  const changedNames = changedParts(gallery);
  const twins = read("twins-h200.json");
  const cases = galleryCases(gallery, name);
  const hasChanged = gallery.rows.some((row) => changedNames.has(row.part) && timedFunction(row) === name);
  const sections = [
    figureSection(gallery, cases, hasChanged ? `${COMPARISON_NOTE} The kernel has changed since.` : COMPARISON_NOTE),
    figureSection(
      twins,
      twinCases(twins, kernels),
      "Measured alternately with the same kernel written by hand in Triton.",
    ),
  ].filter((text) => text !== "");
  const emptyNote = "<p>No record of this repository has a time of it yet.</p>";
  return [`<h2 id="times">Measured</h2>`, ...(sections.length > 0 ? sections : [emptyNote])].join("\n");
}

/** Cases for the first page, also one in which the example gains nothing: the kernel and a size of each. */
const SHOWN = [
  ["layer_norm", "15872"],
  ["softmax", "12672"],
  ["cross_entropy", "128256"],
  ["gemm", "8192"],
] as const;

/** A few cases of the gallery's record, with their conditions. */
export function speedBars(): string {
  const gallery = readGallery();
  const cases = SHOWN.map(([kernel, size]) => {
    const rows = gallery.rows.filter(
      (row) => row.kernel === kernel && Object.values(row.sizes).map(String).includes(size),
    );
    if (rows.length === 0) throw new Error(`bench/results/gallery-h200.json has no ${kernel} of size ${size}`);
    return {
      title: titleOf(rows[0]!),
      rows: rows
        .filter(({ provider }) => provider === "tilescript" || provider === "eager" || provider === "compiled")
        .map((row) => ({
          label: PROVIDER_LABELS[row.provider] ?? "TileScript",
          isOurs: row.provider === "tilescript",
          row,
        })),
    };
  });
  return figureSection(gallery, cases, COMPARISON_NOTE);
}

function figureSection({ device, torch, triton }: Measurements, cases: readonly Case[], note: string): string {
  if (cases.length === 0) return "";
  const caption = `${device}, torch ${torch}, Triton ${triton}. ${note} Milliseconds: the median, and the 20th to 80th percentile.`;
  return [`<p>${escape(caption)}</p>`, ...cases.map(bars)].join("\n");
}

/** A table whose bars start at 0 and share one scale. */
function bars({ title, rows }: Case): string {
  const longest = Math.max(...rows.map(({ row }) => row.high));
  const lines = rows.map(({ label, isOurs, row: { ms, low, high } }) => {
    const bar = `<span class="measure" style="width:${((100 * ms) / longest).toFixed(1)}%"></span>`;
    const range = `${figure(low)}–${figure(high)}`;
    return `<tr${isOurs ? ' class="ours"' : ""}><th scope="row">${escape(label)}</th><td class="plot">${bar}</td><td>${figure(ms)}</td><td>${range}</td></tr>`;
  });
  const head = `<thead><tr><th scope="col">way</th><th scope="col">time</th><th scope="col">ms</th><th scope="col">20th to 80th</th></tr></thead>`;
  return `<div class="table" tabindex="0"><table class="bars"><caption>${escape(title)}</caption>${head}<tbody>${lines.join("")}</tbody></table></div>`;
}

const figure = (ms: number): string => (ms >= 1000 ? String(Math.round(ms)) : ms.toPrecision(3));
