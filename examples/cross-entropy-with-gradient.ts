/**
 * Cross-entropy and its gradient in one pass, for training loops that know the weight of a row's loss, such as 1 / M,
 * before they ask for the gradient. A row is read a second time while it still lies in the L2 cache: logits come from
 * memory once.
 */
import { kernel, main, scalar, tensor, tl } from "tilescript";
import { configs, labels, lanes, LOG2_E, logits, logSumExp, T, visitBackwards } from "./cross-entropy.js";

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
      ...lanes,
    },
    grid: ({ M }) => [M],
    autotune: { key: ["N"], configs },
    reference: ({ logits, labels, scale, N }, torch) => {
      const x = logits.float();
      const loss = torch.nn.functional.cross_entropy(x, labels, { reduction: "none" });
      const change = torch.softmax(x, -1).sub(torch.nn.functional.one_hot(labels, N));
      return [loss.mul(scale), change.mul(scale).to(logits.dtype)];
    },
    shapes: [
      { M: 64, N: 1000 },
      { M: 4096, N: 128_256 },
    ],
  },
  ({ logits, labels, loss, dlogits, scale, N, LANES, ROUNDS }) => {
    const row = tl.inBounds(tl.programId(0));
    const sizes = { N, LANES, ROUNDS };
    const logSum = logSumExp(logits, row, sizes);
    const label = tl.load(labels.at(row)).to(tl.int32);
    tl.store(loss.at(row), logSum.sub(tl.load(logits.at(row, label)).to(tl.float32)).mul(scale));
    visitBackwards(sizes, (columns) => {
      const logit = tl.load(logits.at(row, columns), { evictionPolicy: "evict_first" }).to(tl.float32);
      const probabilities = tl.exp2(logit.sub(logSum).mul(LOG2_E));
      const change = tl.where(columns.eq(label), probabilities.sub(1), probabilities);
      tl.store(dlogits.at(row, columns), change.mul(scale).to(T), { evictionPolicy: "evict_first" });
    });
  },
);

main(import.meta, crossEntropyWithGradient);
