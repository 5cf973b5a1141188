/** Kernels whose accesses are right, wrong or open, and what proofs say of them. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, pointer, scalar, tensor, tl } from "../../../src/index.js";
import type { Verdict } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";

const x = tensor(tl.float32, ["N"]);
const y = tensor.out(tl.float32, ["N"]);
const BLOCK = constexpr();
const configs = [{ BLOCK: 16 }, { BLOCK: 64 }];
const blocks = ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)];
const spec = { params: { x, y, BLOCK }, grid: blocks, autotune: { key: ["N"], configs } } as const;

/** The verdicts of all accesses, in order. */
async function verdicts(of: unknown): Promise<readonly Verdict[]> {
  const { obligations } = (await build(of)).proof();
  return obligations.flatMap(({ property, verdict }) => (property === "bounds" ? [verdict] : []));
}
const kinds = async (of: unknown) => (await verdicts(of)).map(({ kind }) => kind);

describe("an index that may leave its tensor", () => {
  test("is proved where a view masks it", async () => {
    const masked = kernel("masked", spec as never, ({ x, y, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(i)));
    });
    expect(await kinds(masked)).toEqual(["proved", "proved"]);
  });

  test("is refuted with the smallest case where it is claimed", async () => {
    const claimed = kernel("claimed", spec as never, ({ x, y, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(tl.inBounds(i))));
    });
    const [load, store] = await verdicts(claimed);
    expect(load).toMatchObject({
      kind: "refuted",
      at: { sizes: { N: 1 }, config: 0 },
      finding: { code: "false-in-bounds" },
    });
    expect(store?.kind).toBe("proved");
  });

  test("is proved where a requirement fits the blocks, and refuted where the requirement is off by one", async () => {
    const fits = (rest: number) =>
      kernel(
        "fits",
        { ...spec, requires: ({ N, BLOCK }: any) => [N.mod(BLOCK).eq(rest)] } as never,
        ({ x, y, BLOCK }: any) => {
          const i = tl.inBounds(tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)));
          tl.store(y.at(i), tl.load(x.at(i)));
        },
      );
    expect(await kinds(fits(0))).toEqual(["proved", "proved"]);
    const [load] = await verdicts(fits(1));
    expect(load).toMatchObject({ kind: "refuted", finding: { code: "false-in-bounds" } });
  });

  test("is proved where a size is a multiple of a block and of a number", async () => {
    const both = kernel(
      "both",
      { ...spec, requires: ({ N, BLOCK }: any) => [N.mod(8).eq(0), N.mod(BLOCK).eq(0)] } as never,
      ({ x, y, BLOCK }: any) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(tl.inBounds(i))));
      },
    );
    expect(await kinds(both)).toEqual(["proved", "proved"]);
  });

  test("is refuted in the one config that it is wrong in", async () => {
    const wide = kernel(
      "wide",
      {
        params: { x: tensor(tl.float32, ["N", 32]), y: tensor.out(tl.float32, ["N", 32]), BLOCK },
        grid: ({ N }: any) => [N],
        autotune: { key: ["N"], configs: [{ BLOCK: 16 }, { BLOCK: 32 }, { BLOCK: 64 }] },
      } as never,
      ({ x, y, BLOCK }: any) => {
        const row = tl.inBounds(tl.programId(0));
        const i = tl.inBounds(tl.arange(0, BLOCK));
        tl.store(y.at(row, i), tl.load(x.at(row, i)));
      },
    );
    const [load] = await verdicts(wide);
    expect(load).toMatchObject({ kind: "refuted", at: { config: 2 }, finding: { code: "false-in-bounds" } });
  });
});

describe("what hangs on values", () => {
  const gathering = (range?: readonly [number, string]) =>
    kernel(
      "gathering",
      {
        ...spec,
        params: { x, ids: tensor(tl.int32, ["N"], range ? { range } : {}), y, BLOCK },
      } as never,
      ({ x, ids, y, BLOCK }: any) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const id = tl.inBounds(tl.load(ids.at(i)));
        tl.store(y.at(i), tl.load(x.at(id)));
      },
    );

  test("is proved from a declared range, which the certificate names", async () => {
    const { obligations, promises } = (await build(gathering([0, "N"]))).proof();
    expect(new Set(obligations.map(({ verdict }) => verdict.kind))).toEqual(new Set(["proved"]));
    expect(promises).toEqual(["ids holds what its range declares"]);
  });

  test("is unknown without a range, and names it", async () => {
    const found = (await verdicts(gathering())).find(({ kind }) => kind !== "proved");
    const remedy = { kind: "declare", param: "ids", option: { range: [0, "N"] } };
    expect(found).toMatchObject({ kind: "unknown", remedies: expect.arrayContaining([remedy]) });
  });

  test("is refuted within a range that is too wide", async () => {
    const found = (await verdicts(gathering([-1, "N"]))).find(({ kind }) => kind !== "proved");
    expect(found).toMatchObject({ kind: "refuted", finding: { code: "false-in-bounds" } });
  });
});

describe("addresses by hand", () => {
  test("are proved by their strides and their mask", async () => {
    const strided = kernel("strided", spec as never, ({ x, y, N, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const mask = i.lt(N);
      tl.store(y.ptr.add(i.mul(y.stride(0))), tl.load(x.ptr.add(i.mul(x.stride(0))), { mask }), { mask });
    });
    expect(await kinds(strided)).toEqual(["proved", "proved"]);
  });

  test("are proved where a loop advances them", async () => {
    const carried = kernel("carried", { ...spec, grid: () => [1] } as never, ({ x, y, N, BLOCK }: any) => {
      const lanes = tl.arange(0, BLOCK);
      const from: any = tl.mut(x.ptr.add(lanes.mul(x.stride(0))));
      for (const k of tl.range(0, N, BLOCK)) {
        const mask = k.add(lanes).lt(N);
        tl.store(y.at(k.add(lanes)), tl.load(from.value, { mask, other: 0 }));
        from.value = from.value.add(x.stride(0).mul(BLOCK));
      }
    });
    expect(await kinds(carried)).toEqual(["proved", "proved"]);
  });

  test("are refuted where the mask forgets the last elements' neighbors", async () => {
    const off = kernel("off", spec as never, ({ x, y, N, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const mask = i.le(N);
      tl.store(y.at(i), tl.load(x.ptr.add(i.mul(x.stride(0))), { mask, other: 0 }));
    });
    expect((await verdicts(off))[0]).toMatchObject({
      kind: "refuted",
      at: { sizes: { N: 1 } },
      finding: { code: "out-of-bounds" },
    });
  });

  test("of a pointer without an extent are unknown", async () => {
    const raw = kernel(
      "raw",
      { ...spec, params: { p: pointer(tl.float32), y, BLOCK } } as never,
      ({ p, y, BLOCK }: any) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(p.add(i)));
      },
    );
    expect((await verdicts(raw))[0]).toEqual({
      kind: "unknown",
      missing: "p is a pointer without a declared extent",
      remedies: [{ kind: "declare", param: "p", option: { numel: "N" } }],
    });
  });
});

describe("control flow", () => {
  const only = (body: (args: any) => void, more: object = {}) =>
    kernel("flow", { ...spec, ...more } as never, body as never);
  const index = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

  test("a branch's condition holds in its arm alone", async () => {
    const guarded = only(({ x, y, N, BLOCK }: any) => {
      const first = tl.programId(0).mul(BLOCK);
      const i = tl.inBounds(index(BLOCK));
      tl.when(first.add(BLOCK).le(N), () => tl.store(y.at(i), tl.load(x.at(i)))).otherwise(() => {
        tl.store(y.at(index(BLOCK)), tl.load(x.at(i)));
      });
    });
    expect(await kinds(guarded)).toEqual(["proved", "proved", "refuted", "proved"]);
  });

  test("after an exit its condition is false", async () => {
    const left = only(
      ({ x, y, N, BLOCK }: any) => {
        tl.when(tl.programId(0).ge(N), () => tl.exit());
        const row = tl.inBounds(tl.programId(0));
        tl.store(y.at(row), tl.load(x.at(row)));
        void BLOCK;
      },
      { grid: ({ N, BLOCK }: any) => [N.add(BLOCK)] },
    );
    expect(await kinds(left)).toEqual(["proved", "proved"]);
  });

  test("state that a loop changes in another way than by a step is unknown, but for the bounds that it keeps", async () => {
    const doubled = only(
      ({ x, y, N, BLOCK }: any) => {
        const at = tl.mut(tl.full([], 1, tl.int32));
        for (const _ of tl.range(0, 3)) {
          tl.store(y.at(tl.inBounds(at.value)), tl.load(x.at(at.value)));
          at.value = at.value.mul(2);
        }
        void [N, BLOCK];
      },
      { grid: () => [1] },
    );
    const [load, store] = await verdicts(doubled);
    // The view masks what lies behind the end, but not what wraps.
    expect(load).toMatchObject({
      kind: "unknown",
      missing: expect.stringMatching(/^it holds if the arithmetic of line/),
    });
    expect(store?.kind).not.toBe("proved");
  });

  test("a scalar of the caller may be negative", async () => {
    const shifted = kernel(
      "shifted",
      { ...spec, params: { x, shift: scalar(tl.int32), y, BLOCK } } as never,
      ({ x, shift, y, BLOCK }: any) => {
        const i = index(BLOCK);
        tl.store(y.at(i), tl.load(x.at(tl.inBounds(tl.minimum(shift, 0)))));
      },
    );
    expect((await verdicts(shifted))[0]?.kind).not.toBe("proved");
  });

  test("what tl.assume says is shown, and never taken for granted", async () => {
    const assuming = only(({ x, y, N, BLOCK }: any) => {
      tl.assume(N.gt(100));
      const i = tl.inBounds(tl.minimum(index(BLOCK), 100));
      tl.store(y.at(index(BLOCK)), tl.load(x.at(i)));
    });
    const certificate = (await build(assuming)).proof();
    const byProperty = certificate.obligations.map(({ property, verdict }) => `${property} ${verdict.kind}`);
    expect(byProperty.slice(0, 3)).toEqual(["bounds refuted", "bounds proved", "claim refuted"]);
  });
});

test("the certificate says which sizes the grid bounds", async () => {
  const gridded = (grid: (args: any) => readonly unknown[]) =>
    kernel("gridded", { ...spec, grid } as never, ({ x, y, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.when(tl.programId(1).eq(0), () => tl.store(y.at(i), tl.load(x.at(i))));
    });
  const limits = async (grid: (args: any) => readonly unknown[]) => (await build(gridded(grid))).proof().limits;
  expect(await limits(({ N, BLOCK }) => [tl.cdiv(N, BLOCK), N])).toEqual(["N <= 65535"]);
  expect(await limits(({ N, BLOCK }) => [tl.cdiv(N, BLOCK), tl.cdiv(N, BLOCK)])).toEqual(["cdiv(N, BLOCK) <= 65535"]);
  expect(await limits(({ N, BLOCK }) => [tl.cdiv(N, BLOCK).mul(N), 2])).toEqual(["cdiv(N, BLOCK) * N <= 2147483647"]);
});
