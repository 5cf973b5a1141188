/** Which kernels have a warp-specialized form, by what their data do, and why others have none. */
import { describe, expect, test } from "vitest";
import { attentionWithGradients } from "../../../../examples/attention-gradients.js";
import { attention } from "../../../../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../../../../examples/fp8-gemm-block-scaled.js";
import { fp8Gemm } from "../../../../examples/fp8-gemm.js";
import { gemmBlockScaled } from "../../../../examples/gemm-block-scaled.js";
import { gemmPersistentTma } from "../../../../examples/gemm-persistent-tma.js";
import { gemmPersistent } from "../../../../examples/gemm-persistent.js";
import { gemmTma } from "../../../../examples/gemm-tma.js";
import { gemm } from "../../../../examples/gemm.js";
import { int4Gemm } from "../../../../examples/int4-gemm.js";
import { linearGelu } from "../../../../examples/linear-gelu.js";
import { moeGemm } from "../../../../examples/moe-gemm.js";
import { relativeAttention } from "../../../../examples/relative-attention.js";
import { softmax } from "../../../../examples/softmax.js";
import { varlenAttention } from "../../../../examples/varlen-attention.js";
import { vectorAdd } from "../../../../examples/vector-add.js";
import { definitionOf } from "../../../../src/dsl/definition.js";
import { trace } from "../../../../src/dsl/trace.js";
import { lowerViews } from "../../../../src/lower/views.js";
import { specialize } from "../../../../src/codegen/warp-specialize/pattern/specialize.js";
import { NotSpecializable } from "../../../../src/codegen/warp-specialize/pattern/not-specializable.js";
import type { KernelIR } from "../../../../src/ir/nodes.js";
import { kernelOf } from "../../../support/operator-kernels.js";
import * as attentions from "../fixtures/attentions.js";
import * as mixed from "../fixtures/mixed.js";
import * as near from "../fixtures/products.js";
import * as modifications from "../fixtures/score-modifications.js";
import * as streamed from "../fixtures/streamed.js";

function formOf(kernel: unknown) {
  const ir = trace(definitionOf(kernel));
  return specialize(ir, lowerViews(ir));
}

const reasonOf = (found: ReturnType<typeof formOf>): string =>
  found instanceof NotSpecializable ? `${found.reason}, line ${found.at?.line}` : found.kind;

function attentionOf(kernel: unknown) {
  const found = formOf(kernel);
  if (found instanceof NotSpecializable || found.kind !== "attention") throw new Error(reasonOf(found));
  return found;
}

function refusal(kernel: unknown): string {
  const found = formOf(kernel);
  return found instanceof NotSpecializable ? found.reason : "none";
}

describe("should recognize", () => {
  test.each([
    ["a product of views", gemm, 1],
    ["a product of descriptors", gemmTma, 1],
    ["a product whose programs loop over tiles", gemmPersistent, 1],
    ["such a product of descriptors, written in halves", gemmPersistentTma, 2],
    ["a product with an activation", linearGelu, 2],
    ["a product of a transposed tensor, written twice", near.twice, 2],
    ["a product with a sum over columns", near.normalized, 1],
    ["a product over a grid of two axes", near.onTwoAxes, 1],
    ["a product of each batch", near.batched, 1],
    ["a product of heads between rows, with options that change nothing", near.projected, 1],
    ["a product whose bias and activation are chosen", near.chosen, 1],
    ["a product of 8-bit floats whose sum is promoted or not", fp8Gemm, 1],
    ["a product of 8-bit floats whose blocks have scales", fp8GemmBlockScaled, 1],
    ["a product that is added to its sum outside", near.promoted, 1],
    ["a product whose rows are scaled in the loop", near.scaledRows, 1],
    ["a product with weights of 4 bits", int4Gemm, 1],
    ["a product with weights of 8 bits", mixed.int8Weights, 1],
    ["a product with weights of 8 bits, each column of which has a scale", mixed.int8Scaled, 1],
    ["a product with such weights of each batch", mixed.int8Batched, 1],
    ["a product with two weights in a byte", mixed.int4Pairs, 1],
    ["a product with such weights, column by column", mixed.int4Columns, 1],
  ])("%s", (_, kernel, stores) => {
    const found = formOf(kernel);
    if (found instanceof NotSpecializable || found.kind !== "gemm") throw new Error(reasonOf(found));
    expect(found.pattern.stores).toHaveLength(stores);
    for (const { consumers, stages, config, registers } of found.configs) {
      expect(stages).toBeGreaterThanOrEqual(2);
      const most = config.values["BLOCK_M"] === 192 ? 3 : 2;
      expect(consumers).toBe(Number(config.values["BLOCK_M"]) > 64 && registers === undefined ? most : 1);
    }
  });

  test("a grid of two programs for each multiprocessor, of which one multiplies while the other does the rest", () => {
    const shared = (kernel: unknown) => {
      const found = formOf(kernel);
      if (found instanceof NotSpecializable || found.kind !== "gemm") throw new Error(reasonOf(found));
      return found.configs.filter(({ registers }) => registers !== undefined);
    };
    const found = shared(linearGelu).map(({ config, consumers, stages }) => [config.values, consumers, stages]);
    const values = { BLOCK_M: 128, BLOCK_N: 128, HALF_N: 64, BLOCK_K: 64, RESIDENT: 2 };
    expect(found).toEqual([[{ ...values, GROUP_M: 8 }, 1, 3]]);
    for (const kernel of [gemm, gemmPersistent, gemmPersistentTma]) expect(shared(kernel)).toEqual([]);
  });
});

test("should load the scales of packed weights an iteration ahead, and give them as many slots as fit", () => {
  const found = formOf(int4Gemm);
  if (found instanceof NotSpecializable || found.kind !== "gemm") throw new Error(reasonOf(found));
  expect(found.pattern.widening).toMatchObject({ packing: 8, isSwapped: false });
  expect(found.widening?.ahead).toHaveLength(2);
  expect(
    found.configs.map(({ config, consumers, stages, pieces }) => [config.values["BLOCK_M"], consumers, stages, pieces]),
  ).toEqual([
    [64, 1, 7, 2],
    [128, 2, 6, 4],
    [256, 2, 4, 4],
  ]);
});

describe("should recognize scales of rows", () => {
  const configsOf = (kernel: unknown) => {
    const found = formOf(kernel);
    if (found instanceof NotSpecializable || found.kind !== "gemm") throw new Error(reasonOf(found));
    const configs = found.configs.map(({ consumers, inFlight, stages }) => [consumers, inFlight, stages]);
    return { tensor: found.pattern.rowScales?.tensor.name, configs };
  };

  test("that lie side by side, with configs of two products in flight and of 192 rows", () => {
    expect(configsOf(fp8GemmBlockScaled)).toEqual({
      tensor: "aScale",
      configs: [
        [2, 1, 6],
        [2, 2, 6],
        [3, 1, 5],
        [1, 1, 8],
        [1, 2, 8],
      ],
    });
    expect(configsOf(near.scaledRows).configs.map(([consumers]) => consumers)).toEqual([2, 2, 3]);
  });

  test.each([near.scaledAcross, near.scaledIndirectly, near.scaledBeside, near.scaledWide])(
    "and leave others to the consumers",
    (kernel) => {
      const { tensor, configs } = configsOf(kernel);
      expect(tensor).toBeUndefined();
      expect(configs.map(([, inFlight]) => inFlight)).toEqual(configs.map(() => undefined));
    },
  );

  test.each([near.scaledByCount, near.scaledByTile])(
    "and keep the author's rows, where a result depends on them",
    (kernel) => {
      expect(configsOf(kernel)).toMatchObject({
        tensor: "byRow",
        configs: [
          [2, 1, expect.any(Number)],
          [2, 2, expect.any(Number)],
        ],
      });
    },
  );
});

describe("should recognize attention", () => {
  test.each([
    ["of a loop over all keys", attention, 1, 1],
    ["of a loop over the keys that some row sees", attentions.inOneLoop, 1, 1],
    ["of a loop over whole blocks and one over the edge, with a number for each row", attentions.inTwoLoops, 2, 2],
    ["of keys near each row, with scores that are changed", attentions.windowed, 1, 1],
    ["without a mask", attentions.unmasked, 1, 1],
    ["of batches of heads that share keys", attentions.grouped, 1, 1],
    ["of heads between the elements of a row", attentions.betweenHeads, 1, 1],
    ["with two blocks to write", attentions.twoOutputs, 1, 2],
    ["of keys in a window, in three loops", modifications.slidingWindow, 3, 1],
    ["with scores that approach a number", modifications.softCapped, 1, 1],
    ["with a bias that follows from the distance", modifications.sloped, 2, 1],
    ["with a bias that is loaded by distance", relativeAttention, 2, 1],
    ["with a bias that is loaded for each score", modifications.biased, 1, 1],
    ["with a slope that is loaded", modifications.loadedSlopes, 1, 1],
    ["with flags of keys", modifications.padded, 1, 1],
    ["of documents", modifications.documents, 1, 1],
    ["of as many keys as are loaded", modifications.lengths, 1, 1],
  ])("%s", (_, kernel, loops, stores) => {
    const { pattern: form, configs } = attentionOf(kernel);
    expect([form.loops.length, form.stores.length]).toEqual([loops, stores]);
    for (const { consumers, config } of configs) expect(consumers).toBe(Number(config.values["BLOCK_M"]) / 64);
  });

  test("and take as many keys as are fastest, where the keys beyond the last one are hidden", () => {
    const keys = (kernel: unknown) => attentionOf(kernel).configs.map(({ config }) => config.values["BLOCK_N"]);
    expect(keys(attention)).toEqual([128, 128, 128, 64, 64]);
    // More of them would not fit in shared memory, beside what it writes.
    expect(keys(attentions.twoOutputs)).toEqual([64]);
    // Its keys beyond the last one count as zeros, as many as a block has.
    expect(keys(attentions.unmasked)).toEqual([64, 64]);
    // Its own arithmetic uses the number of keys.
    expect(keys(attentions.inTwoLoops)).toEqual([64, 64, 128, 64, 64]);
    expect(keys(attentions.inOneLoop)).toEqual([128]);
    expect(keys(attentions.byHead)).toEqual([128, 128]);
    for (const kernel of [attentions.countingTurns, attentions.countingKeys, attentions.byTurn])
      expect(keys(kernel)).toEqual([64]);
  });

  test("and give three consumers rows, where rows are counted in blocks alone", () => {
    const most = (kernel: unknown) => attentionOf(kernel).configs.map(({ consumers }) => consumers);
    expect(most(attention)).toEqual([2, 1, 3, 2, 1]);
    expect(attentionOf(attention).configs[2]!.config.values).toEqual({ BLOCK_M: 192, BLOCK_N: 128 });
    expect(most(attentions.headsOf64)).toEqual([2, 3]);
    expect(most(attentions.byHead)).toEqual([2, 3]);
    const { counted, countedInGrid, endingAtRows, perRow, headsOf128, countingBlocks, countingRows } = attentions;
    for (const kernel of [counted, countedInGrid, endingAtRows, perRow, headsOf128, countingBlocks, countingRows])
      expect(most(kernel)).not.toContain(3);
  });

  test("and store long heads in as few pieces as shared memory needs", () => {
    const pieces = (kernel: unknown) => attentionOf(kernel).configs.map((config) => config.pieces);
    expect(pieces(attention)).toEqual([1, 1, 1, 2, 2]);
    expect(pieces(attentions.headsOf256)).toEqual([2]);
    expect(pieces(attentions.float32HeadsOf256)).toEqual([4]);
    for (const kernel of [attentions.headsOf128, attentions.inOneLoop, attentions.twoOutputs])
      expect(pieces(kernel)).toEqual([1]);
  });

  test("and begin with the programs whose rows see most keys", () => {
    const axis = (kernel: unknown) => attentionOf(kernel).longestLast?.axis;
    expect([attention, attentions.inOneLoop, attentions.inTwoLoops].map(axis)).toEqual([0, 0, 0]);
    expect([attentions.unmasked, attentions.windowed, attentions.grouped].map(axis)).toEqual(Array(3).fill(undefined));
  });

  test("and find the scores that a number above 0 scales", () => {
    const count = (kernel: unknown) => attentionOf(kernel).scaled.size;
    expect([attention, attentions.inOneLoop, attentions.inTwoLoops].map(count)).toEqual([1, 0, 1]);
    expect([attentions.scaledByAny, attentions.scaledDown].map(count)).toEqual([0, 0]);
  });

  test("and say where keys end that any row sees, if a hidden key changes nothing", () => {
    const limits = (kernel: unknown) =>
      [...attentionOf(kernel).masks.values()].flatMap((masks) =>
        masks.limits.map(({ isPerRow: isOfRows, offset: more, isSkippable: hides }) => [isOfRows, more, hides]),
      );
    expect(limits(attention)).toEqual([
      [false, 0, true],
      [true, 1, true],
    ]);
    // A score of -1e6 is one that counts where a row has no other.
    expect(limits(attentions.faded)).toEqual([[false, 0, false]]);
    expect(limits(attentions.clamped)).toEqual([[false, 0, false]]);
    // In an iteration without keys the sum becomes another.
    expect(limits(attentions.roundedAway)).toEqual([[false, 0, false]]);
    expect(limits(attentions.inTwoLoops)).toEqual([]);
    expect(limits(attentions.betweenKeys)).toEqual([]);
  });
});

describe("should recognize streamed products", () => {
  const found = (kernel: KernelIR) => {
    const form = specialize(kernel, lowerViews(kernel));
    if (form instanceof NotSpecializable || form.kind !== "streamed") throw new Error(reasonOf(form));
    return form;
  };
  const kernelIn = (kernel: unknown) => found(trace(definitionOf(kernel)));
  const ofGradients = (name: string) => found(kernelOf(attentionWithGradients, name));

  test.each([
    ["of the gradients of keys and values", ofGradients("attention_key_gradients"), 2, 2, 2],
    ["of the gradients of queries", ofGradients("attention_query_gradients"), 2, 0, 1],
    ["of views", kernelIn(streamed.plainSums), 1, 0, 1],
    ["of views in two loops", kernelIn(streamed.inTwoLoops), 1, 0, 1],
    ["with numbers for columns and rows", kernelIn(streamed.weighed), 1, 1, 1],
    ["with numbers for columns that are 1 past the end", kernelIn(streamed.filled), 1, 0, 1],
  ])("%s", (_, { pattern, channels }, kept, vectors, sums) => {
    expect(pattern.residents).toHaveLength(kept);
    expect(pattern.sums).toHaveLength(sums);
    expect(pattern.stores).toHaveLength(sums);
    expect(channels).toHaveLength(vectors);
  });

  test("and start each product as soon as its operand is known, while later ones run", () => {
    const iteration = (name: string) =>
      ofGradients(name).pipeline.consumer.flatMap((step) =>
        step.kind === "iterations"
          ? step.body.map((each) =>
              [each.kind, ...("product" in each ? [each.product] : "barrier" in each ? [each.barrier] : [])].join(" "),
            )
          : [],
      );
    expect(iteration("attention_query_gradients").join(", ")).toBe(
      "wait filled 0, multiply 0, wait filled 1, multiply 1, settle 0, use, settle 1, release emptied 1, use, " +
        "multiply 2, settle 2, release emptied 0, advance",
    );
    expect(iteration("attention_key_gradients").join(", ")).toBe(
      "wait filled 0, multiply 0, wait filled 1, multiply 2, take filled 0, settle 0, use, take filled 1, multiply 1, settle 2, use, " +
        "multiply 3, settle 1, fence, release emptied 1, settle 3, release emptied 0, advance",
    );
  });

  test("and give three consumers rows, where rows are counted in blocks alone and loops are the same for all", () => {
    const consumers = (form: ReturnType<typeof found>) => form.configs.map((each) => each.consumers);
    const branches = (form: ReturnType<typeof found>) => form.branches.map(({ isThen }) => isThen);
    expect(consumers(kernelIn(streamed.plainSums))).toEqual([2, 3]);
    expect(branches(kernelIn(streamed.plainSums))).toEqual([]);
    expect(consumers(ofGradients("attention_key_gradients"))).toEqual([1, 1, 2, 2, 3]);
    expect(branches(ofGradients("attention_key_gradients"))).toEqual([false]);
    for (const kernel of [streamed.counting, streamed.inBounds, streamed.endingAtRows])
      expect(consumers(kernelIn(kernel))).toEqual([2]);
  });
});

test.each([
  [
    "a tile that is changed before a loop multiplies it",
    streamed.changedFirst,
    "it multiplies a tile that is computed before its loop",
  ],
  [
    "loaded blocks that are changed first",
    streamed.changedBlocks,
    "it multiplies by an operand that is not loaded in the loop",
  ],
  [
    "a tile that follows from its sum",
    streamed.fromTheSum,
    "it multiplies a tile that follows from a sum or another state",
  ],
  ["a state besides its sums", streamed.otherState, "its loop carries state besides its sums"],
  ["a product that is added apart", streamed.apart, "its loop carries state besides its sums"],
  ["rows of a computed tile turned over", streamed.mixing, "tl.flip may mix rows"],
  ["a store among its products", streamed.storing, "it does more than load, multiply and compute"],
  ["an unrolled loop of products", streamed.unrolled, "its loop is unrolled"],
  ["rows that fill no group of warps", streamed.small, /^none of its configs has 64 or 128 rows/],
  ["heads that registers do not hold", streamed.wide, /^none of its configs has 64 or 128 rows/],
  ["loops that multiply other blocks", streamed.unlike, "its loops multiply different blocks, or in another order"],
  ["no product", vectorAdd, "it multiplies no matrices"],
  ["no product but a reduction", softmax, "it multiplies no matrices"],
  ["queries that are changed first", attentions.scaledFirst, /^its first product takes queries that no load ahead/],
  ["a bias whose place follows from state", attentions.fromState, "its loads depend on state"],
  ["a bias whose place is loaded", attentions.fromALoad, "its loads depend on other loads"],
  ["a bias that may change", attentions.fromChanged, "it loads bias, which is no plain input"],
  ["a volatile bias", attentions.volatile, "it has a volatile load"],
  ["a bias behind pointers", attentions.fromPointers, /^it loads by pointers/],
  ["scores of rows put together", attentions.mixing, "tl.flip may mix rows"],
  ["weights that follow from the sum", attentions.fromTheSum, /^its weights or its state follow from the sum/],
  ["heads of another length", attentions.longHeads, "its heads have 512 elements; the form takes 64, 128, 256"],
  ["blocks of few rows", attentions.fewRows, /^none of its configs has blocks of 64 or 128 rows/],
  ["a store in the loop", attentions.writesEarly, "it does more than load, multiply and compute"],
  [
    "a tile of rows by rows",
    attentions.thirdProduct,
    "it has a tile with BLOCK_M on two axes, one of which is the rows",
  ],
  ["products of sequences in a loop", varlenAttention, "its products are in a branch or a nested loop"],
  ["state that changes twice in an iteration", attentions.countedTwice, "its loop changes a state twice"],
  [
    "keys that are changed first",
    attentions.changedKeys,
    /^it multiplies by an operand that is not loaded in the loop/,
  ],
  [
    "gathered rows",
    moeGemm,
    "its lanes do not count up from a scalar on two axes, as pid * BLOCK + tl.arange(0, BLOCK) does",
  ],
  [
    "rows that wrap in 8 bits",
    near.narrowRows,
    "its lanes do not count up from a scalar on two axes, as pid * BLOCK + tl.arange(0, BLOCK) does",
  ],
  ["a factor of two blocks", mixed.ofTwoBlocks, "it computes a factor from several blocks; the form widens one block"],
  [
    "a factor whose columns are mixed",
    mixed.mixingColumns,
    "tl.reshape may mix the columns of the block that it widens",
  ],
  [
    "a factor of columns that lie side by side in memory",
    mixed.fromColumns,
    "the block that it widens is not [BLOCK_K, BLOCK_N], nor has it fewer rows by a power of two",
  ],
  [
    "a factor whose product is scaled",
    mixed.scaledOutside,
    "it scales or chooses a product whose factor it computes in the loop",
  ],
  [
    "a factor that needs a vector in two layouts",
    mixed.inTwoLayouts,
    "it combines numbers with the block both before and after tl.join, tl.permute or tl.reshape",
  ],
  ["a factor whose scales are found in a table", mixed.byTable, "its loads depend on other loads"],
  ["a factor of float32", mixed.ofFloat32, "it widens to float32; the form widens to float16 and bfloat16"],
  [
    "a factor of too few columns",
    mixed.narrowTiles,
    "none of its configs has tiles that fit: of 64, 128 or 256 rows, 128 columns, and at least 8192 sums for each group of four warps",
  ],
  ["scaled operands", gemmBlockScaled, "tl.dotScaled has no warp-specialized form"],
  ["rows put together", near.columnSums, "it combines rows"],
  ["a scan down the columns", near.scanned, "tl.cumsum may mix rows"],
  ["rows turned over", near.flipped, "tl.flip may mix rows"],
  [
    "a fold of columns that wrap",
    near.foldedWrapped,
    "it folds columns, and an index wraps that decides which columns there are",
  ],
  ["a store that shows wrapped rows", near.shifted, "an index wraps, and a store may show the lanes that it wraps"],
  ["more state in the loop", near.counted, "its loop carries state besides the sum of products"],
  ["a product that is scaled in the loop", near.decayed, "its product is not added to the state that the loop carries"],
  ["blocks that are changed first", near.doubled, "its product takes an operand that is not loaded in the loop"],
  ["a masked load", near.masked, "the copy engine takes no mask"],
  [
    "a product of float32",
    near.single,
    "it multiplies float32; the form takes float16 and bfloat16, float8e4nv, float8e5",
  ],
  ["columns that are scaled in the loop", near.scaledColumns, "it scales its product for each column in the loop"],
  ["a product that state scales", near.scaledByState, "it scales its product by state, or by what a branch loads"],
  ["a product that an arm scales", near.scaledInArms, "it scales its product by state, or by what a branch loads"],
  ["8-bit floats of two formats", near.mixedFloat8, "it multiplies two different dtypes"],
  ["8-bit floats that do not lie along the sum", near.float8Columns, /^the tensor cores multiply 8-bit floats along/],
  [
    "sums that are promoted within a block",
    near.promotedOften,
    "maxNumImpreciseAcc of a warp-specialized product is BLOCK_K, the length of its blocks",
  ],
  [
    "blocks that are loaded in the arms of a branch",
    near.loadedInArms,
    "its product takes an operand that is not loaded in the loop",
  ],
  ["a branch whose arms multiply other blocks", near.otherBlocks, "its branch multiplies other blocks in each arm"],
  ["an op that Gluon lacks", near.tanhed, "Gluon has no libdevice.tanh"],
  ["a number for each row", near.rowSums, "it writes a number for each row or column; a product is written in blocks"],
  ["blocks of two shapes", near.unlikeBlocks, "it writes c in blocks of different shapes"],
  [
    "a square of one constexpr",
    near.square,
    "rows and columns of its product are both BLOCK_M; give each a constexpr of its own",
  ],
  ["places that depend on memory", near.indirect, "its block positions depend on loaded values"],
  ["tiles that do not fit", near.small, /^none of its configs has tiles that fit/],
  ["offsets of 64 bits", near.wide, "the copy engine counts in int32, and where its block lies is of another dtype"],
  ["a branch around the store", near.guarded, "it decides at run time around its product"],
  ["a value that is decided at run time", near.decided, "it decides at run time around its product"],
])("should refuse %s", (_, kernel, reason) => {
  expect(refusal(kernel)).toMatch(reason);
});

test("should say at which line of the author's a kernel leaves the form", () => {
  const found = formOf(near.columnSums);
  expect(found).toBeInstanceOf(NotSpecializable);
  const { at } = found as NotSpecializable;
  expect(at?.file).toMatch(/products\.ts$/);
  expect(near.lineOf(at!.line)).toContain("tl.sum(acc.value, 0)");
});
