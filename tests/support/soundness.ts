/** Compares proofs with the evaluator's findings. */
import type { Certificate, Finding, Obligation, ProofProperty } from "../../src/compiled/compiled-kernel.js";

/** The findings that each property forbids. */
export const FORBIDS: Readonly<Partial<Record<ProofProperty, readonly string[]>>> = {
  bounds: ["out-of-bounds", "false-in-bounds"],
  claim: ["false-assume"],
  coverage: ["never-written"],
  race: ["race", "lane-conflict"],
  order: ["unordered-lanes"],
  padding: ["uninitialized"],
  dividend: ["negative-division", "division"],
  overflow: ["overflow"],
};

/** The property that forbids a finding. */
export function forbiddenBy(code: string): ProofProperty | undefined {
  return (Object.keys(FORBIDS) as ProofProperty[]).find((property) => FORBIDS[property]!.includes(code));
}

/** The tensor named in a finding's message. */
const tensorIn = ({ message }: Finding): string | undefined =>
  /^(?:\d+ of \d+ elements of )?([A-Za-z_]\w*)/.exec(message)?.[1];

/** True for a finding about the use of an unset lane. Proofs claim that no access uses one. */
const isUnset = ({ code, message }: Finding): boolean =>
  code === "uninitialized" && /^wh(?:ether|ere) | gets a value /.test(message) && message.includes("left it unset");

/** True if an obligation and a finding concern the same location, or the same tensor if several lines are involved. */
function isAbout({ property, of: subject, at: location }: Obligation, finding: Finding): boolean {
  if (!FORBIDS[property]?.includes(finding.code)) return false;
  // An overflow obligation concerns a line.
  if (property === "overflow") return location?.line === finding.at?.line;
  if (property === "coverage" || property === "race") return subject.split(" ").at(-1) === tensorIn(finding);
  return location?.line === finding.at?.line && location?.column === finding.at?.column;
}

/** True if a cast may be what left the lane unset. The evaluator has one mark for both; no proof speaks of casts. */
const mayComeFromCast = ({ code, message }: Finding): boolean =>
  code === "uninitialized" && message.includes("left it unset; or, in line ");

/**
 * True for a finding that leaves lanes unset without a mask: a read out of bounds, or of an element that was never
 * written.
 */
const leavesUnset = ({ code, message }: Finding): boolean =>
  FORBIDS.bounds!.includes(code) || message.includes(" is read before ");

/** Findings that contradict proofs: every obligation that forbids the finding is proved. There must be none. */
export function soundnessViolations({ obligations }: Certificate, findings: readonly Finding[]): readonly string[] {
  const hasUnsetCause = findings.some(leavesUnset);
  const isDenied = (finding: Finding): boolean => {
    const relevant = obligations.filter((each) => isAbout(each, finding));
    return (relevant.length > 0 || isUnset(finding)) && relevant.every(({ verdict }) => verdict.kind === "proved");
  };
  // Arithmetic on what may have wrapped is not asked about, so that an open line excuses the others.
  const overflows = findings.filter(({ code }) => FORBIDS.overflow!.includes(code));
  const isExcused = (finding: Finding): boolean => overflows.includes(finding) && !overflows.every(isDenied);
  return findings.flatMap((finding) => {
    if (finding.code === "uninitialized" && (hasUnsetCause || mayComeFromCast(finding))) return [];
    if (isExcused(finding) || !isDenied(finding)) return [];
    return [`${finding.at?.line}: ${finding.message}`];
  });
}
