/**
 * An AdamW step on bfloat16 parameters, computed in float32 and rounded stochastically, so that small steps add up.
 *
 * Random numbers cost more than everything else here, and Philox makes four at once, for four elements side by side.
 */
import { constexpr, kernel, main, scalar, tensor, type Tile, tl } from "tilescript";

/** bfloat16 is the upper half of float32: random bits added to the lower half carry as often as it is large. */
const roundStochastically = tl.fn((x: Tile<"float32", ["BLOCK"]>, random: Tile<"uint32", ["BLOCK"]>) => {
  const carried = x.to(tl.uint32, { bitcast: true }).add(random.shr(16));
  const rounded = carried.and(0xffff0000).to(tl.float32, { bitcast: true });
  // A carry out of NaN's bits would make a number of it.
  return tl.where(x.eq(x), rounded, x).to(tl.bfloat16);
});

export const adamwStochastic = kernel(
  "adamw_stochastic",
  {
    doc: "One step of AdamW, in place; the parameters are rounded stochastically, by the seed and each one's place.",
    params: {
      p: tensor.inout(tl.bfloat16, ["N"], { contiguous: true }),
      grad: tensor(tl.bfloat16, ["N"], { contiguous: true }),
      expAvg: tensor.inout(tl.float32, ["N"], { contiguous: true }),
      expAvgSq: tensor.inout(tl.float32, ["N"], { contiguous: true }),
      lr: scalar(tl.float32, { default: 1e-3 }),
      beta1: scalar(tl.float32, { default: 0.9 }),
      beta2: scalar(tl.float32, { default: 0.999 }),
      eps: scalar(tl.float32, { default: 1e-8 }),
      weightDecay: scalar(tl.float32, { default: 1e-2 }),
      // 1 - beta1^step and 1 - beta2^step.
      biasCorrection1: scalar(tl.float32, { default: 1 }),
      biasCorrection2: scalar(tl.float32, { default: 1 }),
      seed: scalar(tl.int32, { default: 0 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    // Four elements for each thread, so that all of the tensors lie in one layout.
    config: { BLOCK: 512, numWarps: 4 },
    doNotSpecialize: ["seed"],
    // A mean of squares is never negative.
    inputs: ({ N }, torch) => ({ expAvgSq: torch.randn([N]).square() }),
    // Unrounded: each of the kernel's parameters is one of the two bfloat16 values around this.
    reference: (
      { p, grad, expAvg, expAvgSq, lr, beta1, beta2, eps, weightDecay, biasCorrection1, biasCorrection2 },
      torch,
    ) => {
      const mean = torch.lerp(grad, expAvg, beta1);
      const square = torch.lerp(grad.square(), expAvgSq, beta2);
      const denominator = torch.sqrt(square.div(biasCorrection2)).add(eps);
      const decayed = p.sub(p.mul(lr.mul(weightDecay)));
      return {
        p: decayed.sub(mean.div(biasCorrection1).mul(lr).div(denominator)),
        expAvg: mean,
        expAvgSq: square,
      };
    },
    shapes: [{ N: 100_003 }, { N: 1 << 26 }],
  },
  ({
    p,
    grad,
    expAvg,
    expAvgSq,
    lr,
    beta1,
    beta2,
    eps,
    weightDecay,
    biasCorrection1,
    biasCorrection2,
    seed,
    BLOCK,
  }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const g = tl.load(grad.at(offsets)).to(tl.float32);
    const oldMean = tl.load(expAvg.at(offsets));
    const oldSquare = tl.load(expAvgSq.at(offsets));
    const weights = tl.load(p.at(offsets)).to(tl.float32);
    const mean = oldMean.mul(beta1).add(g.mul(tl.sub(1, beta1)));
    const square = oldSquare.mul(beta2).add(g.mul(g).mul(tl.sub(1, beta2)));
    const denominator = tl.sqrt(square.mul(tl.div(1, biasCorrection2))).add(eps);
    const decayed = weights.mul(tl.sub(1, lr.mul(weightDecay)));
    const updated = decayed.sub(mean.mul(lr.div(biasCorrection1)).div(denominator));
    const quads = tl
      .programId(0)
      .mul(BLOCK.floorDiv(4))
      .add(tl.arange(0, BLOCK.floorDiv(4)));
    const [first, second, third, fourth] = tl.randint4x(seed, quads);
    const random = tl.reshape(tl.join(tl.join(first, third), tl.join(second, fourth)), [BLOCK]);
    tl.store(p.at(offsets), roundStochastically(updated, random));
    tl.store(expAvg.at(offsets), mean);
    tl.store(expAvgSq.at(offsets), square);
  },
);

main(import.meta, adamwStochastic);
