/** The verdict of `check`. */
import { type TestCase, type Evaluation, formatSizes, type Signature } from "../compiled/compiled-kernel.js";
import { describeErrorKind } from "../compiled/error-kind.js";
import { formatLocation } from "../diagnostics/diagnostic.js";

/**
 * Returns the evaluation if it agrees with the reference and has no findings.
 *
 * @throws Error that names the test case, and the incorrect element or the location of the finding.
 */
export function assertCorrect(
  { name }: Pick<Signature, "name">,
  testCase: TestCase,
  evaluation: Evaluation,
): Evaluation {
  const { comparison, findings, unchecked } = evaluation;
  const subject = `${name} at ${formatSizes(testCase.sizes)}, config ${testCase.config}`;
  const [first, ...others] = findings;
  if (first) {
    const prefix = first.at ? `${formatLocation(first.at)}: ` : "";
    const more = others.length > 0 ? ` (and ${others.length} more findings)` : "";
    throw new Error(`${subject}: ${prefix}${first.message}${more}`);
  }
  if (!comparison) {
    const reason = unchecked.length > 0 ? unchecked.join("; ") : "the kernel has no reference; give it one";
    throw new Error(`${subject}: nothing was compared: ${reason}`);
  }
  if (!comparison.correct) {
    const { wrong, total, worst } = comparison;
    const element = worst
      ? `; ${worst.output}[${worst.index.join(", ")}] is ${worst.got}, expected ${worst.expected}`
      : "";
    throw new Error(`${subject}: ${wrong} of ${total} elements are wrong${element}${describeErrorKind(comparison)}`);
  }
  return evaluation;
}
