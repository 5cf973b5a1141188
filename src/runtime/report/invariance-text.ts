/** On what the bits of outputs depend, as lines of a report and as diagnostics. */
import type {
  AxisVerdict,
  CompiledKernel,
  InvarianceProof,
  ProofCache,
  RunsVerdict,
} from "../../compiled/compiled-kernel.js";
import { notInvariant } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic, formatLocation, type Location } from "../../diagnostics/diagnostic.js";

/** The lines of each output: `softmax y: invariant in M`, one for each size that is not, and one for runs. */
export const invarianceLines = (proofs: readonly InvarianceProof[]): readonly string[] =>
  proofs.flatMap(({ kernel, output, sizes, runs }) => {
    const invariant = sizes.flatMap(({ size, verdict }) => (verdict.kind === "invariant" ? [size] : []));
    const others = sizes.flatMap(({ size, verdict }) =>
      verdict.kind === "invariant" ? [] : [describeSize(size, verdict)],
    );
    const first = invariant.length === 0 ? [] : [`invariant in ${invariant.join(", ")}`];
    return [...first, ...others, describeRuns(runs)].map((line) => `${kernel} ${output}: ${line}`);
  });

function describeSize(size: string, verdict: Exclude<AxisVerdict, { kind: "invariant" }>): string {
  return verdict.kind === "dependent"
    ? `not invariant in ${size}${placeOf(verdict.at)}: ${verdict.why}`
    : `not shown to be invariant in ${size}${placeOf(verdict.at)}: ${verdict.missing}`;
}

function describeRuns(verdict: RunsVerdict): string {
  switch (verdict.kind) {
    case "proved":
      return "the same bits in every run";
    case "per-config":
      return "the same bits in every run with one config, which the autotuner may choose anew in each process";
    case "dependent":
      return `other bits in another run${placeOf(verdict.at)}: ${verdict.why}`;
    case "unknown":
      return `not shown to have the same bits in every run${placeOf(verdict.at)}: ${verdict.missing}`;
    default:
      return verdict satisfies never;
  }
}

const placeOf = (at: Location | undefined): string => (at ? ` at ${formatLocation(at)}` : "");

/** An error for each output that is not shown to be invariant in a size that the spec declares. */
export function invarianceDiagnostics(kernel: CompiledKernel, cache?: ProofCache): readonly Diagnostic[] {
  if (!kernel.declaresInvariance) return [];
  return kernel.invariance(cache).flatMap(({ output, sizes }) =>
    sizes.flatMap(({ size, verdict, required }) => {
      if (!required || verdict.kind === "invariant") return [];
      const { cause, at = kernel.at } = verdict;
      const message =
        verdict.kind === "dependent"
          ? notInvariant.dependent(output, size, verdict.why, cause)
          : notInvariant.unknown(output, size, verdict.missing, cause);
      return [errorDiagnostic(message, at)];
    }),
  );
}
