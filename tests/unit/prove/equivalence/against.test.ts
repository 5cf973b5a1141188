/** Kernel against kernel: what two kernels with the same arguments compute. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { gemm } from "../../../../examples/gemm.js";
import { gemmPersistent } from "../../../../examples/gemm-persistent.js";
import { gemmSplitK } from "../../../../examples/gemm-split-k.js";
import { softmax } from "../../../../examples/softmax.js";
import { sampledTests } from "../../../support/sampled-tests.js";

sampledTests("kernels compared with kernels", "src/prove/equivalence");

type Values = Readonly<Record<string, any>>;

const rows = (name: string, body: (values: Values) => any, params: Values = {}) =>
  kernel(
    name,
    {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M", "N"]),
        BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
        ...params,
      },
      grid: ({ M }: any) => [M],
    } as any,
    ((values: Values) => {
      const [row, cols] = [tl.inBounds(tl.programId(0)), tl.arange(0, values["BLOCK"])];
      tl.store(values["y"].at(row, cols), body({ ...values, row, cols }));
    }) as any,
  );
const loaded = ({ x, row, cols }: Values) => tl.load(x.at(row, cols), { other: 0 });
const mean = (values: Values) => tl.sum(loaded(values), 0).div(values["N"].to(tl.float32));

const verdictOf = async (x: unknown, y: unknown) => (await build(x)).against(await build(y))[0]?.verdict;

describe("equal", () => {
  test.each([
    [
      "a sum before and after a division",
      rows("a", (v) => loaded(v).sub(mean(v))),
      rows("b", (v) => loaded(v).sub(tl.sum(loaded(v).div(v["N"].to(tl.float32)), 0))),
    ],
    [
      "a factor moved out of a difference",
      rows("a", (v) => loaded(v).sub(mean(v)).mul(2)),
      rows("b", (v) => loaded(v).mul(2).sub(mean(v).mul(2))),
    ],
    ["products in other orders of programs", gemm, gemmPersistent],
    ["an operator and a kernel", gemm, gemmSplitK],
    ["a kernel and itself", softmax, softmax],
  ])("%s", async (_, x, y) => {
    expect(await verdictOf(x, y)).toEqual({ kind: "proved" });
  });
});

describe("not equal", () => {
  test("a difference is shown by a launch", async () => {
    const verdict = await verdictOf(
      rows("a", (v) => loaded(v).sub(mean(v))),
      rows("b", (v) => loaded(v).add(mean(v))),
    );
    expect(verdict).toMatchObject({ kind: "refuted", at: { config: 0 }, worst: { output: "y" } });
  });

  test("a missing argument is named", async () => {
    const other = rows("b", (v) => loaded(v).add(tl.load(v["bias"].at(v["cols"]), { other: 0 })), {
      bias: tensor(tl.float32, ["N"]),
    });
    expect(await verdictOf(rows("a", loaded), other)).toMatchObject({
      kind: "unknown",
      missing: "the argument bias of b",
    });
  });

  test("a missing output is named", async () => {
    const other = kernel(
      "b",
      { params: { x: tensor(tl.float32, ["M", "N"]), z: tensor.out(tl.float32, ["M"]) }, grid: ({ M }) => [M] },
      ({ z }) => tl.store(z.at(tl.inBounds(tl.programId(0))), 1),
    );
    expect(await verdictOf(rows("a", loaded), other)).toMatchObject({
      kind: "unknown",
      missing: "the other kernel has no output y",
    });
  });

  test("rows that one of them leaves out prove nothing", async () => {
    const partial = kernel(
      "b",
      {
        params: {
          x: tensor(tl.float32, ["M", "N"]),
          y: tensor.out(tl.float32, ["M", "N"]),
          BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
        },
        grid: ({ M }: any) => [tl.cdiv(M, 2)],
      } as any,
      ((v: Values) => {
        const [row, cols] = [tl.inBounds(tl.programId(0)), tl.arange(0, v["BLOCK"])];
        tl.store(v["y"].at(row, cols), tl.load(v["x"].at(row, cols), { other: 0 }));
      }) as any,
    );
    expect(await verdictOf(rows("a", loaded), partial)).toMatchObject({
      kind: "unknown",
      missing: expect.stringContaining("coverage of y in b"),
    });
  });
});
