/** Whether int32 arithmetic of indices stays in int32, for every shape that a launch accepts. */
import { expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "../../../src/index.js";
import type { Verdict } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";

const spec = {
  params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
  grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
  autotune: { key: ["N"], configs: [{ BLOCK: 16 }, { BLOCK: 1024 }] },
};
const index = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

async function certificate(read: (args: any) => any, more: object = {}) {
  const body = (args: any): void => {
    const { x, y, BLOCK } = args;
    tl.store(y.at(index(BLOCK)), tl.load(x.at(read(args)), { other: 0 }));
  };
  return (await build(kernel("wrapping", { ...spec, ...more } as never, body as never))).proof();
}

/** The verdicts that are not `proved`. */
async function open(read: (args: any) => any, more?: object): Promise<readonly Verdict[]> {
  const { obligations } = await certificate(read, more);
  return obligations.flatMap(({ property, verdict }) =>
    property === "overflow" && verdict.kind !== "proved" ? [verdict] : [],
  );
}
const unknown = [{ kind: "unknown", missing: expect.stringContaining("stays in int32") }];

test("blocks of what int32 offsets reach stay inside, and so do the lanes behind the end", async () => {
  expect(await open(({ BLOCK }) => index(BLOCK))).toEqual([]);
  expect(await open(({ N, BLOCK }) => N.sub(1).sub(index(BLOCK)))).toEqual([]);
  expect(await open(({ N, BLOCK }) => tl.minimum(index(BLOCK), N.sub(1)).add(4096).mod(N))).toEqual([]);
  expect(await open(({ N, BLOCK }) => index(BLOCK).add(N.floorDiv(2)).mod(N))).toMatchObject(unknown);
});

test("a number of the author's that takes an index out of int32 is refuted by a small case", async () => {
  expect(await open(({ BLOCK }) => index(BLOCK).mul(1_000_000_000))).toMatchObject([
    { kind: "refuted", finding: { code: "overflow" } },
  ]);
  expect(await open(({ BLOCK }) => index(BLOCK).to(tl.int64).mul(1_000_000_000))).toEqual([]);
});

test("twice a size is unknown, until a requirement bounds it or an operand is int64", async () => {
  const twice = ({ N, BLOCK }: any) => index(BLOCK).add(N).mod(N);
  expect(await open(twice)).toMatchObject(unknown);
  expect(await open(twice, { requires: ({ N }: any) => [N.le(2 ** 30 - 1024)] })).toEqual([]);
  expect(await open(({ N, BLOCK }) => index(BLOCK).to(tl.int64).add(N).mod(N))).toEqual([]);
});

test("a number of the caller's is unknown, until its range is declared", async () => {
  const strided = ({ BLOCK, step }: any) => index(BLOCK).mul(step);
  const withStep = (options: object) => ({ params: { ...spec.params, step: scalar(tl.int32, options) } });
  expect(await open(strided, withStep({}))).toMatchObject(unknown);
  const small = { ...withStep({ range: [0, 9] }), requires: ({ N }: any) => [N.le(2 ** 27)] };
  expect(await open(strided, small)).toEqual([]);
});

test("a product of two numbers, each of which a launch bounds, stays inside where their bounds' product does", async () => {
  const strided = ({ N, BLOCK, step }: any) => tl.minimum(index(BLOCK).mul(step), N.sub(1));
  const withBounds = (most: number) => ({
    params: { ...spec.params, step: scalar(tl.int32) },
    requires: ({ N, step }: any) => [N.ge(1), N.le(4096), step.ge(0), step.le(most)],
  });
  expect(await open(strided, withBounds(4096))).toEqual([]);
  expect(await open(strided, withBounds(2 ** 19))).not.toEqual([]);
});

test("offsets by hand may wrap behind the end: the mask leaves those lanes out", async () => {
  const body = ({ x, y, N, BLOCK }: any): void => {
    const mask = index(BLOCK).lt(N);
    const value = tl.load(x.ptr.add(index(BLOCK).mul(x.stride(0))), { mask });
    tl.store(y.at(index(BLOCK)), value);
  };
  const { obligations } = (await build(kernel("by_hand", spec as never, body as never))).proof();
  expect(obligations.filter(({ verdict }) => verdict.kind !== "proved")).toEqual([]);
});

test("offsets by hand of tiles may wrap behind the end of each axis", async () => {
  const matrices = {
    x: tensor(tl.float32, ["M", "N"]),
    y: tensor.out(tl.float32, ["M", "N"]),
    BLOCK: constexpr(),
  };
  const more = { params: matrices, grid: ({ M, N, BLOCK }: any) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)] };
  const body = ({ x, y, M, N, BLOCK }: any): void => {
    const [m, n] = [index(BLOCK), tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK))];
    const mask = m.lt(M).col.and(n.lt(N).row);
    const shape = [BLOCK, BLOCK];
    const rows = tl.broadcastTo(m.mul(x.stride(0)).col, shape);
    const value = tl.load(x.ptr.add(rows.add(n.mul(x.stride(1)).row)), { mask });
    tl.store(y.ptr.add(m.mul(y.stride(0)).col.add(n.mul(y.stride(1)).row)), value, { mask });
  };
  const { obligations } = (await build(kernel("tiles", { ...spec, ...more } as never, body as never))).proof();
  expect(obligations.filter(({ verdict }) => verdict.kind !== "proved")).toEqual([]);
});

test("an offset by hand that is compared or divided on its way is asked about", async () => {
  const rows = { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() };
  const body = ({ x, y, M, BLOCK }: any): void => {
    const i = index(BLOCK);
    const far = i.mul(x.stride(0)).floorDiv(2);
    tl.store(y.at(i), tl.load(x.ptr.add(far.mul(0)), { mask: i.lt(M) }));
  };
  const more = { params: rows, grid: ({ M, BLOCK }: any) => [tl.cdiv(M, BLOCK)] };
  const { obligations } = (await build(kernel("halved", { ...spec, ...more } as never, body as never))).proof();
  const wraps = obligations.filter(({ property, verdict }) => property === "overflow" && verdict.kind === "unknown");
  expect(wraps).toHaveLength(1);
});

test("axes of tensors with int64 offsets stay inside where an index counts them in int32: the launch is refused else", async () => {
  const far = tensor(tl.float32, ["N"], { offsets: tl.int64 });
  const params = { ...spec.params, x: far, y: tensor.out(tl.float32, ["N"], { offsets: tl.int64 }) };
  expect(await open(({ BLOCK }) => index(BLOCK), { params })).toEqual([]);
  expect((await certificate(({ BLOCK }) => index(BLOCK), { params })).promises).toEqual([]);
});

test("a size that no launch compares bounds nothing", async () => {
  // The rows are counted in int64; that they are halved in int32 first is no count of theirs.
  const params = {
    x: tensor(tl.float32, ["N"], { offsets: tl.int64 }),
    y: tensor.out(tl.float32, ["N"], { offsets: tl.int64 }),
  };
  const body = ({ x, y, N }: any): void => {
    const i = tl.programId(0).to(tl.int64).mul(16).add(tl.arange(0, 16));
    tl.store(y.at(i), tl.load(x.at(i), { mask: i.lt(N.add(N)) }));
  };
  const { obligations } = (
    await build(kernel("unbounded", { params, grid: ({ N }: any) => [tl.cdiv(N, 16)] } as never, body as never))
  ).proof();
  expect(obligations.filter(({ property }) => property === "overflow")).toMatchObject([{ verdict: unknown[0] }]);
});

test("a number that lies beyond int32 is refuted", async () => {
  expect(await open(({ BLOCK }) => tl.full([BLOCK], 2 ** 30, tl.int32).add(2 ** 30))).toMatchObject([
    { kind: "refuted", finding: { code: "overflow" } },
  ]);
});

test("sums of lanes stay inside where all lanes together do, and other folds are not followed", async () => {
  const of = (fold: (lanes: any) => any) => open(({ BLOCK }) => fold(tl.arange(0, BLOCK)));
  expect(await of((lanes) => lanes.add(tl.sum(lanes, 0)))).toMatchObject([
    { kind: "unknown", missing: expect.stringContaining("the result of +") },
  ]);
  expect(await of((lanes) => tl.cumsum(lanes, 0))).toEqual([]);
  expect(await of((lanes) => tl.cumsum(lanes.lt(32).to(tl.int32), 0))).toEqual([]);
  expect(await of((lanes) => tl.cumsum(lanes.mul(2 ** 12), 0))).toHaveLength(1);
  expect(await of((lanes) => tl.cumsum(lanes.mul(2 ** 12).to(tl.int64), 0))).toEqual([]);
  expect(await of((lanes) => tl.cumprod(lanes.add(1), 0))).toMatchObject([{ kind: "refuted" }]);
  const scan = (lanes: any, by: (a: any, b: any) => any) => tl.associativeScan(lanes, 0, by);
  expect(await of((lanes) => scan(lanes.add(1), (a, b) => a.mul(b)))).toMatchObject(unknown);
  expect(await of((lanes) => scan(lanes, (a, b) => tl.maximum(a, b)))).toEqual([]);
});

test("integers of 8 and 16 bits wrap at small numbers", async () => {
  const bytes = { params: { ...spec.params, b: tensor(tl.int8, ["N"], { range: [0, 128] }) } };
  const twice = ({ b, BLOCK }: any) => tl.load(b.at(index(BLOCK)), { other: 0 });
  expect(await open((args) => twice(args).add(twice(args)), bytes)).toMatchObject([
    { kind: "refuted", finding: { code: "overflow" } },
  ]);
  expect(await open((args) => tl.cumsum(twice(args), 0, { dtype: tl.int8 }), bytes)).toMatchObject([
    { kind: "refuted", finding: { code: "overflow" } },
  ]);
  expect(await open((args) => twice(args).to(tl.int32).mul(2), bytes)).toEqual([]);
});

test("the most negative integer has no absolute value", async () => {
  const given = { params: { ...spec.params, s: scalar(tl.int32) } };
  expect(await open(({ s }) => tl.abs(s), given)).toMatchObject(unknown);
  expect(await open(({ s }) => tl.abs(s), { ...given, requires: ({ s }: any) => [s.ge(-100), s.le(100)] })).toEqual([]);
});
