/** The table of `docs/performance.md` about decode attention, from the results of `npm run bench -- decode`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type GpuReport, timedCaption } from "./gpu-report.js";
import { captioned, tableLines } from "./markdown-table.js";

interface Row {
  readonly batch: number;
  readonly tokens: number;
  /** Queries of each head of the cache, and tokens of a page; those of the report if they are undefined. */
  readonly group?: number;
  readonly page?: number;
  /** Microseconds of a call, each the median over rounds. */
  readonly us: Readonly<Record<string, number>>;
}

interface Report extends GpuReport {
  readonly rounds: number;
  readonly group: number;
  readonly page: number;
  readonly rows: readonly Row[];
}

/** One row per batch and length: the number of splits that is fastest there, beside the other ways. */
export function decodeTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/decode-h200.json");
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  const isNamed = report.rows.some(({ group, page }) => group !== undefined || page !== undefined);
  const head = [
    ...["sequences", "tokens", ...(isNamed ? ["queries", "page"] : [])],
    ...["best", "16 splits", "one program", "PyTorch", "copy", "vs PyTorch", "vs copy"],
  ];
  const lines = report.rows.map(({ batch, tokens, group = report.group, page = report.page, us }) => {
    const splits = Object.entries(us).filter(([way]) => way.endsWith(" splits"));
    const [[way, best]] = splits.toSorted(([, a], [, b]) => a - b) as [[string, number]];
    const [pytorch, copy] = [us["torch, contiguous"]!, us["copy"]!];
    const times = [us["16 splits"]!, us["paged_attention"]!, pytorch, copy].map(microseconds);
    const ratios = [pytorch / best, copy / best].map((ratio) => ratio.toFixed(2));
    const sizes = [batch, tokens, ...(isNamed ? [group, page] : [])].map(String);
    return [...sizes, `${microseconds(best)} (${Number.parseInt(way, 10)})`, ...times, ...ratios];
  });
  return captioned(
    timedCaption(report, report.rounds, "microseconds"),
    tableLines(head, lines, () => true),
  );
}

const microseconds = (time: number): string => (time < 1000 ? time.toPrecision(3) : time.toFixed(0));
