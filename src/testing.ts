/** Property tests of kernels: `import { cases, assertCorrect } from "tilescript/testing"`. */
import type { Case, CompiledKernel, EvaluateOptions, Evaluation } from "./compiled.js";
import { formatSizes } from "./runtime/cases.js";

export { cases, type CaseOptions } from "./runtime/draw.js";

/**
 * Evaluates one case in-process, by the options of `evaluate`, and throws unless the result agrees with the reference and the sanitiser is silent.
 *
 * @throws Error that says which case, which element or which line.
 */
export function assertCorrect(kernel: CompiledKernel, at: Case, options: EvaluateOptions = {}): Evaluation {
  const evaluation = kernel.evaluate(at, options);
  const { comparison, findings } = evaluation;
  const where = `${kernel.signature.name} at ${formatSizes(at.sizes)}, config ${at.config}`;
  const [first] = findings;
  if (first) {
    const place = first.at ? `${first.at.file}:${first.at.line}:${first.at.column}: ` : "";
    throw new Error(`${where}: ${place}${first.message}`);
  }
  if (!comparison) throw new Error(`${where}: the kernel has no reference that can be evaluated; give it one`);
  if (!comparison.correct && comparison.worst) {
    const { output, index, expected, got } = comparison.worst;
    throw new Error(
      `${where}: ${comparison.wrong} of ${comparison.total} elements are wrong; ${output}[${index.join(", ")}] is ${got}, expected ${expected}`,
    );
  }
  return evaluation;
}
