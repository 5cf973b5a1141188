/** A kernel's certificate as a sentence and as messages at the author's lines. */
import {
  type TestCase,
  type Certificate,
  formatSizes,
  type Obligation,
  type ProofProperty,
} from "../../compiled/compiled-kernel.js";
import { notProved } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic, TileScriptError, warning } from "../../diagnostics/diagnostic.js";

const placeOf = ({ at }: Obligation): string => `${at?.file} ${at?.line}:${at?.column}`;

/** `9 of 9 accesses proved for all shapes and 8 configs`: an access of which everything is proved, or waived. */
export function proofSummary({ obligations, configs }: Certificate): string {
  const isOpen = ({ verdict: { kind } }: Obligation) => kind === "unknown" || kind === "refuted";
  const open = new Set(obligations.filter(isOpen).map(placeOf));
  const all = obligations.filter(({ property }) => property === "bounds");
  const proved = all.filter((each) => !open.has(placeOf(each)));
  const remarks = `${reasonsOf(obligations)}${needlessIn(obligations)}`;
  if (all.length === 0) return `no accesses to prove${remarks}`;
  const accesses = `${all.length} access${all.length === 1 ? "" : "es"}`;
  return `${proved.length} of ${accesses} proved for all shapes and ${configs} config${configs === 1 ? "" : "s"}${remarks}`;
}

function reasonsOf(obligations: readonly Obligation[]): string {
  const reasons = new Set(obligations.flatMap(({ verdict }) => (verdict.kind === "waived" ? [verdict.reason] : [])));
  return reasons.size === 0 ? "" : `; the author says: ${[...reasons].join("; ")}`;
}

/** Requirements that no proof needs. Several stand on one line, so the column says which is meant. */
function needlessIn(obligations: readonly Obligation[]): string {
  const found = obligations.filter(({ property }) => property === "requirement");
  return found
    .map(({ at }) => `; what line ${at?.line}, column ${at?.column} requires holds of every launch anyway`)
    .join("");
}

/**
 * Refuses a kernel that a proof refutes.
 *
 * @throws TileScriptError with what is refuted, at the author's lines.
 */
export function refuseRefuted(proof: Certificate): void {
  const wrong = proofDiagnostics(proof).filter(({ severity }) => severity === "error");
  if (wrong.length > 0) throw new TileScriptError(wrong);
}

/** What mostly has one cause in several lines. */
const OF_KERNEL: ReadonlySet<ProofProperty> = new Set<ProofProperty>(["dividend", "overflow"]);

/**
 * What is refuted is an error, what is unknown a warning. One cause is said once, and what is unknown of a line that has an
 * error waits for its remedy. `wanted` gives the `requires` with which something that is open is proved, if it knows one.
 */
export function proofDiagnostics(
  { obligations }: Certificate,
  wanted: (obligation: Obligation) => string | undefined = () => undefined,
): readonly Diagnostic[] {
  const wrong = new Set(obligations.filter(({ verdict }) => verdict.kind === "refuted").map(placeOf));
  const said = new Set<string>();
  const isNew = (cause: string): boolean => said.size < said.add(cause).size;
  return obligations.flatMap((each): Diagnostic[] => {
    const { property, of, at, verdict } = each;
    if (verdict.kind === "proved" || verdict.kind === "waived") return [];
    const requires = wanted(each);
    const remedy = requires === undefined ? "" : provedWith(requires);
    if (verdict.kind === "unknown") {
      const cause = `${OF_KERNEL.has(property) ? property : placeOf(each)} ${verdict.missing}`;
      return wrong.has(placeOf(each)) || !isNew(cause)
        ? []
        : [warning(notProved(of, `${verdict.missing}${remedy}`), at)];
    }
    const { code, message } = verdict.finding;
    if (!isNew(message)) return [];
    return [
      errorDiagnostic(
        { code, message: `${message}; a case: ${caseText(verdict.at)}${remedy}` },
        verdict.finding.at ?? at,
      ),
    ];
  });
}

const provedWith = (requires: string): string => `; with \`requires: ${requires}\` it is proved`;

/** `M=1 N=17 y=sliced, config 0` */
function caseText({ sizes, scalars = {}, constexprs = {}, layouts = {}, config }: TestCase): string {
  const given = Object.entries({ ...constexprs, ...layouts }).map(([name, value]) => ` ${name}=${value}`);
  return `${formatSizes({ ...sizes, ...scalars })}${given.join("")}, config ${config}`;
}
