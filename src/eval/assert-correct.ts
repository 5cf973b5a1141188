/** The verdict of `check`. */
import { type TestCase, type Evaluation, formatSizes, type Signature } from "../compiled/compiled-kernel.js";
import { describeErrorKind } from "../compiled/error-kind.js";
import { formatLocation } from "../diagnostics/diagnostic.js";

/**
 * Returns the evaluation if it agrees with the reference and has no findings.
 *
 * @throws Error that names the case, and the wrong element or the finding's line.
 */
export function assertCorrect({ name }: Pick<Signature, "name">, at: TestCase, evaluation: Evaluation): Evaluation {
  const { comparison, findings, unchecked } = evaluation;
  const where = `${name} at ${formatSizes(at.sizes)}, config ${at.config}`;
  const [first, ...others] = findings;
  if (first) {
    const place = first.at ? `${formatLocation(first.at)}: ` : "";
    const more = others.length > 0 ? ` (and ${others.length} more findings)` : "";
    throw new Error(`${where}: ${place}${first.message}${more}`);
  }
  if (!comparison) {
    const why = unchecked.length > 0 ? unchecked.join("; ") : "the kernel has no reference; give it one";
    throw new Error(`${where}: nothing was compared: ${why}`);
  }
  if (!comparison.correct) {
    const { wrong, total, worst } = comparison;
    const element = worst
      ? `; ${worst.output}[${worst.index.join(", ")}] is ${worst.got}, expected ${worst.expected}`
      : "";
    throw new Error(`${where}: ${wrong} of ${total} elements are wrong${element}${describeErrorKind(comparison)}`);
  }
  return evaluation;
}
