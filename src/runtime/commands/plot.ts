import { Option } from "commander";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { plotSvg } from "../plot.js";
import { pngOf } from "../png.js";
import { exitCodes, UsageError } from "../problems.js";
import type { BenchReport } from "../reports.js";
import type { Streams } from "../streams.js";
import type { PlainCommand } from "./command.js";

export const plot: PlainCommand<{ readonly out?: string }> = {
  name: "plot",
  description: "draw what bench wrote, as SVG and PNG; needs no GPU",
  argument: { text: "<report>", description: "the JSON report of bench" },
  options: [new Option("--out <path>", "write into this folder instead of the report's")],
  async run(file = "", { out }, streams) {
    await writePlots(await readReport(file), out ?? dirname(file), streams);
    return exitCodes.ok;
  },
};

/** `KERNEL.svg` and `KERNEL.png` for each kernel that has cases. */
export async function writePlots(report: BenchReport, folder: string, streams: Streams): Promise<void> {
  for (const kernel of report.kernels) {
    if (kernel.cases.length === 0) continue;
    const path = join(folder, kernel.kernel);
    const svg = plotSvg(report, kernel);
    await writeFile(`${path}.svg`, svg);
    streams.err(`wrote ${path}.svg\n`);
    const png = await pngOf(svg);
    if (typeof png !== "string") await writeFile(`${path}.png`, png);
    streams.err(typeof png === "string" ? `no ${path}.png: ${png}\n` : `wrote ${path}.png\n`);
  }
}

async function readReport(file: string): Promise<BenchReport> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new UsageError(`there is no file ${file}`);
  });
  try {
    const report = JSON.parse(text) as BenchReport;
    if (Array.isArray(report.kernels) && report.kernels.every(({ cases }) => Array.isArray(cases))) return report;
  } catch {
    // Said below.
  }
  throw new UsageError(`${file} is no report of bench; \`tilescript bench FILE --json > ${file}\` writes one`);
}
