/**
 * What `docs/performance.md` says of the examples, from what `npm run bench:gallery` wrote: how long each takes beside
 * PyTorch, which are behind it, and by how much they are ahead of its compiler together.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

interface Case {
  readonly kernel: string;
  readonly dtype: string;
  readonly sizes: Readonly<Record<string, number | boolean>>;
}

interface Row extends Case {
  readonly provider: string;
  /** Milliseconds: the median over rounds. */
  readonly ms: number;
}

/** How many times as long one way takes as the example does: the median over rounds. */
interface Ratio extends Case {
  /** A way, or `best of …: ` and the fastest of PyTorch's. */
  readonly of: string;
  readonly ratio: number;
}

interface Measured {
  readonly device: string;
  readonly torch: string;
  readonly triton: string;
  readonly parts: Readonly<Record<string, { readonly date: string }>>;
  readonly rows: readonly Row[];
  readonly ratios: readonly Ratio[];
}

const WAYS = ["eager", "compiled", "max-autotune", "flex", "copy"];

const named = ({ kernel, dtype, sizes }: Case): string => `${kernel} ${dtype} ${JSON.stringify(sizes)}`;
const shown = ({ sizes }: Case): string =>
  Object.entries(sizes)
    .map(([name, size]) => `${name}=${size}`)
    .join(" ");

/** One row a case: its time, and how many times as long PyTorch and a copy of as many bytes take. */
function table({ rows, ratios }: Measured): readonly string[] {
  const head = ["kernel", "sizes", "ms", ...WAYS.map((name) => `${name} ×`)];
  const lines = rows
    .filter(({ provider }) => provider === "tilescript")
    .map((row) => {
      const times = WAYS.map((way) => ratios.find((each) => each.of === way && named(each) === named(row)));
      return [`${row.kernel} ${row.dtype}`, shown(row), row.ms.toPrecision(3), ...times.map((each) => digits(each))];
    });
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
}

const digits = (found: Ratio | undefined): string => found?.ratio.toFixed(2) ?? "";

/** The cases where PyTorch has a faster way, the slowest first. */
function behind({ ratios }: Measured): string {
  const slow = ratios
    .filter(({ of, ratio }) => of.startsWith("best of ") && Number(ratio.toFixed(2)) < 1)
    .sort((a, b) => a.ratio - b.ratio)
    .map((each) => `\`${each.kernel}\` ${shown(each)} (${digits(each)}, ${each.of.replace(/^.*: /, "")})`);
  return `PyTorch is faster, by its fastest way, in ${slow.length} cases: ${slow.join("; ")}.`;
}

/** How many times as long PyTorch's compiler takes, over every case that it was given too. */
function together({ ratios }: Measured): string {
  const compiled = ratios.filter(({ of }) => of === "compiled");
  const mean = Math.exp(compiled.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / compiled.length);
  return `Over all ${compiled.length} cases that \`torch.compile\` was given too, with its default options, it takes ${mean.toFixed(2)} times as long (geometric mean).`;
}

export function galleryTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/gallery-h200.json");
  const measured = JSON.parse(readFileSync(file, "utf8")) as Measured;
  const { device, torch, triton, parts } = measured;
  const dates = Object.values(parts)
    .map(({ date }) => date)
    .sort();
  const about = `${device}, torch ${torch}, Triton ${triton}, ${dates[0]} to ${dates.at(-1)}. A kernel may have changed since.`;
  return ["", about, "", ...table(measured), "", behind(measured), "", together(measured), ""].join("\n");
}
