/** Records of measurements: what is written, what comparing them points out, and what it does not. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pc from "picocolors";
import { afterAll, beforeEach, expect, it } from "vitest";
import { runBinary } from "../../../src/runtime/cli/cli.js";
import {
  appendRecords,
  type MeasurementRecord,
  moduleHash,
  readRecords,
  compareRecords,
  recordsText,
} from "../../../src/runtime/report/records.js";
import type { RecordsReport } from "../../../src/runtime/report/reports.js";
import { recordedReport } from "../../support/fixtures/recorded.js";

const [gemm] = recordedReport().kernels;
const versions = { ...recordedReport().versions, tilescript: "0.1.0" };
const [first] = gemm!.cases;

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "tilescript-records-"))));
afterAll(() => rm(folder, { recursive: true }));

interface Changes extends Partial<MeasurementRecord> {
  /** The first case's time is so many times what it was. */
  readonly slower?: number;
}

/** Records the first case once more. */
async function record({ slower = 1, ...changes }: Changes = {}): Promise<void> {
  const { median, low, high } = first!.times["kernel"] as { median: number; low: number; high: number };
  const kernel = { median: slower * median, low: slower * low, high: slower * high };
  const { module = "aa", device_name = "NVIDIA H200", ...rest } = changes;
  const cases = [{ ...first!, ...rest, times: { ...first!.times, kernel } }];
  await appendRecords(folder, { by: "bench", device_name, versions, ...changes }, [{ kernel: "gemm", module, cases }]);
}

it("should keep every case of a benchmark, a line each, with what its times depend on", async () => {
  const context = { by: "bench", device_name: "NVIDIA H200", host: "box", versions } as const;
  const files = await appendRecords(folder, context, [{ kernel: "gemm", module: "aa", cases: gemm!.cases }]);
  expect(files).toEqual([join(folder, "gemm.jsonl")]);
  const records = await readRecords(folder);
  expect(records.map(({ sizes, dtypes }) => ({ sizes, dtypes }))).toEqual(
    gemm!.cases.map(({ sizes, dtypes }) => ({ sizes, dtypes })),
  );
  expect(records[0]).toMatchObject({ ...context, kernel: "gemm", module: "aa", times: first!.times });
  expect(Date.parse(records[0]!.time)).toBeGreaterThan(Date.now() - 60_000);
  await record();
  expect(await readRecords(join(folder, "gemm.jsonl"))).toHaveLength(gemm!.cases.length + 1);
});

it("should know a module by its text, whatever its configs are", () => {
  const module = (configs: string, body: string) =>
    `@triton.autotune(\n    configs=[${configs}],\n)\ndef f(): ${body}\n`;
  expect(moduleHash(module("1", "pass"))).toBe(moduleHash(module("2", "pass")));
  expect(moduleHash(module("1", "pass"))).not.toBe(moduleHash(module("1", "return 1")));
});

it.each([
  ["as fast", 1, false],
  ["faster", 0.5, false],
  ["slower by less than is noticed", 1.04, false],
  ["slower", 1.5, true],
])("should compare the latest with the best before it: %s", async (_, slower, regressed) => {
  await record({ slower: 2 });
  await record();
  await record({ slower });
  const { ok, cases } = compareRecords(await readRecords(folder));
  expect({ ok, cases }).toMatchObject({ ok: !regressed, cases: [{ records: 3, regressed }] });
  expect(cases[0]!.slower).toBeCloseTo(slower, 10);
});

it("should take overlapping spreads for noise", async () => {
  const wide = { median: 1, low: 0.5, high: 2 };
  await record({ ...first!, time: "" });
  const [known] = await readRecords(folder);
  const at = (time: string, kernel: object) => ({ ...known!, time, times: { kernel } }) as MeasurementRecord;
  expect(compareRecords([at("1", wide), at("2", { ...wide, median: 1.5 })]).ok).toBe(true);
  expect(compareRecords([at("1", wide), at("2", { median: 3, low: 2.1, high: 4 })]).ok).toBe(false);
});

it("should compare a GPU with itself alone, and say what changed since", async () => {
  const state = (sm_mhz: number, driver: string) => ({ gpu_state: { sm_mhz, driver } });
  await record({ device_name: "NVIDIA L4", slower: 4 });
  await record(state(1980, "580.1"));
  await record({ ...state(1200, "590.2"), module: "bb", slower: 1.6, versions: { ...versions, triton: "9.9" } });
  const report = compareRecords(await readRecords(folder));
  expect(report.cases.map(({ device_name, regressed }) => ({ device_name, regressed }))).toEqual([
    { device_name: "NVIDIA L4", regressed: false },
    { device_name: "NVIDIA H200", regressed: true },
  ]);
  const text = recordsText(report, pc.createColors(false));
  expect(text).toContain("slower gemm");
  for (const change of ["module aa → bb", "triton 3", "→ 9.9", "driver 580.1 → 590.2", "SM clock in MHz 1980 → 1200"])
    expect(text).toContain(change);
});

it("plot should compare a folder, draw it, and fail where something became slower", async () => {
  await record();
  await record({ device_name: "NVIDIA L4", slower: 4 });
  const plot = async () => {
    let out = "";
    const streams = { out: (text: string) => (out += text), err: () => undefined, color: false };
    const code = await runBinary(["plot", folder, "--json"], streams);
    return { code, report: JSON.parse(out) as RecordsReport };
  };
  expect(await plot()).toMatchObject({ code: 0, report: { ok: true, records: 2, cases: [{}, {}] } });
  const svg = await readFile(join(folder, "gemm.svg"), "utf8");
  for (const name of ["NVIDIA H200, Triton", "NVIDIA L4, Triton"]) expect(svg).toContain(name);
  await record({ slower: 1.5 });
  expect(await plot()).toMatchObject({ code: 1, report: { ok: false, records: 3 } });
  expect((await readdir(folder)).filter((name) => name.endsWith(".jsonl"))).toEqual(["gemm.jsonl"]);
});

it.each([
  ["", /has no records; `tilescript bench FILE --results results` writes them/],
  ["{", /gemm\.jsonl:1 is not a record of bench or tune; remove the line/],
  [`{"time": "1"}`, /gemm\.jsonl:1 is not a record/],
])("plot should refuse what is no record: %j", async (text, says) => {
  const file = join(folder, "gemm.jsonl");
  await writeFile(file, text);
  let err = "";
  const code = await runBinary(["plot", file], { out: () => undefined, err: (text) => (err += text), color: false });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(says) });
});
