/** A kernel's certificate as a sentence and as messages at the author's lines. */
import { type Case, type Certificate, formatSizes, type Obligation } from "../../contract/compiled.js";
import { notProved } from "../../diagnostics/catalogue/proof-codes.js";
import { type Diagnostic, problem, warning } from "../../diagnostics/diagnostic.js";

/** `9 of 9 accesses proved for all shapes and 8 configs` */
export function proofSummary({ obligations, configs }: Certificate): string {
  const place = ({ at }: Obligation) => `${at?.file} ${at?.line}:${at?.column}`;
  const open = new Set(obligations.filter(({ verdict }) => verdict.kind !== "proved").map(place));
  const all = obligations.filter(({ property }) => property === "bounds");
  const proved = all.filter((each) => !open.has(place(each)));
  const accesses = `${all.length} access${all.length === 1 ? "" : "es"}`;
  return `${proved.length} of ${accesses} proved for all shapes and ${configs} config${configs === 1 ? "" : "s"}`;
}

/** What is refuted is an error, what is unknown a warning. */
export function proofDiagnostics({ obligations }: Certificate): readonly Diagnostic[] {
  const said = new Set<string>();
  return obligations.flatMap(({ of, at, verdict }): Diagnostic[] => {
    if (verdict.kind === "proved") return [];
    // One cause may keep several properties of an access open, and one mistake may break several.
    const key = verdict.kind === "unknown" ? verdict.missing : verdict.finding.message;
    const place = verdict.kind === "unknown" ? at : (verdict.finding.at ?? at);
    if (said.size === said.add(`${place?.line}:${place?.column} ${key}`).size) return [];
    if (verdict.kind === "unknown") return [warning(notProved(of, verdict.missing), place)];
    const { code, message } = verdict.finding;
    return [problem({ code, message: `${message}; a case: ${caseText(verdict.at)}` }, place)];
  });
}

/** `M=1 N=17, config 0` */
function caseText({ sizes, scalars = {}, constexprs = {}, config }: Case): string {
  const given = Object.entries(constexprs).map(([name, value]) => ` ${name}=${value}`);
  return `${formatSizes({ ...sizes, ...scalars })}${given.join("")}, config ${config}`;
}
