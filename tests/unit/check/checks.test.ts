/** What a build refuses after tracing: configs, tile limits, dtypes of every member. Messages are pinned. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl, TileScriptError } from "tilescript";
import { build } from "../../../src/pipeline/build.js";

const T = tl.dtype("T", [tl.float16, tl.float32]);

interface Given {
  readonly configs?: readonly Record<string, unknown>[];
  readonly key?: readonly string[];
  readonly extra?: object;
}

function product({ configs = [{ BLOCK: 64, BLOCK_K: 32 }], key = ["M"], extra = {} }: Given) {
  return kernel(
    "product",
    {
      params: {
        a: tensor(tl.float16, ["M", "K"]),
        c: tensor.out(tl.float32, ["M", "M"]),
        BLOCK: constexpr(),
        BLOCK_K: constexpr(),
      },
      grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(M, BLOCK)],
      autotune: { key, configs, ...extra } as never,
    },
    ({ a, c, K, BLOCK, BLOCK_K }) => {
      const rm = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const rn = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
      const acc = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32));
      for (const k of tl.range(0, K, BLOCK_K)) {
        const rk = k.add(tl.arange(0, BLOCK_K));
        acc.value = tl.dot(tl.load(a.at(rm, rk)), tl.load(a.at(rn, rk)).T, acc.value);
      }
      tl.store(c.at(rm, rn), acc.value);
    },
  );
}

async function messagesOf(given: Given): Promise<string[]> {
  try {
    const { warnings } = await build(product(given));
    return warnings.map(({ code, message }) => `${code}: ${message}`);
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    expect(error.diagnostics.every(({ at }) => at?.file.endsWith("checks.test.ts"))).toBe(true);
    return error.diagnostics.map(({ code, message }) => `${code}: ${message}`);
  }
}

describe("configs", () => {
  test("a right one is accepted", async () => {
    expect(await messagesOf({})).toEqual([]);
  });

  test.each<[string, Given, string]>([
    [
      "a constexpr is missing",
      { configs: [{ BLOCK: 64 }] },
      "config-missing: product: config 0 (BLOCK: 64): BLOCK_K is missing; give it a value",
    ],
    [
      "one is misspelt",
      { configs: [{ BLOCK: 64, BLOCK_K: 32, BLOK: 1 }] },
      "config-name: product: config 0 (BLOCK: 64, BLOCK_K: 32, BLOK: 1): BLOK is not a constexpr of this kernel; write BLOCK",
    ],
    [
      "a value is no integer",
      { configs: [{ BLOCK: 64, BLOCK_K: 0.5 }] },
      "config-value: product: config 0 (BLOCK: 64, BLOCK_K: 0.5): BLOCK_K is 0.5; it takes an integer",
    ],
    [
      "numWarps is no power of two",
      { configs: [{ BLOCK: 64, BLOCK_K: 32, numWarps: 3 }] },
      "config-value: product: config 0 (BLOCK: 64, BLOCK_K: 32, numWarps: 3): numWarps is 3; it is a power of two up to 32",
    ],
    [
      "the key names nothing",
      { key: ["Q"] },
      "autotune-key: product: the autotune key Q is not a size, scalar or constexpr; it may be M, K",
    ],
    [
      "one is there twice",
      {
        configs: [
          { BLOCK: 64, BLOCK_K: 32 },
          { BLOCK: 64, BLOCK_K: 32, numWarps: 8 },
          { BLOCK: 64, BLOCK_K: 32 },
        ],
      },
      "config-repeated: product: config 2 (BLOCK: 64, BLOCK_K: 32): it repeats config 0; leave one out",
    ],
    ["there is none", { configs: [] }, "config-sources: product: autotune has no configs; list at least one"],
    [
      "a reset names nothing",
      { extra: { resetToZero: ["d"] } },
      "autotune-reset: product: resetToZero names d, which is not a tensor of this kernel",
    ],
    [
      "a block is no power of two",
      { configs: [{ BLOCK: 48, BLOCK_K: 32 }] },
      "tile-size: BLOCK is 48 in config 0; a tile's dimension is a power of two, such as 32 or 64",
    ],
    [
      "a tile is too large",
      { configs: [{ BLOCK: 2048, BLOCK_K: 32 }] },
      "tile-size: the tile [BLOCK, BLOCK] has 4194304 elements in config 0; Triton allows 1048576, loop over smaller tiles",
    ],
    [
      "a dot is too thin",
      {
        configs: [
          { BLOCK: 64, BLOCK_K: 32 },
          { BLOCK: 64, BLOCK_K: 8 },
        ],
      },
      "dot-size: dot: the inner dimension BLOCK_K is 8 in config 1; 16-bit operands need at least 16",
    ],
  ])("%s", async (_, given, message) => {
    expect(await messagesOf(given)).toContain(message);
  });

  test("a tensor that is updated in place is put back between trials", async () => {
    const accumulate = kernel(
      "accumulate",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        autotune: { key: ["N"], configs: [{ BLOCK: 64 }] },
      },
      ({ x, y, BLOCK }) => {
        const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(offsets), tl.load(y.at(offsets)).add(tl.load(x.at(offsets))));
      },
    );
    await expect(build(accumulate)).rejects.toThrow(
      /autotuning runs the kernel several times and y is updated in place; add restoreValue: \["y"\]/,
    );
  });
});

test("a kernel over a dtype variable is typed for each member", async () => {
  const scaled = kernel(
    "scaled",
    {
      params: { x: tensor(T, ["N"]), y: tensor.out(T, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
    },
    ({ x, y, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(offsets), tl.exp(tl.load(x.at(offsets)) as never) as never);
    },
  );
  await expect(build(scaled)).rejects.toThrow(/exp: .*T.*cast with \.to\(tl\.float32\)/);
});

test("a tensor that is never used is pointed out", async () => {
  const copy = kernel(
    "copy",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        w: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
    },
    ({ x, y, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(offsets), tl.load(x.at(offsets)));
    },
  );
  const compiled = await build(copy);
  expect(compiled.warnings.map(({ message }) => message)).toEqual([
    "copy: the tensor w is never used; remove it from params",
  ]);
});

describe("what needs Triton 3.9", () => {
  const newer = (triton?: "3.6" | "3.9") =>
    kernel(
      "newer",
      {
        params: { x: tensor.inout(tl.int32, ["N"]), BLOCK: constexpr() },
        grid: () => [1],
        config: { BLOCK: 64 },
        ...(triton && { triton }),
      },
      ({ x, BLOCK }) => {
        const offsets = tl.arange(0, BLOCK);
        const values = tl.load(x.at(offsets), { cacheModifier: ".cs" });
        tl.store(x.at(offsets), tl.reshape(tl.unsqueeze(values, 0), [BLOCK]));
      },
    );
  const lines = (diagnostics: readonly { message: string; at?: { file: string } | undefined }[]) =>
    diagnostics.map(({ message, at }) => `${at?.file.split("/").at(-1)}: ${message}`);

  test("is a warning where it stands", async () => {
    const { warnings, python } = await build(newer());
    expect(lines(warnings)).toEqual([
      'checks.test.ts: newer: tl.load, used like this, needs Triton 3.9; set triton: "3.9" in the kernel if you want that',
      'checks.test.ts: newer: tl.unsqueeze, used like this, needs Triton 3.9; set triton: "3.9" in the kernel if you want that',
    ]);
    expect(/^if tuple\(.*\n(?:    .*\n)+/m.exec(python)?.[0]).toMatchInlineSnapshot(`
      "if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9):
          raise ImportError(
              "Triton 3.9 or later is needed for tl.load, tl.unsqueeze, got "
              f"{triton.__version__}"
          )
      "
    `);
  });

  test("is an error where the kernel says 3.6, and silent where it says 3.9", async () => {
    await expect(build(newer("3.6"))).rejects.toThrow(
      'newer: tl.load, used like this, needs Triton 3.9, and the kernel sets triton: "3.6"; set triton: "3.9"',
    );
    expect((await build(newer("3.9"))).warnings).toEqual([]);
    await expect(build(newer("3.7" as never))).rejects.toThrow('triton is "3.7"; it is "3.6" or "3.9"');
  });
});
