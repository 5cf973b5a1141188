/** Examples and fixtures that are warp-specialized: their emitted text, run in the emulator, beside the evaluator. */
import { describe, expect, test } from "vitest";
import { compile } from "tilescript";
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { attention } from "../../../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../../../examples/fp8-gemm-block-scaled.js";
import { fp8Gemm } from "../../../examples/fp8-gemm.js";
import { gemmPersistentTma } from "../../../examples/gemm-persistent-tma.js";
import { gemmPersistent } from "../../../examples/gemm-persistent.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { gemm } from "../../../examples/gemm.js";
import { int4Gemm } from "../../../examples/int4-gemm.js";
import { linearGelu } from "../../../examples/linear-gelu.js";
import { relativeAttention } from "../../../examples/relative-attention.js";
import { sampleCases, seedOfRun } from "../../support/sampled-tests.js";
import { drawFrom } from "../../kernels/random/random-numbers.js";
import * as attentions from "../../unit/codegen/fixtures/attentions.js";
import * as mixed from "../../unit/codegen/fixtures/mixed.js";
import * as products from "../../unit/codegen/fixtures/products.js";
import * as streamed from "../../unit/codegen/fixtures/streamed.js";
import * as modifications from "../../unit/codegen/fixtures/score-modifications.js";
import { anyByte, anyWord, emulate, few, gradientInputs, type Launch, type Trial } from "./emulated.js";

const productKernels = {
  fp8Gemm,
  fp8GemmBlockScaled,
  gemm,
  gemmTma,
  gemmPersistent,
  gemmPersistentTma,
  int4Gemm,
  int8Weights: mixed.int8Weights,
  int8Scaled: mixed.int8Scaled,
  int8Batched: mixed.int8Batched,
  int4Pairs: mixed.int4Pairs,
  int4Columns: mixed.int4Columns,
  linearGelu,
  onTwoAxes: products.onTwoAxes,
  twice: products.twice,
  normalized: products.normalized,
  batched: products.batched,
  projected: products.projected,
  chosen: products.chosen,
  named: products.named,
  asksLate: products.asksLate,
  promoted: products.promoted,
  scaledRows: products.scaledRows,
};

const FLOAT8: readonly string[] = ["fp8Gemm", "fp8GemmBlockScaled", "promoted"];

/** The copy engine loads a scale of each row. */
const SCALED: readonly string[] = ["fp8GemmBlockScaled", "scaledRows"];

const attentionKernels = {
  attention,
  relativeAttention,
  ...modifications,
  betweenHeads: attentions.betweenHeads,
  byHead: attentions.byHead,
  byTurn: attentions.byTurn,
  clamped: attentions.clamped,
  counted: attentions.counted,
  countedInGrid: attentions.countedInGrid,
  countingBlocks: attentions.countingBlocks,
  countingKeys: attentions.countingKeys,
  countingRows: attentions.countingRows,
  countingTurns: attentions.countingTurns,
  endingAtRows: attentions.endingAtRows,
  faded: attentions.faded,
  float32HeadsOf256: attentions.float32HeadsOf256,
  fromTheLast: attentions.fromTheLast,
  grouped: attentions.grouped,
  headsOf128: attentions.headsOf128,
  headsOf256: attentions.headsOf256,
  headsOf64: attentions.headsOf64,
  inOneLoop: attentions.inOneLoop,
  inTwoLoops: attentions.inTwoLoops,
  perRow: attentions.perRow,
  scaledByAny: attentions.scaledByAny,
  scaledDown: attentions.scaledDown,
  twoOutputs: attentions.twoOutputs,
  unmasked: attentions.unmasked,
  windowed: attentions.windowed,
  withBias: attentions.withBias,
};

const gradients = compile(attentionWithGradients).parts ?? [];
const { plainSums, weighed, filled, inReverse, inTwoLoops, counting, endingAtRows } = streamed;
const streamedKernels = {
  ...Object.fromEntries(
    Object.entries({
      plainSums,
      weighed,
      filled,
      inReverse,
      streamedInTwoLoops: inTwoLoops,
      counting,
      endingAtRows,
    }).map(([name, kernel]) => [name, compile(kernel)]),
  ),
  keyGradients: gradients.find(({ signature }) => signature.name === "attention_key_gradients"),
  queryGradients: gradients.find(({ signature }) => signature.name === "attention_query_gradients"),
};

/** Who runs first and who last; the last one runs where nobody else can. */
const ORDERS = [
  "producer engines consumers",
  "engines consumers producer",
  "consumers producer engines",
  "producer engines 1 2 0",
  "0 engines producer 1 2",
];

/** Rows of a product and keys of attention: within a block, whole blocks, ragged ones, several tiles of a program. */
const PLACES = ["few", "whole", "ragged", "many"] as const;
type Place = (typeof PLACES)[number];

type Draw = ReturnType<typeof drawFrom>;

function launchFrom({ pick, whole }: Draw, place: Place, seed: number): Launch {
  return {
    config: whole(0, 99),
    multiprocessors: place === "many" ? whole(1, 2) : whole(1, 7),
    order: pick([...ORDERS, `random ${seed}`, `rank ${seed}`]),
    version: pick(["3.6", "3.9"] as const),
  };
}

function productSizes(name: string, place: Place, { pick, whole }: Draw) {
  // So many elements are 16 bytes.
  const step = FLOAT8.includes(name) ? 16 : 8;
  const of = { few: () => whole(1, 40), whole: () => 128, ragged: () => whole(129, 300), many: () => whole(300, 420) };
  const turns = { few: whole(1, 8), whole: 16, ragged: whole(9, 40), many: pick([2, 8, 25]) };
  // Rows of a described tensor are whole 16 bytes apart.
  const count = whole(1, 2);
  // So many scales of rows are 16 bytes.
  const rows = SCALED.includes(name) ? 4 * Math.ceil(of[place]() / 4) : of[place]();
  // So many bytes of packed weights are 16 bytes.
  const columns = name in mixed ? 16 : 8;
  const N = columns * Math.ceil(of[place]() / columns);
  const K = step * turns[place];
  const packed = { K_PAIRS: K / 2, TURNS: Math.ceil(K / 64), N_WORDS: N / 8, GROUPS: whole(1, 3) };
  return { M: rows, N, K, B: count, H: count, ...packed };
}

function attentionSizes(place: Place, { pick, whole }: Draw, form: Trial["form"]) {
  const of = {
    few: () => whole(1, 63),
    whole: () => pick([64, 128]),
    ragged: () => whole(65, 200),
    many: () => whole(200, 420),
  };
  // Vectors of float32 that TMA loads are a multiple of 16 bytes long.
  const S = form === "streamed" ? 4 * Math.ceil(of[place]() / 4) : of[place]();
  return { H: place === "many" ? 2 : 1, S };
}

/** What a kernel needs besides. */
function besides(name: string, S: number, { pick, whole }: Draw): Partial<Trial> & { readonly sizes?: object } {
  switch (name) {
    case "int4Gemm":
      return { constexprs: { GROUP_SIZE: pick([128, 256]) }, inputs: { packed: anyWord, zeros: anyWord } };
    case "int8Weights":
    case "int8Scaled":
    case "int8Batched":
    case "int4Pairs":
    case "int4Columns":
      return { inputs: { w: anyByte } };
    case "grouped":
      return { sizes: { B: whole(1, 2), KH: 1 } };
    case "byTurn":
      return { sizes: { TURNS: Math.ceil(S / 64) } };
    case "scaledByAny":
      return { scalars: { by: pick([0.5, -0.25, 0]) } };
    case "windowed":
    case "slidingWindow":
      return { constexprs: { WINDOW: pick([1, whole(2, 64), whole(65, 300)]) } };
    case "softCapped":
      return { constexprs: { CAP: pick([5, 400]) } };
    case "padded":
      // Each row sees the first key.
      return { inputs: { shown: (place, uniform) => (place % S === 0 || uniform() < 0.6 ? 1 : 0) } };
    case "plainSums":
    case "weighed":
    case "filled":
    case "inReverse":
    case "streamedInTwoLoops":
    case "counting":
    case "endingAtRows":
      return { inputs: { a: few, x: few, y: few, weights: (_, uniform) => 1 + few(0, uniform), biases: few } };
    case "keyGradients":
    case "queryGradients":
      return { constexprs: { CAUSAL: pick([true, false]) }, inputs: gradientInputs };
    case "lengths":
      return { inputs: { lengths: (_, uniform) => Math.floor(uniform() * (S + 20)) } };
    default:
      return { constexprs: { CAUSAL: pick([true, false]) } };
  }
}

const forms = { product: productKernels, attention: attentionKernels, streamed: streamedKernels };
const all = Object.entries(forms).flatMap(([form, kernels]) =>
  Object.entries(kernels).flatMap(([name, kernel]) =>
    PLACES.map((place) => ({ form: form as Trial["form"], name, kernel, place })),
  ),
);

describe("warp-specialized kernels in the emulator", () => {
  const cases = sampleCases("runs of warp-specialized kernels in the emulator", all, {
    key: ({ name, place }) => `${name} ${place}`,
    maximum: 12,
    perRun: 14,
  });

  test("should compute what the evaluator does, in any order of their parts", { timeout: 600_000 }, async () => {
    const built = new Map(
      cases.map(({ form, name, kernel }) => [name, form === "streamed" ? kernel : (compile(kernel as any) as any)]),
    );
    const trials = cases.map(({ form, name, place }, i): Trial => {
      const seed = seedOfRun() + 7919 * i;
      const draw = drawFrom(seed);
      const sizes = form === "product" ? productSizes(name, place, draw) : attentionSizes(place, draw, form);
      const kernel = built.get(name);
      const flags = Object.fromEntries(
        ["HAS_BIAS", "SILU", "FAST_ACCUM"].map((flag) => [flag, draw.pick([true, false])]),
      );
      const more: ReturnType<typeof besides> =
        form === "product" && name !== "int4Gemm" && !(name in mixed)
          ? { constexprs: flags }
          : besides(name, (sizes as { S: number }).S, draw);
      const length = kernel.signature.tensors[0].dims.at(-1);
      const isFree = kernel.signature.constexprs.some((each: any) => each.name === length);
      const python: string = kernel.emit({ warpSpecialize: "always" }).python;
      const lengths = python.includes(" in (64, 128, 256)") ? [64, 128, 256] : [64, 64, 128];
      const fixedLength = Number(/HeadsOf(\d+)$/i.exec(name)?.[1] ?? 64);
      const head = { [length]: isFree ? draw.pick(lengths) : fixedLength };
      const known = new Set<string>([
        ...kernel.signature.sizes,
        ...kernel.signature.constexprs.map((each: any) => each.name),
      ]);
      const wanted = Object.entries({ ...head, ...sizes, ...more.sizes }).filter(([dim]) => known.has(dim));
      const constexprs = Object.entries(more.constexprs ?? {}).filter(([each]) => known.has(each));
      const launch = launchFrom(draw, place, seed);
      return {
        ...more,
        name: `${name}, ${JSON.stringify(Object.fromEntries(wanted))}, ${JSON.stringify(Object.fromEntries(constexprs))}, ${JSON.stringify(launch)}`,
        form,
        kernel,
        python,
        dtype: draw.pick(["float16", "bfloat16"] as const),
        sizes: Object.fromEntries(wanted),
        constexprs: Object.fromEntries(constexprs),
        launches: [launch],
      };
    });
    const wrong = (await emulate(trials)).filter(({ wrong: found }) => found.some((each) => each !== null));
    expect(wrong).toEqual([]);
  });
});
