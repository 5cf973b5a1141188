/**
 * Softmax of rows that are too long for the registers of a multiprocessor, such as 65,536 floats.
 *
 * A program reads a row twice: for its maximum and its sum, and for the result. There are as many programs as the GPU
 * has multiprocessors, so the rows that are being read fit in the L2 cache together, and memory is read once.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

export const softmaxLong = kernel(
  "softmax_long",
  {
    doc: "Softmax over the last axis of a matrix, computed in float32.",
    params: {
      x: tensor(T, ["M", "N"]),
      y: tensor.out(T, ["M", "N"]),
      LANES: constexpr(),
      WIDTH: constexpr(),
    },
    grid: ({ M, device }) => [tl.minimum(M, device.multiProcessorCount)],
    autotune: {
      key: ["M", "N"],
      configs: [
        { LANES: 1024, WIDTH: 4, numWarps: 32 },
        { LANES: 1024, WIDTH: 8, numWarps: 32 },
        { LANES: 1024, WIDTH: 16, numWarps: 32 },
        { LANES: 512, WIDTH: 16, numWarps: 16 },
      ],
    },
    reference: ({ x }, torch) => torch.softmax(x, -1),
    shapes: [
      { M: 128, N: 1000 },
      { M: 4096, N: 65_536 },
    ],
  },
  ({ x, y, M, N, LANES, WIDTH }) => {
    const step = LANES.mul(WIDTH);
    for (const m of tl.range(tl.programId(0), M, tl.numPrograms(0))) {
      const row = tl.inBounds(m);
      // Each lane has a maximum and a sum of its own, so that no lane waits for another inside the loop.
      const best = tl.mut(tl.full([LANES], -Infinity, tl.float32));
      const total = tl.mut(tl.zeros([LANES], tl.float32));
      for (const start of tl.range(0, N, step, { numStages: 3 })) {
        const loaded = tl.load(x.at(row, start.add(tl.arange(0, step))), { other: -Infinity });
        const values = tl.reshape(loaded, [LANES, WIDTH]).to(tl.float32);
        const newBest = tl.maximum(best.value, tl.max(values, 1));
        // A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
        const shift = tl.where(newBest.eq(-Infinity), 0, newBest);
        const powers = tl.exp(values.sub(shift.col));
        total.value = total.value.mul(tl.exp(best.value.sub(shift))).add(tl.sum(powers, 1));
        best.value = newBest;
      }
      const top = tl.max(best.value, 0);
      const sum = tl.sum(total.value.mul(tl.exp(best.value.sub(top))), 0);
      // Backwards: the end of the row was read last, and is the likeliest to lie in the cache still.
      const steps = tl.cdiv(N, step);
      for (const i of tl.range(steps)) {
        const cols = steps.sub(1).sub(i).mul(step).add(tl.arange(0, step));
        const values = tl.load(x.at(row, cols), { evictionPolicy: "evict_first" }).to(tl.float32);
        tl.store(y.at(row, cols), tl.exp(values.sub(top)).div(sum).to(T), { evictionPolicy: "evict_first" });
      }
    }
  },
);

main(import.meta, softmaxLong);
