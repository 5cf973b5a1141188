/** Kernels around the parts that pages show of a kernel. `pages.test.ts` builds them, and finds the parts here. */
import { constexpr, kernel, python, type ScalarOf, tensor, tl, type TileOf } from "tilescript";

// The page on the language: a helper, and code by dtype.

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

const scaled = (x: TileOf<typeof T, ["BLOCK"]>, by: ScalarOf<typeof tl.float32>): TileOf<typeof T, ["BLOCK"]> =>
  x.to(tl.float32).mul(by).to(T);

export const rowsScaled = kernel(
  "rows_scaled",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      by: tensor(tl.float32, ["M"]),
      y: tensor.out(T, ["M", "N"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x, by }) => x.float().mul(by.unsqueeze(1)),
  },
  ({ x, by, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(row, cols), scaled(tl.load(x.at(row, cols)), tl.load(by.at(row))));
  },
);

export const productOfAnyDtype = (() => {
  const T = tl.dtype("T", [tl.int8, tl.float16, tl.bfloat16]);
  return kernel(
    "product_of_any_dtype",
    {
      params: {
        x: tensor(T, ["M", "K"]),
        y: tensor(T, ["K", "N"]),
        z: tensor.out(tl.float32, ["M", "N"]),
        B: constexpr(),
      },
      grid: ({ M, N, B }) => [tl.cdiv(M, B), tl.cdiv(N, B)],
      config: { B: 32 },
      reference: ({ x, y }, torch) => torch.matmul(x.float(), y.float()),
    },
    ({ x, y, z, K, B }) => {
      const rows = tl.programId(0).mul(B).add(tl.arange(0, B));
      const cols = tl.programId(1).mul(B).add(tl.arange(0, B));
      const total = tl.mut(tl.zeros([B, B], tl.float32));
      for (const k of tl.range(0, K, B)) {
        const inner = k.add(tl.arange(0, B));
        const a = tl.load(x.at(rows, inner));
        const b = tl.load(y.at(inner, cols));
        tl.when(T.is(tl.int8), () => {
          total.value = total.value.add(tl.dot(a.as(tl.int8), b.as(tl.int8)).to(tl.float32));
        }).otherwise(() => {
          const F = T.only(tl.float16, tl.bfloat16);
          total.value = tl.dot(a.as(F), b.as(F), total.value);
        });
      }
      tl.store(z.at(rows, cols), total.value);
    },
  );
})();

// The page on performance: providers, operations, a space of configs, configs by GPU, warp specialization.

export const product = kernel(
  "product",
  {
    params: {
      a: tensor(T, ["M", "K"]),
      b: tensor(T, ["K", "N"]),
      c: tensor.out(T, ["M", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
    autotune: {
      key: ["M", "N", "K"],
      configs: [{ BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, numWarps: 8, numStages: 3 }],
      space: {
        BLOCK_M: [32, 64, 128, 256],
        BLOCK_N: [64, 128, 256],
        BLOCK_K: [32, 64],
        numWarps: [4, 8],
        numStages: [3, 4],
      },
    },
    warpSpecialize: "auto",
    providers: {
      linear: ({ a, b }, torch) => torch.nn.functional.linear(a, b.T),
      mine: python`
        from my_kernels import gemm

        return gemm(a, b)
      `,
    },
    flops: ({ M, N, K }) => 2 * M * N * K,
    reference: ({ a, b }, torch) => torch.matmul(a, b),
  },
  ({ a, b, c, K, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(a.at(rm, rk)), tl.load(b.at(rk, rn)), acc.value);
    }
    tl.store(c.at(rm, rn), acc.value.to(T));
  },
);

export const productByGpu = kernel(
  "product_by_gpu",
  {
    params: {
      a: tensor(T, ["M", "K"]),
      b: tensor(T, ["K", "N"]),
      c: tensor.out(T, ["M", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
    autotune: {
      key: ["M", "N", "K"],
      configs: {
        cuda: {
          90: [{ BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 64, numWarps: 8, numStages: 3 }],
          80: [{ BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 32, numWarps: 8, numStages: 4 }],
        },
        hip: { gfx942: [{ BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, numWarps: 8, numStages: 2 }] },
        default: [{ BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32, numWarps: 4, numStages: 3 }],
      },
    },
    flops: ({ M, N, K }) => 2 * M * N * K,
    reference: ({ a, b }, torch) => torch.matmul(a, b),
  },
  ({ a, b, c, K, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(a.at(rm, rk)), tl.load(b.at(rk, rn)), acc.value);
    }
    tl.store(c.at(rm, rn), acc.value.to(T));
  },
);

// The page on proofs: what only the author knows.

export const placed = kernel(
  "placed",
  {
    params: {
      counts: tensor(tl.float32, ["N"]),
      slot: tensor(tl.int32, ["N"]),
      out: tensor.out(tl.float32, ["N"]),
      most: tensor.out(tl.float32, ["P"]),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: () => [1],
    requires: ({ N, P, BLOCK }) => [BLOCK.ge(N), P.eq(1)],
    inputs: ({ N }, torch) => ({ counts: torch.rand([N]), slot: torch.arange(N).to(tl.int32) }),
    reference: ({ counts }) => [counts, counts.amax(0, { keepdim: true })],
  },
  ({ counts, slot, out, most, BLOCK }) => {
    const i = tl.arange(0, BLOCK);
    const values = tl.load(counts.at(i), { other: 0 });
    const slots = tl.load(slot.at(i), { other: -1 });
    tl.store(tl.trusted(out.gather(slots), "each slot occurs once"), values);
    const largest = tl.max(tl.trusted(values, "counts are not negative"), 0);
    tl.store(most.at(0), largest);
  },
);

// The page for readers who know Triton: a tile of a matrix.

export const copied = kernel(
  "copied",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M, BLOCK_M }) => [tl.cdiv(M, BLOCK_M)],
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],
    config: { BLOCK_M: 16 },
    reference: ({ x }) => x,
  },
  ({ x, y, BLOCK_M, BLOCK_N }) => {
    const rows = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const cols = tl.arange(0, BLOCK_N);
    const tile = tl.load(x.at(rows, cols));
    tl.store(y.at(rows, cols), tile);
  },
);
