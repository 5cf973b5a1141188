/** What proofs and the evaluator say of the same thing. */
import type { Certificate, Finding, Obligation, Property } from "../../src/contract/compiled.js";

/** The findings that a property forbids. */
export const FORBIDS: Readonly<Partial<Record<Property, readonly string[]>>> = {
  bounds: ["out-of-bounds", "false-in-bounds"],
  claim: ["false-assume"],
  coverage: ["never-written"],
  race: ["race", "lane-conflict"],
};

/** The property that forbids a finding. */
export function forbiddenBy(code: string): Property | undefined {
  return (Object.keys(FORBIDS) as Property[]).find((property) => FORBIDS[property]!.includes(code));
}

/** The tensor that a message of the evaluator is about. */
const namedIn = ({ message }: Finding): string | undefined =>
  /^(?:\d+ of \d+ elements of )?([A-Za-z_]\w*)/.exec(message)?.[1];

/** Whether an obligation is about what a finding tells of: its line, or its tensor where more than one line takes part. */
function isAbout({ property, of, at }: Obligation, finding: Finding): boolean {
  if (!FORBIDS[property]?.includes(finding.code)) return false;
  if (property === "coverage" || property === "race") return of.split(" ").at(-1) === namedIn(finding);
  return at?.line === finding.at?.line && at?.column === finding.at?.column;
}

/** The findings of which everything is proved that forbids them. There must be none. */
export function contradicted({ obligations }: Certificate, findings: readonly Finding[]): readonly string[] {
  return findings.flatMap((finding) => {
    const about = obligations.filter((each) => isAbout(each, finding));
    const isDenied = about.length > 0 && about.every(({ verdict }) => verdict.kind === "proved");
    return isDenied ? [`${finding.at?.line}: ${finding.message}`] : [];
  });
}
