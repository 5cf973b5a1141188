/** The verdicts of outputs, as lines of a report and as diagnostics. */
import type { CompiledKernel, OutputProof } from "../../compiled/compiled-kernel.js";
import { formatNumber } from "../../compiled/canonical-json.js";
import { wrongOutput } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic, formatLocation } from "../../diagnostics/diagnostic.js";
import { formatCounterexample } from "./proof-text.js";

type Shown = Exclude<OutputProof["verdict"], { kind: "refuted" }>;

/** A line for each output that is not refuted: `softmax computes y: equal to its reference over the reals, for …` */
export const computesLines = (kernel: CompiledKernel, outputs: readonly OutputProof[]): readonly string[] =>
  outputs.flatMap(({ output, verdict }) =>
    verdict.kind === "refuted" ? [] : [`${kernel.signature.name} computes ${output}: ${describe(kernel, verdict)}`],
  );

/** An error for each output that is refuted, with the case and what both sides give. */
export const outputDiagnostics = (outputs: readonly OutputProof[]): readonly Diagnostic[] =>
  outputs.flatMap(({ output, at, verdict }) => {
    if (verdict.kind !== "refuted") return [];
    const { worst, at: testCase } = verdict;
    const element = worst.index.length === 0 ? output : `${output}[${worst.index.join(", ")}]`;
    const [got, expected] = [formatNumber(worst.got), formatNumber(worst.expected)];
    return [errorDiagnostic(wrongOutput(element, got, expected, formatCounterexample(testCase)), at)];
  });

function describe({ signature, configs }: CompiledKernel, verdict: Shown): string {
  const of = signature.sizes.length === 0 ? "" : `all ${signature.sizes.join(", ")} and `;
  const scope = `for ${of}${configs.length} config${configs.length === 1 ? "" : "s"}`;
  switch (verdict.kind) {
    case "proved":
      return `equal to its reference over the reals, ${scope}; rounding is judged separately`;
    case "unstable": {
      const place = verdict.at ? ` at ${formatLocation(verdict.at)}` : "";
      return `equal to its reference over the reals, ${scope}, but unstable${place}: ${verdict.why}`;
    }
    case "unknown":
      return `not shown: ${verdict.missing}`;
    default:
      return verdict satisfies never;
  }
}
