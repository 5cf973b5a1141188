/** The verdicts of outputs, as lines of a report and as diagnostics. */
import type { CompiledKernel, OutputProof } from "../../compiled/compiled-kernel.js";
import { formatNumber } from "../../compiled/canonical-json.js";
import { wrongOutput } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic, formatLocation } from "../../diagnostics/diagnostic.js";
import { formatCounterexample } from "./proof-text.js";

const ITS_REFERENCE = "its reference";

type Shown = Exclude<OutputProof["verdict"], { kind: "refuted" }>;

/** A line for each output that is not refuted: `softmax computes y: equal to its reference over the reals, for …` */
export const computesLines = (
  kernel: CompiledKernel,
  outputs: readonly OutputProof[],
  source = ITS_REFERENCE,
): readonly string[] =>
  outputs.flatMap(({ output, isGradient, verdict }) => {
    const line = `${kernel.signature.name} computes ${isGradient ? `the gradient of ${output}` : output}`;
    const expected = isGradient ? `the derivative of ${source}` : source;
    return verdict.kind === "refuted" ? [] : [`${line}: ${describe(kernel, verdict, expected)}`];
  });

/** An error for each output that is refuted, with the case and what both sides give. */
export const outputDiagnostics = (outputs: readonly OutputProof[], source = "the reference"): readonly Diagnostic[] =>
  outputs.flatMap(({ output, at, verdict }) => {
    if (verdict.kind !== "refuted") return [];
    const { worst, at: testCase } = verdict;
    const element = worst.index.length === 0 ? output : `${output}[${worst.index.join(", ")}]`;
    const [got, expected] = [formatNumber(worst.got), formatNumber(worst.expected)];
    return [errorDiagnostic(wrongOutput(element, got, expected, formatCounterexample(testCase), source), at)];
  });

function describe({ signature, configs }: CompiledKernel, verdict: Shown, source: string): string {
  const of = signature.sizes.length === 0 ? "" : `all ${signature.sizes.join(", ")} and `;
  const scope = `for ${of}${configs.length} config${configs.length === 1 ? "" : "s"}`;
  const equality = `equal to ${source} over the reals, ${scope}`;
  switch (verdict.kind) {
    case "proved":
      return `${equality}; rounding is judged separately`;
    case "unstable": {
      const place = verdict.at ? ` at ${formatLocation(verdict.at)}` : "";
      return `${equality}, but unstable${place}: ${verdict.why}`;
    }
    case "unknown":
      return `not shown: ${verdict.missing}`;
    default:
      return verdict satisfies never;
  }
}
