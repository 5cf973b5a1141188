/** Mistakes in the emitted text of warp-specialized kernels, each of which the emulator has to notice. */
import { describe, expect, test } from "vitest";
import { compile } from "tilescript";
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { attention } from "../../../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../../../examples/fp8-gemm-block-scaled.js";
import { gemm } from "../../../examples/gemm.js";
import { int4Gemm } from "../../../examples/int4-gemm.js";
import { linearGelu } from "../../../examples/linear-gelu.js";
import { relativeAttention } from "../../../examples/relative-attention.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { headsOf256, inTwoLoops } from "../../unit/codegen/fixtures/attentions.js";
import { promoted } from "../../unit/codegen/fixtures/products.js";
import { anyWord, emulate, gradientInputs, type Launch, mistakesIn, type Trial } from "./emulated.js";

/** A kernel, and where its mistakes are looked for. */
interface Subject extends Pick<Trial, "form" | "sizes" | "constexprs" | "inputs"> {
  readonly kernel: unknown;
  /** Configs, multiprocessors and orders. */
  readonly launches: readonly (readonly [number, number, string])[];
}

/** Three consumers, one and two, whose programs have not all as many tiles. */
const inThree = [
  [2, 3, "random 1"],
  [1, 3, "engines consumers producer"],
  [0, 4, "consumers producer engines"],
] as const;

/** Two consumers and one of keys; three, one and two of queries. */
const inTwo = [
  [3, 3, "random 1"],
  [0, 3, "engines consumers producer"],
  [1, 3, "consumers producer engines"],
] as const;
const inThreeStreams = [
  [4, 3, "random 1"],
  [2, 3, "engines consumers producer"],
  [0, 3, "consumers producer engines"],
] as const;

const subjects: Readonly<Record<string, Subject>> = {
  gemm: {
    form: "product",
    kernel: gemm,
    sizes: { M: 584, N: 136, K: 200 },
    launches: [
      [7, 2, "random 1"],
      [1, 2, "engines consumers producer"],
    ],
  },
  linearGelu: {
    form: "product",
    kernel: linearGelu,
    sizes: { M: 200, N: 392, K: 200 },
    launches: [
      [0, 1, "random 1"],
      [1, 1, "engines consumers producer"],
      [2, 1, "producer engines consumers"],
    ],
  },
  promoted: {
    form: "product",
    kernel: promoted,
    sizes: { M: 200, N: 392, K: 272 },
    launches: [
      [0, 1, "random 1"],
      [1, 1, "engines consumers producer"],
    ],
  },
  fp8GemmBlockScaled: {
    form: "product",
    kernel: fp8GemmBlockScaled,
    sizes: { M: 200, N: 264, K: 1168 },
    launches: [
      [0, 1, "random 1"],
      [1, 1, "engines consumers producer"],
      [2, 2, "producer engines consumers"],
      [3, 1, "random 2"],
      // The iterations of a program are no multiple of the stages.
      [0, 4, "random 3"],
    ],
  },
  int4Gemm: {
    form: "product",
    kernel: int4Gemm,
    sizes: { M: 300, GROUPS: 5, N_WORDS: 33 },
    constexprs: { GROUP_SIZE: 128 },
    inputs: { packed: anyWord, zeros: anyWord },
    launches: [
      [0, 1, "random 1"],
      [1, 1, "engines consumers producer"],
      [2, 2, "producer engines consumers"],
    ],
  },
  attention: {
    form: "attention",
    kernel: attention,
    sizes: { H: 2, S: 300, HEAD_DIM: 64 },
    constexprs: { CAUSAL: true },
    launches: inThree,
  },
  inTwoLoops: {
    form: "attention",
    kernel: inTwoLoops,
    sizes: { H: 2, S: 300, D: 64 },
    constexprs: { CAUSAL: false },
    launches: inThree,
  },
  relativeAttention: {
    form: "attention",
    kernel: relativeAttention,
    sizes: { H: 2, S: 100, HEAD_DIM: 128 },
    // The bias of the first query and the last key, of which a head has one, is large enough to be missed.
    inputs: { bias: (place, random) => (place % 199 === 0 ? 4 : Math.floor(random() * 8) / 8) },
    launches: [
      [0, 1, "random 1"],
      [1, 3, "engines consumers producer"],
      [2, 1, "consumers producer engines"],
    ],
  },
  longHeads: {
    form: "attention",
    kernel: headsOf256,
    sizes: { H: 3, S: 200, D: 256 },
    launches: [
      [0, 4, "random 1"],
      [0, 2, "engines consumers producer"],
      [0, 1, "consumers producer engines"],
    ],
  },
  keyGradients: {
    form: "streamed",
    kernel: "attention_key_gradients",
    sizes: { H: 2, S: 300, HEAD_DIM: 64 },
    constexprs: { CAUSAL: true },
    inputs: gradientInputs,
    launches: inTwo,
  },
  queryGradients: {
    form: "streamed",
    kernel: "attention_query_gradients",
    sizes: { H: 2, S: 300, HEAD_DIM: 64 },
    constexprs: { CAUSAL: false },
    inputs: gradientInputs,
    launches: inThreeStreams,
  },
};

/** The kernels of an operator, which are compiled already. */
const gradients = new Map((compile(attentionWithGradients).parts ?? []).map((part) => [part.signature.name, part]));

/** Changes that make no mistake, for whole kernels or at these sizes: what they are in, what they are, and why. */
const harmless: readonly (readonly [kernels: string, changes: readonly string[], why: string])[] = [
  [
    "gemm linearGelu promoted fp8GemmBlockScaled int4Gemm longHeads attention inTwoLoops relativeAttention",
    ["the next one in blocks.index(part * depth + i % depth)"],
    "every consumer still has blocks of its own, in turn",
  ],
  [
    "attention inTwoLoops relativeAttention",
    [
      "the first operand alone of start[-1] + i * (tile.shape[1] // count)",
      "the first operand alone of i * (tile.shape[1] // count)",
      "the first operand alone of _pieces_of(left, count // 2) + _pieces_of(right, count // 2)",
    ],
    "short heads are stored in one piece; longHeads has two",
  ],
  [
    "inTwoLoops relativeAttention",
    [
      "the next one in q_blocks.index(part)",
      "without mbarrier.arrive(q_emptied.index(part)) #2",
      "the next one in q_emptied.index(part) #2",
    ],
    "short heads keep their queries in registers; longHeads does not",
  ],
  [
    "longHeads",
    ["mbarrier.arrive(v_emptied.index(slot)) before state_2 = warpgroup_mma_wait(0, deps=(sums,)) #2"],
    "the producer waits for the queries first, which are released after that product",
  ],
  [
    "longHeads",
    ["mbarrier.arrive(q_emptied.index(part)) before slot = iteration % STAGES"],
    "nobody else reads that number",
  ],
  [
    "gemm linearGelu int4Gemm",
    [
      "always mbarrier.arrive(emptied.index((iteration + STAGES - 1) % STAGES), pred=0 < K)",
      "always mbarrier.arrive(emptied.index((iteration + STAGES - 1) % STAGES), pred=0 < index_7)",
      "off by one in 0 < K",
      "off by one in 0 < index_7",
    ],
    "the wrapper launches no product of tensors without elements, so a tile has an iteration",
  ],
  ["promoted", ["with a sum in warpgroup_mma(a, right, zeros, use_acc=False, is_async=True)"], "the sum is 0"],
  ["promoted", ["without gl.convert_layout(_whole_of(sums), layout)"], "a store takes a tile of any layout"],
  [
    "fp8GemmBlockScaled",
    ["", " #2", " #3", " #4", " #5"].map((count) => `off by one in index_2 < N_GROUPS${count}`),
    "each tile begins within N",
  ],
  [
    "fp8GemmBlockScaled",
    [
      "no mask in gl.load(b_scale_ptr + index_2 * stride_b_scale_n_groups, mask=(0 < index_1) & (index_2 ...",
      "off by one in 0 < index_1",
      "no mask in gl.load(b_scale_ptr + (index_2 * stride_b_scale_n_groups + 1 * stride_b_scale_k_groups)...",
      "off by one in 1 < index_1",
    ],
    "K has more groups",
  ],
  ["fp8GemmBlockScaled", ["off by one in index_4 < index_1"], "it is odd, and the number of groups is not"],
  [
    "fp8GemmBlockScaled",
    ["", " #2", " #3"].map(
      (count) =>
        `with a sum in warpgroup_mma(a_blocks.index(slot * CONSUMERS + part), b_blocks.index(slot).permute((1,...${count}`,
    ),
    "the sum is 0",
  ],
  [
    "fp8GemmBlockScaled",
    ["the first operand alone of iteration + STAGES"],
    "behind an iteration, their count is above 0",
  ],
  [
    "fp8GemmBlockScaled int4Gemm",
    ["the first operand alone of CONSUMERS * DEPTH"],
    "a consumer has one block for pieces",
  ],
  [
    "fp8GemmBlockScaled int4Gemm longHeads attention inTwoLoops relativeAttention",
    ["the first operand alone of part * depth + i % depth", "the first operand alone of part * depth"],
    "a consumer has one block for pieces",
  ],
  [
    "int4Gemm",
    [
      "no mask in gl.load(scales_ptr + 0 * stride_scales_groups + offsets * stride_scales_n, mask=0 < K)",
      "no mask in gl.load(zeros_ptr + 0 * stride_zeros_groups + offsets // 8 * stride_zeros_n_words, mask...",
      "off by one in 0 < K #2",
    ],
    "K has a group",
  ],
  [
    "gemm linearGelu int4Gemm",
    ["the first operand alone of iteration + STAGES #2"],
    "behind the iterations, their count is above 0",
  ],
  [
    "attention inTwoLoops relativeAttention longHeads",
    ["an iteration more of for i in range(gl.cdiv(tiles, gl.num_programs(0)))"],
    "a lap without a tile does nothing",
  ],
  [
    "attention inTwoLoops relativeAttention longHeads",
    ["the next one in q_filled.index(i_1)"],
    "each barrier still gets its announcement, before it or after the bytes",
  ],
  [
    "attention",
    [
      "the first operand alone of index_1 + part * (BLOCK_M // CONSUMERS) + 1",
      "the first operand alone of index_1 + part * (BLOCK_M // CONSUMERS) #2",
      "the first operand alone of part * (BLOCK_M // CONSUMERS) #2",
    ],
    "more iterations have a mask, which hides nothing there",
  ],
  [
    "attention inTwoLoops longHeads",
    [
      "mbarrier.arrive(k_emptied.index(slot)) before products, sums = warpgroup_mma_wait(1, deps=(scoring, adding))",
      "mbarrier.arrive(k_emptied.index(slot)) before products, sums = warpgroup_mma_wait(1, deps=(scoring, adding)) #2",
    ],
    "the producer waits for a slot of values first, which is emptied later",
  ],
  [
    "relativeAttention",
    [
      "mbarrier.arrive(k_emptied.index(slot)) before value = gl.load(bias_base + (offsets - i_1)[:, None] - offsets_1[None, :])",
      "mbarrier.arrive(k_emptied.index(slot)) before value = gl.load(bias_base + offsets_2 - offsets_1[None, :], mask=(offsets_3 >= 0) & (of...",
    ],
    "the products are waited for before the load, and the keys are read no more",
  ],
  [
    "attention relativeAttention",
    [
      "with a sum in warpgroup_mma(queries, k_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]).permute((1, 0)...",
      "with a sum in warpgroup_mma(queries, k_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]).permute((1, 0)... #2",
    ],
    "the sum is 0",
  ],
  [
    "longHeads",
    [
      "with a sum in warpgroup_mma(queries, k_blocks.index(slot).reshape([BLOCK_N, 256]).permute((1, 0)), gl...",
      "with a sum in warpgroup_mma(queries, k_blocks.index(slot).reshape([BLOCK_N, 256]).permute((1, 0)), gl... #2",
    ],
    "the sum is 0",
  ],
  [
    "inTwoLoops",
    [
      "with a sum in warpgroup_mma(queries, k_blocks.index(slot).reshape([BLOCK_N, D]).permute((1, 0)), gl.z...",
      "with a sum in warpgroup_mma(queries, k_blocks.index(slot).reshape([BLOCK_N, D]).permute((1, 0)), gl.z... #2",
    ],
    "the sum is 0",
  ],
  [
    "attention inTwoLoops relativeAttention longHeads",
    ["the next one in turn_given.index((part + 1) % CONSUMERS) #2", "the first operand alone of part + 1 #2"],
    "a tile has one iteration with a mask at most, and its last iteration gives what is owed: consumers have another order",
  ],
  [
    "relativeAttention",
    ["the next one in turn_given.index((part + 1) % CONSUMERS)", "the first operand alone of part + 1"],
    "a tile has one iteration without a mask, and so have all",
  ],
  ["attention", ["off by one in offsets_1[None, :] < S"], "the row's own mask hides that key, too"],
  [
    "relativeAttention",
    ["off by one in offsets_3 < DISTANCES"],
    "rows past the end take the biases of the last one, so no lane lies there",
  ],
  [
    "inTwoLoops relativeAttention",
    [
      "without mbarrier.wait(q_emptied.index(i_1), i & 1 ^ 1)",
      "mbarrier.arrive(q_emptied.index(part)) before fence_async_shared()",
    ],
    "a tile of two iterations waits for a slot that is emptied after the queries are read; that of one iteration is in attention",
  ],
  [
    "inTwoLoops",
    ["off by one in offsets[:, None] >= offsets_1[None, :]"],
    "no launch without a causal mask comes to it; attention has it",
  ],
  [
    "keyGradients queryGradients",
    ["the next one in own_filled.index(i)"],
    "each barrier still gets its announcement, before it or after the bytes",
  ],
  [
    "keyGradients",
    [
      "without mbarrier.wait(q_emptied.index(slot), iteration // STAGES & 1 ^ 1)",
      "without mbarrier.wait(d_out_emptied.index(slot), iteration // STAGES & 1 ^ 1)",
      "_attention_key_gradients_load: the next one in q_emptied.index(slot)",
      "_attention_key_gradients_load: the next one in d_out_emptied.index(slot)",
    ],
    "the first loop has fewer iterations than there are slots",
  ],
  [
    "keyGradients",
    [
      "mbarrier.arrive(d_out_emptied.index(slot)) before fence_async_shared()",
      "mbarrier.arrive(d_out_emptied.index(slot)) before fence_async_shared() #2",
    ],
    "the producer waits for a slot of queries first, which is emptied behind the fence",
  ],
  [
    "keyGradients",
    [
      "with a sum in warpgroup_mma(k_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), q_blocks.in...",
      "with a sum in warpgroup_mma(v_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), d_out_block...",
      "with a sum in warpgroup_mma(k_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), q_blocks.in... #2",
      "with a sum in warpgroup_mma(v_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), d_out_block... #2",
    ],
    "the sum is 0",
  ],
  [
    "queryGradients",
    [
      "with a sum in warpgroup_mma(q_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), k_blocks.in...",
      "with a sum in warpgroup_mma(d_out_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), v_block...",
      "with a sum in warpgroup_mma(q_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), k_blocks.in... #2",
      "with a sum in warpgroup_mma(d_out_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]), v_block... #2",
    ],
    "the sum is 0",
  ],
  [
    "queryGradients",
    [
      "without mbarrier.wait(v_emptied.index(slot), iteration // STAGES & 1 ^ 1)",
      "mbarrier.arrive(v_emptied.index(slot)) before products_1 = warpgroup_mma_wait(0, deps=(scoring_1,))",
    ],
    "the producer waits for a slot of keys first, which is emptied later",
  ],
  [
    "queryGradients",
    [
      "without iteration += 1 #2",
      "mbarrier.arrive(v_emptied.index(slot)) before products_1 = warpgroup_mma_wait(0, deps=(scoring_1,)) #2",
      "mbarrier.arrive(k_emptied.index(slot)) before state = warpgroup_mma_wait(0, deps=(adding,)) #2",
      "without mbarrier.arrive(v_emptied.index(slot)) #2",
      "without mbarrier.arrive(k_emptied.index(slot)) #2",
    ],
    "the second loop has one iteration, the last one",
  ],
  [
    "queryGradients",
    ["off by one in offsets_1[None, :] < S"],
    "keys past the end are 0, and their weights add nothing",
  ],
  [
    "queryGradients",
    ["off by one in offsets[:, None] >= offsets_1[None, :]"],
    "no launch has a causal mask; the kernels that are run beside the evaluator do",
  ],
];
const isHarmless = (name: string, label: string): boolean =>
  harmless.some(
    ([kernels, changes]) => kernels.split(" ").includes(name) && textsOf(label).some((each) => changes.includes(each)),
  );
/** With the function that it is in, and without. */
const textsOf = (label: string): readonly string[] => [label, label.slice(label.indexOf(": ") + 2)];

const names = Object.keys(subjects);
const built = names.map((name) => {
  const { kernel } = subjects[name]!;
  return typeof kernel === "string" ? gradients.get(kernel) : (compile(kernel as any) as any);
});
const mistakes = (await mistakesIn(built)).flatMap((labels, i) => labels.map((label) => ({ name: names[i]!, label })));
const wanted = sampleCases("mistakes in warp-specialized kernels", mistakes, {
  key: ({ name, label }) => `${name} ${label}`,
  maximum: 12,
  perRun: 60,
});

describe("mistakes in warp-specialized kernels", () => {
  test("should all be found", { timeout: 600_000 }, async () => {
    const trials = names.map((name, i): Trial => {
      const { launches, ...subject } = subjects[name]!;
      return {
        ...subject,
        name,
        kernel: built[i],
        dtype: "float16",
        launches: launches.map(([config, multiprocessors, order]): Launch => ({
          config,
          multiprocessors,
          order,
          version: "3.9",
        })),
        mistakes: wanted.filter((each) => each.name === name).map(({ label }) => label),
      };
    });
    const found = (await emulate(trials)).flatMap(({ name, wrong }, i) =>
      trials[i]!.mistakes!.map((label, place) => {
        const said = wrong[place] ?? null;
        const isFound = said !== null && said !== "not reached" && !said.startsWith("unknown");
        return { name, label, said, isFound };
      }),
    );
    expect(found).toHaveLength(wanted.length);
    expect(found.filter(({ name, label, isFound }) => isFound === isHarmless(name, label))).toEqual([]);
  });

  test("should name what stands in the texts", () => {
    const known = mistakes.flatMap(({ name, label }) => textsOf(label).map((each) => `${name}: ${each}`));
    const stale = harmless.flatMap(([kernels, changes]) =>
      changes.filter((change) => !kernels.split(" ").some((name) => known.includes(`${name}: ${change}`))),
    );
    expect(stale).toEqual([]);
  });
});
