/** Warp-specialized kernels through real Triton, 3.9 and 3.6, for a GPU that need not be there. */
import { describe, expect, test } from "vitest";
import { build, compile } from "tilescript";
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { attention } from "../../../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../../../examples/fp8-gemm-block-scaled.js";
import { fp8Gemm } from "../../../examples/fp8-gemm.js";
import { gemmPersistentTma } from "../../../examples/gemm-persistent-tma.js";
import { gemm } from "../../../examples/gemm.js";
import { int4Gemm } from "../../../examples/int4-gemm.js";
import { linearGelu } from "../../../examples/linear-gelu.js";
import { relativeAttention } from "../../../examples/relative-attention.js";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { randomAttention } from "../../kernels/random/random-attentions.js";
import { sampleCases, seedOfRun } from "../../support/sampled-tests.js";
import { runScript, python36, requirePython } from "../../support/python.js";
import * as attentions from "../../unit/codegen/fixtures/attentions.js";
import * as modifications from "../../unit/codegen/fixtures/score-modifications.js";
import * as mixed from "../../unit/codegen/fixtures/mixed.js";
import * as products from "../../unit/codegen/fixtures/products.js";

interface Compiled {
  readonly name: string;
  readonly triton: string;
  readonly error?: string;
  readonly registers: number;
  readonly spilled: number;
  readonly shared: number;
  readonly products: number;
  readonly turns: readonly Turn[];
  readonly config: Readonly<Record<string, number>>;
}

/** A loop over blocks: its instructions, and those that move a register to memory or back. */
interface Turn {
  readonly instructions: number;
  readonly moves: number;
}

const SHARED_BYTES = 232_448;
/** How many of a hundred instructions of a turn move registers: one at most reads a bound of its loop again. */
const MOST_MOVES = 0.5;
/** Likewise of a promoted sum of 128 registers: two of 194 instructions in Triton 3.6, three of 197 in 3.9. */
const MOST_MOVES_PROMOTED = 1.6;
/** Likewise of a random kernel, which computes more in its loops. */
const MOST_MOVES_AT_RANDOM = 1;
/** Likewise of a random one with three consumers, which have 160 registers a thread, not 240. */
const MOST_MOVES_BY_THREE = 4;
/** Likewise of sums of keys and values with three consumers: 17 of 278 instructions in Triton 3.6, 19 of 308 in 3.9. */
const MOST_MOVES_OF_TWO_SUMS = 6.5;
/** Likewise of a random one whose turns load, at most 5.5: 128 keys of a bias take as many registers as their scores. */
const MOST_MOVES_BY_LOADING = 6;
/**
 * Bytes of a thread that lie in memory where a tile begins and ends: what they cost is little next to its turns, and bounds
 * are there to notice if they grow.
 */
const MOST_AROUND = 96;
const MOST_AROUND_PROMOTED = 120;
const MOST_AROUND_THREE = 160;
const MOST_AROUND_LOADING = 288;
/** Kernels of a test: each takes a quarter of a minute to compile where the machine is busy. */
const TOGETHER = 3;

interface Sample {
  readonly name: string;
  readonly kernel?: unknown;
  /** A compiled kernel of an operator. */
  readonly part?: CompiledKernel;
  readonly dtype?: string;
  /** The dtypes of tensors that have another than the rest. */
  readonly others?: Readonly<Record<string, string>>;
  /** Constexprs that no config sets. */
  readonly constants?: Readonly<Record<string, number | boolean>>;
  /** Its turns add a product of 64 registers to sums of 128. */
  readonly promotes?: boolean;
  /** It is random, and its turns load. */
  readonly loads?: boolean;
}

const isCausal = seedOfRun() % 2 === 0;
const head = seedOfRun() % 3 === 0 ? 64 : 128;

/** What random kernels call the tensors that a turn loads from. */
const LOADS: ReadonlySet<string> = new Set(["bias", "slopes", "shown", "documents", "lengths"]);

/** Random attention, at its first size. */
function atRandom(seed: number): Sample {
  const { name, kernel, dtype, words, sizes } = randomAttention(seed);
  const [{ D, E }] = sizes as [Record<string, number>];
  const others = {
    ...Object.fromEntries(["lse", "bests", "totals", "slopes"].map((tensor) => [tensor, "float32"])),
    shown: "int8",
    documents: "int32",
    lengths: "int32",
    ...(words.split(", ").includes("float32") && { o: "float32" }),
  };
  const loads = words.split(", ").some((word) => LOADS.has(word));
  return { name, kernel, dtype, others, constants: { D: D!, ...(E && { E }), CAUSAL: isCausal }, loads };
}

/** The gradients of attention, which an operator's kernels compute. */
const gradients = (compile(attentionWithGradients).parts ?? []).flatMap((part): readonly Sample[] => {
  const { name } = part.signature;
  const others = { lse: "float32", delta: "float32" };
  return name.endsWith("_gradients") ? [{ name, part, others, constants: { HEAD_DIM: head, CAUSAL: isCausal } }] : [];
});

const RANDOM = 40;
const FLOAT8 = { a: "float8e4nv", b: "float8e4nv" };

/** A config of each, which the seed of the run draws. */
const all: readonly Sample[] = [
  { name: "gemm", kernel: gemm },
  { name: "gemm_persistent_tma", kernel: gemmPersistentTma },
  { name: "linear_gelu", kernel: linearGelu },
  {
    name: "fp8_gemm",
    kernel: fp8Gemm,
    others: { ...FLOAT8, a_scale: "float32", b_scale: "float32" },
    constants: { FAST_ACCUM: isCausal },
    promotes: !isCausal,
  },
  {
    name: "fp8_gemm_block_scaled",
    kernel: fp8GemmBlockScaled,
    others: { ...FLOAT8, a_scale: "float32", b_scale: "float32" },
    // Rows of the scales of A lie without gaps.
    constants: { stride_a_scale_m: 1, stride_b_scale_k_groups: 1 },
  },
  {
    name: "int4_gemm",
    kernel: int4Gemm,
    dtype: "float16",
    others: { packed: "int32", zeros: "int32" },
    constants: { GROUP_SIZE: 128 },
  },
  { name: "int8_weights", kernel: mixed.int8Weights, others: { w: "int8", scale: "float32" } },
  { name: "int8_scaled", kernel: mixed.int8Scaled, others: { w: "int8" } },
  { name: "int8_batched", kernel: mixed.int8Batched, others: { w: "int8" } },
  { name: "int4_pairs", kernel: mixed.int4Pairs, others: { w: "int8" } },
  { name: "int4_columns", kernel: mixed.int4Columns, others: { w: "int8", scale: "float32" } },
  { name: "on_two_axes", kernel: products.onTwoAxes },
  { name: "twice", kernel: products.twice, others: { d: "float32" } },
  { name: "normalized", kernel: products.normalized },
  { name: "batched", kernel: products.batched },
  { name: "projected", kernel: products.projected, others: { c: "float32" } },
  { name: "chosen", kernel: products.chosen, constants: { HAS_BIAS: true, SILU: true } },
  { name: "between_heads", kernel: attentions.betweenHeads, constants: { D: head, CAUSAL: isCausal } },
  { name: "attention", kernel: attention, constants: { HEAD_DIM: head, CAUSAL: isCausal } },
  {
    name: "in_two_loops",
    kernel: attentions.inTwoLoops,
    others: { lse: "float32" },
    constants: { D: head, CAUSAL: isCausal },
  },
  { name: "in_one_loop", kernel: attentions.inOneLoop, constants: { D: head, CAUSAL: isCausal } },
  { name: "grouped", kernel: attentions.grouped, constants: { D: head } },
  { name: "from_the_last", kernel: attentions.fromTheLast, constants: { D: head } },
  { name: "two_outputs", kernel: attentions.twoOutputs, others: { sums: "float32" }, constants: { D: head } },
  { name: "windowed", kernel: attentions.windowed, constants: { D: head, WINDOW: 256 } },
  { name: "sliding_window", kernel: modifications.slidingWindow, constants: { D: head, WINDOW: 1024 } },
  { name: "soft_capped", kernel: modifications.softCapped, constants: { D: head, CAP: 400 } },
  // A size that is 1 is a constant to Triton, also where the kernel makes a float of it.
  { name: "sloped", kernel: modifications.sloped, constants: { D: head, H: 1 } },
  { name: "relative_attention", kernel: relativeAttention, constants: { HEAD_DIM: head } },
  { name: "long_attention", kernel: attention, constants: { HEAD_DIM: 256, CAUSAL: isCausal } },
  {
    name: "long_in_two_loops",
    kernel: attentions.inTwoLoops,
    others: { lse: "float32" },
    constants: { D: 256, CAUSAL: isCausal },
  },
  { name: "heads_of_256", kernel: attentions.headsOf256 },
  { name: "float32_heads_of_256", kernel: attentions.float32HeadsOf256, others: { o: "float32" } },
  // With heads of 128 elements, Triton 3.9 moves 3 of a hundred instructions of one turn.
  { name: "biased", kernel: modifications.biased, constants: { D: 64 } },
  {
    name: "loaded_slopes",
    kernel: modifications.loadedSlopes,
    others: { slopes: "float32" },
    constants: { D: head, CAUSAL: isCausal },
  },
  { name: "padded", kernel: modifications.padded, others: { shown: "int8" }, constants: { D: head } },
  { name: "documents", kernel: modifications.documents, others: { documents: "int32" }, constants: { D: head } },
  { name: "lengths", kernel: modifications.lengths, others: { lengths: "int32" }, constants: { D: head } },
  ...gradients,
  ...Array.from({ length: RANDOM }, (_, seed) => atRandom(seed)),
];

const isRandom = ({ name }: { readonly name: string }): boolean => name.startsWith("attention_");

const kernels = sampleCases("warp-specialized kernels", all, {
  key: ({ name }) => name,
  sources: (sample) =>
    isRandom(sample)
      ? []
      : [
          "src/codegen/warp-specialize/gluon/gemm-partitions.ts",
          "src/codegen/warp-specialize/gluon/widening-loop.ts",
          "src/codegen/warp-specialize/gluon/attention-partitions.ts",
          "src/codegen/warp-specialize/gluon/streamed-partitions.ts",
          "src/codegen/warp-specialize/gluon/emitter.ts",
        ],
  minimum: 2,
  maximum: 3,
  perRun: 10,
});

const places = kernels.map((_, i) => i).filter((i) => i % TOGETHER === 0);
const groups = places.map((from) => {
  const group = kernels.slice(from, from + TOGETHER);
  return { names: group.map(({ name }) => name).join(", "), group, from };
});

async function asked(group: readonly Sample[], from: number) {
  const dtypes = ["float16", "bfloat16"];
  return Promise.all(
    group.map(async ({ name, kernel, part, dtype, others = {}, constants = {} }, i) => ({
      name,
      text: (part ?? (await build(kernel))).emit({ warpSpecialize: "always" }).python,
      configs: [seedOfRun() + from + i],
      dtype: dtype ?? dtypes[(seedOfRun() + from + i) % 2],
      others,
      constants,
    })),
  );
}

function checkOf(
  { name, registers, shared, products: count, turns, spilled, config }: Compiled,
  { loads = false, promotes = false }: Sample,
): void {
  const isOfThree = config["CONSUMERS"] === 3;
  const mostAtRandom = loads ? MOST_MOVES_BY_LOADING : isOfThree ? MOST_MOVES_BY_THREE : MOST_MOVES_AT_RANDOM;
  const hasTwoSums = name === "attention_key_gradients" && isOfThree;
  const mostOfProduct = promotes ? MOST_MOVES_PROMOTED : hasTwoSums ? MOST_MOVES_OF_TWO_SUMS : MOST_MOVES;
  const most = isRandom({ name }) ? mostAtRandom : mostOfProduct;
  const mostAroundProduct = promotes ? MOST_AROUND_PROMOTED : MOST_AROUND;
  const mostAround = loads ? MOST_AROUND_LOADING : isOfThree ? MOST_AROUND_THREE : mostAroundProduct;
  expect(turns.length).toBeGreaterThan(0);
  for (const { instructions, moves } of turns) expect((100 * moves) / instructions).toBeLessThanOrEqual(most);
  expect(spilled).toBeLessThanOrEqual(mostAround);
  expect(registers).toBeLessThanOrEqual(255);
  expect(shared).toBeLessThanOrEqual(SHARED_BYTES);
  expect(count).toBeGreaterThan(0);
}

const versions = [["3.9", requirePython], ...(python36 ? [["3.6", () => python36] as const] : [])] as const;

describe.each(versions)("Triton %s", (version, pythonOf) => {
  test.each(groups)(
    "should compile $names for sm_90, with hardly a spill in a turn and with room in shared memory",
    async ({ group, from }) => {
      const lines = await asked(group, from);
      const script = new URL("specialized.py", import.meta.url);
      const compiled = await runScript<readonly Compiled[]>((await pythonOf())!, script, lines);
      expect(compiled.map(({ name, error }) => ({ name, error }))).toEqual(
        lines.map(({ name }) => ({ name, error: undefined })),
      );
      for (const [i, each] of compiled.entries()) {
        expect(each.triton.startsWith(version)).toBe(true);
        checkOf(each, group[i]!);
      }
    },
  );
});
