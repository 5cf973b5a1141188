/** The plan of a warp-specialized product has no order in which something goes wrong, and broken plans have one. */
import { describe, expect, test } from "vitest";
import type { Scenario } from "./barrier-actions.js";
import { exploreBarriers } from "./barrier-model.js";
import { sampleCases } from "../../../support/sampled-tests.js";
import {
  attentionPipeline,
  type BarrierName,
  gemmPipeline,
  type Pipeline,
  type PipelineStep,
} from "../../../../src/codegen/warp-specialize/pattern/pipeline.js";

const TURNS = [[0], [1], [2], [5], [0, 0], [2, 0, 2], [1, 1], [0, 3]];
const PIECES = [
  { pieces: 1, depth: 1 },
  { pieces: 4, depth: 2 },
];

/** What orders there are follows from these files alone. */
const sources = () => [
  "src/codegen/warp-specialize/pattern/pipeline.ts",
  "tests/unit/codegen/warp-specialize/barrier-actions.ts",
  "tests/unit/codegen/warp-specialize/barrier-model.ts",
  "tests/unit/codegen/warp-specialize/barrier-model.test.ts",
];
const options = { key: (scenario: Scenario) => JSON.stringify(scenario), sources, hasOwnTests: true };

const scenarios = [2, 3].flatMap((stages) =>
  ([1, 2] as const).flatMap((consumers) =>
    PIECES.flatMap((pieces) =>
      TURNS.flatMap((turns) =>
        [false, true].map((isPromoted): Scenario => ({ stages, consumers, turns, isPromoted, ...pieces })),
      ),
    ),
  ),
);

/** The first thing that goes wrong in any scenario. */
function firstFault(pipeline: Pipeline, among = scenarios): string | undefined {
  for (const scenario of among) {
    const fault = exploreBarriers(pipeline, scenario);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The steps with `change` applied to each, inner ones first; undefined leaves a step out. */
function changed(
  steps: readonly PipelineStep[],
  change: (step: PipelineStep) => PipelineStep | undefined,
): readonly PipelineStep[] {
  return steps.flatMap((step) => {
    const inner: PipelineStep =
      "body" in step
        ? { ...step, body: changed(step.body, change) }
        : step.kind === "sum"
          ? { ...step, whole: changed(step.whole, change), promoted: changed(step.promoted, change) }
          : step.kind === "epilogue"
            ? { ...step, piece: changed(step.piece, change) }
            : step;
    return change(inner) ?? [];
  });
}

const producerWith = (change: (step: PipelineStep) => PipelineStep | undefined): Pipeline => ({
  ...gemmPipeline,
  producer: changed(gemmPipeline.producer, change),
});
const consumerWith = (change: (step: PipelineStep) => PipelineStep | undefined): Pipeline => ({
  ...gemmPipeline,
  consumer: changed(gemmPipeline.consumer, change),
});
const withArrivals = (pipeline: Pipeline, barrier: BarrierName, arrivals: "one" | "consumers"): Pipeline => ({
  ...pipeline,
  barriers: { ...pipeline.barriers, [barrier]: { per: "slot", arrivals } },
});
const without =
  (kind: PipelineStep["kind"], is: (step: PipelineStep) => boolean = () => true) =>
  (step: PipelineStep) =>
    step.kind === kind && is(step) ? undefined : step;

const products = sampleCases("launches of products to explore", scenarios, { ...options, perRun: 16 });

const title = "should find nothing wrong with $stages slots, $consumers consumers, turns $turns, promoted: $isPromoted";
test.each(products)(title, (scenario) => {
  expect(exploreBarriers(gemmPipeline, scenario)).toBeUndefined();
});

test("should go on for many turns", () => {
  const scenario = { stages: 2, consumers: 2, pieces: 1, depth: 1, turns: [17] };
  expect(exploreBarriers(gemmPipeline, scenario)).toBeUndefined();
});

describe("should find what is wrong with a plan", () => {
  const waitsFor = (barrier: string) => (step: PipelineStep) => step.kind === "wait" && step.barrier === barrier;
  const broken: readonly (readonly [string, Pipeline, RegExp])[] = [
    ["that fills a slot without a wait", producerWith(without("wait")), /overwrites|more arrivals/],
    [
      "whose producer waits for the other parity",
      producerWith((step) => (step.kind === "wait" ? { kind: "wait", barrier: "emptied" } : step)),
      /deadlock: the producer waits for ever at emptied 0/,
    ],
    ["whose producer announces no bytes", producerWith(without("expect")), /deadlock|reads|bytes/],
    [
      "whose producer leaves out a copy",
      producerWith(without("copy", (step) => "operand" in step && step.operand === 1)),
      /reads block 1/,
    ],
    ["whose producer does not count turns", producerWith(without("advance")), /./],
    ["that multiplies without a wait", consumerWith(without("wait", waitsFor("filled"))), /reads block 0 of slot 0/],
    [
      "whose consumers wait for the other parity",
      consumerWith((step) => (step.kind === "wait" ? { ...step, isPreviousPhase: true } : step)),
      /reads block 0 of slot 0/,
    ],
    ["that never empties a slot", consumerWith(without("release")), /deadlock: the producer waits for ever at emptied/],
    [
      "that leaves out the last turn's release",
      consumerWith(without("release", (step) => "when" in step && step.when === "any")),
      /deadlock/,
    ],
    [
      "that empties a slot whose product still runs",
      consumerWith((step) => (step.kind === "release" && step.when === "later" ? { ...step, age: 0 } : step)),
      /while a product reads it|more arrivals|deadlock/,
    ],
    [
      "that releases the turn before without waiting for its product",
      consumerWith(without("settle", (step) => "pending" in step && step.pending === 1)),
      /while a product reads it/,
    ],
    [
      "that ends while products run",
      consumerWith(without("settle", (step) => "pending" in step && step.pending === 0)),
      /product/,
    ],
    ["whose consumers do not count turns", consumerWith(without("advance")), /./],
    [
      "where one of two consumers empties a slot",
      withArrivals(gemmPipeline, "emptied", "one"),
      /overwrites|more arrivals|deadlock/,
    ],
    [
      "where a slot is filled by as many arrivals as there are consumers",
      withArrivals(gemmPipeline, "filled", "consumers"),
      /deadlock/,
    ],
    [
      "that reuses a buffer which is being written to the tensor",
      consumerWith(without("drain", (step) => "pending" in step && step.pending === "all but one buffer")),
      /overwrites a piece/,
    ],
    ["that writes without a fence", consumerWith(without("fence")), /before a fence/],
  ];

  test.each(broken)("%s", (_, pipeline, says) => {
    expect(firstFault(pipeline)).toMatch(says);
  });
});

/** A tile of attention goes out as one piece. Those with fewer orders are first, since the first fault ends a search. */
const attentions = [
  { stages: 2, consumers: 1, tiles: [[0], [1], [4], [1, 1], [0, 2, 1], [2, 0, 0, 3]] },
  { stages: 3, consumers: 1, tiles: [[2], [1, 1, 1], [3, 0, 2]] },
  // The last consumer's rows see most keys.
  { stages: 2, consumers: 2, idle: [1], tiles: [[1], [2], [2, 1]] },
  { stages: 2, consumers: 2, tiles: [[0], [1], [2], [4], [1, 1], [2, 0, 1], [1, 2, 1]] },
  { stages: 2, consumers: 3, idle: [2, 1], tiles: [[2], [1, 1]] },
  { stages: 2, consumers: 3, tiles: [[0], [1], [2], [1, 1]] },
].flatMap(({ tiles, idle = [], ...sizes }) =>
  tiles.map((turns): Scenario => ({ ...sizes, turns, idle, pieces: 1, depth: 1 })),
);

const explored = sampleCases("launches of attention to explore", attentions, { ...options, perRun: 5, maximum: 2 });

describe("attention", () => {
  const text = "should be right with $stages slots, $consumers consumers, turns $turns, of which idle $idle";
  test.each(explored)(text, (scenario) => {
    expect(exploreBarriers(attentionPipeline, scenario)).toBeUndefined();
  });

  test("should go on for many turns", () => {
    const scenario = { stages: 2, consumers: 2, pieces: 1, depth: 1, turns: [7] };
    expect(exploreBarriers(attentionPipeline, scenario)).toBeUndefined();
  });

  const producer = (change: (step: PipelineStep) => PipelineStep | undefined): Pipeline => ({
    ...attentionPipeline,
    producer: changed(attentionPipeline.producer, change),
  });
  const consumer = (change: (step: PipelineStep) => PipelineStep | undefined): Pipeline => ({
    ...attentionPipeline,
    consumer: changed(attentionPipeline.consumer, change),
  });
  const at = (barrier: BarrierName) => (step: PipelineStep) => "barrier" in step && step.barrier === barrier;
  const broken: readonly (readonly [string, Pipeline, RegExp])[] = [
    ["whose first turn finds no values", producer(without("blank")), /deadlock|reads block 2/],
    [
      "whose last values have no turn",
      producer((step) => (step.kind === "release" ? undefined : step)),
      /deadlock|reads block/,
    ],
    [
      "that loads queries without a wait",
      producer(without("wait", at("queriesEmptied"))),
      /overwrites block 0|more arrivals/,
    ],
    [
      "whose consumers never give their queries back",
      consumer(without("release", at("queriesEmptied"))),
      /deadlock: the producer waits for ever at queriesEmptied/,
    ],
    [
      "that gives queries back which products still read",
      consumer((step) => {
        if (step.kind !== "release" || step.barrier !== "queriesEmptied") return step;
        return step.when === "stay" ? { ...step, when: "always" } : undefined;
      }),
      /overwrites block 0/,
    ],
    ["that loads blocks without a wait", producer(without("wait")), /overwrites block [12]|more arrivals/],
    [
      "that loads values without a wait",
      producer(without("wait", at("valuesEmptied"))),
      /overwrites block 2|more arrivals/,
    ],
    [
      "that loads values into the slot of their keys",
      producer(without("advance")),
      /overwrites|more arrivals|deadlock|reads block/,
    ],
    ["that announces no keys", producer(without("expect", at("keysFilled"))), /deadlock|reads block 1|bytes/],
    ["that loads no queries", producer(without("copy", at("queriesFilled"))), /reads block 0|deadlock/],
    ["that takes queries before they are there", consumer(without("wait", at("queriesFilled"))), /reads block 0/],
    ["that multiplies keys without a wait", consumer(without("wait", at("keysFilled"))), /reads block 1|deadlock/],
    ["that multiplies values without a wait", consumer(without("wait", at("valuesFilled"))), /reads block 2/],
    ["that never empties keys", consumer(without("release", at("keysEmptied"))), /deadlock: the producer/],
    ["that never empties values", consumer(without("release", at("valuesEmptied"))), /deadlock: the producer/],
    [
      "that makes weights of scores whose product runs",
      consumer(without("settle", (step) => "pending" in step && step.pending === 1)),
      /takes a product of block 1 while it runs/,
    ],
    [
      "that waits for one product too few",
      consumer((step) => (step.kind === "settle" && step.pending === 1 ? { ...step, pending: 2 } : step)),
      /takes a product of block 1 while it runs/,
    ],
    [
      "that scales a sum which a product adds to",
      consumer(without("settle", (step) => "pending" in step && step.pending === 0)),
      /takes a product of block 2 while it runs|ends while a product runs/,
    ],
    [
      "that empties values which a product reads",
      consumer((step) =>
        step.kind === "compute" || (step.kind === "settle" && step.pending === 0) ? undefined : step,
      ),
      /overwrites block 2 of slot \d while a product reads it|while a product runs/,
    ],
    ["that does not count turns", consumer(without("advance")), /./],
    ["whose consumers end early", consumer(without("idle turns")), /deadlock/],
    [
      "whose consumers give no turn",
      consumer(without("give turn")),
      /deadlock: consumer [012] waits for ever at turnGiven/,
    ],
    [
      "where one of two consumers empties keys",
      withArrivals(attentionPipeline, "keysEmptied", "one"),
      /overwrites|more arrivals|deadlock/,
    ],
    ["that writes without a fence", consumer(without("fence")), /before a fence/],
  ];

  test.each(broken)("should find what is wrong with a plan %s", (_name, pipeline, says) => {
    expect(firstFault(pipeline, attentions)).toMatch(says);
  });
});
