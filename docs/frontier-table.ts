/**
 * The part of `docs/performance.md` that compares the examples with other projects: those that `npm run bench -- gallery`
 * times in the same rounds, and those of which only a published figure is known (`bench/results/published.json`).
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type GalleryCase, type GalleryFailure, type GalleryRow, readGallery } from "../bench/gallery-record.js";
import { afterFirst, tableLines } from "./markdown-table.js";

/** The forms of an example: the plain kernel, and the one that `warpSpecialize: "auto"` chooses. */
const OWN = ["tilescript", "auto"];
/** Groups of ways, as columns; PyTorch's forms are those of the gallery. */
const GROUPS: Readonly<Record<string, (provider: string) => boolean>> = {
  PyTorch: (provider) => ["eager", "compiled", "max-autotune"].includes(provider),
  "flex attention": (provider) => provider.startsWith("flex"),
  "Liger-Kernel": (provider) => provider === "liger",
  Helion: (provider) => provider === "helion",
};
/** Of others than PyTorch's own functions and compiler. */
const OTHERS = Object.keys(GROUPS).slice(1);

const sizesOf = ({ sizes }: GalleryCase): string =>
  Object.entries(sizes)
    .map(([name, size]) => `${name}=${size}`)
    .join(" ");

const fastest = (rows: readonly GalleryRow[]): GalleryRow | undefined => [...rows].sort((a, b) => a.ms - b.ms)[0];

/** A case, with its fastest form and the ratio of each group's fastest way to it. */
interface Compared {
  readonly own: GalleryRow;
  readonly ratios: Readonly<Record<string, number | undefined>>;
}

function compared(rows: readonly GalleryRow[]): readonly Compared[] {
  const keyOf = ({ kernel, dtype, sizes }: GalleryCase): string => JSON.stringify([kernel, dtype, sizes]);
  return [...new Set(rows.map(keyOf))].flatMap((key) => {
    const group = rows.filter((row) => keyOf(row) === key);
    const own = fastest(group.filter(({ provider }) => OWN.includes(provider)));
    if (!own) return [];
    const ratioOf = (isMember: (provider: string) => boolean): number | undefined => {
      const best = fastest(group.filter(({ provider }) => isMember(provider)));
      return best && best.ms / own.ms;
    };
    const ratios = Object.fromEntries(Object.entries(GROUPS).map(([name, test]) => [name, ratioOf(test)]));
    return OTHERS.some((name) => ratios[name] !== undefined) ? [{ own, ratios }] : [];
  });
}

const worst = ({ ratios }: Compared): number =>
  Math.min(...Object.values(ratios).filter((ratio) => ratio !== undefined));

function measuredTable(): readonly string[] {
  const { device, torch, triton, rows, failures } = readGallery();
  const lines = [...compared(rows)]
    .sort((a, b) => worst(a) - worst(b))
    .map(({ own, ratios }) => [
      `${own.kernel} ${own.dtype}, ${sizesOf(own)}`,
      own.provider === "auto" ? "specialized" : "plain",
      own.ms.toPrecision(3),
      ...Object.keys(GROUPS).map((name) => ratios[name]?.toFixed(2) ?? ""),
    ]);
  const head = ["kernel", "form", "ms", ...Object.keys(GROUPS).map((name) => `${name} ×`)];
  return [
    `${device}, torch ${torch}, Triton ${triton}:`,
    "",
    ...tableLines(head, lines, afterFirst),
    ...failureLines(failures),
  ];
}

/** Why ways have no time, one line for each reason. */
function failureLines(failures: readonly GalleryFailure[]): readonly string[] {
  const reasons = failures.map(
    ({ kernel, provider, failed }) => `- \`${kernel}\`, ${provider}: ${failed.split("\n")[0]}`,
  );
  return reasons.length === 0 ? [] : ["", "Ways that did not run:", "", ...new Set(reasons)];
}

interface Published {
  readonly project: string;
  readonly operation: string;
  readonly figure: number;
  readonly unit: "TFLOP/s" | "GB/s";
  readonly gpu: string;
  readonly source: string;
  /** Which row of a record has ours: those of its fields that decide. */
  readonly ours?: Readonly<Record<string, unknown>> & { readonly record: "gluon" | "gallery" };
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(resolve(import.meta.dirname, "../bench/results", name), "utf8"));

interface Figure {
  readonly tflops?: Readonly<Record<string, number>>;
  readonly gbps?: number;
  readonly provider?: string;
}

/** Our figure on our GPU, or none if no example computes this. */
function oursOf({ ours }: Published): string {
  if (!ours) return "";
  const { record, ...wanted } = ours;
  const { rows, ...about } = read(`${record}-h200.json`) as { rows: readonly Figure[]; gpu?: string; device?: string };
  const row = rows.find(
    (each) =>
      (each.provider ?? "tilescript") === "tilescript" &&
      Object.entries(wanted).every(
        ([name, value]) => JSON.stringify(each[name as keyof Figure]) === JSON.stringify(value),
      ),
  );
  const figure = row?.tflops?.["specialized"] ?? row?.gbps;
  return figure === undefined ? "" : `${figure.toFixed(0)} (${about.gpu ?? about.device})`;
}

function publishedTable(): readonly string[] {
  const lines = (read("published.json") as readonly Published[]).map((each) => [
    `${each.project}: ${each.operation}`,
    `${each.figure} ${each.unit} (${each.gpu})`,
    oursOf(each),
    each.source,
  ]);
  return tableLines(["project", "published", "ours", "source"], lines);
}

export const frontierTables = (): Readonly<Record<"frontier" | "published", string>> => ({
  frontier: ["", ...measuredTable(), ""].join("\n"),
  published: ["", ...publishedTable(), ""].join("\n"),
});
