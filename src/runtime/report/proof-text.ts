/** A kernel's certificate as a sentence and as messages at the author's lines. */
import { type Case, type Certificate, formatSizes } from "../../contract/compiled.js";
import { notProved } from "../../diagnostics/catalogue/proof-codes.js";
import { type Diagnostic, problem, warning } from "../../diagnostics/diagnostic.js";

/** `9 of 9 accesses proved for all shapes and 8 configs` */
export function proofSummary({ obligations, configs }: Certificate): string {
  const bounds = obligations.filter(({ property }) => property === "bounds");
  const proved = bounds.filter(({ verdict }) => verdict.kind === "proved");
  const accesses = `${bounds.length} access${bounds.length === 1 ? "" : "es"}`;
  return `${proved.length} of ${accesses} proved for all shapes and ${configs} config${configs === 1 ? "" : "s"}`;
}

/** What is refuted is an error, what is unknown a warning. */
export function proofDiagnostics({ obligations }: Certificate): readonly Diagnostic[] {
  return obligations.flatMap(({ of, at, verdict }): Diagnostic[] => {
    if (verdict.kind === "unknown") return [warning(notProved(of, verdict.missing), at)];
    if (verdict.kind === "proved") return [];
    const { code, message } = verdict.finding;
    return [problem({ code, message: `${message}; a case: ${caseText(verdict.at)}` }, verdict.finding.at ?? at)];
  });
}

/** `M=1 N=17, config 0` */
function caseText({ sizes, scalars = {}, constexprs = {}, config }: Case): string {
  const given = Object.entries(constexprs).map(([name, value]) => ` ${name}=${value}`);
  return `${formatSizes({ ...sizes, ...scalars })}${given.join("")}, config ${config}`;
}
