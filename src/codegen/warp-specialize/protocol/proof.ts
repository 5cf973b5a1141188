/** The proof about the barriers of a warp-specialized kernel, in all of its configs. */
import { attentionPipeline, gemmPipeline, scaledPipeline } from "../pattern/pipeline.js";
import type { Specialized } from "../pattern/specialize.js";
import { exploreProtocol, type ProtocolVerdict } from "./explore.js";
import type { ProtocolForm } from "./program.js";
import { type WriteForm, writeFault } from "./writes.js";

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
    const common = { pipeline: attentionPipeline, isPromoted: false, mayIdle: true, pieces: 1, depth: 1, outputs };
    return configs.map(({ stages, consumers }) => ({ ...common, stages, consumers }));
  }
  const outputs = new Set(pattern.stores.map(({ tensor }) => tensor)).size;
  if (pattern.rowScales) {
    const scaled = { pipeline: scaledPipeline, mayIdle: false, isPromoted: true, outputs };
    return configs.map(({ stages, consumers, pieces, depth, inFlight }) => ({
      ...scaled,
      stages,
      consumers,
      pieces,
      depth,
      isPaired: inFlight === 2,
    }));
  }
  const common = { pipeline: gemmPipeline, mayIdle: false, outputs };
  const sums = new Set(pattern.accumulation.arms.flatMap((arm) => (arm ? [arm.isPromoted] : [])));
  return configs.flatMap(({ stages, consumers, pieces, depth }) =>
    [...sums].map((isPromoted) => ({ ...common, stages, consumers, pieces, depth, isPromoted })),
  );
}
