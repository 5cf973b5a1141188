/** Kernels whose padding is neutral, or is not, and what proofs say of them. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import type { Obligation } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";
import { suggestRemedies } from "../../../src/runtime/report/suggest-remedies.js";

const BLOCK = constexpr();
const configs = [{ BLOCK: 16 }, { BLOCK: 64 }];

/** A kernel of one program a row, whose block of columns its body gets beside the mask. */
function ofRows(body: (args: any) => void, x: any = tensor(tl.float32, ["M", "N"])) {
  return kernel(
    "rows",
    {
      params: { x, y: tensor.out(tl.float32, ["M"]), BLOCK },
      grid: ({ M }: any) => [M],
      autotune: { key: ["N"], configs },
    } as never,
    (args: any) => {
      const row = tl.inBounds(tl.programId(0));
      const columns = tl.arange(0, args.BLOCK);
      const from = args.x.ptr.add(row.mul(args.x.stride(0)).add(columns.mul(args.x.stride(1))));
      body({ ...args, row, columns, from, mask: columns.lt(args.N) });
    },
  );
}

async function padding(of: unknown): Promise<readonly Obligation[]> {
  return (await build(of)).proof().obligations.filter(({ property }) => property === "padding");
}
const kinds = async (of: unknown) => (await padding(of)).map(({ of: what, verdict }) => `${what}: ${verdict.kind}`);
const missing = async (of: unknown) =>
  (await padding(of)).flatMap(({ verdict }) => (verdict.kind === "unknown" ? [verdict.missing] : []));

test("what several tiles are reduced to is data, what they are scanned to has lanes that a mask left out", async () => {
  const pair = ([a, b]: any, [c, d]: any) => [a.add(c), b.add(d)];
  const summed = (of: (x: any, mask: any) => any) =>
    ofRows(({ y, row, from, mask }) => {
      tl.store(y.at(row), tl.sum(of(tl.load(from, { mask, other: 0 }), mask), 0));
    });
  const reduced = (x: any) => (tl.reduce([x, x], 0, pair as never) as any)[0];
  expect(await kinds(summed((x, mask) => tl.where(mask, x, reduced(x))))).toEqual(["padding in tl.reduce: unknown"]);
  for (const place of [0, 1]) {
    const scanned = (x: any) => (tl.associativeScan([x, x], 0, pair as never) as any)[place];
    expect(await kinds(summed((x, mask) => tl.where(mask, x, scanned(x))))).toEqual(["padding in tl.sum: unknown"]);
    expect(await kinds(summed(scanned))).toEqual(["padding in tl.sum: unknown"]);
  }
});

test.each([
  ["a sum", (x: any) => x, 0],
  ["a sum of powers", (x: any) => tl.exp(x), -Infinity],
  ["a sum of x + 1", (x: any) => x.add(1), undefined],
] as const)("the remedy of %s is the one that works", async (_, operand, other) => {
  const summing = (options: object, isChosen = false) =>
    ofRows(({ y, row, from, mask }) => {
      const x = operand(tl.load(from, { mask, ...options }));
      tl.store(y.at(row), tl.sum(isChosen ? tl.where(mask, x, 0) : x, 0));
    });
  const open = await build(summing({ other: 1 }));
  const [sum] = open.proof().obligations.filter(({ property }) => property === "padding");
  expect(sum?.verdict).toMatchObject({ missing: expect.stringContaining("where tl.sum needs 0") });
  expect(suggestRemedies(open, open.proof())(sum!)).toMatchObject({
    closes: true,
    text: expect.stringContaining(other === undefined ? "`tl.where(mask, …, 0)`" : `\`other: ${other}\``),
  });
  if (other !== undefined) expect(await missing(summing({ other }))).toEqual([]);
  expect(await missing(summing({ other: 1 }, true))).toEqual([]);
});

describe("a reduction of lanes that a mask left out", () => {
  const reducing = (reduce: (x: any) => any, other?: number, x?: any) =>
    ofRows(({ y, row, from, mask }) => {
      tl.store(y.at(row), reduce(tl.load(from, other === undefined ? { mask } : { mask, other })));
    }, x);

  test.each([
    ["a sum", (x: any) => tl.sum(x, 0), 0],
    ["the largest", (x: any) => tl.max(x, 0), -Infinity],
    ["the smallest", (x: any) => tl.min(x, 0), Infinity],
    ["the largest size", (x: any) => tl.max(tl.abs(x), 0), 0],
    ["a sum of powers", (x: any) => tl.sum(tl.exp(x), 0), -Infinity],
    ["a sum of squares", (x: any) => tl.sum(x.mul(x), 0), 0],
    ["sums up to each", (x: any) => tl.sum(tl.cumsum(x, 0).mul(0), 0), 0],
    ["a sum by a function", (x: any) => tl.reduce(x, 0, (a: any, b: any) => a.add(b)), 0],
    ["the largest by a function", (x: any) => tl.reduce(x, 0, (a: any, b: any) => tl.maximum(b, a)), -Infinity],
    ["the largest in order", (x: any) => tl.max(tl.topk(x, 8), 0), -Infinity],
    ["an order", (x: any) => tl.min(tl.sort(x), 0), Infinity],
    ["a reversed order", (x: any) => tl.sum(tl.flip(x), 0), 0],
  ])("is proved of %s with %f", async (_, reduce, other) => {
    const found = await kinds(reducing(reduce, other));
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter((each) => !each.endsWith("proved"))).toEqual([]);
  });

  test.each([
    ["a sum", (x: any) => tl.sum(x, 0), 1, "needs 0"],
    ["the largest", (x: any) => tl.max(x, 0), 0, "needs -Infinity"],
    ["the smallest", (x: any) => tl.min(x, 0), 0, "needs Infinity"],
    ["a sum of powers", (x: any) => tl.sum(tl.exp(x), 0), 0, "hold 1 here"],
    ["a sum of inverses", (x: any) => tl.sum(tl.rsqrt(x), 0), 0, "Infinity"],
    ["a sum of what is shifted", (x: any) => tl.sum(x.sub(3), 0), 0, "hold negative numbers"],
    ["a softmax", (x: any) => tl.max(tl.softmax(x, 0), 0), 0, "needs -Infinity"],
    ["a sum by a function", (x: any) => tl.reduce(x, 0, (a: any, b: any) => a.add(b)), 1, "needs 0"],
    [
      "a sum of squares by a function",
      (x: any) => tl.reduce(x, 0, (a: any, b: any) => a.mul(a).add(b)),
      0,
      "tl.reduce ignores",
    ],
    [
      "two sums",
      (x: any) => tl.reduce([x, x], 0, ([a, b]: any, [c, d]: any) => [a.add(c), b.add(d)])[0],
      0,
      "tl.reduce ignores",
    ],
    [
      "a scan by a function",
      (x: any) =>
        tl.sum(
          tl.associativeScan(x, 0, (a: any, b: any) => a.mul(b)),
          0,
        ),
      0,
      "needs 0",
    ],
    ["the largest in order", (x: any) => tl.max(tl.topk(x, 8), 0), 0, "needs -Infinity"],
    ["an order", (x: any) => tl.max(tl.sort(x), 0), 0, "needs Infinity"],
    ["a descending order", (x: any) => tl.max(tl.sort(x, 0, { descending: true }), 0), Infinity, "needs -Infinity"],
    ["a reversed order", (x: any) => tl.sum(tl.flip(x), 0), 1, "hold 1 here"],
    ["what is interleaved", (x: any) => tl.sum(tl.interleave(x, x), 0), 1, "hold 1 here"],
    ["the largest of numbers below 0", (x: any) => tl.max(tl.abs(x).neg(), 0), 0, "hold 0 here"],
  ])("is unknown of %s with %f, and says what they hold", async (_, reduce, other, words) => {
    const [first] = await missing(reducing(reduce, other));
    expect(first).toContain(words);
  });

  test("counts of what a mask of their own leaves in are proved, others are not", async () => {
    const counting = (options: (mask: any) => object) =>
      ofRows(
        ({ y, row, from, mask }) => {
          const counts = tl.histogram(tl.load(from, { mask, other: 0 }), 16, options(mask));
          tl.store(y.at(row), tl.sum(counts.to(tl.float32), 0));
        },
        tensor(tl.int32, ["M", "N"]),
      );
    expect(await kinds(counting((mask) => ({ mask })))).toEqual([]);
    expect((await missing(counting(() => ({}))))[0]).toContain("nothing shows that tl.histogram ignores them");
  });

  test("is proved where an author selects the lanes in other words than the mask", async () => {
    const selected = ofRows(({ y, row, N, columns, from, mask }) => {
      const values = tl.load(from, { mask, other: 0 });
      tl.store(y.at(row), tl.max(tl.where(columns.sub(N).ge(0), -Infinity, values), 0));
    });
    expect(await kinds(selected)).toEqual(["padding in tl.max: proved"]);
    const short = ofRows(({ y, row, N, columns, from, mask }) => {
      const values = tl.load(from, { mask, other: 0 });
      tl.store(y.at(row), tl.max(tl.where(columns.sub(N).gt(0), -Infinity, values), 0));
    });
    expect(await kinds(short)).toEqual(["padding in tl.max: unknown"]);
  });

  test("needs nothing of the other side of a choice that a mask makes", async () => {
    const joined = ofRows(({ x, y, row, columns, from, mask }) => {
      const [a, b] = [tl.load(from, { mask }), tl.load(x.ptr.add(columns.mul(0)), { mask: mask.not() })];
      tl.store(y.at(row), tl.sum(tl.where(mask, a, b), 0));
    });
    expect(await kinds(joined)).toEqual([]);
  });

  test("of a mask that always holds needs nothing", async () => {
    const full = ofRows(({ y, row, columns, from, mask }) => {
      const values = tl.load(from, { mask: mask.and(columns.ge(0)), other: 0 });
      tl.store(y.at(row), tl.max(tl.where(mask, values, -Infinity), 0));
    });
    expect(await kinds(full)).toEqual(["padding in tl.max: proved"]);
  });
});

describe("a loop", () => {
  const looping = (start: number, step: (total: any, values: any) => any, reduce: (x: any) => any, other: number) =>
    kernel(
      "looping",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, [1]), BLOCK },
        grid: () => [1],
        autotune: { key: ["N"], configs },
      } as never,
      ({ x, y, N, BLOCK }: any) => {
        const state: any = tl.mut(tl.full([BLOCK], start, tl.float32));
        for (const k of tl.range(0, N, BLOCK)) {
          const values = tl.load(x.at(k.add(tl.arange(0, BLOCK))), { other });
          state.value = step(state.value, values);
        }
        tl.store(y.at(tl.inBounds(0)), reduce(state.value));
      },
    );

  test("may keep a total for each lane, which lanes past the end leave as it is", async () => {
    expect(
      await kinds(
        looping(
          0,
          (total, x) => total.add(x),
          (x) => tl.sum(x, 0),
          0,
        ),
      ),
    ).toEqual(["padding in tl.sum: proved"]);
    expect(
      await kinds(
        looping(
          -Infinity,
          (best, x) => tl.maximum(best, x),
          (x) => tl.max(x, 0),
          -Infinity,
        ),
      ),
    ).toEqual(["padding in tl.max: proved"]);
  });

  test("starts with what state holds before it", async () => {
    const starting = (other: number) =>
      ofRows(({ y, row, from, mask }) => {
        const state: any = tl.mut(tl.load(from, { mask, other }));
        const total: any = tl.mut(tl.full([], 0, tl.float32));
        for (const _ of tl.range(0, 4)) {
          total.value = total.value.add(tl.sum(state.value, 0));
          state.value = tl.load(from, { mask, other: 0 });
        }
        tl.store(y.at(row), total.value);
      });
    expect(await kinds(starting(0))).toEqual(["padding in tl.sum: proved"]);
    expect(await kinds(starting(1))).toEqual(["padding in tl.sum: unknown"]);
  });

  test("that puts another number into those lanes is unknown", async () => {
    const shifted = looping(
      0,
      (total, x) => total.add(x.add(1)),
      (x) => tl.sum(x, 0),
      0,
    );
    expect(await kinds(shifted)).toEqual(["padding in tl.sum: unknown"]);
  });
});

describe("a product", () => {
  const multiplying = (other: number) =>
    kernel(
      "multiplying",
      {
        params: {
          a: tensor(tl.float32, ["M", "K"]),
          b: tensor(tl.float32, ["K", "N"]),
          c: tensor.out(tl.float32, ["M", "N"]),
          BLOCK,
        },
        grid: ({ M, N, BLOCK }: any) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
        autotune: { key: ["N"], configs },
      } as never,
      ({ a, b, c, K, BLOCK }: any) => {
        const rows = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
        const acc: any = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32));
        for (const k of tl.range(0, K, BLOCK)) {
          const inner = k.add(tl.arange(0, BLOCK));
          acc.value = tl.dot(
            tl.load(a.at(rows, inner), { other }),
            tl.load(b.at(inner, columns), { other }),
            acc.value,
          );
        }
        tl.store(c.at(rows, columns), acc.value);
      },
    );

  /** The product of rows of x with themselves; of its right side, `left` leaves rows or columns out without a value. */
  const ofMasked = (left: "rows" | "columns", result: (product: any, isLeft: any) => any) =>
    kernel(
      "masked",
      {
        params: { x: tensor(tl.float16, ["N", "D"]), y: tensor.out(tl.float32, [1]), D: constexpr(), BLOCK },
        grid: () => [1],
        config: { BLOCK: 16 },
        requires: ({ N, BLOCK }: any) => [N.ge(1), N.le(BLOCK)],
      } as never,
      ({ x, y, N, D, BLOCK }: any) => {
        const [rows, columns] = [tl.arange(0, BLOCK), tl.arange(0, D)];
        const mask = left === "rows" ? rows.lt(N.sub(1)).col : columns.lt(N).row;
        const product = tl.dot(tl.load(x.at(rows, columns)), (tl.load(x.at(rows, columns), { mask }) as any).T);
        tl.store(y.at(0), tl.sum(tl.sum(result(product, rows.lt(N.sub(1)).row), 1), 0));
      },
    );

  test("may hold nothing where all that it sums does, up to where that is taken", async () => {
    const chosen = (product: any, isGiven: any) => tl.where(isGiven, product, 0);
    expect((await kinds(ofMasked("rows", chosen))).filter((each) => !each.endsWith("proved"))).toEqual([]);
    const [last] = (await padding(ofMasked("rows", (product) => product))).slice(-1);
    expect(last).toMatchObject({ of: "padding in the store to y", verdict: { kind: "refuted" } });
    expect(await kinds(ofMasked("columns", chosen))).toContain("padding in tl.dot: unknown");
  });

  test("needs 0 along its inner dimension", async () => {
    expect(await kinds(multiplying(0))).toEqual(["padding in tl.dot: proved"]);
    expect(await kinds(multiplying(1))).toEqual(["padding in tl.dot: unknown"]);
  });
});

describe("a count of what a condition finds", () => {
  const counting = (found: (x: any, isColumn: any) => any) =>
    kernel(
      "counting",
      {
        params: { x: tensor(tl.int32, ["M", "N"], { range: [5, 100] }), y: tensor.out(tl.int32, ["M"]), BLOCK },
        grid: ({ M }: any) => [M],
        config: { BLOCK: 64 },
        requires: ({ N, BLOCK }: any) => [N.le(BLOCK)],
      } as never,
      ({ x, y, N, BLOCK }: any) => {
        const row = tl.inBounds(tl.programId(0));
        const columns = tl.arange(0, BLOCK);
        tl.store(y.at(row), tl.sum(found(tl.load(x.at(row, columns)), columns.lt(N)).to(tl.int32), 0));
      },
    );

  test.each([
    ["a mask behind it", (x: any, isColumn: any) => x.lt(9).and(isColumn), "proved"],
    ["a mask before it", (x: any, isColumn: any) => isColumn.and(x.lt(9)), "proved"],
    ["a mask times it", (x: any, isColumn: any) => x.lt(9).to(tl.int32).mul(isColumn.to(tl.int32)), "proved"],
    ["no mask", (x: any) => x.lt(9), "unknown"],
    ["a mask that iterations others on", (x: any, isColumn: any) => x.lt(9).or(isColumn), "unknown"],
    ["a mask of other lanes", (x: any, isColumn: any) => x.lt(9).and(isColumn.not()), "unknown"],
    // The range holds for elements, and lanes that are left out hold 0.
    ["what every element is", (x: any) => x.lt(5), "unknown"],
  ])("with %s", async (_, found, verdict) => {
    expect(await kinds(counting(found))).toEqual([`padding in tl.sum: ${verdict}`]);
  });
});

describe("a lane without a value", () => {
  test("may be left where the store masks it", async () => {
    const masked = ofRows(({ y, row, from, mask, columns }) => {
      const values = tl.load(from, { mask });
      tl.store(y.ptr.add(columns.mul(0).add(row).mul(y.stride(0))), values, { mask: mask.and(columns.lt(1)) });
    });
    expect(await kinds(masked)).toEqual(["padding in the store to y: proved"]);
  });

  test("may be left in a sum that the store masks", async () => {
    const rows = (isMasked: boolean) =>
      kernel(
        "rows",
        {
          params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.inout(tl.float32, ["M"]), BLOCK },
          grid: ({ M, BLOCK }: any) => [tl.cdiv(M, BLOCK)],
          config: { BLOCK: 16 },
          requires: ({ N, BLOCK }: any) => [N.le(BLOCK)],
        } as never,
        ({ x, y, M, BLOCK }: any) => {
          const lanes = tl.arange(0, BLOCK);
          const row = tl.programId(0).mul(BLOCK).add(lanes);
          const mask = row.lt(M.sub(1));
          const sum = tl.sum(tl.load(x.at(row, lanes), { mask: mask.col }), 1);
          tl.store(y.at(row), sum, isMasked ? { mask } : {});
        },
      );
    expect((await kinds(rows(true))).filter((each) => !each.endsWith("proved"))).toEqual([]);
    const [last] = (await padding(rows(false))).slice(-1);
    expect(last).toMatchObject({ of: "padding in the store to y", verdict: { kind: "refuted" } });
  });

  test("is refuted with a case where it is stored, alone or in a sum", async () => {
    const summed = ofRows(({ y, row, from, mask }) => tl.store(y.at(row), tl.sum(tl.load(from, { mask }), 0)));
    const [sum, store] = await padding(summed);
    expect(sum?.verdict).toMatchObject({ kind: "unknown", missing: expect.stringContaining("hold nothing here") });
    expect(store?.verdict).toMatchObject({ kind: "refuted", finding: { code: "uninitialized" } });
  });

  test("spreads through a scan from where it is, and not to lanes before it", async () => {
    const scanned = (reverse: boolean) =>
      kernel(
        "scanned",
        {
          params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
          grid: () => [1],
          config: ({ N }: any) => ({ BLOCK: tl.nextPowerOf2(N) }),
        } as never,
        ({ x, y, N, BLOCK }: any) => {
          const lanes = tl.arange(0, BLOCK);
          const mask = lanes.lt(N);
          const values = tl.load(x.ptr.add(lanes.mul(x.stride(0))), { mask });
          tl.store(y.at(lanes), tl.cumsum(values, 0, { reverse }), { mask });
        },
      );
    expect((await kinds(scanned(false))).filter((each) => each.includes("store"))).toEqual([
      "padding in the store to y: proved",
    ]);
    const [last] = (await padding(scanned(true))).slice(-1);
    expect(last?.verdict).toMatchObject({ kind: "refuted", finding: { code: "uninitialized" } });
  });

  test.each([
    ["a function of the author's", (x: any) => tl.reduce(x, 0, (a: any, b: any) => a.add(b))],
    [
      "two tiles at once",
      (x: any) =>
        tl.reduce([tl.zeros(x.shape, tl.float32), x], 0, ([a, b]: any, [c, d]: any) => [a.add(c), b.add(d)])[1],
    ],
    [
      "a function of elements",
      (x: any) =>
        tl.sum(
          tl.mapElementwise((each: any) => each.add(1), x),
          0,
        ),
    ],
    ["a sort", (x: any) => tl.sum(tl.sort(x), 0)],
  ])("is found behind %s", async (_, make) => {
    const hidden = ofRows(({ y, row, from, mask }) => tl.store(y.at(row), make(tl.load(from, { mask }))));
    const [last] = (await padding(hidden)).slice(-1);
    expect(last).toMatchObject({ of: "padding in the store to y", verdict: { kind: "refuted" } });
  });

  test("that decides an access is refuted", async () => {
    const deciding = ofRows(({ x, y, row, from, mask, columns }) => {
      const values = tl.load(from, { mask });
      tl.store(y.at(row), tl.sum(tl.load(x.ptr.add(columns.mul(0)), { mask: values.gt(0), other: 0 }), 0));
    });
    const [load] = await padding(deciding);
    expect(load).toMatchObject({ of: "padding in the load from x", verdict: { kind: "refuted" } });
  });
});
