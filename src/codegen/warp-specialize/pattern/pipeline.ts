/**
 * The steps of a warp-specialized kernel's partitions. A producer loads blocks into a ring buffer in shared memory, and
 * one to three consumers multiply them. A widener may compute blocks in between. The emitter writes these steps as Gluon,
 * and `protocol/proof.ts` proves their barriers.
 *
 * The ring buffer has STAGES slots. One barrier per slot completes when the slot's blocks have arrived, another when
 * every consumer has read them. A running iteration counter determines the slot (counter mod STAGES) and the phase of
 * its barriers (counter div STAGES mod 2).
 */
export type BarrierName = "filled" | "emptied" | "packedFilled" | AttentionBarrier | StreamBarrier;

/** Barriers of streamed products: those of the blocks that each consumer keeps, and of each streamed block. */
export type StreamBarrier = "ownFilled" | `filled ${number}` | `emptied ${number}`;

export type AttentionBarrier =
  "queriesFilled" | "queriesEmptied" | "keysFilled" | "keysEmptied" | "valuesFilled" | "valuesEmptied" | "turnGiven";

export type PipelineStep =
  /** Waits for the phase of the iteration, or of the tile for a per-consumer barrier. */
  | { readonly kind: "wait"; readonly barrier: BarrierName; readonly isPreviousPhase?: boolean }
  /**
   * With several consumers, which use the tensor cores alternately: waits for this consumer's turn, or signals the next
   * one.
   */
  | { readonly kind: "await turn" }
  | { readonly kind: "give turn" }
  /** Announces the bytes of the following copies to their barrier. This counts as an arrival. */
  | { readonly kind: "expect"; readonly barrier: BarrierName }
  /** Starts the copy of an operand's block into the iteration's slot. The bytes arrive at the barrier. */
  | { readonly kind: "copy"; readonly operand: number; readonly barrier: BarrierName }
  /** Fills the iteration's slot with zeros, by a copy from beyond the tensor's rows. */
  | { readonly kind: "blank"; readonly operand: number; readonly barrier: BarrierName }
  /** Reads a block into registers, or leaves it in shared memory for products. Its copy arrives at the barrier. */
  | { readonly kind: "take"; readonly operand: number; readonly barrier: BarrierName }
  /** Computes an operand's block of the iteration in registers, from another one. */
  | { readonly kind: "widen"; readonly from: number; readonly to: number }
  /** The loop of a GEMM, for sums in the tensor cores and for promoted sums. A constexpr may decide between them. */
  | { readonly kind: "sum"; readonly whole: readonly PipelineStep[]; readonly promoted: readonly PipelineStep[] }
  /** Multiplies both blocks of the iteration in pieces, and adds each piece to its sum once it is complete. */
  | { readonly kind: "promote" }
  /** Adds the oldest product in registers, times its scales, while at most `pending` younger ones are in flight. */
  | { readonly kind: "add"; readonly pending: number }
  /** Starts a product of these blocks of the iteration, or of the consumer. `product`: its number in an iteration. */
  | { readonly kind: "multiply"; readonly operands: readonly number[]; readonly product?: number }
  /** Waits until at most `pending` products are in flight, so that `product` is complete. */
  | { readonly kind: "settle"; readonly pending: number; readonly product?: number }
  /** The author's computation with these complete products, by its number in an iteration. */
  | { readonly kind: "use"; readonly phase: number; readonly products: readonly number[] }
  /** The author's computation in an iteration: on the scores, or on the accumulator. */
  | { readonly kind: "compute"; readonly target: "weights" | "carried" }
  /**
   * Arrives at the barrier of the slot that was read `age` iterations ago. `when` limits it: `later` excludes the
   * tile's first iteration, `any` requires that the tile has iterations, `stay` that queries are kept in registers,
   * `leave` that they do not.
   */
  | {
      readonly kind: "release";
      readonly barrier: BarrierName;
      readonly age: number;
      readonly when: "always" | "later" | "any" | "stay" | "leave";
    }
  /** Increments the iteration counter. */
  | { readonly kind: "advance" }
  | { readonly kind: "iterations"; readonly body: readonly PipelineStep[] }
  /** Pairs of iterations, if two products are in flight. The loop of single iterations has the last one of an odd number. */
  | { readonly kind: "pairs"; readonly body: readonly PipelineStep[] }
  /** Iterations of a tile that a consumer skips, because its rows attend to none of their keys. */
  | { readonly kind: "idle iterations"; readonly body: readonly PipelineStep[] }
  | { readonly kind: "tiles"; readonly body: readonly PipelineStep[] }
  /** The author's computation on the product. It writes tiles piece by piece. */
  | { readonly kind: "epilogue"; readonly piece: readonly PipelineStep[] }
  /** Waits until at most this many writes of pieces still read shared memory. */
  | { readonly kind: "drain"; readonly pending: "all but one buffer" | "none" }
  /** Copies the piece into the next piece buffer. */
  | { readonly kind: "stage" }
  /** Orders what registers read and wrote in shared memory before later copies. */
  | { readonly kind: "fence" }
  /** Starts the write of that buffer to the tensor. */
  | { readonly kind: "send" };

export interface Barrier {
  /** The number of arrivals that complete a phase. */
  readonly arrivals: "one" | "producer and widener" | "consumers";
  /** The owner of each barrier: a slot of the ring buffer, or a consumer. */
  readonly per: "slot" | "consumer";
}

export interface Pipeline {
  /** By {@link BarrierName}. */
  readonly barriers: Readonly<Record<string, Barrier>>;
  /** The operands of which each consumer has its own block. The others have one per slot. */
  readonly own: readonly number[];
  readonly producer: readonly PipelineStep[];
  /** The partition that computes blocks between the producer and the consumers. */
  readonly widener?: readonly PipelineStep[];
  readonly consumer: readonly PipelineStep[];
}

const writePiece: readonly PipelineStep[] = [
  { kind: "drain", pending: "all but one buffer" },
  { kind: "stage" },
  { kind: "fence" },
  { kind: "send" },
];

const wholeSum: readonly PipelineStep[] = [
  {
    kind: "iterations",
    body: [
      { kind: "wait", barrier: "filled" },
      { kind: "multiply", operands: [0, 1] },
      { kind: "settle", pending: 1 },
      { kind: "release", barrier: "emptied", age: 1, when: "later" },
      { kind: "advance" },
    ],
  },
  { kind: "settle", pending: 0 },
  { kind: "release", barrier: "emptied", age: 1, when: "any" },
];

const promotedSum: readonly PipelineStep[] = [
  {
    kind: "iterations",
    body: [
      { kind: "wait", barrier: "filled" },
      { kind: "promote" },
      { kind: "release", barrier: "emptied", age: 0, when: "always" },
      { kind: "advance" },
    ],
  },
];

/** The operand of a product that has the scales of its rows. */
export const ROW_SCALES = 2;

/** Starts the product of an iteration, and reads its scales while it runs. */
const scaledProduct: readonly PipelineStep[] = [
  { kind: "wait", barrier: "filled" },
  { kind: "multiply", operands: [0, 1] },
  { kind: "take", operand: ROW_SCALES, barrier: "filled" },
];

const scaledSum: readonly PipelineStep[] = [
  {
    kind: "pairs",
    body: [
      ...scaledProduct,
      { kind: "advance" },
      ...scaledProduct,
      { kind: "fence" },
      { kind: "settle", pending: 1 },
      { kind: "release", barrier: "emptied", age: 1, when: "always" },
      { kind: "add", pending: 1 },
      { kind: "settle", pending: 0 },
      { kind: "release", barrier: "emptied", age: 0, when: "always" },
      { kind: "add", pending: 0 },
      { kind: "advance" },
    ],
  },
  {
    kind: "iterations",
    body: [
      ...scaledProduct,
      { kind: "fence" },
      { kind: "settle", pending: 0 },
      { kind: "release", barrier: "emptied", age: 0, when: "always" },
      { kind: "add", pending: 0 },
      { kind: "advance" },
    ],
  },
];

/** The same steps for each iteration of each tile. */
const eachIteration = (body: readonly PipelineStep[]): readonly PipelineStep[] => [
  { kind: "tiles", body: [{ kind: "iterations", body }] },
];

/** @param copies The copies of an iteration, with what their barriers expect. */
function productPipeline(copies: readonly PipelineStep[], sum: readonly PipelineStep[]): Pipeline {
  return {
    barriers: { filled: { arrivals: "one", per: "slot" }, emptied: { arrivals: "consumers", per: "slot" } },
    own: [],
    producer: eachIteration([
      { kind: "wait", barrier: "emptied", isPreviousPhase: true },
      ...copies,
      { kind: "advance" },
    ]),
    consumer: [
      { kind: "tiles", body: [...sum, { kind: "epilogue", piece: writePiece }] },
      { kind: "drain", pending: "none" },
    ],
  };
}

const copyOf = (operand: number): PipelineStep => ({ kind: "copy", operand, barrier: "filled" });
const expectFilled: PipelineStep = { kind: "expect", barrier: "filled" };

/**
 * A GEMM whose loads run up to STAGES iterations ahead. Each product is still in flight when the next one starts, unless
 * sums are promoted.
 */
export const gemmPipeline: Pipeline = productPipeline(
  [expectFilled, copyOf(0), copyOf(1)],
  [{ kind: "sum", whole: wholeSum, promoted: promotedSum }],
);

/** A GEMM whose products are scaled. The scales of the rows pass through the ring buffer as well. */
export const scaledPipeline: Pipeline = productPipeline(
  [expectFilled, copyOf(0), copyOf(1), copyOf(ROW_SCALES)],
  scaledSum,
);

/** The operand of a mixed product that is widened, and the block that it is computed from. */
export const WIDENED = 1;
export const PACKED = 3;

/**
 * A GEMM whose second factor is computed from a packed block. A slot has both. The producer fills it only after the
 * consumers have emptied it, so that the widener, which waits for the packed block, need not wait for them.
 */
export const mixedPipeline: Pipeline = {
  ...productPipeline(
    [
      { kind: "expect", barrier: "packedFilled" },
      { kind: "copy", operand: PACKED, barrier: "packedFilled" },
      expectFilled,
      copyOf(0),
    ],
    wholeSum,
  ),
  barriers: {
    packedFilled: { arrivals: "one", per: "slot" },
    filled: { arrivals: "producer and widener", per: "slot" },
    emptied: { arrivals: "consumers", per: "slot" },
  },
  widener: eachIteration([
    { kind: "wait", barrier: "packedFilled" },
    { kind: "widen", from: PACKED, to: WIDENED },
    { kind: "fence" },
    { kind: "release", barrier: "filled", age: 0, when: "always" },
    { kind: "advance" },
  ]),
};

/** Operand indices of attention. */
export const QUERIES = 0;
export const KEYS = 1;
export const VALUES = 2;

/** With this many consumers, registers cannot hold the queries, so products read them from shared memory. */
export const SPILL_QUERIES_CONSUMERS = 3;

/**
 * The pipeline of attention. The weights of an iteration are multiplied by their values in the next iteration, so that
 * the tensor cores are busy while that iteration's scores become weights. An iteration's values therefore use the next
 * iteration's slot. The first iteration of a tile has no earlier weights and reads zeros. The last values have an
 * iteration without keys.
 *
 * Values are released after keys, and the producer waits for the values' slot first, so its wait for a keys' slot is
 * always short.
 *
 * Several consumers alternate: while one computes weights, the products of another run. A consumer whose rows attend to
 * no further keys passes on its remaining iterations.
 */
export const attentionPipeline: Pipeline = {
  barriers: {
    queriesFilled: { arrivals: "one", per: "consumer" },
    queriesEmptied: { arrivals: "one", per: "consumer" },
    keysFilled: { arrivals: "one", per: "slot" },
    keysEmptied: { arrivals: "consumers", per: "slot" },
    valuesFilled: { arrivals: "one", per: "slot" },
    valuesEmptied: { arrivals: "consumers", per: "slot" },
    turnGiven: { arrivals: "one", per: "consumer" },
  },
  own: [QUERIES],
  producer: [
    {
      kind: "tiles",
      body: [
        { kind: "wait", barrier: "queriesEmptied", isPreviousPhase: true },
        { kind: "expect", barrier: "queriesFilled" },
        { kind: "copy", operand: QUERIES, barrier: "queriesFilled" },
        { kind: "wait", barrier: "valuesEmptied", isPreviousPhase: true },
        { kind: "expect", barrier: "valuesFilled" },
        { kind: "blank", operand: VALUES, barrier: "valuesFilled" },
        {
          kind: "iterations",
          body: [
            { kind: "wait", barrier: "keysEmptied", isPreviousPhase: true },
            { kind: "expect", barrier: "keysFilled" },
            { kind: "copy", operand: KEYS, barrier: "keysFilled" },
            { kind: "advance" },
            { kind: "wait", barrier: "valuesEmptied", isPreviousPhase: true },
            { kind: "expect", barrier: "valuesFilled" },
            { kind: "copy", operand: VALUES, barrier: "valuesFilled" },
          ],
        },
        { kind: "wait", barrier: "keysEmptied", isPreviousPhase: true },
        { kind: "release", barrier: "keysFilled", age: 0, when: "always" },
        { kind: "advance" },
      ],
    },
  ],
  consumer: [
    {
      kind: "tiles",
      body: [
        { kind: "wait", barrier: "queriesFilled" },
        { kind: "take", operand: QUERIES, barrier: "queriesFilled" },
        { kind: "release", barrier: "queriesEmptied", age: 0, when: "stay" },
        {
          kind: "iterations",
          body: [
            { kind: "wait", barrier: "keysFilled" },
            { kind: "await turn" },
            { kind: "multiply", operands: [KEYS] },
            { kind: "wait", barrier: "valuesFilled" },
            { kind: "multiply", operands: [VALUES] },
            { kind: "give turn" },
            { kind: "settle", pending: 1 },
            { kind: "release", barrier: "keysEmptied", age: 0, when: "always" },
            { kind: "compute", target: "weights" },
            { kind: "settle", pending: 0 },
            { kind: "release", barrier: "valuesEmptied", age: 0, when: "always" },
            { kind: "compute", target: "carried" },
            { kind: "advance" },
          ],
        },
        { kind: "release", barrier: "queriesEmptied", age: 0, when: "leave" },
        { kind: "wait", barrier: "keysFilled" },
        { kind: "release", barrier: "keysEmptied", age: 0, when: "always" },
        { kind: "await turn" },
        { kind: "wait", barrier: "valuesFilled" },
        { kind: "multiply", operands: [VALUES] },
        { kind: "give turn" },
        { kind: "settle", pending: 0 },
        { kind: "release", barrier: "valuesEmptied", age: 0, when: "always" },
        { kind: "advance" },
        {
          kind: "idle iterations",
          body: [
            { kind: "wait", barrier: "keysFilled" },
            { kind: "release", barrier: "keysEmptied", age: 0, when: "always" },
            { kind: "await turn" },
            { kind: "give turn" },
            { kind: "wait", barrier: "valuesFilled" },
            { kind: "release", barrier: "valuesEmptied", age: 0, when: "always" },
            { kind: "advance" },
          ],
        },
        { kind: "epilogue", piece: writePiece },
      ],
    },
    { kind: "drain", pending: "none" },
  ],
};
