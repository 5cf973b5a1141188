/** The plan of a warp-specialised product has no order in which something goes wrong, and broken plans have one. */
import { describe, expect, test } from "vitest";
import { exploreBarriers, type Scenario } from "../../../src/specialise/barrier-model.js";
import { gemmPipeline, type Pipeline, type Step } from "../../../src/specialise/pipeline.js";

const TURNS = [[0], [1], [2], [5], [0, 0], [2, 0, 2], [1, 1], [0, 3]];
const PIECES = [
  { pieces: 1, depth: 1 },
  { pieces: 4, depth: 2 },
];

const scenarios = [2, 3].flatMap((stages) =>
  ([1, 2] as const).flatMap((consumers) =>
    PIECES.flatMap((pieces) => TURNS.map((turns): Scenario => ({ stages, consumers, turns, ...pieces }))),
  ),
);

/** The first thing that goes wrong in any scenario. */
function firstFault(pipeline: Pipeline): string | undefined {
  for (const scenario of scenarios) {
    const fault = exploreBarriers(pipeline, scenario);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The steps with `change` applied to each, inner ones first; undefined leaves a step out. */
function changed(steps: readonly Step[], change: (step: Step) => Step | undefined): readonly Step[] {
  return steps.flatMap((step) => {
    const inner: Step =
      "body" in step
        ? { ...step, body: changed(step.body, change) }
        : step.kind === "epilogue"
          ? { ...step, piece: changed(step.piece, change) }
          : step;
    return change(inner) ?? [];
  });
}

const producerWith = (change: (step: Step) => Step | undefined): Pipeline => ({
  ...gemmPipeline,
  producer: changed(gemmPipeline.producer, change),
});
const consumerWith = (change: (step: Step) => Step | undefined): Pipeline => ({
  ...gemmPipeline,
  consumer: changed(gemmPipeline.consumer, change),
});
const without =
  (kind: Step["kind"], is: (step: Step) => boolean = () => true) =>
  (step: Step) =>
    step.kind === kind && is(step) ? undefined : step;

test.each(scenarios)("should find nothing wrong with $stages slots, $consumers consumers, turns $turns", (scenario) => {
  expect(exploreBarriers(gemmPipeline, scenario)).toBeUndefined();
});

test("should go on for many turns", () => {
  const scenario = { stages: 2, consumers: 2, pieces: 1, depth: 1, turns: [17] };
  expect(exploreBarriers(gemmPipeline, scenario)).toBeUndefined();
});

describe("should find what is wrong with a plan", () => {
  const waitsFor = (barrier: string) => (step: Step) => step.kind === "wait" && step.barrier === barrier;
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
      consumerWith((step) => (step.kind === "wait" ? { ...step, before: true } : step)),
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
      consumerWith((step) => (step.kind === "release" && step.when === "later" ? { ...step, ago: 0 } : step)),
      /while a product reads it|more arrivals|deadlock/,
    ],
    [
      "that releases the turn before without waiting for its product",
      consumerWith(without("settle", (step) => "running" in step && step.running === 1)),
      /while a product reads it/,
    ],
    [
      "that ends while products run",
      consumerWith(without("settle", (step) => "running" in step && step.running === 0)),
      /product/,
    ],
    ["whose consumers do not count turns", consumerWith(without("advance")), /./],
    [
      "where one of two consumers empties a slot",
      { ...gemmPipeline, arrivals: { ...gemmPipeline.arrivals, emptied: "one" } },
      /overwrites|more arrivals|deadlock/,
    ],
    [
      "where a slot is filled by as many arrivals as there are consumers",
      { ...gemmPipeline, arrivals: { ...gemmPipeline.arrivals, filled: "consumers" } },
      /deadlock/,
    ],
    [
      "that reuses a buffer which is being written to the tensor",
      consumerWith(without("drain", (step) => "running" in step && step.running === "all but one buffer")),
      /overwrites a piece/,
    ],
    ["that writes without a fence", consumerWith(without("fence")), /before a fence/],
  ];

  test.each(broken)("%s", (_, pipeline, says) => {
    expect(firstFault(pipeline)).toMatch(says);
  });
});
