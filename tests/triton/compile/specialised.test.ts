/** Warp-specialised kernels through real Triton, 3.9 and 3.6, for a GPU that need not be there. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { attention } from "../../../examples/flash-attention.js";
import { gemmPersistentTma } from "../../../examples/gemm-persistent-tma.js";
import { gemm } from "../../../examples/gemm.js";
import { linearGelu } from "../../../examples/linear-gelu.js";
import { randomAttention } from "../../kernels/random/random-attentions.js";
import { drawn, seedOfRun } from "../../support/drawn.js";
import { askScript, tritons } from "../../support/python.js";
import * as attentions from "../../unit/codegen/fixtures/attentions.js";
import * as modifications from "../../unit/codegen/fixtures/score-modifications.js";
import * as products from "../../unit/codegen/fixtures/products.js";

interface Compiled {
  readonly name: string;
  readonly triton: string;
  readonly error?: string;
  readonly registers: number;
  readonly spilled: number;
  readonly shared: number;
  readonly products: number;
  readonly config: Readonly<Record<string, number>>;
}

const SHARED_BYTES = 232_448;
/** Bytes of a thread that Triton 3.9 keeps in memory around attention's loops; 3.6 keeps none. */
const MOST_SPILLED = 16;
/** Likewise of a random one, which computes more in its loops. */
const MOST_SPILLED_AT_RANDOM = 24;
/** Three consumers have 160 registers a thread, not 240, and masks that compare rows want more. */
const MOST_SPILLED_BY_THREE = 96;

interface Sample {
  readonly name: string;
  readonly kernel: unknown;
  readonly dtype?: string;
  /** The dtypes of tensors that have another than the rest. */
  readonly others?: Readonly<Record<string, string>>;
  /** Constexprs that no config sets. */
  readonly constants?: Readonly<Record<string, number | boolean>>;
  /** Bytes of a thread that Triton 3.9 keeps in memory around several loops that compute more. */
  readonly most?: number;
}

const isCausal = seedOfRun() % 2 === 0;
const head = seedOfRun() % 3 === 0 ? 64 : 128;

/** Random attention, at its first size. */
function atRandom(seed: number): Sample {
  const { name, kernel, dtype, words, sizes } = randomAttention(seed);
  const [{ D, E }] = sizes as [Record<string, number>];
  const others = {
    ...Object.fromEntries(["lse", "bests", "totals"].map((output) => [output, "float32"])),
    ...(words.split(", ").includes("float32") && { o: "float32" }),
  };
  return { name, kernel, dtype, others, constants: { D: D!, ...(E && { E }), CAUSAL: isCausal } };
}

const RANDOM = 40;

/** A config of each, which the seed of the run draws. */
const all: readonly Sample[] = [
  { name: "gemm", kernel: gemm },
  { name: "gemm_persistent_tma", kernel: gemmPersistentTma },
  { name: "linear_gelu", kernel: linearGelu },
  { name: "on_two_axes", kernel: products.onTwoAxes },
  { name: "twice", kernel: products.twice, others: { d: "float32" } },
  { name: "normalised", kernel: products.normalised },
  { name: "attention", kernel: attention, constants: { HEAD_DIM: head, CAUSAL: isCausal } },
  {
    name: "in_two_loops",
    kernel: attentions.inTwoLoops,
    others: { lse: "float32" },
    constants: { D: head, CAUSAL: isCausal },
    most: 24,
  },
  { name: "in_one_loop", kernel: attentions.inOneLoop, constants: { D: head, CAUSAL: isCausal } },
  { name: "grouped", kernel: attentions.grouped, constants: { D: head } },
  { name: "from_the_last", kernel: attentions.fromTheLast, constants: { D: head } },
  { name: "two_outputs", kernel: attentions.twoOutputs, others: { sums: "float32" }, constants: { D: head } },
  { name: "windowed", kernel: attentions.windowed, constants: { D: head, WINDOW: 256 } },
  { name: "sliding_window", kernel: modifications.slidingWindow, constants: { D: head, WINDOW: 1024 }, most: 72 },
  { name: "soft_capped", kernel: modifications.softCapped, constants: { D: head, CAP: 400 } },
  // A size that is 1 is a constant to Triton, also where the kernel makes a float of it.
  { name: "sloped", kernel: modifications.sloped, constants: { D: head, H: 1 }, most: 64 },
  ...Array.from({ length: RANDOM }, (_, seed) => atRandom(seed)),
];

const isRandom = ({ name }: { readonly name: string }): boolean => name.startsWith("attention_");

const kernels = drawn("warp-specialised kernels", all, {
  key: ({ name }) => name,
  sources: (sample) =>
    isRandom(sample)
      ? []
      : ["src/codegen/gluon/parts.ts", "src/codegen/gluon/attention-parts.ts", "src/codegen/gluon/gluon-emitter.ts"],
  least: 2,
});

async function asked() {
  const dtypes = ["float16", "bfloat16"];
  return Promise.all(
    kernels.map(async ({ name, kernel, dtype, others = {}, constants = {} }, i) => ({
      name,
      text: (await build(kernel)).emit({ specialise: "always" }).python,
      configs: [seedOfRun() + i],
      dtype: dtype ?? dtypes[(seedOfRun() + i) % 2],
      others,
      constants,
    })),
  );
}

test("should compile for sm_90 with every Triton, with hardly a spill and with room in shared memory", async () => {
  const lines = await asked();
  for (const { name: version, python } of await tritons()) {
    const script = new URL("specialised.py", import.meta.url);
    const compiled = await askScript<readonly Compiled[]>(python, script, lines);
    expect(compiled.map(({ name, error }) => ({ name, error }))).toEqual(
      lines.map(({ name }) => ({ name, error: undefined })),
    );
    for (const each of compiled) {
      const { triton, spilled, registers, shared, products: count, config } = each;
      const own = kernels.find(({ name }) => name === each.name)?.most ?? MOST_SPILLED;
      const most = isRandom(each) ? MOST_SPILLED_AT_RANDOM : own;
      expect(triton.startsWith(version)).toBe(true);
      expect(spilled).toBeLessThanOrEqual(config["CONSUMERS"] === 3 ? MOST_SPILLED_BY_THREE : most);
      expect(registers).toBeLessThanOrEqual(255);
      expect(shared).toBeLessThanOrEqual(SHARED_BYTES);
      expect(count).toBeGreaterThan(0);
    }
  }
});
