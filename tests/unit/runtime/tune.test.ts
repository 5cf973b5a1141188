/** Tuning, as far as it goes without a GPU: the space, what is pruned, the order, the choice, and what is written. */
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { buildWith } from "../../../src/pipeline/build.js";
import type { CompiledKernel, Config } from "../../../src/compiled/compiled-kernel.js";
import { rewriteConfigs } from "../../../src/runtime/invocation/edits.js";
import type { TuneReport } from "../../../src/runtime/report/reports.js";
import { candidatesOf, pruneByRules, refusedEverywhere, type Trial } from "../../../src/runtime/measure/candidates.js";
import { bestOf, orderOf, fastestConfigs, parseBudget } from "../../../src/runtime/measure/tuner.js";
import { tunedGemm } from "../../support/fixtures/tuned-gemm.js";

const gemm = await build(tunedGemm);

describe("the space", () => {
  it("should be every combination, after the author's configs and without them", () => {
    const candidates = candidatesOf(gemm, gemm.tuning!.space!);
    // 4 · 3 · 4 · 2 · 2 combinations, of which the first config is one, and the second is outside.
    expect(candidates).toHaveLength(192 + 1);
    expect(candidates.slice(0, 2)).toEqual(gemm.configs);
    expect(candidates).toContainEqual({ values: { BLOCK_M: 256, BLOCK_N: 64, BLOCK_K: 8 }, numWarps: 4, numStages: 4 });
  });

  it("should be pruned by the rules of tiles", () => {
    const { remaining: kept, pruned } = pruneByRules(gemm, candidatesOf(gemm, gemm.tuning!.space!));
    expect(kept.every(({ values }) => values["BLOCK_K"] === 32 || values["BLOCK_K"] === 64)).toBe(true);
    expect(new Set(pruned.map(({ reason }) => reason))).toEqual(
      new Set([
        "BLOCK_K is 96; a tile's dimension is a power of two, such as 64 or 128",
        "dot: the inner dimension BLOCK_K is 8; 16-bit operands need at least 16",
      ]),
    );
    expect(kept.length + pruned.length).toBe(193);
  });

  const doubled = (space: Record<string, readonly number[]>) =>
    kernel(
      "doubled",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [N.floorDiv(BLOCK)],
        requires: ({ N, BLOCK }) => [N.mod(BLOCK).eq(0)],
        autotune: { key: ["N"], configs: [{ BLOCK: 64 }], space: space as { BLOCK: [number] } },
      },
      ({ x, y, BLOCK }) => {
        const i = tl.inBounds(tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)));
        tl.store(y.at(i), tl.load(x.at(i)).mul(2));
      },
    );

  it("should be pruned by requirements at the sizes that are measured", async () => {
    const space = { BLOCK: [32, 128] };
    const declared = doubled(space);
    const all = await buildWith(declared, candidatesOf(await build(declared), space));
    const at = { sizes: { N: 192 }, dtypes: {}, config: 0, seed: 0 };
    expect([...refusedEverywhere(all, [at])]).toEqual([[2, expect.stringMatching(/the kernel refuses it/)]]);
  });

  it.each([
    [{ BLOK: [64] }, /the space names BLOK; configs choose BLOCK, numWarps, numStages, numCtas, maxnreg/],
    [{ BLOCK: [] }, /the space has no values for BLOCK; list them/],
  ])("%j should be refused", async (space, message) => {
    await expect(build(doubled(space))).rejects.toThrow(message);
  });
});

describe("the search", () => {
  it("should try the author's configs first, and the others in an order of the seed", () => {
    const order = orderOf(50, 3, 7);
    expect(order.slice(0, 3)).toEqual([0, 1, 2]);
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(orderOf(50, 3, 7)).toEqual(order);
    expect(orderOf(50, 3, 8)).not.toEqual(order);
  });

  it.each([
    ["60s", { seconds: 60 }],
    ["2m", { seconds: 120 }],
    ["40", { count: 40 }],
    ["all", { all: true }],
  ])("budget %s", (text, budget) => {
    expect(parseBudget(text)).toEqual(budget);
  });

  it("should keep what is fastest somewhere and right everywhere", () => {
    const time = (median: number) => ({ median, low: median, high: median });
    const cases = [1, 2].map((N) => ({ sizes: { N }, dtypes: {}, config: 0, seed: 0 }));
    const trials = [
      new Map<number, Trial>([
        [0, time(4)],
        [1, time(3)],
        [2, time(1)],
        [3, { failed: "out of resources" }],
      ]),
      new Map<number, Trial>([
        [0, time(5)],
        [1, time(9)],
        [2, { wrong: "c[0] is 1, expected 2" }],
      ]),
    ];
    const best = bestOf({ trials, tried: [0, 1, 2, 3], fromCache: 0, seconds: 1 }, cases, (config) => config < 1);
    expect(best.map(({ config, declared: own }) => [config, own?.config])).toEqual([
      [1, 0],
      [0, 0],
    ]);
    expect(fastestConfigs(gemm, best)).toEqual([gemm.configs[1], gemm.configs[0]]);
  });
});

describe("what is written", () => {
  const found: readonly Config[] = [
    gemm.configs[0]!,
    { values: { BLOCK_M: 64, BLOCK_N: 256, BLOCK_K: 32 }, numWarps: 4, numStages: 4 },
  ];

  /** The kernel as if its file were a copy. */
  async function copied(change: (text: string) => string = (text) => text): Promise<[CompiledKernel, string]> {
    const file = join(await mkdtemp(join(tmpdir(), "tilescript-tune-")), "gemm.ts");
    const { before } = await gemm.tuning!.rewrite([]);
    await writeFile(file, change(before));
    const rewrite: NonNullable<CompiledKernel["tuning"]>["rewrite"] = async (...given) => ({
      ...(await gemm.tuning!.rewrite(...given)),
      file,
    });
    return [{ ...gemm, tuning: { ...gemm.tuning!, rewrite } }, file];
  }

  it("should change the configs alone, and keep the text of those that stay", async () => {
    const [kernelOfCopy, file] = await copied();
    expect(await rewriteConfigs(kernelOfCopy, [{ configs: found }])).toBe(file);
    const { before } = await gemm.tuning!.rewrite([]);
    const after = await readFile(file, "utf8");
    const [old, fresh] = [before.split("\n"), after.split("\n")];
    expect(old.filter((line) => !fresh.includes(line))).toEqual([
      "        { BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 32, numWarps: 2, numStages: 3 },",
    ]);
    expect(fresh.filter((line) => !old.includes(line)).map((line) => line.trim())).toEqual([
      "{ BLOCK_M: 64, BLOCK_N: 256, BLOCK_K: 32, numWarps: 4, numStages: 4 },",
    ]);
    expect(after).toContain("// Right for large products.\n");
  });

  it("should name the kinds of GPU above each, in place of those of an earlier search", async () => {
    const [kernelOfCopy, file] = await copied();
    const [first, second] = found;
    await rewriteConfigs(kernelOfCopy, [
      { configs: [first!], kind: "A100" },
      { configs: found, kind: "H200" },
    ]);
    const after = await readFile(file, "utf8");
    expect(after.match(/\/\/ Fastest on .*/g)).toEqual(["// Fastest on A100, H200", "// Fastest on H200"]);
    expect(after.match(/Fastest on H200\n.*/)![0]).toContain(`BLOCK_N: ${second!.values["BLOCK_N"]}`);
  });

  it("should refuse a file that was changed meanwhile", async () => {
    const [kernelOfCopy, file] = await copied((text) => `${text}\n// mine\n`);
    await expect(rewriteConfigs(kernelOfCopy, [{ configs: found }])).rejects.toThrow(
      / changed while its kernel was tuned; tune again, the measurements are kept/,
    );
    expect(await readFile(file, "utf8")).toContain("// mine");
  });

  it("should refuse configs that are computed", async () => {
    const blocks = [32, 64];
    const computed = await build(
      kernel(
        "computed",
        {
          params: { y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
          grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
          autotune: { key: ["N"], configs: blocks.map((BLOCK) => ({ BLOCK })) },
        },
        ({ y, BLOCK }) => {
          const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
          tl.store(y.at(i), tl.zeros([BLOCK], tl.float32));
        },
      ),
    );
    await expect(computed.tuning!.rewrite([{ configs: found }])).rejects.toThrow(
      /computed: write autotune.configs as a list/,
    );
  });

  it("should be in the emitted module", async () => {
    const { python } = await buildWith(tunedGemm, found);
    expect(python.match(/triton\.Config\(/g)).toHaveLength(2);
    expect(python).toContain('{"BLOCK_M": 64, "BLOCK_N": 256, "BLOCK_K": 32}, num_warps=4, num_stages=4');
  });
});

it("should say in a dry run what would be tried", async () => {
  const runnable = { name: "tuned_gemm", compile: (configs?: readonly Config[]) => buildWith(tunedGemm, configs) };
  const { runCli } = await import("../../../src/runtime/cli/cli.js");
  let out = "";
  const streams = { out: (text: string) => void (out += text), err: () => undefined, color: false };
  expect(await runCli("gemm.ts", ["--tune", "--dry-run", "--json"], [runnable], streams)).toBe(0);
  const report = JSON.parse(out) as TuneReport;
  expect(report).toMatchObject({ ok: true, candidates: 193, tried: 0 });
  expect(report.pruned.length + report.configs.length).toBe(193);
});
