/**
 * What the parts of a warp-specialised kernel do, step by step: one part loads blocks into a ring of shared buffers, one
 * or two others multiply them. The emitter writes these steps as Gluon, and `barrier-model.ts` explores them.
 *
 * The ring has STAGES slots. `filled` is signalled when a slot's blocks have arrived, `emptied` when every consumer has
 * read them. A running count of turns gives a turn's slot (count mod STAGES) and the parity of its barriers
 * (count div STAGES mod 2).
 */
export type BarrierName = "filled" | "emptied";

export type Step =
  /** Waits until the barrier of the turn's slot has the turn's parity; `before`, until it had the other one. */
  | { readonly kind: "wait"; readonly barrier: BarrierName; readonly before?: boolean }
  /** Announces the bytes of the turn's copies to `filled`, which is an arrival. */
  | { readonly kind: "expect" }
  /** Starts the copy of an operand's block into the turn's slot; its bytes arrive at `filled`. */
  | { readonly kind: "copy"; readonly operand: 0 | 1 }
  /** Starts the product of the turn's slot. */
  | { readonly kind: "multiply" }
  /** Waits until at most so many products run. */
  | { readonly kind: "settle"; readonly running: number }
  /**
   * Arrives at `emptied` of the slot that was read `ago` turns ago: where this is not the tile's first turn, or where the
   * tile has any.
   */
  | { readonly kind: "release"; readonly ago: number; readonly when: "later" | "any" }
  /** Counts the turn. */
  | { readonly kind: "advance" }
  | { readonly kind: "turns"; readonly body: readonly Step[] }
  | { readonly kind: "tiles"; readonly body: readonly Step[] }
  /** What the author does with the product, which writes tiles piece by piece. */
  | { readonly kind: "epilogue"; readonly piece: readonly Step[] }
  /** Waits until at most so many writes of pieces still read shared memory; `depth` stands for the buffers of a tile. */
  | { readonly kind: "drain"; readonly running: "all but one buffer" | "none" }
  /** Puts the piece into the next of the buffers. */
  | { readonly kind: "stage" }
  /** Shows what was put there to the copy engine. */
  | { readonly kind: "fence" }
  /** Starts the write of that buffer to the tensor. */
  | { readonly kind: "send" };

export interface Pipeline {
  /** How many arrivals complete a phase of each barrier. */
  readonly arrivals: Readonly<Record<BarrierName, "one" | "consumers">>;
  readonly producer: readonly Step[];
  readonly consumer: readonly Step[];
}

/** A product whose loads run up to STAGES turns ahead, and whose last product runs while the next is started. */
export const gemmPipeline: Pipeline = {
  arrivals: { filled: "one", emptied: "consumers" },
  producer: [
    {
      kind: "tiles",
      body: [
        {
          kind: "turns",
          body: [
            { kind: "wait", barrier: "emptied", before: true },
            { kind: "expect" },
            { kind: "copy", operand: 0 },
            { kind: "copy", operand: 1 },
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
            { kind: "multiply" },
            { kind: "settle", running: 1 },
            { kind: "release", ago: 1, when: "later" },
            { kind: "advance" },
          ],
        },
        { kind: "settle", running: 0 },
        { kind: "release", ago: 1, when: "any" },
        {
          kind: "epilogue",
          piece: [
            { kind: "drain", running: "all but one buffer" },
            { kind: "stage" },
            { kind: "fence" },
            { kind: "send" },
          ],
        },
      ],
    },
    { kind: "drain", running: "none" },
  ],
};
