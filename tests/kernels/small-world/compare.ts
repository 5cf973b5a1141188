/** Compares what a proof says of a kernel with what the evaluator shows of its launches. */
import type { Certificate, Finding, Obligation, TestCase } from "../../../src/compiled/compiled-kernel.js";
import { paramsOf, type TensorParam, tensorsOf } from "../../../src/ir/nodes.js";
import { sizesOf } from "../../../src/eval/bindings.js";
import { FORBIDS, soundnessViolations } from "../../support/soundness.js";
import { type Draw, Launches } from "./launches.js";
import { placeOf, type SmallKernel } from "./small-kernel.js";

export interface Comparison {
  /** Launches that the wrapper accepts, and that were evaluated. */
  readonly launches: number;
  /** True if all launches with sizes that are not 0 were evaluated. */
  readonly isComplete: boolean;
  readonly contradictions: readonly string[];
  readonly certificate: Certificate;
}

export interface Effort {
  /** Kernels with at most this many launches are tried on all of them. */
  readonly complete: number;
  /** The number of launches of other kernels. */
  readonly drawn: number;
  /** No further launch is tried after so many seconds. */
  readonly seconds: number;
}

/** The lanes of a launch that is worth its time. */
const MAX_LANES = 200_000;

export function compare(kernel: SmallKernel, { complete, drawn, seconds }: Effort, draw: Draw): Comparison {
  const certificate = kernel.proof();
  const launches = new Launches(kernel);
  const all = launches.all(complete);
  const others = Array.from({ length: drawn }, (_, i) => launches.draw(draw, i));
  const contradictions = [...refutationErrors(kernel, certificate)];
  const end = performance.now() + seconds * 1000;
  let [count, skipped] = [0, 0];
  for (const testCase of [...certificate.launches, ...(all ?? []), ...others]) {
    if (performance.now() > end) {
      skipped++;
      break;
    }
    const found = contradictionsIn(kernel, launches, certificate, testCase, draw);
    if (found === "refused") continue;
    if (found === "skipped") {
      skipped++;
      continue;
    }
    count++;
    contradictions.push(...found.map((each) => `${each} at ${JSON.stringify(testCase)}`));
    if (contradictions.length > 0) break;
  }
  return { launches: count, isComplete: all !== undefined && skipped === 0, contradictions, certificate };
}

function contradictionsIn(
  kernel: SmallKernel,
  launches: Launches,
  certificate: Certificate,
  testCase: TestCase,
  draw: Draw,
): readonly string[] | "refused" | "skipped" {
  try {
    if (kernel.refusal(testCase) !== undefined || hasNothingToWrite(kernel, testCase)) return "refused";
    if (isTooLarge(kernel, testCase)) return "skipped";
    const inputs = launches.inputs(testCase, draw);
    if (!inputs) return "skipped";
    const { findings: all, reached = [] } = kernel.evaluate(testCase, inputs);
    const findings = all.filter((each) => !isOfOffset(kernel, each));
    return [
      ...launchErrors(kernel, certificate, testCase, reached),
      ...soundnessViolations(certificate, findings),
      ...(wraps(certificate) ? [] : findings.filter(isOfEmittedForm).map(({ message }) => message)),
    ];
  } catch {
    // A host expression may fail, a loop may be endless, and inputs may break a promise.
    return "skipped";
  }
}

function elementsOf({ ir }: SmallKernel, testCase: TestCase, tensors: readonly TensorParam[]): readonly number[] {
  const sizes = sizesOf(ir, testCase);
  return tensors.map(({ dimNames }) =>
    dimNames.reduce<number>((total, dim) => total * (typeof dim === "number" ? dim : (sizes[dim] ?? 1)), 1),
  );
}

/** The wrapper returns before such a launch. */
function hasNothingToWrite(kernel: SmallKernel, testCase: TestCase): boolean {
  const outputs = tensorsOf(kernel.ir, "out", "inout").filter(({ name }) => !testCase.absent?.includes(name));
  return outputs.length > 0 && elementsOf(kernel, testCase, outputs).every((count) => count === 0);
}

function isTooLarge(kernel: SmallKernel, testCase: TestCase): boolean {
  const elements = elementsOf(kernel, testCase, paramsOf(kernel.ir, "tensor"));
  return Math.max(...elements) > kernel.ir.limits.maxOutput || kernel.lanes(testCase) > MAX_LANES;
}

/**
 * An offset that wraps only in lanes that a mask leaves out changes nothing. The evaluator reports it nevertheless, also
 * of the offsets that lowering computes.
 */
function isOfOffset({ offsetPlaces }: SmallKernel, { code, message, at: location }: Finding): boolean {
  if (code !== "overflow") return false;
  return message.startsWith("as it is emitted") || offsetPlaces.has(placeOf(location));
}

/** What only the lowered kernel shows: the checks of the wrapper exclude it. */
const isOfEmittedForm = ({ code, message }: Finding): boolean =>
  code === "lowering" || message.startsWith("as it is emitted");

/** True if int32 arithmetic is not shown to be exact. The emitted masks rely on signs that hold without wraps. */
const wraps = ({ obligations }: Certificate): boolean =>
  obligations.some(({ property, verdict }) => property === "overflow" && verdict.kind !== "proved");

/** Launches and accesses that the certificate says there are none of. */
function launchErrors(
  { sharedPlaces }: SmallKernel,
  { obligations }: Certificate,
  { config }: TestCase,
  reached: readonly { readonly line: number; readonly column: number }[],
): readonly string[] {
  return obligations.flatMap(({ property, of: subject, at, verdict }) => {
    if (property !== "launch") return [];
    if (verdict.kind === "impossible" && (verdict.configs === "all" || subject === `config ${config}`))
      return [`${subject} has a launch`];
    if (sharedPlaces.has(placeOf(at))) return [];
    const isReached = reached.some(({ line, column }) => line === at?.line && column === at.column);
    return verdict.kind === "unreached" && isReached ? [`${subject} is reached`] : [];
  });
}

/** Refutations that their own launch does not show. */
function refutationErrors(kernel: SmallKernel, { obligations }: Certificate): readonly string[] {
  const isShown = ({ property, verdict }: Obligation): boolean => {
    if (verdict.kind !== "refuted") return true;
    if (kernel.refusal(verdict.at) !== undefined) return false;
    const codes = FORBIDS[property] ?? [];
    return kernel.evaluate(verdict.at).findings.some(({ code }) => codes.includes(code));
  };
  return obligations.flatMap((each) => (isShown(each) ? [] : [`${each.property} of ${each.of} is refuted by nothing`]));
}
