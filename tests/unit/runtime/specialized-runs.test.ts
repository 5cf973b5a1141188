/** What a verdict says of a warp-specialized kernel, and the cases that are drawn for one. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { attention } from "../../../examples/flash-attention.js";
import { cases } from "../../../src/runtime/cases/arbitrary.js";
import { tmaCompatibleCase } from "../../../src/runtime/cases/command-cases.js";
import type { Outcome } from "../../../src/runtime/cases/outcome.js";
import { openDevice } from "../../../src/runtime/devices/devices.js";
import { verify, summarize } from "../../../src/runtime/verify/plan-cases.js";
import { fc } from "../../support/property.js";

const device = await openDevice({ device: "eval" });

const product = (specialize: "auto" | "never") =>
  build(
    kernel(
      "product",
      {
        params: {
          a: tensor(tl.float16, ["M", "K"]),
          b: tensor(tl.float16, ["K", "N"]),
          c: tensor.out(tl.float16, ["M", "N"]),
          BLOCK_M: constexpr(),
          BLOCK_N: constexpr(),
          BLOCK_K: constexpr(),
        },
        grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
        config: { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64 },
        warpSpecialize: specialize,
        reference: ({ a, b }, torch) => torch.matmul(a, b),
        shapes: [{ M: 24, N: 40, K: 16 }],
      },
      ({ a, b, c, K, BLOCK_M, BLOCK_N, BLOCK_K }) => {
        const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
        const rn = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
        const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
        for (const k of tl.range(0, K, BLOCK_K)) {
          const rk = k.add(tl.arange(0, BLOCK_K));
          acc.value = tl.dot(tl.load(a.at(rm, rk)), tl.load(b.at(rk, rn)), acc.value);
        }
        tl.store(c.at(rm, rn), acc.value.to(tl.float16));
      },
    ),
  );

describe("what is not checked", () => {
  test("a device that cannot run it leaves it out, and says so", async () => {
    for (const [specialize, isSaid] of [
      ["auto", true],
      ["never", false],
    ] as const) {
      const { notChecked, correct } = summarize(
        await verify(await product(specialize), device, { selection: { seed: 0 } }),
        device,
      );
      expect(correct).toBe(true);
      expect(notChecked.some((each) => each.startsWith("the warp-specialized kernel"))).toBe(isSaid);
    }
  });

  test("configs that no case reached are counted, and those without room are named", async () => {
    const verified = await verify(await product("auto"), device, { selection: { seed: 0 } });
    const [outcome] = verified.outcomes;
    const said = (...runs: readonly NonNullable<Outcome["specialized"]>[]) => {
      const outcomes = runs.map((specialized): Outcome => ({ ...outcome!, specialized }));
      const { notChecked } = summarize({ ...verified, outcomes }, device);
      return notChecked.filter((each) => each.includes("warp-specialized"));
    };
    expect(said({ config: 0, of: 3 }, { config: 2, of: 3 }, { config: 0, of: 2 })).toEqual([
      "1 of 3 configs of the warp-specialized kernel",
    ]);
    expect(said({ config: 0, of: 2 }, { config: 1, of: 2 })).toEqual([]);
    expect(said({ config: 0, of: 1 }, { misfit: "its config 1 needs more" })).toEqual([
      "a config of the warp-specialized kernel that does not fit this GPU: its config 1 needs more",
    ]);
  });
});

describe("cases that the copy engine can move", () => {
  test("have rows of 16 bytes, in plain layouts, and are taken", async () => {
    for (const built of [await product("auto"), await build(attention)]) {
      let changed = 0;
      fc.assert(
        fc.property(cases(built, { maxSize: 100 }), (at) => {
          const moved = tmaCompatibleCase(built, at);
          expect(built.refusal(moved)).toBeUndefined();
          if (moved === at) return;
          changed++;
          expect(moved.layouts).toBeUndefined();
          expect(Object.values(moved.sizes).every((size) => size % 8 === 0)).toBe(true);
        }),
      );
      expect(changed).toBeGreaterThan(0);
    }
  });

  test("stay as they are where a kernel takes no such sizes", async () => {
    const odd = kernel(
      "odd",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
        grid: ({ N }) => [N],
        requires: ({ N }) => [N.mod(2).eq(1)],
      },
      ({ x, y }) => tl.store(y.at(tl.programId(0)), tl.load(x.at(tl.programId(0)))),
    );
    const at = { sizes: { N: 5 }, dtypes: {}, config: 0, seed: 0 };
    expect(tmaCompatibleCase(await build(odd), at)).toBe(at);
  });
});
