/** Measuring, as far as it goes without a GPU: what would be measured, what is refused, and what a time is held against. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { measuredCases, parseSweep } from "../../../src/runtime/cases/command-cases.js";
import { bytesOf, limitsOf, roofOf } from "../../../src/runtime/measure/benchmark.js";
import type { Problem } from "../../../src/runtime/report/reports.js";
import { vectorAdd } from "../../support/fixtures/vector-add.js";
import { tunedGemm } from "../../support/fixtures/tuned-gemm.js";
import { cli, expectUsageError } from "../../support/cli.js";

const vector = vectorAdd();
const gemm = await build(tunedGemm);
const selection = { seed: 0 };

describe("mistakes", () => {
  it.each([
    [["--bench", "--sweep", "N"], /N is not a sweep; write M=256\.\.8192:x2/],
    [["--bench", "--sweep", "N=9..3:x2"], /9\.\.3 is empty/],
    [["--bench", "--sweep", "N=1..8:x1"], /x1 never reaches the end/],
    [["--bench", "--sweep", "N=1..1000:+1"], /has 1000 points; the most is 200/],
    [["--bench", "--sweep", "Q=1..8:x2"], /there is no size Q; the sizes are N/],
    [["--bench", "--shapes", "Q=3"], /--shapes: there is no size Q/],
    [["--bench", "--shape", "N=3"], /--shape cannot be combined with --bench/],
    [["--bench", "--config", "7"], /configs 0 to 1/],
    [["--bench", "--iterations", "many"], /must be a whole number/],
    [["--bench", "--iterations", "0"], /'0' is invalid\. It must be at least 1/],
    [["--bench", "--budget", "60s"], /--budget cannot be combined with --bench/],
    [["--bench", "--tune"], /cannot be combined; give one command/],
    [["--tune", "--budget", "soon"], /soon is not a budget; write 60s, 5m, a number, or all/],
    [["--tune"], /vector_add is not autotuned; give it autotune: \{ key, configs \}/],
    [["--tune", "--dry-run", "--write"], /--dry-run has no configs to write/],
    [["--prewarm", "--out", "x"], /--out cannot be combined with --prewarm/],
    [["--profile", "--sweep", "N=1..8:x2"], /--sweep cannot be combined with --profile/],
  ])("%j should end with one line and code 2", async (args, message) => {
    expectUsageError(await cli(vector, ...args), message);
  });

  it("should ask for shapes where there are none", async () => {
    const shapeless = vectorAdd({ shapes: [] });
    expectUsageError(await cli(shapeless, "--bench"), /vector_add has no shapes to measure; give --shapes or --sweep/);
    expect((await cli(gemm, "--bench", "--sweep", "M=1..4:x2", "--shapes", "N=4")).err).toMatch(/K missing/);
  });
});

it.each([
  ["a part of the path is a file; name another", vector, ["--bench", "--out", "FILE/results"]],
  ["it is a folder; name a file in it", gemm, ["--tune", "--bake", "FOLDER"]],
  ["a part of the path is a file; name another", gemm, ["--tune", "--bake", "FILE/gemm.py"]],
])("should say before it measures that a file can't be written: %s", async (why, kernel, args) => {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-out-"));
  const file = join(folder, "file");
  await writeFile(file, "kept");
  const { code, err } = await cli(kernel, ...args.map((arg) => arg.replace("FILE", file).replace("FOLDER", folder)));
  expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(`: ${why}`) });
  expect(await readFile(file, "utf8")).toBe("kept");
  await rm(folder, { recursive: true });
});

describe("without a GPU", { timeout: 120_000 }, () => {
  it.each([
    ["--bench", /a benchmark needs a GPU: .*; `tilescript run` verifies/],
    ["--prewarm", /prewarming needs a GPU: /],
  ])("%s should end with code 3, as JSON too", async (flag, message) => {
    // Such as a machine on which torch sees no device.
    const hidden = process.env["CUDA_VISIBLE_DEVICES"];
    process.env["CUDA_VISIBLE_DEVICES"] = "";
    try {
      const { code, out, err } = await cli(vector, flag, "--json");
      expect(code).toBe(3);
      expect(err).toMatch(message);
      expect(JSON.parse(out) as Problem).toEqual({
        ok: false,
        details: err.trimEnd().replace(/^error environment: /, ""),
      });
    } finally {
      if (hidden === undefined) delete process.env["CUDA_VISIBLE_DEVICES"];
      else process.env["CUDA_VISIBLE_DEVICES"] = hidden;
    }
  });
});

describe("cases", () => {
  it.each([
    ["M=256..2048:x2", ["M"], [256, 512, 1024, 2048]],
    ["M,N=100..350:+100", ["M", "N"], [100, 200, 300]],
    ["M=7..7:x2", ["M"], [7]],
  ])("%s", (text, names, values) => {
    expect(parseSweep(text)).toEqual({ names, values });
  });

  it("should be the author's shapes with every dtype", () => {
    const { cases, skipped: left } = measuredCases(gemm, { selection });
    expect(left).toEqual([]);
    expect(cases.map(({ sizes, dtypes }) => [sizes["M"], dtypes["T"]])).toEqual([
      [512, "float16"],
      [512, "bfloat16"],
      [4096, "float16"],
      [4096, "bfloat16"],
    ]);
  });

  it("should sweep some sizes and take the others from the first shape", () => {
    const given = { selection: { seed: 0, dtypes: { T: "float16" } }, sweep: parseSweep("M,N=64..256:x2") };
    expect(measuredCases(gemm, given).cases.map(({ sizes }) => sizes)).toEqual([
      { M: 64, N: 64, K: 512 },
      { M: 128, N: 128, K: 512 },
      { M: 256, N: 256, K: 512 },
    ]);
  });

  it("should take a config that the requirements allow, and say where none does", async () => {
    const exact = await build(
      kernel(
        "exact",
        {
          params: { x: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
          grid: ({ N, BLOCK }) => [N.floorDiv(BLOCK)],
          requires: ({ N, BLOCK }) => [N.mod(BLOCK).eq(0)],
          autotune: { key: ["N"], configs: [{ BLOCK: 256 }, { BLOCK: 64 }], restoreValue: ["x"] },
        },
        ({ x, BLOCK }) => {
          const i = tl.inBounds(tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)));
          tl.store(x.at(i), tl.load(x.at(i)).mul(2));
        },
      ),
    );
    const { cases, skipped: left } = measuredCases(exact, {
      selection,
      shapes: [{ sizes: { N: 64 } }, { sizes: { N: 100 } }],
    });
    expect(cases.map(({ sizes, config }) => [sizes["N"], config])).toEqual([[64, 1]]);
    expect(left).toEqual([expect.stringMatching(/N=100: the kernel refuses it/)]);
  });
});

describe("limits", () => {
  const [at] = measuredCases(gemm, { selection, shapes: [{ sizes: { M: 4096, N: 4096, K: 4096 } }] }).cases;
  const work = { bytes: bytesOf(gemm, at!), flops: 2 * 4096 ** 3 };

  it("should count each tensor once", () => {
    expect(work.bytes).toBe(3 * 2 * 4096 ** 2);
  });

  it("should bound a product by the rate of its dtype", () => {
    const roof = roofOf(gemm, at!, work, limitsOf({ deviceName: "NVIDIA H200", memoryGbps: 4917 }));
    // 2 · 4096³ / 989.4 TFLOP/s
    expect(roof).toEqual({ by: "compute", ms: expect.closeTo(0.1389, 4) });
  });

  it("should bound a copy by the memory", () => {
    const limits = limitsOf({ deviceName: "NVIDIA H200", memoryGbps: 4917 });
    expect(roofOf(vector, at!, { bytes: 4.8e9, flops: 0 }, limits)).toEqual({ by: "memory", ms: 1 });
  });

  it("should know no board by another's name", () => {
    for (const deviceName of ["NVIDIA GH200 480GB", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA A10G"])
      expect(limitsOf({ deviceName, memoryGbps: 3000 })).toMatchObject({ source: "memory clock and bus" });
  });

  it("should say what is not known", () => {
    const unlisted = limitsOf({ deviceName: "NVIDIA Something", memoryGbps: 1000 });
    expect(unlisted).toEqual({ source: "memory clock and bus", gbps: 1000 });
    expect(roofOf(gemm, at!, work, unlisted)).toBeUndefined();
    expect(limitsOf({ deviceName: "AMD Something", memoryGbps: null })).toBeUndefined();
  });

  it.each([
    ["NVIDIA H100 80GB HBM3", 3350, 989.4],
    ["NVIDIA H100 PCIe", 2000, 756],
    ["NVIDIA A100-SXM4-40GB", 1555, 312],
    ["NVIDIA A100-SXM4-80GB", 2039, 312],
    ["NVIDIA L40S", 864, 362],
    ["NVIDIA L4", 300, 121],
    ["NVIDIA B200", 8000, 2250],
    ["NVIDIA GB200", 8000, 2500],
    ["NVIDIA H200 NVL", 4800, 835.5],
    ["NVIDIA GeForce RTX 4090", 1008, 165.2],
    ["AMD Instinct MI300X", 5300, 1307.4],
    ["AMD Instinct MI355X", 8000, 2516.6],
  ])("%s", (deviceName, gbps, float16) => {
    expect(limitsOf({ deviceName, memoryGbps: null })).toMatchObject({ gbps, tflops: { float16 } });
  });
});

describe("providers and flops", () => {
  it("should be functions of the module that is measured, and of no other", () => {
    expect(gemm.providers).toEqual(["linear"]);
    expect(gemm.emit({ providers: true }).python).toMatch(
      /def provider_linear\(a, b\):\n {4}return torch\.nn\.functional\.linear\(a, b\.T\)/,
    );
    expect(gemm.python).not.toContain("provider_");
  });

  const copy = (extra: object) =>
    build(
      kernel(
        "copy",
        {
          params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
          grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
          config: { BLOCK: 64 },
          ...extra,
        },
        ({ x, y, BLOCK }) => {
          const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
          tl.store(y.at(i), tl.load(x.at(i)));
        },
      ),
    );
  const at = { sizes: { N: 70000 }, dtypes: {}, config: 0, seed: 0 };

  it("should take the author's count", async () => {
    const counted = await copy({ flops: ({ N }: { N: number }) => N * N });
    // Beyond what int32 holds.
    expect(counted.flops!(at)).toBe(4_900_000_000);
    const wrong = await copy({ flops: () => "many" });
    expect(() => wrong.flops!(at)).toThrow(/copy: flops gives many; it gives a number/);
  });

  it.each([
    [{ "a-b": () => 1 }, /the provider a-b cannot be a Python name/],
    [{ eager: () => 1 }, /eager is always measured; give the provider another name/],
    [{ other: () => 1 }, /copy: the provider other: gives no torch expression for y/],
  ])("%j should be refused", async (providers, message) => {
    await expect(copy({ providers })).rejects.toThrow(message);
  });
});
