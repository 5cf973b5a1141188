/** What proofs and the evaluator say of the same thing. */
import type { Certificate, Finding, Obligation, ProofProperty } from "../../src/compiled/compiled-kernel.js";

/** The findings that a property forbids. */
export const FORBIDS: Readonly<Partial<Record<ProofProperty, readonly string[]>>> = {
  bounds: ["out-of-bounds", "false-in-bounds"],
  claim: ["false-assume"],
  coverage: ["never-written"],
  race: ["race", "lane-conflict"],
  padding: ["uninitialized"],
  dividend: ["negative-division", "division"],
  overflow: ["overflow"],
};

/** The property that forbids a finding. */
export function forbiddenBy(code: string): ProofProperty | undefined {
  return (Object.keys(FORBIDS) as ProofProperty[]).find((property) => FORBIDS[property]!.includes(code));
}

/** The tensor that a message of the evaluator is about. */
const namedIn = ({ message }: Finding): string | undefined =>
  /^(?:\d+ of \d+ elements of )?([A-Za-z_]\w*)/.exec(message)?.[1];

/** Whether an access takes a lane without a value. Where no padding is said to reach an access, it is said not to. */
const isUnset = ({ code, message }: Finding): boolean =>
  code === "uninitialized" && /^wh(?:ether|ere) | gets a value /.test(message) && message.includes("left it unset");

/** Whether an obligation is about what a finding tells of: its line, or its tensor where more than one line takes part. */
function isAbout({ property, of, at }: Obligation, finding: Finding): boolean {
  if (!FORBIDS[property]?.includes(finding.code)) return false;
  // Of what is computed from something that may wrap nothing is said.
  if (property === "overflow") return true;
  if (property === "coverage" || property === "race") return of.split(" ").at(-1) === namedIn(finding);
  return at?.line === finding.at?.line && at?.column === finding.at?.column;
}

/** An element that was never written, or lies outside, gives a lane no value either; then no mask left it out. */
const leavesUnset = ({ code, message }: Finding): boolean =>
  FORBIDS.bounds!.includes(code) || message.includes(" is read before ");

/** The findings of which everything is proved that forbids them. There must be none. */
export function soundnessViolations({ obligations }: Certificate, findings: readonly Finding[]): readonly string[] {
  const hasOther = findings.some(leavesUnset);
  // All that is proved rests on integers that do not wrap, and only `overflow` speaks of those that do.
  const wrapped = findings.filter(({ code }) => FORBIDS.overflow!.includes(code));
  return (wrapped.length > 0 ? wrapped : findings).flatMap((finding) => {
    if (finding.code === "uninitialized" && hasOther) return [];
    const about = obligations.filter((each) => isAbout(each, finding));
    const isDenied = (about.length > 0 || isUnset(finding)) && about.every(({ verdict }) => verdict.kind === "proved");
    return isDenied ? [`${finding.at?.line}: ${finding.message}`] : [];
  });
}
