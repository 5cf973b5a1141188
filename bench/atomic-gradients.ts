/** The backward pass of attention by atomic additions, which `gradients.ts` times next to that of the example. */
import type { Variant } from "./variants.js";

export const atomicGradients: Variant = {
  part: "gradients",
  example: "attention-gradients",
  name: "atomic_gradients",
  because:
    "five products instead of seven; but the bits of dQ change from run to run, as programs add to it in any order",
  changes: [
    ['"attention_with_gradients"', '"attention_with_atomic_gradients"'],
    [
      "      dv: newHeads,\n",
      '      dv: newHeads,\n      dq: tensor.out(tl.float32, ["H", "S", "HEAD_DIM"], { zeroed: true }),\n',
    ],
    ["({ q, k, v, dOut, lse, delta, dk, dv, S,", "({ q, k, v, dOut, lse, delta, dk, dv, dq, S,"],
    // Eight warps do not spill.
    ["{ BLOCK: 128, STEP: 32, numWarps: 4, numStages: 4 }", "{ BLOCK: 128, STEP: 32, numWarps: 8, numStages: 3 }"],
    [
      "      dkSum.value = tl.dot(weights.mul(change).to(T), queries, dkSum.value);\n",
      [
        "      const scoresGradient = weights.mul(change).to(T);",
        "      dkSum.value = tl.dot(scoresGradient, queries, dkSum.value);",
        "      const queryGradient = tl.dot(scoresGradient.T, keys).mul(scale);",
        '      tl.atomicAdd(dq.at(head, rm, rd), queryGradient, { sem: "relaxed" });\n',
      ].join("\n"),
    ],
    [
      "    const { dk, dv } = attentionKeyGradients.call({ q, k, v, dOut, lse, delta, CAUSAL });\n" +
        "    const { dq } = attentionQueryGradients.call({ q, k, v, dOut, lse, delta, CAUSAL });\n" +
        "    return { q: dq, k: dk, v: dv };\n",
      "    const { dk, dv, dq } = attentionKeyGradients.call({ q, k, v, dOut, lse, delta, CAUSAL });\n" +
        "    return { q: dq.to(T), k: dk, v: dv };\n",
    ],
  ],
};
