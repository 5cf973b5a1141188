/**
 * What the parts of a warp-specialized kernel do, step by step: one part loads blocks into a ring of shared buffers, one
 * to three others multiply them. The emitter writes these steps as Gluon, and a test explores them (`barrier-model.ts`).
 *
 * The ring has STAGES slots. A barrier is signalled when a slot's blocks have arrived, another when every consumer has
 * read them. A running count of turns gives a turn's slot (count mod STAGES) and the parity of its barriers
 * (count div STAGES mod 2).
 */
export type BarrierName = "filled" | "emptied" | AttentionBarrier;

export type AttentionBarrier =
  "queriesFilled" | "queriesEmptied" | "keysFilled" | "keysEmptied" | "valuesFilled" | "valuesEmptied" | "turnGiven";

export type PipelineStep =
  /** Waits until the barrier has the parity of the turn, or a consumer's own that of the tile; `before`, the other one. */
  | { readonly kind: "wait"; readonly barrier: BarrierName; readonly before?: boolean }
  /** Of several consumers, which take turns at the tensor cores: waits until it is this one's, or gives it to the next. */
  | { readonly kind: "await turn" }
  | { readonly kind: "give turn" }
  /** Announces the bytes of the copies that follow to their barrier, which is an arrival. */
  | { readonly kind: "expect"; readonly barrier: BarrierName }
  /** Starts the copy of an operand's block into the turn's buffer; its bytes arrive at the barrier. */
  | { readonly kind: "copy"; readonly operand: number; readonly barrier: BarrierName }
  /** Fills the turn's buffer with zeros, by a copy from where the tensor has no rows. */
  | { readonly kind: "blank"; readonly operand: number; readonly barrier: BarrierName }
  /** Reads a block into registers, or leaves it to products. */
  | { readonly kind: "take"; readonly operand: number }
  /** Starts a product that reads these blocks of the turn. */
  | { readonly kind: "multiply"; readonly operands: readonly number[] }
  /** Waits until at most so many products run. */
  | { readonly kind: "settle"; readonly running: number }
  /** What the author does in a turn: with the scores, and with the sum. */
  | { readonly kind: "compute"; readonly what: "weights" | "carried" }
  /**
   * Arrives at the barrier of the slot that was read `ago` turns ago: always, where this is not the tile's first turn,
   * where the tile has any, where queries stay in registers, or where they do not.
   */
  | {
      readonly kind: "release";
      readonly barrier: BarrierName;
      readonly ago: number;
      readonly when: "always" | "later" | "any" | "stay" | "leave";
    }
  /** Counts the turn. */
  | { readonly kind: "advance" }
  | { readonly kind: "turns"; readonly body: readonly PipelineStep[] }
  /** Turns of a tile that a consumer leaves to the others: its rows see none of their keys. */
  | { readonly kind: "idle turns"; readonly body: readonly PipelineStep[] }
  | { readonly kind: "tiles"; readonly body: readonly PipelineStep[] }
  /** What the author does with the product, which writes tiles piece by piece. */
  | { readonly kind: "epilogue"; readonly piece: readonly PipelineStep[] }
  /** Waits until at most so many writes of pieces still read shared memory; `depth` stands for the buffers of a tile. */
  | { readonly kind: "drain"; readonly running: "all but one buffer" | "none" }
  /** Puts the piece into the next of the buffers. */
  | { readonly kind: "stage" }
  /** Shows what was put there to the copy engine. */
  | { readonly kind: "fence" }
  /** Starts the write of that buffer to the tensor. */
  | { readonly kind: "send" };

export interface Barrier {
  /** How many arrivals complete a phase. */
  readonly arrivals: "one" | "consumers";
  /** Whether each slot of the ring has one, or each consumer. */
  readonly per: "slot" | "consumer";
}

export interface Pipeline {
  readonly barriers: Readonly<Partial<Record<BarrierName, Barrier>>>;
  readonly producer: readonly PipelineStep[];
  readonly consumer: readonly PipelineStep[];
}

const writePiece: readonly PipelineStep[] = [
  { kind: "drain", running: "all but one buffer" },
  { kind: "stage" },
  { kind: "fence" },
  { kind: "send" },
];

/** A product whose loads run up to STAGES turns ahead, and whose last product runs while the next is started. */
export const gemmPipeline: Pipeline = {
  barriers: { filled: { arrivals: "one", per: "slot" }, emptied: { arrivals: "consumers", per: "slot" } },
  producer: [
    {
      kind: "tiles",
      body: [
        {
          kind: "turns",
          body: [
            { kind: "wait", barrier: "emptied", before: true },
            { kind: "expect", barrier: "filled" },
            { kind: "copy", operand: 0, barrier: "filled" },
            { kind: "copy", operand: 1, barrier: "filled" },
            { kind: "advance" },
          ],
        },
      ],
    },
  ],
  consumer: [
    {
      kind: "tiles",
      body: [
        {
          kind: "turns",
          body: [
            { kind: "wait", barrier: "filled" },
            { kind: "multiply", operands: [0, 1] },
            { kind: "settle", running: 1 },
            { kind: "release", barrier: "emptied", ago: 1, when: "later" },
            { kind: "advance" },
          ],
        },
        { kind: "settle", running: 0 },
        { kind: "release", barrier: "emptied", ago: 1, when: "any" },
        { kind: "epilogue", piece: writePiece },
      ],
    },
    { kind: "drain", running: "none" },
  ],
};

/** The operands of attention. */
export const QUERIES = 0;
export const KEYS = 1;
export const VALUES = 2;

/** With so many consumers, registers have no room for queries, and products read them in shared memory. */
export const SPILL_QUERIES_CONSUMERS = 3;

/**
 * Attention: the weights of a turn meet their values in the next turn, so that the tensor cores multiply them while the
 * scores of that turn become weights. A turn's values therefore have the next turn's slot. A tile's first turn has no
 * weights from before and finds zeros; its last values have a turn without keys.
 *
 * Values are emptied after keys, and the producer waits for theirs first, so its wait for a slot of keys is always short.
 *
 * Several consumers take turns: while one makes weights, the products of another run. One whose rows see no more keys
 * gives its remaining turns away.
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
  producer: [
    {
      kind: "tiles",
      body: [
        { kind: "wait", barrier: "queriesEmptied", before: true },
        { kind: "expect", barrier: "queriesFilled" },
        { kind: "copy", operand: QUERIES, barrier: "queriesFilled" },
        { kind: "wait", barrier: "valuesEmptied", before: true },
        { kind: "expect", barrier: "valuesFilled" },
        { kind: "blank", operand: VALUES, barrier: "valuesFilled" },
        {
          kind: "turns",
          body: [
            { kind: "wait", barrier: "keysEmptied", before: true },
            { kind: "expect", barrier: "keysFilled" },
            { kind: "copy", operand: KEYS, barrier: "keysFilled" },
            { kind: "advance" },
            { kind: "wait", barrier: "valuesEmptied", before: true },
            { kind: "expect", barrier: "valuesFilled" },
            { kind: "copy", operand: VALUES, barrier: "valuesFilled" },
          ],
        },
        { kind: "wait", barrier: "keysEmptied", before: true },
        { kind: "release", barrier: "keysFilled", ago: 0, when: "always" },
        { kind: "advance" },
      ],
    },
  ],
  consumer: [
    {
      kind: "tiles",
      body: [
        { kind: "wait", barrier: "queriesFilled" },
        { kind: "take", operand: QUERIES },
        { kind: "release", barrier: "queriesEmptied", ago: 0, when: "stay" },
        {
          kind: "turns",
          body: [
            { kind: "wait", barrier: "keysFilled" },
            { kind: "await turn" },
            { kind: "multiply", operands: [KEYS] },
            { kind: "wait", barrier: "valuesFilled" },
            { kind: "multiply", operands: [VALUES] },
            { kind: "give turn" },
            { kind: "settle", running: 1 },
            { kind: "release", barrier: "keysEmptied", ago: 0, when: "always" },
            { kind: "compute", what: "weights" },
            { kind: "settle", running: 0 },
            { kind: "release", barrier: "valuesEmptied", ago: 0, when: "always" },
            { kind: "compute", what: "carried" },
            { kind: "advance" },
          ],
        },
        { kind: "release", barrier: "queriesEmptied", ago: 0, when: "leave" },
        { kind: "wait", barrier: "keysFilled" },
        { kind: "release", barrier: "keysEmptied", ago: 0, when: "always" },
        { kind: "await turn" },
        { kind: "wait", barrier: "valuesFilled" },
        { kind: "multiply", operands: [VALUES] },
        { kind: "give turn" },
        { kind: "settle", running: 0 },
        { kind: "release", barrier: "valuesEmptied", ago: 0, when: "always" },
        { kind: "advance" },
        {
          kind: "idle turns",
          body: [
            { kind: "wait", barrier: "keysFilled" },
            { kind: "release", barrier: "keysEmptied", ago: 0, when: "always" },
            { kind: "await turn" },
            { kind: "give turn" },
            { kind: "wait", barrier: "valuesFilled" },
            { kind: "release", barrier: "valuesEmptied", ago: 0, when: "always" },
            { kind: "advance" },
          ],
        },
        { kind: "epilogue", piece: writePiece },
      ],
    },
    { kind: "drain", running: "none" },
  ],
};
