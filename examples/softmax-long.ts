/**
 * Softmax of rows that are too long for the registers of a multiprocessor, such as 65,536 floats.
 *
 * A program keeps the start of its row in registers. It reads the rest twice: for its maximum and its sum, and for the
 * result. There are no more programs than the GPU has multiprocessors, so what is read twice fits in the L2 cache, and
 * memory is read once.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

/** Elements that lie side by side in a lane: 16 bytes of float32. */
const WIDTH = 4;
const LOG2_E = 1.4426950408889634;

export const softmaxLong = kernel(
  "softmax_long",
  {
    doc: "Softmax over the last axis of a matrix, computed in float32.",
    params: {
      x: tensor(T, ["M", "N"]),
      y: tensor.out(T, ["M", "N"]),
      // Elements of a row that stay in registers.
      KEPT: constexpr(),
      LANES: constexpr(),
      ROUNDS: constexpr(),
      // Programs for each multiprocessor, side by side or one after the other.
      RESIDENT: constexpr(),
    },
    // No program has a row more than the others if that can be, so that none runs alone at the end.
    grid: ({ M, RESIDENT, device }) => [
      tl.cdiv(M, tl.maximum(tl.cdiv(M, device.multiProcessorCount.mul(RESIDENT)), 1)),
    ],
    autotune: {
      key: ["M", "N"],
      configs: [
        { KEPT: 32768, LANES: 1024, ROUNDS: 1, RESIDENT: 1, numWarps: 32 },
        { KEPT: 32768, LANES: 1024, ROUNDS: 1, RESIDENT: 2, numWarps: 32 },
        { KEPT: 32768, LANES: 1024, ROUNDS: 2, RESIDENT: 1, numWarps: 32 },
        { KEPT: 16384, LANES: 1024, ROUNDS: 4, RESIDENT: 1, numWarps: 32 },
        { KEPT: 32768, LANES: 512, ROUNDS: 4, RESIDENT: 1, numWarps: 16 },
        { KEPT: 16384, LANES: 512, ROUNDS: 4, RESIDENT: 2, numWarps: 16 },
        { KEPT: 16384, LANES: 512, ROUNDS: 8, RESIDENT: 1, numWarps: 16 },
        { KEPT: 8192, LANES: 256, ROUNDS: 4, RESIDENT: 4, numWarps: 8 },
        { KEPT: 16384, LANES: 256, ROUNDS: 8, RESIDENT: 2, numWarps: 8 },
      ],
    },
    reference: ({ x }, torch) => torch.softmax(x, -1),
    shapes: [
      { M: 128, N: 1000 },
      { M: 2, N: 40_001 },
      { M: 4096, N: 65_536 },
    ],
  },
  ({ x, y, M, N, KEPT, LANES, ROUNDS }) => {
    const step = ROUNDS.mul(LANES).mul(WIDTH);
    for (const m of tl.range(tl.programId(0), M, tl.numPrograms(0))) {
      const row = tl.inBounds(m);
      const kept = tl.load(x.at(row, tl.arange(0, KEPT)), { other: -Infinity });
      const first = tl.reshape(kept, [KEPT.floorDiv(LANES.mul(WIDTH)), LANES, WIDTH]).to(tl.float32);
      // Each lane has a maximum and a sum of its own, so that no lane waits for another inside the loop.
      const best = tl.mut(tl.max(tl.max(first, 2), 0));
      // A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
      const firstShift = tl.where(best.value.eq(-Infinity), 0, best.value);
      // `tl.exp` is several instructions: with it the loop would not be unrolled, with its loads ahead.
      const firstPowers = tl.exp2(first.sub(tl.expandDims(firstShift, [0, 2])).mul(LOG2_E));
      const total = tl.mut(tl.sum(tl.sum(firstPowers, 2), 0));
      for (const start of tl.range(KEPT, N, step)) {
        const loaded = tl.load(x.at(row, start.add(tl.arange(0, step))), {
          other: -Infinity,
          evictionPolicy: "evict_last",
        });
        const values = tl.reshape(loaded, [ROUNDS, LANES, WIDTH]).to(tl.float32);
        const newBest = tl.maximum(best.value, tl.max(tl.max(values, 2), 0));
        const shift = tl.where(newBest.eq(-Infinity), 0, newBest);
        const powers = tl.exp2(values.sub(tl.expandDims(shift, [0, 2])).mul(LOG2_E));
        const rescale = tl.exp2(best.value.sub(shift).mul(LOG2_E));
        total.value = total.value.mul(rescale).add(tl.sum(tl.sum(powers, 2), 0));
        best.value = newBest;
      }
      const top = tl.max(best.value, 0);
      const sum = tl.sum(total.value.mul(tl.exp2(best.value.sub(top).mul(LOG2_E))), 0);
      const keptPowers = tl.exp2(kept.to(tl.float32).sub(top).mul(LOG2_E));
      tl.store(y.at(row, tl.arange(0, KEPT)), keptPowers.div(sum).to(T), { evictionPolicy: "evict_first" });
      // Backwards: the end of the row was read last, and is the likeliest to lie in the cache still.
      const steps = tl.cdiv(tl.maximum(N.sub(KEPT), 0), step);
      for (const i of tl.range(steps)) {
        const cols = KEPT.add(steps.sub(1).sub(i).mul(step)).add(tl.arange(0, step));
        const values = tl.load(x.at(row, cols), { evictionPolicy: "evict_first" }).to(tl.float32);
        const powers = tl.exp2(values.sub(top).mul(LOG2_E));
        tl.store(y.at(row, cols), powers.div(sum).to(T), { evictionPolicy: "evict_first" });
      }
    }
  },
);

main(import.meta, softmaxLong);
