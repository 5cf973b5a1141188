/** What an example takes on a GPU, from the records in `bench/results`: a bar for each way, and its time. */
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

interface Measured {
  readonly device: string;
  readonly torch: string;
  readonly triton: string;
  readonly rows: readonly Row[];
}

const read = (name: string): Measured => JSON.parse(readFileSync(join(results, name), "utf8")) as Measured;

const WAYS: Readonly<Record<string, string>> = {
  eager: "PyTorch",
  compiled: "torch.compile",
  "max-autotune": "torch.compile, max-autotune",
  flex: "FlexAttention",
  copy: "a copy of as many bytes",
  fast: "with FAST_ACCUM",
  "hand-written": "Triton by hand",
};

/**
 * The function that a row of the gallery's record timed, as `bench/gallery_cases.py` calls it; undefined for PyTorch's.
 * Most rows are called what the function is called.
 */
function timedIn({ kernel, provider, sizes }: Row): string | undefined {
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
    const known = cases.get(key);
    if (known) known.push(row);
    else cases.set(key, [row]);
  }
  return [...cases.values()];
}

interface Case {
  readonly title: string;
  readonly ways: readonly { readonly words: string; readonly isOurs: boolean; readonly row: Row }[];
}

/** Cases of the gallery's record in which this function is timed. */
function galleryCases({ rows }: Pick<Gallery, "rows">, name: string): readonly Case[] {
  return casesOf(rows)
    .filter((ways) => ways.some((row) => timedIn(row) === name))
    .map((ways) => ({
      title: titleOf(ways[0]!),
      ways: ways.map((row) => {
        const ours = timedIn(row);
        const words = [...(ours ? [ours] : []), ...(ours && !WAYS[row.provider] ? [] : [WAYS[row.provider]])];
        return { words: words.join(" "), isOurs: ours === name, row };
      }),
    }));
}

/** Cases in which one of these kernels is timed in turns with the same kernel written by hand. */
function twinCases({ rows }: Measured, kernels: readonly string[]): readonly Case[] {
  return casesOf(rows.filter(({ kernel }) => kernels.includes(kernel))).map((ways) => ({
    title: titleOf(ways[0]!),
    ways: ways.map((row) => {
      const isOurs = row.provider === "emitted";
      return { words: isOurs ? row.kernel : (WAYS[row.provider] ?? row.provider), isOurs, row };
    }),
  }));
}

function titleOf({ kernel, dtype, sizes }: Row): string {
  const named = Array.isArray(sizes)
    ? [sizes.join(" × ")]
    : Object.entries(sizes).map(([name, size]) => `${name}=${size}`);
  return [kernel, ...named, dtype.replace("torch.", "")].join(" ");
}

/** `name` is the function's, `kernels` are the names of what it launches. */
export function figuresOf(name: string, kernels: readonly string[]): string {
  const gallery = readGallery();
  const changed = changedParts(gallery);
  const twins = read("twins-h200.json");
  const cases = galleryCases(gallery, name);
  const isOther = gallery.rows.some((row) => changed.has(row.part) && timedIn(row) === name);
  const compared = "Beside PyTorch, in turns; every way was compared with the result first.";
  const parts = [
    part(gallery, cases, isOther ? `${compared} The kernel has changed since.` : compared),
    part(twins, twinCases(twins, kernels), "Beside the same kernel written by hand in Triton, in turns."),
  ].filter((text) => text !== "");
  const none = "<p>No record of this repository has a time of it yet.</p>";
  return [`<h2 id="times">Measured</h2>`, ...(parts.length > 0 ? parts : [none])].join("\n");
}

function part({ device, torch, triton }: Measured, cases: readonly Case[], words: string): string {
  if (cases.length === 0) return "";
  const made = `${device}, torch ${torch}, Triton ${triton}. ${words} Milliseconds: the median, and the 20th to 80th percentile.`;
  return [`<p>${escape(made)}</p>`, ...cases.map(bars)].join("\n");
}

/** A table whose bars begin at 0 and share one scale. */
function bars({ title, ways }: Case): string {
  const most = Math.max(...ways.map(({ row }) => row.high));
  const lines = ways.map(({ words, isOurs, row: { ms, low, high } }) => {
    const bar = `<span class="measure" style="width:${((100 * ms) / most).toFixed(1)}%"></span>`;
    const range = `${figure(low)}–${figure(high)}`;
    return `<tr${isOurs ? ' class="ours"' : ""}><th scope="row">${escape(words)}</th><td class="plot">${bar}</td><td>${figure(ms)}</td><td>${range}</td></tr>`;
  });
  const head = `<thead><tr><th scope="col">way</th><th scope="col">time</th><th scope="col">ms</th><th scope="col">20th to 80th</th></tr></thead>`;
  return `<div class="table" tabindex="0"><table class="bars"><caption>${escape(title)}</caption>${head}<tbody>${lines.join("")}</tbody></table></div>`;
}

const figure = (ms: number): string => (ms >= 1000 ? String(Math.round(ms)) : ms.toPrecision(3));
