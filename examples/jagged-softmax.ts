/** Softmax over rows of different lengths, stored contiguously. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float32, tl.float16, tl.bfloat16]);

export const jaggedSoftmax = kernel(
  "jagged_softmax",
  {
    doc: "Softmax of each column of values over the elements of each row; row i is values[offsets[i]:offsets[i + 1]].",
    params: {
      values: tensor(T, ["TOTAL", "D"]),
      offsets: tensor(tl.int32, ["OFFSETS"], { partition: "TOTAL" }),
      out: tensor.out(T, ["TOTAL", "D"]),
      BLOCK_L: constexpr(),
      BLOCK_D: constexpr(),
    },
    grid: ({ OFFSETS, D, BLOCK_D }) => [OFFSETS.sub(1), tl.cdiv(D, BLOCK_D)],
    autotune: {
      key: ["D"],
      configs: [
        { BLOCK_L: 32, BLOCK_D: 64, numWarps: 4 },
        { BLOCK_L: 64, BLOCK_D: 32, numWarps: 4 },
        { BLOCK_L: 128, BLOCK_D: 16, numWarps: 4 },
      ],
    },
    reference: ({ values, offsets }, torch) => {
      const lengths = torch.diff(offsets);
      const largest = torch.segment_reduce(values, "max", { lengths }).repeat_interleave(lengths, 0);
      const powers = values.sub(largest).exp();
      return powers.div(torch.segment_reduce(powers, "sum", { lengths }).repeat_interleave(lengths, 0));
    },
    shapes: [
      { TOTAL: 16384, D: 128, OFFSETS: 65 },
      { TOTAL: 300, D: 40, OFFSETS: 9 },
    ],
  },
  ({ values, offsets, out, BLOCK_L, BLOCK_D }) => {
    const row = tl.programId(0);
    const start = tl.load(offsets.at(tl.inBounds(row)));
    const end = tl.load(offsets.at(tl.inBounds(row.add(1))));
    const cols = tl.programId(1).mul(BLOCK_D).add(tl.arange(0, BLOCK_D));
    const lanes = tl.arange(0, BLOCK_L);
    const best = tl.mut(tl.full([BLOCK_D], -Infinity, tl.float32));
    const total = tl.mut(tl.zeros([BLOCK_D], tl.float32));
    for (const first of tl.range(start, end, BLOCK_L)) {
      const rows = tl.inBounds(first.add(lanes));
      const x = tl.load(values.at(rows, cols), { mask: rows.lt(end).col, other: -Infinity }).to(tl.float32);
      const newBest = tl.maximum(best.value, tl.max(x, 0));
      const powers = tl.exp(x.sub(newBest.row));
      total.value = total.value.mul(tl.exp(best.value.sub(newBest))).add(tl.sum(powers, 0));
      best.value = newBest;
    }
    for (const first of tl.range(start, end, BLOCK_L)) {
      const rows = tl.inBounds(first.add(lanes));
      const isRow = rows.lt(end).col;
      const x = tl.load(values.at(rows, cols), { mask: isRow, other: -Infinity }).to(tl.float32);
      const y = tl.exp(x.sub(best.value.row)).div(total.value.row);
      tl.store(out.at(rows, cols), y.to(T), { mask: isRow });
    }
  },
);

main(import.meta, jaggedSoftmax);
