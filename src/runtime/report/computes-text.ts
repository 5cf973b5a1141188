/** What outputs compute, as lines of a report. */
import { type CompiledKernel, formatSizes, type OutputProof } from "../../compiled/compiled-kernel.js";
import { formatNumber } from "../../compiled/canonical-json.js";
import { formatLocation } from "../../diagnostics/diagnostic.js";

/** `softmax computes y: equal to its reference over the reals, for all M, N and 6 configs; …` */
export const computesLine = (kernel: CompiledKernel, { output, verdict }: OutputProof): string =>
  `${kernel.signature.name} computes ${output}: ${describe(kernel, output, verdict)}`;

function describe({ signature, configs }: CompiledKernel, output: string, verdict: OutputProof["verdict"]): string {
  const of = signature.sizes.length === 0 ? "" : `all ${signature.sizes.join(", ")} and `;
  const scope = `for ${of}${configs.length} config${configs.length === 1 ? "" : "s"}`;
  switch (verdict.kind) {
    case "proved":
      return `equal to its reference over the reals, ${scope}; rounding is judged separately`;
    case "unstable": {
      const place = verdict.at ? ` at ${formatLocation(verdict.at)}` : "";
      return `equal to its reference over the reals, ${scope}, but unstable${place}: ${verdict.why}`;
    }
    case "refuted": {
      const { at, worst } = verdict;
      const place = worst.index.length === 0 ? output : `${output}[${worst.index.join(", ")}]`;
      const [got, expected] = [worst.got, worst.expected].map((value) => formatNumber(value));
      const sizes = formatSizes({ ...at.sizes, ...at.scalars }).replaceAll(" ", ", ");
      return `refuted at ${sizes}, config ${at.config}: ${place} is ${got}, the reference gives ${expected}`;
    }
    case "unknown":
      return `not shown: ${verdict.missing}`;
    default:
      return verdict satisfies never;
  }
}
