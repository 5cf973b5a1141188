import { Option } from "commander";
import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import pc from "picocolors";
import { compareRecords, toPlotReports, recordsText } from "../report/compare-records.js";
import { readRecords } from "../report/records.js";
import { writeOutput } from "../system/files.js";
import { plotSvg } from "../report/svg-plot.js";
import { pngOf } from "../report/png.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { options, type JsonOptions } from "../invocation/options.js";
import type { BenchReport, PlotReport, RecordsReport } from "../report/reports.js";
import { printJson, type Streams } from "../system/streams.js";
import type { PlainCommand } from "../invocation/command.js";

export const plot: PlainCommand<JsonOptions & { readonly out?: string }> = {
  name: "plot",
  description: "plot a report of bench, or compare records of GPUs and versions; needs no GPU",
  example: "plot reports/bench.json",
  argument: {
    text: "<path>",
    description: "a JSON report of bench, or records: a folder of --results or a .jsonl file",
  },
  options: [new Option("--out <path>", "output folder (default: the report's folder)"), options.json],
  async run(file = "", { out, json }, streams) {
    if (await isRecord(file)) return plotRecords(file, { out, json }, streams);
    const report = await readReport(file);
    const files = await writePlots(report, out ?? dirname(file), streams);
    if (report.kernels.every(({ cases }) => cases.length === 0))
      streams.err(`nothing to plot: ${file} has no measured case\n`);
    if (json) printJson(streams, { ok: true, files } satisfies PlotReport);
    return exitCodes.ok;
  },
};

async function isRecord(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info?.isDirectory() === true || path.endsWith(".jsonl");
}

/** Compares records and plots the latest ones. A regression in time makes the report fail. */
async function plotRecords(
  path: string,
  { out, json }: { readonly out: string | undefined; readonly json: true | undefined },
  streams: Streams,
): Promise<number> {
  const records = await readRecords(path);
  const report = compareRecords(records);
  const folder = out ?? (path.endsWith(".jsonl") ? dirname(path) : path);
  const files: string[] = [];
  for (const benchReport of toPlotReports(records)) files.push(...(await writePlots(benchReport, folder, streams)));
  if (json) printJson(streams, { ...report, files } satisfies RecordsReport);
  else streams.out(`${recordsText(report, pc.createColors(streams.color))}\n`);
  return report.ok ? exitCodes.ok : exitCodes.failed;
}

/** Writes `KERNEL.svg` and `KERNEL.png` for each kernel with cases, and returns their paths. */
export async function writePlots(report: BenchReport, folder: string, streams: Streams): Promise<string[]> {
  const files: string[] = [];
  for (const kernel of report.kernels) {
    if (kernel.cases.length === 0) continue;
    const path = join(folder, kernel.kernel);
    const svg = plotSvg(report, kernel);
    const png = await pngOf(svg);
    const images: (readonly [string, string | Uint8Array])[] = [[`${path}.svg`, svg]];
    if (typeof png === "string") streams.err(`no ${path}.png: ${png}\n`);
    else images.push([`${path}.png`, png]);
    for (const [file, content] of images) {
      await writeOutput(file, content);
      streams.err(`wrote ${file}\n`);
      files.push(file);
    }
  }
  return files;
}

async function readReport(file: string): Promise<BenchReport> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new UsageError(`there is no file ${file}`);
  });
  try {
    const report = JSON.parse(text) as BenchReport;
    if (
      report.kernels.every(
        ({ kernel, cases }) => /^\w+$/.test(kernel) && cases.every(({ sizes, times }) => sizes && times),
      )
    )
      return report;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${file} is not a report of bench; \`tilescript bench FILE --json > bench.json\` writes one`);
}
