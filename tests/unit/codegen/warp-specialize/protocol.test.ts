/** The plans of warp-specialized kernels are proved for every launch, and plans with a mistake are refuted. */
import { describe, expect, test } from "vitest";
import {
  attentionPipeline,
  type Barrier,
  type BarrierName,
  gemmPipeline,
  mixedPipeline,
  PACKED,
  type Pipeline,
  type PipelineStep,
  ROW_SCALES,
  scaledPipeline,
} from "../../../../src/codegen/warp-specialize/pattern/pipeline.js";
import { attentionWithGradients } from "../../../../examples/attention-gradients.js";
import { specialize } from "../../../../src/codegen/warp-specialize/pattern/specialize.js";
import { lowerViews } from "../../../../src/lower/views.js";
import { kernelOf } from "../../../support/operator-kernels.js";
import { exploreProtocol, type ProtocolVerdict } from "../../../../src/codegen/warp-specialize/protocol/explore.js";
import type { ProtocolForm } from "../../../../src/codegen/warp-specialize/protocol/program.js";
import { writeFault } from "../../../../src/codegen/warp-specialize/protocol/proof.js";

type Form = Omit<ProtocolForm, "pipeline">;

/** Every form that a product's configs may have. */
const products: readonly Form[] = [2, 3, 4, 5, 6, 7, 8].flatMap((stages) =>
  [1, 2].flatMap((consumers) => [false, true].map((isPromoted) => ({ stages, consumers, isPromoted, mayIdle: false }))),
);
/** A product whose scales pass through the ring buffer. Two products in flight take the registers of a third consumer. */
const scaledProducts: readonly Form[] = [2, 3, 5, 6].flatMap((stages) =>
  [1, 2, 3].flatMap((consumers) =>
    (consumers < 3 ? [false, true] : [false]).map((isPaired) => ({
      stages,
      consumers,
      isPaired,
      isPromoted: true,
      mayIdle: false,
    })),
  ),
);
/** A product with a factor that is widened. */
const mixedProducts: readonly Form[] = products.filter(({ isPromoted }) => !isPromoted);
/** Attention has two stages; one more shows that the plan does not depend on it. */
const attentions: readonly Form[] = [
  ...[1, 2, 3].map((consumers) => ({ stages: 2, consumers })),
  ...[1, 2].map((consumers) => ({ stages: 3, consumers })),
  ...[1, 2].map((consumers) => ({ stages: 2, consumers, hasLongHeads: true })),
].map((sizes) => ({ ...sizes, isPromoted: false, mayIdle: true }));
/** Streamed products have two stages or three. */
const streams: readonly Form[] = [2, 3].flatMap((stages) =>
  [1, 2, 3].map((consumers) => ({ stages, consumers, isPromoted: false, mayIdle: false })),
);
const [keyGradients, queryGradients] = ["attention_key_gradients", "attention_query_gradients"].map((name) => {
  const ir = kernelOf(attentionWithGradients, name);
  const form = specialize(ir, lowerViews(ir));
  if (!("kind" in form) || form.kind !== "streamed") throw new Error(`${name} has another form`);
  return form.pipeline;
}) as [Pipeline, Pipeline];
const PIECES = [1, 2, 4].flatMap((pieces) =>
  [1, 2].flatMap((outputs) => ({ pieces, depth: Math.min(pieces, 2), outputs })),
);

function expectProved(verdict: ProtocolVerdict): void {
  expect(verdict).toEqual({ kind: "proved", states: expect.any(Number) as number });
  expect(verdict.states).toBeLessThan(1500);
}

describe("should prove every launch", () => {
  const title = "with $stages slots, $consumers consumers, promoted: $isPromoted";
  test.each(products)(`of a product ${title}`, (form) => {
    expectProved(exploreProtocol({ pipeline: gemmPipeline, ...form }));
  });
  test.each(scaledProducts)(`of a scaled product ${title}, in pairs: $isPaired`, (form) => {
    expectProved(exploreProtocol({ pipeline: scaledPipeline, ...form }));
  });
  test.each(mixedProducts)("of a mixed product with $stages slots, $consumers consumers", (form) => {
    expectProved(exploreProtocol({ pipeline: mixedPipeline, ...form }));
  });
  test.each(attentions)(`of attention ${title}, with long heads: $hasLongHeads`, (form) => {
    expectProved(exploreProtocol({ pipeline: attentionPipeline, ...form }));
  });
  test.each(streams)(`of streamed products ${title}`, (form) => {
    for (const pipeline of [keyGradients, queryGradients]) expectProved(exploreProtocol({ pipeline, ...form }));
  });
  test.each(PIECES)("that writes $outputs tiles in $pieces pieces", (form) => {
    expect(writeFault(gemmPipeline, form)).toBeUndefined();
    expect(writeFault(scaledPipeline, form)).toBeUndefined();
    expect(writeFault(mixedPipeline, form)).toBeUndefined();
    expect(writeFault(attentionPipeline, form)).toBeUndefined();
  });
});

test.each(["later", "any"] as const)("should reject a release %s that stands elsewhere", (moved) => {
  const pipeline = inConsumer(gemmPipeline, (step) =>
    step.kind === "release" && step.when !== "always" ? { ...step, when: moved } : step,
  );
  expect(() => exploreProtocol({ pipeline, stages: 2, consumers: 1, isPromoted: false, mayIdle: false })).toThrow(
    `a release cannot depend on iterations here: ${moved}`,
  );
});

test("should count states, and prove nothing past their limit", () => {
  const form = { pipeline: gemmPipeline, stages: 8, consumers: 2, isPromoted: false, mayIdle: false };
  const { states } = exploreProtocol(form);
  expect(exploreProtocol(form, states)).toEqual({ kind: "proved", states });
  expect(exploreProtocol(form, states - 1)).toEqual({ kind: "unknown", states: states - 1 });
});

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

type Change = (step: PipelineStep) => PipelineStep | undefined;

const inProducer = (pipeline: Pipeline, change: Change): Pipeline => ({
  ...pipeline,
  producer: changed(pipeline.producer, change),
});
const inWidener = (pipeline: Pipeline, change: Change): Pipeline => ({
  ...pipeline,
  widener: changed(pipeline.widener ?? [], change),
});
const inConsumer = (pipeline: Pipeline, change: Change): Pipeline => ({
  ...pipeline,
  consumer: changed(pipeline.consumer, change),
});
const withArrivals = (pipeline: Pipeline, barrier: BarrierName, arrivals: Barrier["arrivals"]): Pipeline => ({
  ...pipeline,
  barriers: { ...pipeline.barriers, [barrier]: { per: "slot", arrivals } },
});
const without =
  (kind: PipelineStep["kind"], is: (step: PipelineStep) => boolean = () => true): Change =>
  (step) =>
    step.kind === kind && is(step) ? undefined : step;
const at = (barrier: BarrierName) => (step: PipelineStep) => "barrier" in step && step.barrier === barrier;

const faultOf = (verdict: ProtocolVerdict): string => (verdict.kind === "refuted" ? verdict.fault : verdict.kind);
const isWhole = ({ isPromoted }: Form) => !isPromoted;
const hasSeveral = ({ consumers }: Form) => consumers > 1;
const isPaired = (form: Form) => form.isPaired === true;
const isSingle = (form: Form) => !isPaired(form);
const readsShared = ({ consumers, hasLongHeads }: Form) => consumers === 3 || hasLongHeads === true;

/** A mistake, what the refutation says, and the forms that have it. */
type Mistake = readonly [string, Pipeline, RegExp, ((form: Form) => boolean)?];

const producer = (change: Change) => inProducer(gemmPipeline, change);
const consumer = (change: Change) => inConsumer(gemmPipeline, change);
const settles = (pending: number) => (step: PipelineStep) => "pending" in step && step.pending === pending;

const twiceIfCopy = (step: PipelineStep): readonly PipelineStep[] => (step.kind === "copy" ? [step, step] : [step]);

/** The steps of the producer's iterations. */
const slotFilling = gemmPipeline.producer.flatMap((tiles) =>
  tiles.kind === "tiles"
    ? tiles.body.flatMap((iterations) => (iterations.kind === "iterations" ? iterations.body : []))
    : [],
);

const productMistakes: readonly Mistake[] = [
  ["that fills a slot without a wait", producer(without("wait")), /filled may get more arrivals/],
  [
    "whose producer waits for the other parity",
    producer((step) => (step.kind === "wait" ? { kind: "wait", barrier: "emptied" } : step)),
    /deadlock: the producer waits forever for emptied/,
  ],
  ["whose producer announces no bytes", producer(without("expect")), /bytes that are not announced/],
  [
    "whose producer leaves out a copy",
    producer(without("copy", (step) => "operand" in step && step.operand === 1)),
    /reads block 1 of a slot before a copy/,
  ],
  ["whose producer does not count iterations", producer(without("advance")), /filled may get more arrivals/],
  [
    "that copies a block twice",
    producer((step) => (step.kind === "iterations" ? { ...step, body: step.body.flatMap(twiceIfCopy) } : step)),
    /overwrites block 0 of a slot while another one fills it/,
  ],
  [
    "that ends before its last copies",
    { ...gemmPipeline, producer: [...gemmPipeline.producer, ...slotFilling] },
    /a copy is under way at the end/,
  ],
  ["that multiplies without a wait", consumer(without("wait", at("filled"))), /reads block 0 of a slot without a wait/],
  [
    "whose consumers wait for the other parity",
    consumer((step) => (step.kind === "wait" ? { ...step, isPreviousPhase: true } : step)),
    /ahead of the phase that consumer 0 waits for/,
  ],
  ["that never empties a slot", consumer(without("release")), /deadlock: the producer waits forever for emptied/],
  [
    "that leaves out the last iteration's release",
    consumer(without("release", (step) => "when" in step && step.when === "any")),
    /deadlock: the producer waits forever for emptied/,
    isWhole,
  ],
  [
    "that empties a slot whose product still runs",
    consumer((step) => (step.kind === "release" && step.when === "later" ? { ...step, age: 0 } : step)),
    /deadlock/,
    isWhole,
  ],
  [
    "that releases the iteration before without waiting for its product",
    consumer(without("settle", settles(1))),
    /while a product of consumer 0 reads it/,
    isWhole,
  ],
  [
    "that ends while products run",
    consumer(without("settle", settles(0))),
    /ends while a product runs|more arrivals/,
    isWhole,
  ],
  ["whose consumers do not count iterations", consumer(without("advance")), /emptied may get more arrivals/],
  [
    "where one of two consumers empties a slot",
    withArrivals(gemmPipeline, "emptied", "one"),
    /emptied may get more arrivals/,
    hasSeveral,
  ],
  [
    "where a slot is filled by as many arrivals as there are consumers",
    withArrivals(gemmPipeline, "filled", "consumers"),
    /deadlock/,
    hasSeveral,
  ],
];

const isScales = (step: PipelineStep) => "operand" in step && step.operand === ROW_SCALES;
const inScaled = (change: Change) => inConsumer(scaledPipeline, change);
/** The iterations, one by one or in pairs, with a change of their steps. */
const withIterations = (change: (body: readonly PipelineStep[]) => readonly PipelineStep[]): Pipeline =>
  inScaled((step) =>
    step.kind === "iterations" || step.kind === "pairs" ? { ...step, body: change(step.body) } : step,
  );
const isWait = (step: PipelineStep) => step.kind === "wait" && step.barrier === "filled";
const isRelease = at("emptied");

const scaledMistakes: readonly Mistake[] = [
  [
    "whose producer leaves out the scales",
    inProducer(scaledPipeline, without("copy", isScales)),
    /reads block 2 of a slot before a copy/,
  ],
  [
    "whose producer copies the scales before it announces them",
    inProducer(scaledPipeline, (step) =>
      step.kind === "iterations"
        ? { ...step, body: [...step.body.filter(isScales), ...step.body.filter((each) => !isScales(each))] }
        : step,
    ),
    /bytes that are not announced|overwrites block 2 of a slot/,
  ],
  [
    "that takes scales without a wait",
    withIterations((body) => {
      const scales = body.filter((step) => step.kind === "take").slice(0, 1);
      return [...scales, ...body.filter((step) => step !== scales[0])];
    }),
    /reads block 2 of a slot (before a copy|without a wait|, which holds)/,
  ],
  ["that multiplies without a wait", inScaled(without("wait", isWait)), /without a wait|before a copy|more arrivals/],
  [
    "that waits for the first slot of a pair alone",
    withIterations((body) => {
      const last = body.findLastIndex(isWait);
      return body.filter((_, i) => i !== last);
    }),
    /reads block 0 of a slot without a wait|before a copy/,
    isPaired,
  ],
  [
    "that empties a slot before it takes the scales",
    withIterations((body) => {
      const takes = body.filter((step) => step.kind === "take");
      return [
        ...body.filter((step) => step.kind !== "take" && step.kind !== "advance"),
        ...takes.slice(0, 1),
        { kind: "advance" },
      ];
    }),
    /block 2 of a slot|more arrivals/,
    isSingle,
  ],
  [
    "that empties a slot while its product runs",
    withIterations((body) =>
      body.flatMap((step): readonly PipelineStep[] => {
        if (isRelease(step)) return [];
        const release = { kind: "release", barrier: "emptied", age: 0, when: "always" } as const;
        return step.kind === "take" ? [step, release] : [step];
      }),
    ),
    /while a product of consumer \d reads it|filled may get more arrivals/,
  ],
  [
    "that adds a product which runs",
    inScaled(without("settle")),
    /adds a product that runs|while a product|ends while/,
  ],
  [
    "that waits for one product too few",
    inScaled((step) => (step.kind === "settle" ? { ...step, pending: step.pending + 1 } : step)),
    /adds a product that runs|while a product of consumer/,
  ],
  ["that never empties a slot", inScaled(without("release")), /deadlock: the producer waits forever for emptied/],
  [
    "that empties one slot of a pair",
    inScaled(without("release", (step) => "age" in step && step.age === 1)),
    /deadlock: the producer waits forever for emptied|more arrivals/,
    isPaired,
  ],
  [
    "that counts one iteration of a pair",
    withIterations((body) => body.slice(0, -1)),
    /more arrivals|deadlock|holds|without/,
  ],
];

const widens = (change: Change) => inWidener(mixedPipeline, change);
const fills = (change: Change) => inProducer(mixedPipeline, change);
const multiplies = (change: Change) => inConsumer(mixedPipeline, change);
/** The steps of the widener's iterations in another order. */
const inOrder = (...kinds: readonly PipelineStep["kind"][]): Pipeline =>
  widens((step) =>
    step.kind === "iterations"
      ? { ...step, body: kinds.flatMap((kind) => step.body.filter((each) => each.kind === kind)) }
      : step,
  );

const mixedMistakes: readonly Mistake[] = [
  ["that widens without a wait", widens(without("wait")), /reads block 3 of a slot (before a copy|without a wait)/],
  [
    "whose widener waits for the other parity",
    widens((step) => (step.kind === "wait" ? { ...step, isPreviousPhase: true } : step)),
    /ahead of the phase that the widener waits for|reads block 3 of a slot (before a copy|without a wait)/,
  ],
  ["whose widener never arrives", widens(without("release")), /deadlock: the producer waits forever for emptied/],
  ["whose widener widens nothing", widens(without("widen")), /reads block 1 of a slot before a copy/],
  [
    "whose widener arrives before it widens",
    inOrder("wait", "release", "widen", "fence", "advance"),
    /reads block 1 of a slot (before a copy|without a wait)/,
  ],
  ["whose widener has no fence", widens(without("fence")), /the widener arrives at filled before a fence/],
  [
    "whose widener fences before it widens",
    inOrder("wait", "fence", "widen", "release", "advance"),
    /the widener arrives at filled before a fence/,
  ],
  [
    "that widens before it waits",
    inOrder("widen", "wait", "fence", "release", "advance"),
    /reads block 3 of a slot (before a copy|without a wait)/,
  ],
  [
    "whose widener does not count iterations",
    widens(without("advance")),
    /the widener overwrites block 1 of a slot while a product/,
  ],
  [
    "whose producer leaves out the packed block",
    fills(without("copy", (step) => "operand" in step && step.operand === PACKED)),
    /reads block 3 of a slot before a copy/,
  ],
  ["whose producer announces no packed bytes", fills(without("expect", at("packedFilled"))), /not announced/],
  [
    "that fills a slot without a wait",
    fills(without("wait")),
    /overwrites block 3 of a slot|packedFilled may get more arrivals/,
  ],
  [
    "that multiplies without a wait",
    multiplies(without("wait")),
    /reads block \d of a slot (before a copy|without a wait)/,
  ],
  ["that never empties a slot", multiplies(without("release")), /deadlock: the producer waits forever for emptied/],
  [
    "that empties a slot whose product runs",
    multiplies((step) => (step.kind === "release" && step.when === "later" ? { ...step, age: 0 } : step)),
    /deadlock|while a product of consumer \d reads it/,
  ],
  [
    "where the producer alone fills a slot",
    withArrivals(mixedPipeline, "filled", "one"),
    /filled may get more arrivals|reads block 1 of a slot before a copy/,
  ],
];

const loads = (change: Change) => inProducer(attentionPipeline, change);
const uses = (change: Change) => inConsumer(attentionPipeline, change);

const attentionMistakes: readonly Mistake[] = [
  ["whose first iteration finds no values", loads(without("blank")), /reads block 2 of a slot before a copy/],
  [
    "whose last values have no iteration",
    loads(without("release")),
    /deadlock: consumer 0 waits forever for keysFilled/,
  ],
  [
    "that loads queries without a wait",
    loads(without("wait", at("queriesEmptied"))),
    /queriesFilled may get more arrivals/,
  ],
  [
    "whose consumers never give their queries back",
    uses(without("release", at("queriesEmptied"))),
    /deadlock: the producer waits forever for queriesEmptied/,
  ],
  [
    "that gives queries back which products still read",
    uses((step) => {
      if (step.kind !== "release" || step.barrier !== "queriesEmptied") return step;
      return step.when === "stay" ? { ...step, when: "always" } : undefined;
    }),
    /queriesFilled may get more arrivals/,
    readsShared,
  ],
  ["that loads blocks without a wait", loads(without("wait")), /queriesFilled may get more arrivals/],
  [
    "that loads values without a wait",
    loads(without("wait", at("valuesEmptied"))),
    /valuesFilled may get more arrivals|overwrites block 2/,
  ],
  ["that loads values into the slot of their keys", loads(without("advance")), /valuesFilled may get more arrivals/],
  ["that announces no keys", loads(without("expect", at("keysFilled"))), /bytes that are not announced/],
  ["that loads no queries", loads(without("copy", at("queriesFilled"))), /reads block 0 of consumer \d before a copy/],
  [
    "that takes queries before they are there",
    uses(without("wait", at("queriesFilled"))),
    /reads block 0 of consumer 0 without a wait|more arrivals/,
  ],
  ["that multiplies keys without a wait", uses(without("wait", at("keysFilled"))), /keysEmptied may get more arrivals/],
  [
    "that multiplies values without a wait",
    uses(without("wait", at("valuesFilled"))),
    /reads block 2 of a slot without a wait/,
  ],
  [
    "that never empties keys",
    uses(without("release", at("keysEmptied"))),
    /deadlock: the producer waits forever for keysEmptied/,
  ],
  [
    "that never empties values",
    uses(without("release", at("valuesEmptied"))),
    /deadlock: the producer waits forever for valuesEmptied/,
  ],
  [
    "that makes weights of scores whose product runs",
    uses(without("settle", settles(1))),
    /uses product 1 while it runs/,
  ],
  [
    "that waits for one product too few",
    uses((step) => (step.kind === "settle" && step.pending === 1 ? { ...step, pending: 2 } : step)),
    /uses product 1 while it runs/,
  ],
  ["that scales a sum which a product adds to", uses(without("settle", settles(0))), /ends while a product runs/],
  [
    "that empties values which a product reads",
    uses((step) => (step.kind === "compute" || (step.kind === "settle" && step.pending === 0) ? undefined : step)),
    /ends while a product runs/,
  ],
  ["that does not count iterations", uses(without("advance")), /keysEmptied may get more arrivals/],
  ["whose consumers end early", uses(without("idle iterations")), /leaves out iterations/],
  [
    "whose consumers give no iteration",
    uses(without("give turn")),
    /deadlock: consumer 1 waits forever for turnGiven/,
    hasSeveral,
  ],
  [
    "where one of two consumers empties keys",
    withArrivals(attentionPipeline, "keysEmptied", "one"),
    /keysEmptied may get more arrivals/,
    hasSeveral,
  ],
];

const brings = (change: Change) => inProducer(keyGradients, change);
const takes = (change: Change) => inConsumer(keyGradients, change);
const settlesFor = (product: number) => (step: PipelineStep) => step.kind === "settle" && step.product === product;
const copies = (operand: number) => (step: PipelineStep) => "operand" in step && step.operand === operand;

/** The products of keys and of values with queries and dO, then the sums of dV and dK; lse comes with queries, delta with dO. */
const streamedMistakes: readonly Mistake[] = [
  ["that loads blocks without a wait", brings(without("wait", at("emptied 0"))), /filled 0 may get more arrivals/],
  ["that announces no bytes", brings(without("expect", at("filled 1"))), /filled 1 gets bytes that are not announced/],
  ["that announces no kept blocks", brings(without("expect", at("ownFilled"))), /ownFilled gets bytes/],
  ["that keeps no keys", brings(without("copy", copies(0))), /reads block 0 of consumer \d before a copy/],
  ["that loads no queries", brings(without("copy", copies(2))), /reads block 2 of a slot before a copy/],
  ["that loads no delta", brings(without("copy", copies(5))), /reads block 5 of a slot before a copy/],
  ["whose producer does not count iterations", brings(without("advance")), /filled 0 may get more arrivals/],
  [
    "that takes kept blocks without a wait",
    takes(without("wait", at("ownFilled"))),
    /consumer 0 without a wait|is under way at the end/,
  ],
  ["that multiplies without a wait", takes(without("wait", at("filled 0"))), /without a wait|more arrivals/],
  ["that never empties a slot", takes(without("release", at("emptied 1"))), /deadlock: the producer waits forever/],
  ["that uses scores whose product runs", takes(without("settle", settlesFor(0))), /uses product 0 while it runs/],
  [
    "that waits for one product too few",
    takes((step) => (settlesFor(2)(step) && step.kind === "settle" ? { ...step, pending: 2 } : step)),
    /uses product 2 while it runs/,
  ],
  ["that ends while a sum runs", takes(without("settle", settlesFor(3))), /ends while a product runs|more arrivals/],
  ["whose consumers do not count iterations", takes(without("advance")), /may get more arrivals|ahead of|behind/],
  [
    "where one of two consumers empties a slot",
    withArrivals(keyGradients, "emptied 0", "one"),
    /emptied 0 may get more arrivals/,
    hasSeveral,
  ],
  // The slot of dO is always empty before that of queries, for which the producer waits first.
  ...[at("filled 0"), settlesFor(1)].map((isBefore, i): Mistake => [
    `that empties the queries before their ${i === 0 ? "first" : "last"} product`,
    takes((step) => {
      if (step.kind !== "iterations") return step;
      const isRelease = at("emptied 0");
      const body = step.body.filter((each) => !isRelease(each));
      return { ...step, body: body.toSpliced(body.findIndex(isBefore) + 1, 0, ...step.body.filter(isRelease)) };
    }),
    /overwrites block \d of a slot while .*consumer \d (may read|reads) it|may get more arrivals/,
  ]),
];

test.each([
  ["product", gemmPipeline, products.filter(({ isPromoted }) => isPromoted), "filled", "emptied"],
  ["attention", attentionPipeline, attentions, "valuesFilled", "valuesEmptied"],
] as const)(
  "should refute a plan of %s that empties a slot before its product",
  (_, pipeline, forms, filled, emptied) => {
    const isRelease = at(emptied);
    const early = inConsumer(pipeline, (step) => {
      if (step.kind !== "iterations") return step;
      const body = step.body.filter((each) => !isRelease(each));
      const wait = body.findIndex(at(filled));
      return { ...step, body: body.toSpliced(wait + 1, 0, ...step.body.filter(isRelease)) };
    });
    for (const form of forms)
      expect(faultOf(exploreProtocol({ pipeline: early, ...form })), JSON.stringify(form)).toMatch(
        /overwrites block 2 of a slot while .*consumer \d (may read|reads) it|filled may get more arrivals/i,
      );
  },
);

describe.each([
  ["a product", products, productMistakes],
  ["a scaled product", scaledProducts, scaledMistakes],
  ["a mixed product", mixedProducts, mixedMistakes],
  ["attention", attentions, attentionMistakes],
  ["streamed products", streams, streamedMistakes],
])("should refute in each form a plan of %s", (_, forms, mistakes) => {
  for (const [name, pipeline, says, isConcerned = () => true] of mistakes)
    test(name, () => {
      for (const form of forms.filter(isConcerned))
        expect(faultOf(exploreProtocol({ pipeline, ...form })), JSON.stringify(form)).toMatch(says);
    });
});

test("should refute a plan that loses a slot in each tile, so that only the ninth tile waits forever", () => {
  const pipeline = consumer(without("release", (step) => "when" in step && step.when === "any"));
  const verdict = exploreProtocol({ pipeline, stages: 8, consumers: 1, isPromoted: false, mayIdle: false });
  expect(verdict).toMatchObject({ kind: "refuted", fault: "deadlock: the producer waits forever for emptied" });
  expect("iterations" in verdict && verdict.iterations).toBeGreaterThan(8);
});

test.each([
  [
    "that reuses a buffer which is being written to the tensor",
    consumer(without("drain", (step) => "pending" in step && step.pending === "all but one buffer")),
    "a consumer overwrites a piece that is being written",
  ],
  ["that writes without a fence", consumer(without("fence")), "a consumer writes a piece before a fence"],
  [
    "that ends while a piece is being written",
    consumer(without("drain", (step) => "pending" in step && step.pending === "none")),
    "a consumer ends while a piece is being written",
  ],
])("should refute a plan %s", (_, pipeline, says) => {
  for (const form of PIECES) expect(writeFault(pipeline, form)).toBe(says);
});

test("should refute pieces that leave the last buffer to the first piece of the next tile", () => {
  const says = "a consumer overwrites a piece that is being written";
  expect(writeFault(gemmPipeline, { pieces: 3, depth: 2, outputs: 1 })).toBe(says);
});
