/** On what the bits of outputs depend: right kernels, and each mistake that lets a size or another row reach them. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, scalar, tensor, tl } from "tilescript";

type Values = Readonly<Record<string, any>>;

interface Parts {
  readonly params?: Values;
  readonly spec?: Values;
  readonly body: (values: any) => void;
}

const ROWS = {
  x: tensor(tl.float32, ["M", "N"]),
  y: tensor.out(tl.float32, ["M"]),
  BLOCK_M: constexpr(),
  BLOCK_N: constexpr(),
};
const SPEC = {
  grid: ({ M, BLOCK_M }: Values) => [tl.cdiv(M, BLOCK_M)],
  config: { BLOCK_M: 4, BLOCK_N: 16 },
};
/** The rows of a program. */
const rowsOf = ({ BLOCK_M }: Values) => tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));

/** The sum of each row, by blocks of columns. */
function rowSums({ x, N, BLOCK_M, BLOCK_N }: Values, rows: any, end: any = N): any {
  const total = tl.mut(tl.zeros([BLOCK_M], tl.float32));
  for (const start of tl.range(0, end, BLOCK_N)) {
    const cols = start.add(tl.arange(0, BLOCK_N));
    total.value = total.value.add(tl.sum(tl.load(x.at(rows, cols)), 1));
  }
  return total.value;
}

async function verdictOf({ params = ROWS, spec = {}, body }: Parts, size = "M") {
  const built = await build(kernel("example", { params, ...SPEC, ...spec } as any, body as any));
  const [proof] = built.invariance();
  return proof?.sizes.find((each) => each.size === size)?.verdict;
}

const store = (values: Values, rows: any, result: any) => tl.store(values["y"].at(rows), result);
const rowSumKernel = (change: (sums: any, values: Values, rows: any) => any = (sums) => sums): Parts => ({
  body: (values) => {
    const rows = rowsOf(values);
    store(values, rows, change(rowSums(values, rows), values, rows));
  },
});

describe("invariant", () => {
  test.each<[string, Parts]>([
    ["sums of rows", rowSumKernel()],
    ["sums of rows with a factor of the other size", rowSumKernel((sums, { N }) => sums.div(N.to(tl.float32)))],
    [
      "rows that wrap where the store masks them",
      {
        body: (values) => {
          const rows = rowsOf(values);
          store(values, rows, rowSums(values, tl.inBounds(rows.mod(values["M"]))));
        },
      },
    ],
    [
      "rows of programs that step through the blocks",
      {
        spec: { grid: () => [8] },
        body: (values) => {
          const { M, BLOCK_M } = values;
          for (const block of tl.range(tl.programId(0), tl.cdiv(M, BLOCK_M), tl.numPrograms(0))) {
            const rows = block.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
            store(values, rows, rowSums(values, rows));
          }
        },
      },
    ],
    [
      "blocks in reverse order",
      {
        body: (values) => {
          const { M, BLOCK_M } = values;
          const block = tl.cdiv(M, BLOCK_M).sub(1).sub(tl.programId(0));
          const rows = block.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
          store(values, rows, rowSums(values, rows));
        },
      },
    ],
    ["a mask that says what the tensor says", rowSumKernel((sums, { M }, rows) => tl.where(rows.lt(M), sums, 0))],
    [
      "a key of the other size",
      {
        ...rowSumKernel(),
        spec: { config: undefined, autotune: { key: ["N"], configs: [SPEC.config, { BLOCK_M: 4, BLOCK_N: 32 }] } },
      },
    ],
    [
      "elements without a sum, whatever the config",
      {
        spec: { config: undefined, autotune: { key: ["M"], configs: [SPEC.config, { BLOCK_M: 8, BLOCK_N: 32 }] } },
        params: { ...ROWS, x: tensor(tl.float32, ["M"]), BLOCK_N: constexpr() },
        body: (values) => {
          const rows = rowsOf(values);
          store(values, rows, tl.exp(tl.load(values["x"].at(rows))).mul(2));
        },
      },
    ],
  ])("%s", async (_, parts) => {
    expect(await verdictOf(parts)).toEqual({ kind: "invariant" });
  });
});

describe("not invariant", () => {
  const tuned = (key: readonly string[]) => ({
    config: undefined,
    autotune: { key, configs: [SPEC.config, { BLOCK_M: 4, BLOCK_N: 32 }] },
  });
  test.each<[string, Parts, string]>([
    ["a mean over the wrong size", rowSumKernel((sums, { M }) => sums.div(M.to(tl.float32))), "its value depends on M"],
    [
      "a condition on the size",
      rowSumKernel((sums, { M }) => tl.where(M.gt(8), sums, sums.mul(2))),
      "a condition depends on M",
    ],
    [
      "a branch on the size",
      rowSumKernel((sums, { M }) => {
        const result = tl.mut(sums);
        tl.when(M.gt(8), () => {
          result.value = sums.add(1);
        });
        return result.value;
      }),
      "a condition depends on M",
    ],
    [
      "the place counted from the end",
      rowSumKernel((sums, { M }, rows) => sums.add(M.sub(rows).to(tl.float32))),
      "its value depends on M",
    ],
    [
      "iterations by the size",
      {
        body: (values) => {
          const rows = rowsOf(values);
          store(values, rows, rowSums(values, rows, tl.minimum(values["M"], values["N"])));
        },
      },
      "the number of iterations of a loop depends on M",
    ],
    [
      "splits by the size",
      {
        body: (values) => {
          const { x, N, M, BLOCK_M } = values;
          const rows = rowsOf(values);
          const total = tl.mut(tl.zeros([BLOCK_M], tl.float32));
          const first = tl.minimum(N, M);
          const add = (from: any, to: any) => {
            const part = tl.mut(tl.zeros([BLOCK_M], tl.float32));
            for (const col of tl.range(from, to)) part.value = part.value.add(tl.load(x.at(rows, col)));
            total.value = total.value.add(part.value);
          };
          add(0, first);
          add(first, N);
          store(values, rows, total.value);
        },
      },
      "the number of iterations of a loop depends on M",
    ],
    [
      "a block by the size",
      {
        params: { ...ROWS, BLOCK_N: constexpr.launch(({ M }: any) => tl.nextPowerOf2(M)) },
        spec: { config: { BLOCK_M: 4 } },
        body: (values) => {
          const rows = rowsOf(values);
          store(values, rows, tl.sum(tl.load(values["x"].at(rows, tl.arange(0, values["BLOCK_N"]))), 1));
        },
      },
      "the size of a tile that is summed depends on M",
    ],
    ["a key of the size", { ...rowSumKernel(), spec: tuned(["M"]) }, "M in the autotuner's key chooses the config"],
    [
      "a key of a size that is computed from it",
      {
        ...rowSumKernel(),
        spec: { ...tuned(["MN"]), dims: { MN: ({ M, N }: any) => M.mul(N) } },
        params: { ...ROWS, z: tensor(tl.float32, ["MN"]) },
      },
      "MN in the autotuner's key chooses the config",
    ],
    [
      "warps by the size",
      {
        ...rowSumKernel(),
        spec: { config: ({ M }: any) => ({ ...SPEC.config, numWarps: tl.where(M.gt(64), 8, 4) }) },
      },
      "numWarps is computed from M",
    ],
    [
      "the next row",
      {
        body: (values) => {
          const rows = rowsOf(values);
          store(values, rows, rowSums(values, rows.add(1)));
        },
      },
      "it may read other elements of x along M",
    ],
    [
      "a shift by the rows of the program",
      rowSumKernel((sums) => sums.sub(tl.max(sums, 0))),
      "it may read other elements of x along M",
    ],
    ["a scan of the rows", rowSumKernel((sums) => tl.cumsum(sums, 0)), "it may read other elements of x along M"],
    ["reversed rows", rowSumKernel((sums) => tl.flip(sums)), "it may read other elements of x along M"],
    ["the number of programs", rowSumKernel((sums) => sums.add(tl.numPrograms(0).to(tl.float32))), "depends on M"],
    [
      "state that other iterations leave",
      {
        spec: { grid: () => [8] },
        body: (values) => {
          const { M, BLOCK_M } = values;
          const carried = tl.mut(tl.zeros([BLOCK_M], tl.float32));
          for (const block of tl.range(tl.programId(0), tl.cdiv(M, BLOCK_M), tl.numPrograms(0))) {
            const rows = block.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
            carried.value = carried.value.add(rowSums(values, rows));
            store(values, rows, carried.value);
          }
        },
      },
      "it may read other elements of x along M",
    ],
    [
      "products that some configs fuse with sums",
      {
        spec: tuned(["M"]),
        params: { ...ROWS, x: tensor(tl.float32, ["M"]), factor: scalar(tl.float32) },
        body: (values) => {
          const rows = rowsOf(values);
          store(values, rows, tl.load(values["x"].at(rows)).mul(values["factor"]).add(1));
        },
      },
      "a product may be fused with a sum in one of them",
    ],
    [
      "rows that an index names",
      {
        params: { ...ROWS, ids: tensor(tl.int32, ["M"], { range: [0, "M"] }) },
        body: (values) => {
          const rows = rowsOf(values);
          const ids = tl.load(values["ids"].at(rows), { other: 0 });
          store(values, rows, rowSums(values, ids));
        },
      },
      "it may read other elements of x along M",
    ],
    [
      "a write that a later one may replace",
      {
        body: (values) => {
          const rows = rowsOf(values);
          const sums = rowSums(values, rows);
          store(values, rows, sums);
          tl.store(values["y"].at(rows), sums.mul(2), { mask: rows.lt(values["M"].sub(4)) });
        },
      },
      "a condition depends on M",
    ],
    [
      "a tensor whose stride follows the size",
      {
        params: { ...ROWS, x: tensor(tl.float32, ["N", "M"]) },
        body: (values) => {
          const { x, N, BLOCK_N } = values;
          const rows = rowsOf(values);
          const cols = tl.arange(0, BLOCK_N);
          store(values, rows, tl.sum(tl.load(x.at(cols, rows), { mask: cols.col.lt(N), other: 0 }), 0));
        },
      },
      "a stride of x may follow M",
    ],
  ])("%s", async (_, parts, why) => {
    const verdict = await verdictOf(parts);
    expect(verdict?.kind).not.toBe("invariant");
    expect(verdict && ("why" in verdict ? verdict.why : "missing" in verdict ? verdict.missing : "")).toContain(why);
  });

  test("fusion that the spec rules out changes no bits", async () => {
    const parts: Parts = {
      spec: { ...tuned(["M"]), launch: { enableFpFusion: false } },
      params: { ...ROWS, x: tensor(tl.float32, ["M"]) },
      body: (values) => {
        const rows = rowsOf(values);
        store(values, rows, tl.load(values["x"].at(rows)).mul(3).add(1));
      },
    };
    expect(await verdictOf(parts)).toEqual({ kind: "invariant" });
  });
});

describe("runs", () => {
  const runsOf = async (parts: Parts) =>
    (
      await build(
        kernel(
          "example",
          { params: ROWS, ...SPEC, ...parts.spec, ...(parts.params && { params: parts.params }) } as any,
          parts.body as any,
        ),
      )
    ).invariance()[0]?.runs;
  const update = (dtype: any) => ({
    params: { ...ROWS, y: tensor.out(dtype, ["M"], { zeroed: true }), x: tensor(dtype, ["N"]) },
    spec: { grid: ({ N, BLOCK_N }: any) => [tl.cdiv(N, BLOCK_N)] },
    body: ({ x, y, N, BLOCK_N }: any) => {
      const cols = tl.programId(0).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
      tl.atomicAdd(y.at(cols.mod(1)), tl.load(x.at(cols), { other: 0 }), { mask: cols.lt(N) });
    },
  });

  test("sums in loops have the same bits", async () => {
    expect(await runsOf(rowSumKernel())).toEqual({ kind: "proved" });
  });

  test("the autotuner may choose another order", async () => {
    const spec = { config: undefined, autotune: { key: ["N"], configs: [SPEC.config, { BLOCK_M: 4, BLOCK_N: 32 }] } };
    expect(await runsOf({ ...rowSumKernel(), spec })).toEqual({ kind: "per-config" });
  });

  test("programs add floats in any order", async () => {
    expect(await runsOf(update(tl.float32))).toMatchObject({
      kind: "dependent",
      why: "programs update it with tl.atomicAdd in any order",
    });
  });

  test("programs add floats in any order in a config that is not the first", async () => {
    const { params, spec, body } = update(tl.float32);
    const configs = [false, true].map((ADDS) => ({ ...SPEC.config, ADDS }));
    const runs = await runsOf({
      params: { ...params, ADDS: constexpr.bool() },
      spec: { ...spec, config: undefined, autotune: { key: ["N"], configs } },
      body: (values: any) => void tl.when(values.ADDS, () => body(values)),
    });
    expect(runs).toMatchObject({ kind: "dependent", why: "programs update it with tl.atomicAdd in any order" });
  });

  test("integers have one sum", async () => {
    expect(await runsOf(update(tl.int32))).toEqual({ kind: "proved" });
  });

  test("what an atomic returns depends on the order of programs", async () => {
    const runs = await runsOf({
      params: { ...ROWS, count: tensor.inout(tl.int32, [1]) },
      body: (values) => {
        const place = tl.atomicAdd(values.count.at(0), 1);
        const rows = rowsOf(values);
        store(values, rows, tl.zeros([values.BLOCK_M], tl.float32).add(place.to(tl.float32)));
      },
    });
    expect(runs).toMatchObject({ kind: "unknown", missing: "it depends on the result of an atomic" });
  });
});
