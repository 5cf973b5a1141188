/** Configs by GPU: their order, which of them each GPU chooses from, where they stand, and what is emitted. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { type Architecture, configsFor } from "../../../src/compiled/gpus.js";
import type { FoundConfigs } from "../../../src/compiled/compiled-kernel.js";
import { compileCases } from "../../../src/runtime/cases/command-cases.js";
import { cases } from "../../../src/runtime/cases/arbitrary.js";
import { inEveryConfig } from "../../../src/runtime/target-compile/precompile.js";
import { candidatesOf, mergeConfigs } from "../../../src/runtime/measure/candidates.js";
import { withoutConfigs } from "../../../src/runtime/system/files.js";
import { buildWith } from "../../../src/pipeline/build.js";
import { copyByGpu } from "../../support/fixtures/copy-by-gpu.js";
import fc from "fast-check";

const built = await build(copyByGpu);
const H200: Architecture = ["cuda", 90, 32];
const blocksOn = (gpu: Architecture | null) =>
  configsFor(built.configs, gpu).map((place) => built.configs[place]!.values["BLOCK"]);

describe("which configs a GPU chooses from", () => {
  it.each<[string, Architecture | null, number[]]>([
    ["an older GPU: the default", ["cuda", 75], [128, 256]],
    ["the list of its capability", ["cuda", 80], [512, 128]],
    ["the newest list below it", ["cuda", 89], [512, 128]],
    ["its own", H200, [1024, 2048]],
    ["the newest there is", ["cuda", 103], [1024, 2048]],
    ["AMD's own", ["hip", "gfx942", 64], [256]],
    ["another of AMD's: the default", ["hip", "gfx950", 64], [128, 256]],
    ["none: all", null, [128, 256, 512, 128, 1024, 2048, 256]],
  ])("%s", (_, gpu, blocks) => {
    expect(blocksOn(gpu)).toEqual(blocks);
  });

  it("should locate each config in its own list", () => {
    const lines = readFileSync(built.configs[0]!.at!.file, "utf8").split("\n");
    const written = built.configs.map(({ at, values }) => [
      lines[at!.line - 1]!.slice(at!.column - 1),
      values["BLOCK"],
    ]);
    for (const [text, block] of written) expect(text).toMatch(new RegExp(String.raw`^\{ BLOCK: ${block}\b`));
  });

  it("should compile, try and draw the GPU's configs alone, unless one is named", () => {
    const at = { sizes: { N: 4096 }, dtypes: {}, config: 0, seed: 0 };
    expect(inEveryConfig(built, at, ["hip", "gfx942", 64]).map(({ config }) => config)).toEqual([6]);
    expect(compileCases(built, { seed: 0, on: H200 }).cases.map(({ config }) => config)).toEqual([4, 5]);
    expect(compileCases(built, { seed: 0, on: H200, config: 0 }).cases.map(({ config }) => config)).toEqual([0]);
    expect(new Set(fc.sample(cases(built, { on: H200 }), 40).map(({ config }) => config))).toEqual(new Set([4, 5]));
  });

  it("should report a mistake of each list at its line", async () => {
    const wrong = kernel(
      "wrong",
      {
        params: { y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        autotune: {
          key: ["N"],
          configs: {
            default: [{ BLOCK: 16 }],
            // A tile's dimension.
            cuda: { 90: [{ BLOCK: 32 }, { BLOCK: 100 }] },
            hip: { gfx942: [{ BLOCK: 16 }] },
          },
        },
      },
      ({ y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.zeros([BLOCK], tl.float32));
      },
    );
    await expect(build(wrong)).rejects.toThrow(/BLOCK is 100 in config 2; a tile's dimension is a power of two/);
  });
});

describe("what is emitted", () => {
  it("should be a table by GPU, and nothing of it where all have one list", async () => {
    expect(built.python).toContain(`_configs = {
    "default": [triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})],
    80: [triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 128})],
    90: [
        triton.Config({"BLOCK": 1024}, num_warps=8),
        triton.Config({"BLOCK": 2048}, num_warps=8, num_ctas=2),
    ],
    "gfx942": [triton.Config({"BLOCK": 256})],
}
`);
    expect(built.python).toContain(
      '    configs=[*_configs["default"], *_configs[80], *_configs[90], *_configs["gfx942"]],\n',
    );
    const plain = await buildWith(copyByGpu, built.configs.slice(0, 2));
    expect(plain.python).not.toMatch(/_configs|prune/);
  });

  it("should have one name for caches whatever the configs are", async () => {
    const other = await buildWith(copyByGpu, [
      ...built.configs.slice(0, 1),
      { values: { BLOCK: 64 }, gpu: { cuda: 100 } },
    ]);
    expect(other.python).not.toBe(built.python);
    expect(withoutConfigs(other.python)).toBe(withoutConfigs(built.python));
  });
});

describe("tuning", () => {
  const fastest = [{ values: { BLOCK: 4096 }, numWarps: 4 }];
  const rewritten = async (...found: readonly FoundConfigs[]) => {
    const { before, text } = await built.tuning!.rewrite(found);
    const [old, fresh] = [before.split("\n"), text.split("\n")];
    return {
      gone: old.filter((line) => !fresh.includes(line)).map((line) => line.trim()),
      new: fresh.filter((line) => !old.includes(line)).map((line) => line.trim()),
      text,
    };
  };

  it("should try the author's configs once each, for any GPU, then the space", () => {
    const candidates = candidatesOf(built, built.tuning!.space!);
    expect(candidates.map(({ values, gpu }) => [values["BLOCK"], gpu])).toEqual(
      [128, 256, 512, 1024, 2048, 4096].map((block) => [block, undefined]),
    );
  });

  it("should put what is found into the list of exactly that GPU", async () => {
    const { gone, new: written } = await rewritten({ configs: fastest, kind: "NVIDIA H200", architecture: H200 });
    expect(gone).toEqual([
      "// Fills the copy engine.",
      "{ BLOCK: 1024, numWarps: 8 },",
      "{ BLOCK: 2048, numWarps: 8, numCtas: 2 },",
    ]);
    expect(written).toEqual(["// Fastest on NVIDIA H200", "{ BLOCK: 4096, numWarps: 4 },"]);
  });

  it("should add a list for a GPU that has none, and leave the one that it chose from", async () => {
    const { gone, text } = await rewritten(
      { configs: fastest, kind: "NVIDIA A10", architecture: ["cuda", 86, 32] },
      { configs: fastest, kind: "AMD MI355X", architecture: ["hip", "gfx950", 64] },
    );
    expect(gone).toEqual(["hip: { gfx942: [{ BLOCK: 256 }] },"]);
    expect(text).toContain("80: [{ BLOCK: 512 }, { BLOCK: 128 }],");
    expect(text).toMatch(
      /cuda: \{[^]*86: \[\n\s*\/\/ Fastest on NVIDIA A10\n\s*\{ BLOCK: 4096, numWarps: 4 \},\n\s*\],/,
    );
    expect(text).toMatch(/hip: \{ gfx942: \[\{ BLOCK: 256 \}\],? *,?\n\s*gfx950: \[\n/);
  });

  it("should bake the same lists", () => {
    const found = mergeConfigs(built, [{ configs: fastest, architecture: ["cuda", 100, 32] }]);
    expect(found.slice(0, -1)).toEqual(built.configs);
    expect(found.at(-1)).toEqual({ ...fastest[0], gpu: { cuda: 100 } });
  });
});
