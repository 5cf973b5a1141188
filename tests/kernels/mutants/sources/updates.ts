/** Kernels whose programs share outputs, or change their inputs. */
import { constexpr, kernel, tensor, tl } from "tilescript";

/** How often each of eight values occurs. */
export const histogram = kernel(
  "histogram",
  {
    params: {
      x: tensor(tl.int32, ["N"], { range: [0, 8] }),
      counts: tensor.out(tl.int32, [8], { zeroed: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x }, torch) => torch.bincount(x, { minlength: 8 }).int(),
  },
  ({ x, counts, N, BLOCK }) => {
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const inside = places.lt(N);
    const bins = tl.load(x.ptr.add(places.mul(x.stride(0))), { mask: inside, other: 0 });
    tl.atomicAdd(counts.ptr.add(bins.mul(counts.stride(0))), tl.full([BLOCK], 1, tl.int32), { mask: inside });
  },
);

/** Dot products of rows, each split among several programs. */
export const splitDot = kernel(
  "split_dot",
  {
    params: {
      x: tensor(tl.float32, ["M", "K"]),
      v: tensor(tl.float32, ["K"]),
      y: tensor.out(tl.float32, ["M"], { zeroed: true }),
      SPLIT: constexpr(),
      BLOCK: constexpr(),
    },
    grid: ({ M, SPLIT }) => [M, SPLIT],
    config: { SPLIT: 2, BLOCK: 16 },
    reference: ({ x, v }, torch) => torch.matmul(x, v),
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  },
  ({ x, v, y, K, SPLIT, BLOCK }) => {
    const row = tl.programId(0);
    const part = tl.programId(1);
    const total = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const start of tl.range(part.mul(BLOCK), K, BLOCK.mul(SPLIT))) {
      const places = start.add(tl.arange(0, BLOCK));
      total.value = total.value.add(tl.load(x.at(row, places)).mul(tl.load(v.at(places))));
    }
    tl.atomicAdd(y.ptr.add(row.mul(y.stride(0))), tl.sum(total.value, 0));
  },
);

/** Pairs of neighbors are turned by an angle each, in place. */
export const rotate = kernel(
  "rotate",
  {
    params: {
      x: tensor.inout(tl.float32, ["M", "N"]),
      angles: tensor(tl.float32, ["N"]),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    reference: ({ x, angles }, torch) => {
      const pairs = x.reshape(-1, angles.size(0));
      return pairs.mul(torch.cos(angles)).sub(torch.flip(pairs, [1]).mul(torch.sin(angles)));
    },
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  },
  ({ x, angles, N, BLOCK }) => {
    const row = tl.programId(0);
    const columns = tl.arange(0, BLOCK);
    const inside = columns.lt(N);
    const own = tl.load(x.at(row, columns));
    const opposite = tl.load(x.ptr.add(row.mul(x.stride(0)), N.sub(1).sub(columns).mul(x.stride(1))), {
      mask: inside,
      other: 0,
    });
    const angle = tl.load(angles.at(columns));
    // No lane overwrites what another has not read yet.
    tl.debugBarrier();
    tl.store(x.at(row, columns), own.mul(tl.cos(angle)).sub(opposite.mul(tl.sin(angle))));
  },
);

/** Sums from the left along each row, block by block. */
export const prefixSums = kernel(
  "prefix_sums",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]), BLOCK: constexpr() },
    grid: ({ M }) => [M],
    config: { BLOCK: 16 },
    reference: ({ x }, torch) => torch.cumsum(x, 1),
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  },
  ({ x, y, N, BLOCK }) => {
    const row = tl.programId(0);
    const carry = tl.mut(tl.full([], 0, tl.float32));
    for (const start of tl.range(0, N, BLOCK)) {
      const columns = start.add(tl.arange(0, BLOCK));
      const values = tl.load(x.at(row, columns));
      tl.store(y.at(row, columns), tl.cumsum(values, 0).add(carry.value));
      carry.value = carry.value.add(tl.sum(values, 0));
    }
  },
);
