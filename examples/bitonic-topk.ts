/** The largest elements of each row and their columns, by a bitonic network over keys that hold a value and its column. */
import { type Constexpr, constexpr, kernel, main, tensor, tl, type Tile } from "tilescript";

const T = tl.dtype("T", [tl.float32, tl.float16, tl.bfloat16]);

type Keys = Tile<"int64", ["BLOCK_M", "BLOCK_N"]>;
type Places = Tile<"int32", ["BLOCK_N"]>;

/** Behind every key, and exact as a number of JavaScript. */
const LAST = 2 ** 63 - 2 ** 32;

export const bitonicTopk = kernel(
  "bitonic_topk",
  {
    doc: "The K largest of each row, the largest first, and their columns; of equal ones the first columns.",
    params: {
      x: tensor(T, ["M", "N"]),
      values: tensor.out(T, ["M", "K"]),
      indices: tensor.out(tl.int64, ["M", "K"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      LOG_N: constexpr.int(),
      LOG_K: constexpr.launch(({ K }) => tl.bitLength(K.sub(1))),
    },
    grid: ({ M, BLOCK_M }) => [tl.cdiv(M, BLOCK_M)],
    requires: ({ N, K, BLOCK_N }) => [K.le(N), BLOCK_N.ge(K)],
    autotune: {
      key: ["N", "K"],
      configs: [
        { BLOCK_M: 4, BLOCK_N: 128, numWarps: 4 },
        { BLOCK_M: 2, BLOCK_N: 256, numWarps: 4 },
        { BLOCK_M: 1, BLOCK_N: 1024, numWarps: 8 },
      ],
    },
    heuristics: { LOG_N: ({ BLOCK_N }) => tl.bitLength(BLOCK_N.sub(1)) },
    reference: ({ x, K }, torch) => {
      const [values, indices] = torch.sort(x, { dim: 1, descending: true, stable: true });
      return [values.narrow(1, 0, K), indices.narrow(1, 0, K)];
    },
    shapes: [
      { M: 4096, N: 4096, K: 32 },
      { M: 5, N: 300, K: 10 },
    ],
  },
  ({ x, values, indices, N, BLOCK_M, BLOCK_N, LOG_N, LOG_K }) => {
    // Sorts runs of 2^LOG_RUN keys, each of which rises and then falls. Runs whose place has bit LOG_RUN set come out
    // falling, the others rising: two neighbors are what the next longer merge begins with.
    const merge = tl.fn((given: Keys, places: Places, LOG_RUN: Constexpr<string>) => {
      const keys = tl.mut(given);
      const falls = places.shr(LOG_RUN).and(1);
      for (const bit of tl.staticRange(LOG_RUN.sub(1), -1, -1)) {
        // Keys whose places differ in this bit are compared.
        const pairs = keys.value.reshape([BLOCK_M, BLOCK_N.floorDiv(tl.shl(2, bit)), 2, tl.shl(1, bit)]);
        const [low, high] = tl.split(pairs.permute([0, 1, 3, 2]));
        const others = tl.join(high, low).permute([0, 1, 3, 2]).reshape([BLOCK_M, BLOCK_N]);
        const isGreater = places.shr(bit).and(1).ne(falls).row;
        keys.value = tl.where(isGreater, tl.maximum(keys.value, others), tl.minimum(keys.value, others));
      }
      return keys.value;
    });

    const rows = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const lanes = tl.arange(0, BLOCK_N);
    const opposite = lanes.xor(tl.shl(1, LOG_K));
    // Each run of 2^LOG_K lanes keeps the first keys of its own columns.
    const best = tl.mut(tl.full([BLOCK_M, BLOCK_N], LAST, tl.int64));
    for (const start of tl.range(0, N, BLOCK_N)) {
      const cols = start.add(lanes);
      const block = tl.load(x.at(rows, cols), { other: -Infinity }).to(tl.float32);
      // Floats as integers in the same order; the complement puts the largest first, the column sets equal ones apart.
      const bits = block.to(tl.int32, { bitcast: true });
      const ordered = bits.xor(bits.shr(31).and(0x7fffffff));
      const keys = tl.mut(ordered.not().to(tl.int64).shl(32).or(cols.row.to(tl.int64)));
      for (const i of tl.staticRange(1, LOG_K.add(1))) {
        keys.value = merge(keys.value, opposite, i);
      }
      // Of two runs, one rising and one falling, the lesser of each pair are the first of both, and rise and fall.
      best.value = merge(tl.minimum(best.value, keys.value), lanes, LOG_K);
    }
    for (const i of tl.staticRange(LOG_K.add(1), LOG_N.add(1))) {
      best.value = merge(best.value, lanes, i);
    }
    const ordered = best.value.shr(32).to(tl.int32).not();
    const bits = ordered.xor(ordered.shr(31).and(0x7fffffff));
    tl.store(values.at(rows, lanes), bits.to(tl.float32, { bitcast: true }).to(T));
    tl.store(indices.at(rows, lanes), best.value.and(0xffffffff));
  },
);

main(import.meta, bitonicTopk);
