/** Plots and tables from times that were recorded on a GPU. */
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pc from "picocolors";
import { expect, it } from "vitest";
import { runBinary } from "../../../src/runtime/cli/cli.js";
import { niceTicks, plotSvg } from "../../../src/runtime/report/svg-plot.js";
import { benchText } from "../../../src/runtime/report/measure-report.js";
import { recordedReport } from "../../support/fixtures/recorded.js";

const report = recordedReport();
const [gemm, softmax] = report.kernels;

it.each([
  [709.3, [0, 200, 400, 600, 800]],
  [0.42, [0, 0.1, 0.2, 0.3, 0.4, 0.5]],
  [1000, [0, 200, 400, 600, 800, 1000]],
])("ticks up to %d", (most, ticks) => {
  expect(niceTicks(most)).toEqual(ticks);
});

it("should draw a bar for each time, as high as it says", () => {
  const svg = plotSvg(report, gemm!);
  const heights = [...svg.matchAll(/<rect [^>]*height="([\d.]+)" fill="#0072b2"/g)].map(([, height]) => Number(height));
  const rates = gemm!.cases.map(({ flops, kernel_time_ms: ms }) => flops! / ms / 1e9);
  expect(heights).toHaveLength(rates.length);
  // Both panels go up to 1000 TFLOP/s, over 210 pixels.
  heights.forEach((height, i) => expect(height).toBeCloseTo((210 * rates[i]!) / 1000, 0));
  for (const words of ["gemm (T=float16) on NVIDIA H200", "TFLOP/s", "hand-written", "eager", ">limit<"])
    expect(svg).toContain(words);
  expect(plotSvg(report, softmax!)).toContain("GB/s");
});

it("should draw lines for a sweep", () => {
  const swept = gemm!.cases.filter(({ sizes, dtypes }) => dtypes["T"] === "float16" && sizes["M"] === sizes["N"]);
  const svg = plotSvg(report, { ...gemm!, cases: swept, sweep: ["M", "N", "K"] });
  expect(svg).toContain("M = N = K");
  expect(svg.match(/<circle/g)).toHaveLength(3 * swept.length);
});

it("should escape what stands in text", () => {
  expect(plotSvg({ ...report, device_name: "A <B> & C" }, gemm!)).toContain("A &lt;B&gt; &amp; C");
});

it("should say in the table how far from the limit a time is", () => {
  const text = benchText(report, gemm!, pc.createColors(false));
  const { flops, bytes, kernel_time_ms: ms, roof } = gemm!.cases[0]!;
  const rates = [flops! / ms / 1e9, bytes / ms / 1e6].map((rate) => Number(rate.toPrecision(3)));
  const limit = `${Math.round((100 * roof!.ms) / ms)} % compute`;
  const row = [
    "M=4096 N=4096 K=4096 T=float16",
    "gemm \\(config 0\\)",
    `${Math.round(ms * 1000)} µs`,
    "\\d.*",
    ...rates,
    limit,
  ];
  expect(text).toMatch(new RegExp(row.join(" +")));
  const unknown = benchText(report, softmax!, pc.createColors(false));
  expect(unknown).toMatch(/ unknown/);
  expect(unknown).toContain("`flops` in the spec says how many there are");
});

it("should write pictures with the command, and refuse a file that is not a report", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-plot-"));
  const file = join(folder, "bench.json");
  await writeFile(file, JSON.stringify(report));
  let err = "";
  const streams = { out: () => undefined, err: (text: string) => void (err += text), color: false };
  expect(await runBinary(["plot", file], streams)).toBe(0);
  expect(await readdir(folder)).toEqual(["bench.json", "gemm.png", "gemm.svg", "softmax.png", "softmax.svg"]);
  expect((await readFile(join(folder, "gemm.png"))).subarray(1, 4).toString()).toBe("PNG");
  await writeFile(file, JSON.stringify({ ...report, kernels: [{ ...gemm, cases: [] }] }));
  err = "";
  expect(await runBinary(["plot", file], streams)).toBe(0);
  expect(err).toBe(`nothing to plot: ${file} has no measured case\n`);
  await writeFile(file, JSON.stringify({ ...report, kernels: [{ ...gemm, kernel: "../elsewhere" }] }));
  expect(await runBinary(["plot", file], streams)).toBe(2);
  await writeFile(file, "{}");
  err = "";
  expect(await runBinary(["plot", file], streams)).toBe(2);
  expect(err).toMatch(/is not a report of bench/);
  expect(await runBinary(["plot", join(folder, "none.json")], streams)).toBe(2);
});
