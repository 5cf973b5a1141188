/** Kernels that move elements, by pointers and masks of their own. */
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";

export const transpose = kernel(
  "transpose",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["N", "M"]), BLOCK: constexpr() },
    grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x }) => x.T,
  },
  ({ x, y, M, N, BLOCK }) => {
    const rows = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const inside = rows.col.lt(M).and(columns.row.lt(N));
    const from = x.ptr.add(rows.col.mul(x.stride(0)), columns.row.mul(x.stride(1)));
    const tile = tl.load(from, { mask: inside });
    const to = y.ptr.add(rows.col.mul(y.stride(1)), columns.row.mul(y.stride(0)));
    tl.store(to, tile, { mask: inside });
  },
);

/** `y[i] = x[(i - shift) mod N]` */
export const roll = kernel(
  "roll",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      shift: scalar(tl.int32, { default: 1 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x, shift }, torch) => torch.roll(x, shift),
  },
  ({ x, y, N, shift, BLOCK }) => {
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const inside = places.lt(N);
    const sources = places.add(N).sub(shift.mod(N)).mod(N);
    const values = tl.load(x.ptr.add(sources.mul(x.stride(0))), { mask: inside });
    tl.store(y.ptr.add(places.mul(y.stride(0))), values, { mask: inside });
  },
);

/** Rows of a table by index; every program takes one row of the output. */
export const embedding = kernel(
  "embedding",
  {
    params: {
      table: tensor(tl.float32, ["V", "D"]),
      index: tensor(tl.int64, ["N"], { range: [0, "V"] }),
      y: tensor.out(tl.float32, ["N", "D"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, D, BLOCK }) => [N, tl.cdiv(D, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ table, index }, torch) => torch.index_select(table, 0, index),
  },
  ({ table, index, y, D, BLOCK }) => {
    const place = tl.programId(0);
    const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const row = tl.load(index.ptr.add(place.mul(index.stride(0))));
    const from = table.ptr.add(row.mul(table.stride(0)), columns.mul(table.stride(1)));
    const values = tl.load(from, { mask: columns.lt(D) });
    tl.store(y.ptr.add(place.mul(y.stride(0)), columns.mul(y.stride(1))), values, { mask: columns.lt(D) });
  },
);

/** `y[i] = Σ w[k] x[i + k - 1]`, zeros outside: a convolution with three taps. */
export const convolution = kernel(
  "convolution",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      w: tensor(tl.float32, [3]),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x, w, N }, torch) =>
      torch.nn.functional.conv1d(x.reshape(1, 1, N), w.reshape(1, 1, 3), { padding: 1 }).reshape(N),
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  },
  ({ x, w, y, N, BLOCK }) => {
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const total = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const tap of tl.range(0, 3)) {
      const sources = places.add(tap).sub(1);
      const inside = sources.ge(0).and(sources.lt(N));
      const values = tl.load(x.ptr.add(sources.mul(x.stride(0))), { mask: inside, other: 0 });
      total.value = total.value.add(values.mul(tl.load(w.ptr.add(tap.mul(w.stride(0))))));
    }
    tl.store(y.at(places), total.value);
  },
);

/** This rank's part of a long array, zeros from `limit` on. Positions in the whole array need 64 bits. */
export const shard = kernel(
  "shard",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      rank: scalar(tl.int32, { default: 3 }),
      limit: scalar(tl.int64, { default: 3_000_000_020 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x, rank, limit, N }, torch) => {
      const places = torch.arange(N);
      const start = torch.zeros_like(places).add(rank).mul(1_000_000_000);
      return torch.where(start.add(places).lt(limit), x, 0);
    },
  },
  ({ x, y, N, rank, limit, BLOCK }) => {
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const positions = rank.to(tl.int64).mul(1_000_000_000).add(places);
    const kept = places.lt(N).and(positions.lt(limit));
    tl.store(y.at(places), tl.load(x.ptr.add(places.mul(x.stride(0))), { mask: kept, other: 0 }));
  },
);
