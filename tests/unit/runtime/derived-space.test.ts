/** Tuning without a space: roles of constexprs, what follows from them, the model's order, and successive halving. */
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { attention } from "../../../examples/flash-attention.js";
import { gemm } from "../../../examples/gemm.js";
import { softmax } from "../../../examples/softmax.js";
import type { TestCase, CompiledKernel, Config } from "../../../src/compiled/compiled-kernel.js";
import { buildWith } from "../../../src/pipeline/build.js";
import { parseSpace } from "../../../src/runtime/measure/candidates.js";
import { halve, neighborsOf } from "../../../src/runtime/measure/staged-search.js";
import {
  rankCandidates,
  searchOrder,
  estimate,
  derivedSpace,
  tileKey,
  whyPoorConfig,
} from "../../../src/runtime/measure/shortlist.js";
import { copyByGpu } from "../../support/fixtures/copy-by-gpu.js";
import type { TuneReport } from "../../../src/runtime/report/reports.js";

const product = await build(gemm);
const LARGE: TestCase = { sizes: { M: 4096, N: 4096, K: 4096 }, dtypes: { T: "bfloat16" }, config: 0, seed: 0 };
const SMALL: TestCase = { ...LARGE, sizes: { M: 512, N: 512, K: 512 } };
const config = (BLOCK_M: number, BLOCK_N: number, numWarps: 2 | 4 | 8 = 8): Config => ({
  values: { BLOCK_M, BLOCK_N, BLOCK_K: 64, GROUP_M: 8 },
  numWarps,
  numStages: 3,
});

describe("the roles of constexprs", () => {
  it.each([
    ["gemm", gemm, { BLOCK_M: "rows", BLOCK_N: "columns", BLOCK_K: "inner", GROUP_M: "order" }, true],
    // Its columns are what the second product sums over.
    ["attention", attention, { BLOCK_M: "rows", BLOCK_N: "columns" }, true],
    // The launch computes its row's length.
    ["softmax", softmax, {}, false],
    ["an elementwise kernel", copyByGpu, { BLOCK: "length" }, false],
  ] as const)("of %s", async (_, of, roles, pipelined) => {
    const { tuning } = await build(of);
    expect({ roles: tuning!.roles, pipelined: tuning!.pipelined }).toEqual({ roles, pipelined });
  });

  it("should leave out a constexpr that the grid, a requirement or a tile's expression uses", async () => {
    const scaled = kernel(
      "scaled",
      {
        params: {
          y: tensor.out(tl.float32, ["N"]),
          BLOCK: constexpr(),
          TIMES: constexpr.int(),
          FIRST: constexpr.int(),
        },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        autotune: { key: ["N"], configs: [{ BLOCK: 16, TIMES: 2, FIRST: 0 }] },
        requires: ({ FIRST }) => [FIRST.ge(0)],
      },
      ({ y, BLOCK, TIMES, FIRST }) => {
        const i = tl.programId(0).mul(BLOCK).add(FIRST).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.full([BLOCK], 1, tl.float32).mul(TIMES));
      },
    );
    expect((await build(scaled)).tuning!.roles).toEqual({ BLOCK: "length" });
  });
});

describe("the space that follows", () => {
  it("should have sizes by role, and the author's values of everything else", async () => {
    const space = derivedSpace(product);
    expect(Object.keys(space).sort()).toEqual(["BLOCK_K", "BLOCK_M", "BLOCK_N", "GROUP_M", "numStages", "numWarps"]);
    expect(space["BLOCK_N"]).toEqual([16, 32, 64, 128, 256]);
    expect(derivedSpace(await build(softmax))).toEqual({ numWarps: [1, 2, 4, 8, 16, 32] });
  });

  it("should have no config that gives threads more sums than registers, or hardly any", () => {
    const traffic = (of: Config) => [product.tuning!.traffic(of, LARGE)];
    expect(whyPoorConfig(config(256, 256, 8), traffic(config(256, 256)), 32)).toMatch(/more sums .* than the 128/);
    expect(whyPoorConfig(config(128, 256, 8), traffic(config(128, 256)), 32)).toBeUndefined();
    expect(whyPoorConfig(config(16, 32, 8), traffic(config(16, 32)), 32)).toMatch(/fewer sums/);
    // A warp of AMD's has 64 lanes.
    expect(whyPoorConfig(config(256, 256, 8), traffic(config(256, 256)), 64)).toBeUndefined();
  });

  it("should leave out sizes with which the host cannot compute a launch", async () => {
    const halves = kernel(
      "halves",
      {
        params: { y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK.floorDiv(64)).floorDiv(64)],
        autotune: { key: ["N"], configs: [{ BLOCK: 64 }] },
      },
      ({ y, BLOCK }) =>
        tl.store(y.at(tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK))), tl.zeros([BLOCK], tl.float32)),
    );
    const at: TestCase = { sizes: { N: 2 ** 20 }, dtypes: {}, config: 0, seed: 0 };
    const { remaining: kept, pruned } = rankCandidates(await build(halves), [at], { lanes: 32 });
    expect(kept.every(({ values }) => Number(values["BLOCK"]) >= 64)).toBe(true);
    const small = pruned.filter(({ config: { values } }) => values["BLOCK"] === 32);
    for (const { reason } of small) expect(reason).toBe("its grid has no number of programs");
    expect(small).toHaveLength(6);
  });

  it("should keep the author's configs first, and drop nothing without a reason", () => {
    const { remaining: kept, pruned } = rankCandidates(product, [LARGE], { lanes: 32 });
    expect(kept.slice(0, product.configs.length)).toEqual(product.configs);
    expect(pruned.every(({ reason }) => reason.length > 0)).toBe(true);
    const count = Object.values(derivedSpace(product)).reduce((all, values) => all * values!.length, 1);
    expect(
      new Set([...kept, ...pruned.map((each) => each.config)].map((each) => JSON.stringify({ ...each, at: 0 }))).size,
    ).toBe(
      count +
        product.configs.filter(
          ({ numStages, values }) =>
            !derivedSpace(product)["numStages"]!.includes(numStages!) || values["BLOCK_K"] === 16,
        ).length,
    );
  });
});

describe("the model", () => {
  it("should count what a launch moves and multiplies", () => {
    const { programs, products, bytes, sums, widest } = product.tuning!.traffic(config(128, 256), LARGE);
    expect({ programs, products, sums }).toEqual({ programs: 32 * 16, products: 4096 ** 3, sums: 128 * 256 });
    // Each program reads its rows and columns once, and writes its tile.
    expect(bytes).toBe(2 * (32 * 16 * 4096 * (128 + 256) + 4096 ** 2));
    expect(widest).toBe(128 * 256);
  });

  it("should prefer large tiles where there are many, and small ones where there are few", () => {
    const time = (of: Config, at: TestCase) => estimate(product, at, product.tuning!.traffic(of, at), undefined);
    expect(time(config(128, 256), LARGE)).toBeLessThan(time(config(64, 64), LARGE));
    expect(time(config(64, 64), SMALL)).toBeLessThan(time(config(128, 256), SMALL));
    // 137 GFLOP at 989 TFLOP/s, and 512 programs on 132 multiprocessors, which the last turn leaves idle.
    expect(time(config(128, 256), LARGE)).toBeCloseTo((0.1389 * 4 * 132) / 512 + 0.004, 3);
  });

  it("should try tiles that differ before one tile in many ways", async () => {
    const source = await build(attention);
    const at: TestCase = {
      sizes: { H: 8, S: 1024, HEAD_DIM: 64 },
      dtypes: { T: "float16" },
      constexprs: { CAUSAL: true },
      config: 0,
      seed: 0,
    };
    const { remaining: kept } = rankCandidates(source, [at], { lanes: 32 });
    const all = await buildWith(attention, kept);
    const order = searchOrder(all, at, { declaredCount: 2, skip: new Set([0]), gpu: { lanes: 32 } });
    expect(order).toHaveLength(kept.length - 1);
    expect(order[0]).toBe(1);
    const tiles = order.slice(1, 21).map((place) => tileKey(all, all.configs[place]!));
    expect(new Set(tiles).size).toBeGreaterThanOrEqual(10);
  });
});

/** Searches a landscape; gives what was found, of its best, and how much was measured. */
async function searched(
  order: readonly number[],
  kernel: Pick<CompiledKernel, "configs">,
  time: (place: number) => number,
) {
  const times = new Map<number, number>();
  const fastest = (count: number) =>
    [...times]
      .sort(([, a], [, b]) => a - b)
      .slice(0, count)
      .map(([place]) => place);
  await halve({
    order,
    neighbors: neighborsOf(kernel),
    maxMeasurements: 60,
    measure: (queue, count) => {
      const next = [...new Set(queue)].filter((place) => !times.has(place)).slice(0, count);
      for (const place of next) times.set(place, time(place));
      return Promise.resolve(next.length);
    },
    fastest,
  });
  return { found: times.get(fastest(1)[0]!)!, best: Math.min(...order.map(time)), measured: times.size };
}

describe("successive halving", () => {
  const axes = { A: [16, 32, 64, 128, 256], B: [16, 32, 64, 128, 256], C: [32, 64, 128], numStages: [2, 3, 4, 5] };
  const configs = axes.A.flatMap((A) =>
    axes.B.flatMap((B) =>
      axes.C.flatMap((C) => axes.numStages.map((numStages): Config => ({ values: { A, B, C }, numStages }))),
    ),
  );
  const all = [...configs.keys()];

  test("neighbors differ by one step of one value", () => {
    const near = neighborsOf({ configs });
    const corner = configs.findIndex(
      ({ values, numStages }) => values["A"] === 16 && values["B"] === 64 && values["C"] === 32 && numStages === 2,
    );
    expect(near.get(corner)!.map((place) => ({ ...configs[place]!.values, s: configs[place]!.numStages }))).toEqual(
      expect.arrayContaining([
        { A: 32, B: 64, C: 32, s: 2 },
        { A: 16, B: 32, C: 32, s: 2 },
        { A: 16, B: 128, C: 32, s: 2 },
        { A: 16, B: 64, C: 64, s: 2 },
        { A: 16, B: 64, C: 32, s: 3 },
      ]),
    );
    expect(near.get(corner)).toHaveLength(5);
  });

  test("what fits the number is measured whole, and no more than that otherwise", async () => {
    const few = await searched(all.slice(0, 50), { configs }, (place) => 100 - place);
    expect(few).toEqual({ found: 51, best: 51, measured: 50 });
    const many = await searched(all, { configs }, (place) => place);
    expect(many.measured).toBe(60);
  });

  test("the best of 300 is found within 60 measurements, wherever it lies, from an order that is half right", async () => {
    const peak = fc.record({ A: fc.nat(4), B: fc.nat(4), C: fc.nat(2), s: fc.nat(3), seed: fc.nat(1000) });
    await fc.assert(
      fc.asyncProperty(peak, async ({ A, B, C, s, seed }) => {
        // Each step away from the best costs 15 %; the model knows A and B but for one step, and nothing of the rest.
        const away = ({ values, numStages }: Config) =>
          [
            axes.A.indexOf(Number(values["A"])) - A,
            axes.B.indexOf(Number(values["B"])) - B,
            axes.C.indexOf(Number(values["C"])) - C,
            axes.numStages.indexOf(numStages!) - s,
          ].map(Math.abs);
        const time = (place: number) => away(configs[place]!).reduce((all, each) => all * 1.15 ** each, 1);
        const model = (place: number) => {
          const [a, b] = away(configs[place]!);
          return Math.max(1, a!) + Math.max(1, b!) + (((place * 7919 + seed) % 13) / 13) * 0.5;
        };
        const { found, best, measured } = await searched(
          [...all].sort((x, y) => model(x) - model(y)),
          { configs },
          time,
        );
        expect(measured).toBeLessThanOrEqual(60);
        expect(found / best).toBeLessThanOrEqual(1.03);
      }),
      { numRuns: 30 },
    );
  });
});

describe("the command", () => {
  const run = async (of: typeof gemm | typeof attention, ...args: readonly string[]) => {
    const runnable = { name: of.name, compile: (configs?: readonly Config[]) => buildWith(of, configs) };
    const { runCli } = await import("../../../src/runtime/cli/cli.js");
    let out = "";
    const streams = { out: (text: string) => void (out += text), err: () => undefined, color: false };
    const code = await runCli("kernel.ts", ["--tune", "--dry-run", "--json", ...args], [runnable], streams);
    return { code, report: JSON.parse(out) as TuneReport };
  };

  it("should say in a dry run what a derived space begins with", async () => {
    const { code, report } = await run(
      attention,
      "--shapes",
      "H=8,S=1024,HEAD_DIM=64,CAUSAL=true",
      "--dtype",
      "T=float16",
    );
    expect(code).toBe(0);
    expect(report.configs).toHaveLength(60);
    expect(report.candidates).toBe(report.configs.length + report.pruned.length);
  });

  it("should refuse to compile thousands for targets", async () => {
    const runnable = { name: "gemm", compile: (configs?: readonly Config[]) => buildWith(gemm, configs) };
    const { runCli } = await import("../../../src/runtime/cli/cli.js");
    let err = "";
    const streams = { out: () => undefined, err: (text: string) => void (err += text), color: false };
    expect(await runCli("kernel.ts", ["--tune", "--targets", "cuda:90"], [runnable], streams)).toBe(2);
    expect(err).toMatch(/no space is declared; add --space, or --dry-run/);
  });

  it("should take another space from the command line", async () => {
    const { report } = await run(gemm, "--space", "BLOCK_M=64,96", "numWarps=4");
    // The author's 8; of the others, those of 64 rows.
    expect(report.configs.map((values) => values["BLOCK_M"])).toContain(64);
    expect(report.candidates).toBe(10);
    expect(report.pruned.map(({ reason }) => reason)).toEqual([
      "BLOCK_M is 96; a tile's dimension is a power of two, such as 64 or 128",
    ]);
  });

  it.each([
    [["BLOK=64"], /--space: configs of gemm choose no BLOK; they choose BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, numWarps/],
    [["BLOCK_M=big"], /--space: BLOCK_M=big: it takes numbers, as in BLOCK=64,128/],
    [["BLOCK_M"], /--space: BLOCK_M: it takes numbers/],
  ])("%j should be refused", (given, message) => {
    expect(() => parseSpace(product, given)).toThrow(message);
  });
});
