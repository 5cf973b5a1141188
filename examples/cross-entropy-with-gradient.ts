/**
 * Cross-entropy and its gradient in one pass, for training loops that know the weight of a row's loss, such as 1 / M,
 * before they ask for the gradient. A program keeps the start of a row in registers, and reads the rest a second time
 * while it still lies in the L2 cache: logits come from memory once.
 */
import { constexpr, kernel, main, scalar, tensor, tl } from "tilescript";
import { labels, LOG2_E, logits, lossOf, T, WIDTH } from "./cross-entropy.js";

export const crossEntropyWithGradient = kernel(
  "cross_entropy_with_gradient",
  {
    doc: "The loss of each row times scale, and the gradient of their sum, reading logits from memory once.",
    params: {
      logits,
      labels,
      loss: tensor.out(tl.float32, ["M"]),
      dlogits: tensor.out(T, ["M", "N"], { offsets: tl.int64 }),
      scale: scalar(tl.float32, { default: 1 }),
      // Elements of a row that stay in registers.
      KEPT: constexpr(),
      LANES: constexpr(),
      ROUNDS: constexpr(),
      // Programs that share a multiprocessor.
      RESIDENT: constexpr(),
    },
    // No program has a row more than the others if that can be, so that none runs alone at the end.
    grid: ({ M, RESIDENT, device }) => [
      tl.cdiv(M, tl.maximum(tl.cdiv(M, device.multiProcessorCount.mul(RESIDENT)), 1)),
    ],
    autotune: {
      key: ["N"],
      configs: [
        { KEPT: 32768, LANES: 512, ROUNDS: 4, RESIDENT: 1, numWarps: 16 },
        { KEPT: 32768, LANES: 1024, ROUNDS: 1, RESIDENT: 1, numWarps: 32 },
        { KEPT: 16384, LANES: 1024, ROUNDS: 2, RESIDENT: 1, numWarps: 32 },
        { KEPT: 32768, LANES: 512, ROUNDS: 2, RESIDENT: 2, numWarps: 16 },
      ],
    },
    reference: ({ logits, labels, scale, N }, torch) => {
      const x = logits.float();
      const loss = torch.nn.functional.cross_entropy(x, labels, { reduction: "none" });
      const change = torch.softmax(x, -1).sub(torch.nn.functional.one_hot(labels, N));
      return [loss.mul(scale), change.mul(scale).to(logits.dtype)];
    },
    shapes: [
      { M: 64, N: 1000 },
      { M: 2, N: 40_001 },
      { M: 4096, N: 128_256 },
    ],
  },
  ({ logits, labels, loss, dlogits, scale, M, N, KEPT, LANES, ROUNDS }) => {
    const step = ROUNDS.mul(LANES).mul(WIDTH);
    for (const m of tl.range(tl.programId(0), M, tl.numPrograms(0))) {
      const row = tl.inBounds(m);
      const kept = tl.load(logits.at(row, tl.arange(0, KEPT)), { other: -Infinity, evictionPolicy: "evict_first" });
      const first = tl.reshape(kept.to(tl.float32), [KEPT.floorDiv(LANES.mul(WIDTH)), LANES, WIDTH]).mul(LOG2_E);
      // Each lane has a maximum and a sum of its own, so that no lane waits for another inside the loop.
      const best = tl.mut(tl.max(tl.max(first, 2), 0));
      // A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
      const firstShift = tl.where(best.value.eq(-Infinity), 0, best.value);
      const total = tl.mut(tl.sum(tl.sum(tl.exp2(first.sub(tl.expandDims(firstShift, [0, 2]))), 2), 0));
      for (const start of tl.range(KEPT, N, step)) {
        const loaded = tl.load(logits.at(row, start.add(tl.arange(0, step))), {
          other: -Infinity,
          evictionPolicy: "evict_last",
        });
        const values = tl.reshape(loaded.to(tl.float32), [ROUNDS, LANES, WIDTH]).mul(LOG2_E);
        const newBest = tl.maximum(best.value, tl.max(tl.max(values, 2), 0));
        const shift = tl.where(newBest.eq(-Infinity), 0, newBest);
        const powers = tl.exp2(values.sub(tl.expandDims(shift, [0, 2])));
        total.value = total.value.mul(tl.exp2(best.value.sub(shift))).add(tl.sum(tl.sum(powers, 2), 0));
        best.value = newBest;
      }
      const top = tl.max(best.value, 0);
      const shift = tl.where(top.eq(-Infinity), 0, top);
      const sum = tl.sum(total.value.mul(tl.exp2(best.value.sub(shift))), 0);
      const logSum = { shift, log2Sum: tl.log2(sum) };
      const label = tl.load(labels.at(row)).to(tl.int32);
      tl.store(loss.at(row), lossOf(logSum, tl.load(logits.at(row, label)).to(tl.float32)).mul(scale));

      const log2Sum = shift.add(logSum.log2Sum);
      const firstCols = tl.arange(0, KEPT);
      const p0 = tl.exp2(kept.to(tl.float32).mul(LOG2_E).sub(log2Sum));
      tl.store(dlogits.at(row, firstCols), tl.where(firstCols.eq(label), p0.sub(1), p0).mul(scale).to(T), {
        evictionPolicy: "evict_first",
      });
      // Backwards: the end of the row was read last, and is the likeliest to lie in the cache still.
      const steps = tl.cdiv(tl.maximum(N.sub(KEPT), 0), step);
      for (const i of tl.range(steps)) {
        const cols = KEPT.add(steps.sub(1).sub(i).mul(step)).add(tl.arange(0, step));
        const logit = tl.load(logits.at(row, cols), { evictionPolicy: "evict_first" }).to(tl.float32);
        const p = tl.exp2(logit.mul(LOG2_E).sub(log2Sum));
        tl.store(dlogits.at(row, cols), tl.where(cols.eq(label), p.sub(1), p).mul(scale).to(T), {
          evictionPolicy: "evict_first",
        });
      }
    }
  },
);

main(import.meta, crossEntropyWithGradient);
