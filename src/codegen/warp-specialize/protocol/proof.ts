/** The proof about the barriers of a warp-specialized kernel, in all of its configs. */
import { hasLongHeads } from "../pattern/attention-configs.js";
import { attentionPipeline, type Pipeline, type PipelineStep } from "../pattern/pipeline.js";
import type { Specialized } from "../pattern/specialize.js";
import { exploreProtocol, type ProtocolVerdict } from "./explore.js";
import type { ProtocolForm } from "./program.js";

type KernelForm = ProtocolForm & WriteForm;

/** The verdicts of this process. Kernels share them, because a pipeline depends on few numbers. */
const verdicts = new Map<string, ProtocolVerdict>();

/**
 * Proves for all trip counts that a specialized kernel never deadlocks, overwrites a block that is still read, or reads a
 * block before its copy.
 */
export function proveBarriers(specialized: Specialized): ProtocolVerdict {
  let states = 0;
  for (const form of formsOf(specialized)) {
    const key = JSON.stringify(form);
    const verdict = verdicts.get(key) ?? proveForm(form);
    verdicts.set(key, verdict);
    if (verdict.kind !== "proved") return verdict;
    states += verdict.states;
  }
  return { kind: "proved", states };
}

function proveForm(form: KernelForm): ProtocolVerdict {
  const fault = writeFault(form.pipeline, form);
  return fault === undefined ? exploreProtocol(form) : { kind: "refuted", fault, iterations: 0, states: 0 };
}

function formsOf(specialized: Specialized): readonly KernelForm[] {
  if (specialized.kind === "streamed") {
    const { pipeline, configs } = specialized;
    // Stores write from registers.
    const common = { pipeline, isPromoted: false, mayIdle: false, pieces: 1, depth: 1, outputs: 0 };
    return configs.map(({ stages, consumers }) => ({ ...common, stages, consumers }));
  }
  const { kind, pattern, configs } = specialized;
  if (kind === "attention") {
    const outputs = new Set(pattern.stores.flatMap(({ block }) => block?.tensor ?? [])).size;
    const common = { pipeline: attentionPipeline, isPromoted: false, mayIdle: true, depth: 1, outputs };
    return configs.map((config) => {
      const { stages, consumers, pieces } = config;
      return { ...common, stages, consumers, pieces, hasLongHeads: hasLongHeads(config) };
    });
  }
  const outputs = new Set(pattern.stores.map(({ tensor }) => tensor)).size;
  if (pattern.rowScales) {
    const scaled = { pipeline: specialized.pipeline, mayIdle: false, isPromoted: true, outputs };
    return configs.map(({ stages, consumers, pieces, depth, inFlight }) => ({
      ...scaled,
      stages,
      consumers,
      pieces,
      depth,
      isPaired: inFlight === 2,
    }));
  }
  const common = { pipeline: specialized.pipeline, mayIdle: false, outputs };
  const sums = new Set(pattern.accumulation.arms.flatMap((arm) => (arm ? [arm.isPromoted] : [])));
  return configs.flatMap(({ stages, consumers, pieces, depth }) =>
    [...sums].map((isPromoted) => ({ ...common, stages, consumers, pieces, depth, isPromoted })),
  );
}

// No other partition sees the buffers of a consumer's writes. Their proof explores tiles until they repeat.

interface WriteForm {
  /** The pieces of a tile, and the buffers that they share. */
  readonly pieces: number;
  readonly depth: number;
  /** Tensors, each with its own buffers. */
  readonly outputs: number;
}

/** The buffers that writes read, oldest first; filled buffers; those that are visible to TMA. */
interface Writes {
  readonly running: readonly number[];
  readonly staged: readonly number[];
  readonly visible: readonly number[];
}

/** The first fault of a launch with any number of tiles. */
export function writeFault({ consumer }: Pipeline, form: WriteForm): string | undefined {
  const visited = new Set<string>();
  let writes: Writes | string = { running: [], staged: [], visible: [] };
  for (;;) {
    const key = JSON.stringify(writes);
    if (visited.has(key)) return undefined;
    visited.add(key);
    // A launch may end after each tile.
    const end = after(writes, consumer, form);
    if (typeof end === "string") return end;
    if (end.running.length > 0) return "a consumer ends while a piece is being written";
    const tile = consumer.flatMap((step) => (step.kind === "tiles" ? step.body : []));
    writes = after(writes, tile, form);
    if (typeof writes === "string") return writes;
  }
}

/** The writes after steps, or their fault. */
function after(writes: Writes, steps: readonly PipelineStep[], form: WriteForm, buffer = 0): Writes | string {
  let current: Writes | string = writes;
  for (const step of steps) {
    if (typeof current === "string") return current;
    current =
      step.kind === "epilogue" ? afterPieces(current, step.piece, form) : afterStep(current, step, form, buffer);
  }
  return current;
}

function afterPieces(writes: Writes, piece: readonly PipelineStep[], form: WriteForm): Writes | string {
  let current: Writes | string = writes;
  for (let output = 0; output < form.outputs; output++)
    for (let i = 0; i < form.pieces && typeof current !== "string"; i++)
      current = after(current, piece, form, output * form.depth + (i % form.depth));
  return current;
}

function afterStep(writes: Writes, step: PipelineStep, { depth }: WriteForm, buffer: number): Writes | string {
  const { running, staged, visible } = writes;
  const others = (buffers: readonly number[]) => buffers.filter((each) => each !== buffer);
  if (step.kind === "drain") {
    const pending = step.pending === "none" ? 0 : depth - 1;
    return { ...writes, running: running.slice(Math.max(0, running.length - pending)) };
  }
  if (step.kind === "fence") return { running, staged: [], visible: [...visible, ...staged] };
  if (step.kind === "stage") {
    if (running.includes(buffer)) return "a consumer overwrites a piece that is being written";
    return { running, staged: [...others(staged), buffer], visible: others(visible) };
  }
  if (step.kind !== "send") return writes;
  if (!visible.includes(buffer)) return "a consumer writes a piece before a fence";
  return { running: [...running, buffer], staged, visible: others(visible) };
}
