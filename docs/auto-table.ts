/** The part of `docs/warp-specialization.md` about the choice of `"auto"`, from `npm run bench -- auto`. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type GpuReport, timedCaption } from "./gpu-report.js";
import { afterFirst, captioned, tableLines } from "./markdown-table.js";

interface Row {
  readonly module: string;
  readonly inputs: Readonly<Record<string, number>>;
  readonly flag?: boolean;
  readonly failed?: string;
  readonly ms: Readonly<Record<"auto" | "never", number>>;
  readonly ratio: number;
  readonly rounds: number;
  readonly specialized: readonly boolean[];
}

interface Report extends GpuReport {
  readonly rows: readonly Row[];
}

/** Each case, the slowest choice first. */
export function autoTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/auto-h200.json");
  if (!existsSync(file)) return "\nNot measured yet.\n";
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  const rows = report.rows.filter(({ failed }) => failed === undefined).sort((a, b) => a.ratio - b.ratio);
  const failed = report.rows.filter((row) => row.failed !== undefined);
  const lines = rows.map((row) => [
    nameOf(row),
    row.specialized.includes(true) ? "specialized" : "plain",
    row.ms.auto.toPrecision(3),
    row.ms.never.toPrecision(3),
    row.ratio.toFixed(2),
  ]);
  const notes = failed.map((row) => `- ${nameOf(row)}: ${row.failed?.split("\n")[0]}`);
  return captioned(timedCaption(report, rows[0]?.rounds ?? 0, "milliseconds"), [
    ...tableLines(["kernel", "chosen", "auto", "never", "never / auto"], lines, afterFirst),
    ...(notes.length > 0 ? ["", "Cases without a time:", "", ...notes] : []),
  ]);
}

function nameOf({ module: file, inputs, flag }: Row): string {
  const sizes = Object.entries(inputs).map(([name, size]) => `${name}=${size}`);
  const option = flag === undefined ? [] : [flag ? "with its flag" : "without its flag"];
  return [`\`${file.replace(/\.py$/, "").replaceAll("_", "-")}\``, ...sizes, ...option].join(" ");
}
