/**
 * Mistakes that every example can have, and that must fail whatever its dtype: what they look like in each example, or
 * why it cannot have them. A change is the text to replace and what replaces it.
 */
import type { TestCase } from "../../../src/compiled/compiled-kernel.js";

export type Change = readonly [from: string, to: string];
/** Why an example cannot have this mistake. */
export type None = { readonly none: string };

/** A value that the kernel stores to an output. */
export interface Stored {
  readonly output: string;
  /** The text of the value, before the cast to the output's dtype. */
  readonly value: string;
  /** The cast that follows it. */
  readonly cast: string;
  /** The condition, as text, that holds in one row of the output. */
  readonly row: string;
}

export interface Faulty {
  readonly example: string;
  readonly kernel: string;
  readonly at: Pick<TestCase, "sizes" | "scalars" | "constexprs">;
  readonly stored: readonly Stored[];
  /** A factor or a divisor is left out. */
  readonly scale: Change | None;
  /** One operand stands for another. */
  readonly swap: Change | None;
  /** Why an unrounded run cannot tell: the kernel works on the bits of its floats. */
  readonly bits?: string;
}

const stored = (output: string, value: string, row: string, cast = ".to(T)"): Stored => ({ output, value, cast, row });

export const faulty: readonly Faulty[] = [
  {
    example: "vector-add",
    kernel: "vectorAdd",
    at: { sizes: { N: 70 } },
    stored: [stored("z", "tl.load(x.at(offsets)).add(tl.load(y.at(offsets)))", "offsets.eq(0)", "")],
    scale: { none: "a sum has no factor" },
    swap: ["tl.load(y.at(offsets))", "tl.load(x.at(offsets))"],
  },
  {
    example: "asin",
    kernel: "asin",
    at: { sizes: { N: 70 } },
    stored: [stored("y", "libdevice.asin(tl.load(x.at(offsets)))", "offsets.eq(0)", "")],
    scale: { none: "an angle has no factor" },
    swap: { none: "it has one operand" },
  },
  {
    example: "softmax",
    kernel: "softmax",
    at: { sizes: { M: 5, N: 70 } },
    stored: [stored("y", "numerator.div(denominator)", "row.eq(0)", "")],
    scale: [".div(denominator)", ""],
    swap: ["numerator.div(denominator)", "denominator.div(numerator)"],
  },
  {
    example: "softmax-rows",
    kernel: "softmaxRows",
    at: { sizes: { M: 5, N: 70 } },
    stored: [stored("y", "numerator.div(tl.sum(numerator, 1).col)", "rows.col.eq(0)", "")],
    scale: [".div(tl.sum(numerator, 1).col)", ""],
    swap: ["values.sub(tl.max(values, 1).col)", "tl.max(values, 1).col.sub(values)"],
  },
  {
    example: "softmax-long",
    kernel: "softmaxLong",
    at: { sizes: { M: 3, N: 70 } },
    stored: [stored("y", "keptPowers.div(sum)", "row.eq(0)")],
    scale: [".div(sum)", ""],
    swap: ["kept.to(tl.float32).sub(top)", "top.sub(kept.to(tl.float32))"],
  },
  {
    example: "gemm",
    kernel: "gemm",
    at: { sizes: { M: 33, N: 33, K: 33 } },
    stored: [stored("c", "acc.value", "rm.col.eq(0)")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["tl.load(b.at(rk, bn))", "tl.load(b.at(bn, rk)).T"],
  },
  {
    example: "gemm-persistent",
    kernel: "gemmPersistent",
    at: { sizes: { M: 33, N: 33, K: 33 }, constexprs: { PROGRAMS: 1 } },
    stored: [stored("c", "acc.value", "rm.col.eq(0)")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["tl.load(b.at(rk, bn))", "tl.load(b.at(bn, rk)).T"],
  },
  {
    example: "gemm-tma",
    kernel: "gemmTma",
    at: { sizes: { M: 40, N: 40, K: 40 } },
    stored: [stored("c", "acc.value", "tl.arange(0, BLOCK_M).col.eq(0)")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["b.load([k, offN])", "b.load([offN, k.add(8)])"],
  },
  {
    example: "gemm-persistent-tma",
    kernel: "gemmPersistentTma",
    at: { sizes: { M: 40, N: 40, K: 40 } },
    stored: [stored("c", "left", "tl.arange(0, BLOCK_M).col.eq(0)")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["b.load([k, offN])", "b.load([offN, k.add(8)])"],
  },
  {
    example: "linear-gelu",
    kernel: "linearGelu",
    at: { sizes: { M: 40, N: 40, K: 40 } },
    stored: [stored("y", "gelu(sums)", "tl.arange(0, BLOCK_M).col.eq(0)")],
    scale: [".mul(0.5)", ""],
    swap: ["a.mul(tl.exp2(exponent))", "s.mul(tl.exp2(exponent))"],
  },
  {
    example: "gemm-block-scaled",
    kernel: "gemmBlockScaled",
    at: { sizes: { M: 20, N: 20, GROUPS: 2 } },
    stored: [stored("c", "acc.value", "rm.col.eq(0)", ".to(tl.float16)")],
    scale: ["tl.load(aScale.at(am, rg))", "tl.load(aScale.at(am, rg)).mul(0).add(127)"],
    swap: ["tl.load(bScale.at(bn, rg))", "tl.load(bScale.at(bn, rg.mul(0)))"],
    bits: "a scaled product reads the bits of its operands",
  },
  {
    example: "grouped-gemm",
    kernel: "groupedGemm",
    at: { sizes: { TOTAL: 33, GROUPS: 2, K: 40, N: 40 } },
    stored: [stored("c", "acc.value", "rm.col.eq(0)")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["b.load([group, k, n])", "b.load([GROUPS.sub(1).sub(group), k, n])"],
  },
  {
    example: "int4-gemm",
    kernel: "int4Gemm",
    at: { sizes: { M: 9, GROUPS: 1, N_WORDS: 3 } },
    stored: [stored("c", "acc.value", "rm.col.eq(0)", ".to(tl.float16)")],
    scale: ["low.sub(zero.row).mul(scale.row)", "low.sub(zero.row)"],
    swap: ["tl.join(even, odd)", "tl.join(odd, even)"],
  },
  {
    example: "flash-attention",
    kernel: "attention",
    at: { sizes: { H: 1, S: 40, HEAD_DIM: 16 } },
    stored: [stored("o", "acc.value.div(total.value.col)", "rm.col.eq(0)")],
    scale: [".mul(scale)", ""],
    swap: ["tl.load(k.at", "tl.load(v.at"],
  },
  {
    example: "varlen-attention",
    kernel: "varlenAttention",
    at: { sizes: { TOTAL: 60, H: 1, OFFSETS: 4, HEAD_DIM: 16 } },
    stored: [stored("o", "acc.value.div(total.value.col)", "rm.col.eq(0)")],
    scale: [".mul(scale)", ""],
    swap: ["tl.load(k.at", "tl.load(v.at"],
  },
  {
    example: "attention-gradients",
    kernel: "attentionWithGradients",
    at: { sizes: { H: 1, S: 40, HEAD_DIM: 16 } },
    stored: [stored("o", "acc.value.div(total.value.col)", "rm.col.eq(0)")],
    scale: [".mul(LOG2_E)", ""],
    swap: ["tl.load(k.at", "tl.load(v.at"],
  },
  {
    example: "relative-attention",
    kernel: "relativeAttention",
    at: { sizes: { H: 1, S: 40, HEAD_DIM: 16 } },
    stored: [stored("o", "acc.value.div(total.value.col)", "rm.col.eq(0)")],
    scale: [".mul(scale)", ""],
    swap: ["lastDistance.sub(start).col.sub(offsets.row)", "lastDistance.col.mul(0).add(rn.row)"],
  },
  {
    example: "cross-entropy",
    kernel: "crossEntropy",
    at: { sizes: { M: 3, N: 70 } },
    stored: [stored("loss", "lossOf(logSum, tl.load(logits.at(row, label)).to(tl.float32))", "row.eq(0)", "")],
    scale: [".mul(LN_2)", ""],
    swap: ["logits.at(row, label)", "logits.at(row, label.mul(0))"],
  },
  {
    example: "cross-entropy-with-gradient",
    kernel: "crossEntropyWithGradient",
    at: { sizes: { M: 3, N: 70 } },
    stored: [
      stored("loss", "lossOf(logSum, tl.load(logits.at(row, label)).to(tl.float32)).mul(scale)", "row.eq(0)", ""),
      stored("dlogits", "tl.where(firstCols.eq(label), p0.sub(1), p0).mul(scale)", "row.eq(0)"),
    ],
    scale: [".mul(LOG2_E)", ""],
    swap: ["tl.where(firstCols.eq(label), p0.sub(1), p0)", "tl.where(firstCols.eq(label), p0, p0.sub(1))"],
  },
  {
    example: "linear-cross-entropy",
    kernel: "linearCrossEntropy",
    at: { sizes: { M: 3, V: 70, K: 20 } },
    stored: [stored("loss", "log2Sum.mul(LN_2).sub(tl.sum(products.value, 0))", "row.eq(0)", "")],
    scale: [".mul(LOG2_E), -Infinity", ", -Infinity"],
    swap: ["weight.at(tl.inBounds(label), rk)", "weight.at(label.mul(0), rk)"],
  },
  {
    example: "bias-gelu",
    kernel: "biasGelu",
    at: { sizes: { M: 3, N: 70 } },
    stored: [stored("y", "s.mul(phi(s))", "row.eq(0)")],
    scale: ["s.mul(phi(s))", "phi(s)"],
    swap: ["tl.load(bias.at(cols))", "tl.load(x.at(row, cols))"],
  },
  {
    example: "silu-mul",
    kernel: "siluMul",
    at: { sizes: { M: 3, N: 70 } },
    stored: [stored("y", "x.mul(tl.sigmoid(x)).mul(scale)", "row.eq(0)")],
    scale: [".mul(tl.sigmoid(x))", ""],
    swap: ["tl.load(up.at", "tl.load(gate.at"],
  },
  {
    example: "add-rms-norm",
    kernel: "addRmsNorm",
    at: { sizes: { M: 3, N: 70 } },
    stored: [
      stored("y", "values.mul(scale).mul(w)", "row.eq(0)"),
      stored("sum", "left.add(right)", "row.eq(0)", ".to(T)"),
    ],
    scale: [".mul(w)", ""],
    swap: ["tl.load(residual.at", "tl.load(x.at"],
  },
  {
    example: "add-layer-norm",
    kernel: "addLayerNorm",
    at: { sizes: { M: 3, N: 70 } },
    stored: [
      stored("y", "centered.mul(scale).mul(w).add(b)", "row.eq(0)"),
      stored("sum", "values", "row.eq(0)", ".to(T)"),
    ],
    scale: ["centered.mul(scale).mul(w)", "centered.mul(w)"],
    swap: [".mul(w).add(b)", ".mul(b).add(w)"],
  },
  {
    example: "rotary",
    kernel: "rotary",
    at: { sizes: { S: 3, H: 5, HALF: 6 } },
    stored: [stored("y", "left.mul(c).sub(right.mul(s).mul(turned))", "head.col.eq(0)")],
    scale: ["left.mul(c)", "left"],
    swap: ["left.mul(c).sub(right.mul(s)", "right.mul(c).sub(left.mul(s)"],
  },
  {
    example: "fp8-gemm",
    kernel: "fp8Gemm",
    at: { sizes: { M: 33, N: 33, K: 48 } },
    stored: [stored("c", "acc.value.mul(scale)", "rm.col.eq(0)", ".to(OUT)")],
    scale: [".mul(scale)", ""],
    swap: ["tl.load(aScale.at(rm))", "tl.load(bScale.at(rm))"],
  },
  {
    example: "fp8-gemm-block-scaled",
    kernel: "fp8GemmBlockScaled",
    at: { sizes: { M: 33, N: 33, K: 144 } },
    stored: [stored("c", "acc.value", "rm.col.eq(0)", ".to(OUT)")],
    scale: [".mul(blockScale)", ""],
    swap: ["tl.load(aScale.at(group, am))", "tl.load(bScale.at(group, rm))"],
  },
  {
    example: "gemm-float32",
    kernel: "gemmFloat32",
    at: { sizes: { M: 33, N: 33, K: 33 } },
    stored: [stored("c", "acc.value", "rm.col.eq(0)", ");")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["tl.load(b.at(bn, rk)).T", "tl.load(b.at(bn, tl.inBounds(rk.mul(0)))).T"],
  },
  {
    example: "int8-gemm",
    kernel: "int8Gemm",
    at: { sizes: { M: 33, N: 33, K: 33 } },
    stored: [stored("c", "acc.value.to(tl.float32).mul(scale)", "rm.col.eq(0)", ".to(OUT)")],
    scale: [".mul(scale)", ""],
    swap: ["tl.load(aScale.at(rm))", "tl.load(bScale.at(rm))"],
  },
  {
    example: "gemm-split-k",
    kernel: "gemmSplitK",
    at: { sizes: { M: 33, N: 33, K: 133 } },
    stored: [stored("c", "tl.sum(total.value, 0)", "row.eq(0)", ".to(OUT)")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["tl.load(b.at(rk, bn))", "tl.load(b.at(bn, rk)).T"],
  },
  {
    example: "gemm-stream-k",
    kernel: "gemmStreamK",
    at: { sizes: { M: 33, N: 33, K: 133 } },
    stored: [stored("c", "total.value", "rows.col.eq(0)")],
    scale: { none: "a product of matrices has no factor" },
    swap: ["tl.load(b.at(rk, bn))", "tl.load(b.at(bn, rk)).T"],
  },
  {
    example: "all-reduce",
    kernel: "allReduce",
    at: { sizes: { N: 70 } },
    stored: [stored("y", "total.value", "places.eq(0)")],
    scale: { none: "a sum has no factor" },
    swap: ["tl.load(each.at(places))", "tl.load(rank0.at(places))"],
  },
  {
    example: "histogram",
    kernel: "histogram",
    at: { sizes: { N: 70, BINS: 10 } },
    stored: [
      stored("counts", "tl.histogram(tl.load(x.at(places)), BLOCK_BINS, { mask: places.lt(N) })", "bins.eq(0)", ""),
    ],
    scale: { none: "a count has no factor" },
    swap: { none: "it has one operand" },
  },
  {
    example: "vector-sum",
    kernel: "vectorSum",
    at: { sizes: { N: 3000 } },
    stored: [stored("y", "tl.sum(tl.load(sums.at(tl.arange(0, BLOCK))), 0)", "tl.programId(0).eq(0)", "")],
    scale: { none: "a sum has no factor" },
    swap: { none: "it has one operand" },
  },
  {
    example: "paged-attention",
    kernel: "pagedAttention",
    at: { sizes: { B: 2, H: 1, G: 4, PAGES: 5, MAX_PAGES: 3, PAGE_SIZE: 16, HEAD_DIM: 64 } },
    stored: [stored("o", "acc.value.div(total.value.col)", "rg.col.eq(0)")],
    scale: [".mul(scale)", ""],
    swap: ["tl.load(kCache.at", "tl.load(vCache.at"],
  },
  {
    example: "mamba-chunk-scan",
    kernel: "chunkScan",
    at: { sizes: { BATCH: 1, CHUNKS: 1, CHUNK: 40, HEADS: 1, HEAD_DIM: 20, STATE: 16 } },
    stored: [stored("y", "out", "rl.col.eq(0)")],
    scale: [".mul(step.row)", ""],
    swap: ["tl.load(b.at", "tl.load(c.at"],
  },
  {
    example: "moe-gemm",
    kernel: "moeGemm",
    at: { sizes: { M: 9, N: 20, K: 20, E: 2, TOP_K: 2, BLOCK_M: 16 } },
    stored: [stored("out", "acc.value", "choices.col.eq(0)")],
    scale: ["acc.value.mul(tl.load(topkWeights.gather(tokens, slots)).col)", "acc.value"],
    swap: ["tl.load(w.at(expert, bn, rk).T)", "tl.load(w.at(expert, rk, bn))"],
  },
  {
    example: "layer-norm",
    kernel: "layerNorm",
    at: { sizes: { M: 5, N: 70 } },
    stored: [stored("y", "centered.mul(scale).mul(w).add(b)", "row.eq(0)")],
    scale: ["centered.mul(scale).mul(w)", "centered.mul(w)"],
    swap: [".mul(w).add(b)", ".mul(b).add(w)"],
  },
  {
    example: "rms-norm",
    kernel: "rmsNorm",
    at: { sizes: { M: 5, N: 70 } },
    stored: [stored("y", "values.mul(scale).mul(w.to(tl.float32))", "row.eq(0)")],
    scale: ["values.mul(scale).mul(w", "values.mul(w"],
    swap: ["values.mul(scale).mul(w.to(tl.float32))", "values.mul(scale).mul(values)"],
  },
  {
    example: "jagged-softmax",
    kernel: "jaggedSoftmax",
    at: { sizes: { TOTAL: 60, D: 20, OFFSETS: 4 } },
    stored: [stored("out", "y", "rows.col.eq(0)")],
    scale: [".div(total.value.row)", ""],
    swap: ["tl.exp(x.sub(best.value.row)).div(total.value.row)", "total.value.row.div(tl.exp(x.sub(best.value.row)))"],
  },
  {
    example: "max-pool-3d",
    kernel: "maxPool3d",
    at: { sizes: { N: 1, C: 1, D: 5, H: 6, W: 7 } },
    stored: [
      stored("y", "best.value", "offsets.eq(1)"),
      stored("indices", "place.value", "offsets.eq(1)", ".to(tl.int64)"),
    ],
    scale: { none: "a maximum has no factor" },
    swap: { none: "it has one operand" },
  },
  {
    example: "bitonic-topk",
    kernel: "bitonicTopk",
    at: { sizes: { M: 5, N: 40, K: 6 } },
    stored: [
      stored("values", "bits.to(tl.float32, { bitcast: true })", "rows.col.eq(0)"),
      stored("indices", "best.value.and(0xffffffff)", "rows.col.eq(0)", ""),
    ],
    scale: { none: "a choice has no factor" },
    swap: { none: "it has one operand" },
  },
  {
    example: "stochastic-rounding",
    kernel: "adamwStochastic",
    at: { sizes: { N: 70 } },
    stored: [
      stored("p", "updated", "offsets.eq(0)", ", random"),
      stored("expAvg", "mean", "offsets.eq(0)", ");"),
      stored("expAvgSq", "square", "offsets.eq(0)", ");"),
    ],
    scale: ["mean.mul(lr.div(biasCorrection1))", "mean.div(biasCorrection1)"],
    swap: ["tl.store(expAvg.at(offsets), mean)", "tl.store(expAvg.at(offsets), square)"],
    bits: "it rounds by adding random bits",
  },
];
