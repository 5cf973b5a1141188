/** The verdicts of proofs as a summary and as diagnostics at the author's lines. */
import {
  type TestCase,
  type Certificate,
  formatSizes,
  type Obligation,
  type ProofProperty,
  type CompiledKernel,
  type OutputProof,
  type AxisVerdict,
  type InvarianceProof,
  type ProofCache,
  type RunsVerdict,
} from "../../compiled/compiled-kernel.js";
import { Message } from "../../diagnostics/message.js";
import {
  noLaunch,
  notProved,
  unreachedAccess,
  wrongOutput,
  notInvariant,
} from "../../diagnostics/catalog/proof-codes.js";
import {
  type Diagnostic,
  type Edit,
  errorDiagnostic,
  type Location,
  type SourceFix,
  warning,
  formatLocation,
  TileScriptError,
} from "../../diagnostics/diagnostic.js";
import { type Suggestion, suggestRemedies } from "./suggest-remedies.js";
import { formatNumber } from "../../compiled/canonical-json.js";
import { refusedShapes } from "../cases/command-cases.js";

const locationKey = ({ at }: Obligation): string => `${at?.file} ${at?.line}:${at?.column}`;

/**
 * `9 of 9 accesses proved for all shapes and 8 configs`. Counts accesses whose obligations are all proved or waived.
 */
export function proofSummary({ obligations, configs }: Certificate): string {
  const isOpen = ({ verdict: { kind } }: Obligation) => kind === "unknown" || kind === "refuted";
  const open = new Set(obligations.filter(isOpen).map(locationKey));
  const accesses = obligations.filter(({ property }) => property === "bounds");
  const proved = accesses.filter((each) => !open.has(locationKey(each)));
  const remarks = `${reasonsOf(obligations)}${describeRedundantRequirements(obligations)}${describeOpenLoops(obligations)}`;
  if (accesses.length === 0) return `no accesses to prove${remarks}`;
  const accessCount = `${accesses.length} access${accesses.length === 1 ? "" : "es"}`;
  return `${proved.length} of ${accessCount} proved for all shapes and ${configs} config${configs === 1 ? "" : "s"}${remarks}`;
}

/** A line about the barriers of each warp-specialized kernel. */
export const barrierLines = ({ obligations }: Certificate): readonly string[] =>
  obligations
    .filter(({ property, verdict }) => property === "barriers" && verdict.kind === "proved")
    .map(
      (each) =>
        `barriers of ${each.of}: proved: no deadlock, no slot reused early, no read before its copy, for every trip count`,
    );

function reasonsOf(obligations: readonly Obligation[]): string {
  const reasons = new Set(obligations.flatMap(({ verdict }) => (verdict.kind === "waived" ? [verdict.reason] : [])));
  return reasons.size === 0 ? "" : `; the author says: ${[...reasons].join("; ")}`;
}

/** Redundant requirements. One line may have several, so the column identifies them. */
function describeRedundantRequirements(obligations: readonly Obligation[]): string {
  const requirements = obligations.filter(({ property }) => property === "requirement");
  return requirements
    .map(({ at }) => `; what line ${at?.line}, column ${at?.column} requires holds of every launch anyway`)
    .join("");
}

/** The `while` loops that are not shown to end. Most wait for other programs, so no warning tells of them. */
function describeOpenLoops(obligations: readonly Obligation[]): string {
  const lines = obligations.flatMap(({ property, at, verdict }) =>
    property === "termination" && verdict.kind === "unknown" ? [`line ${at?.line}`] : [],
  );
  return lines.length === 0 ? "" : `; nothing shows that the while loop of ${lines.join(" and ")} ends`;
}

/** Properties whose gaps in several lines usually have one cause. */
const KERNEL_WIDE: ReadonlySet<ProofProperty> = new Set<ProofProperty>(["dividend", "overflow"]);

/** An open loop is part of the summary. What rests on a lemma is not reported, because the lemma is. */
const isReported = ({ property, verdict }: Obligation): boolean =>
  property !== "termination" &&
  verdict.kind !== "proved" &&
  verdict.kind !== "waived" &&
  !(verdict.kind === "unknown" && verdict.isLemma);

type FixFor = (fix: SourceFix, location?: Location) => Edit | undefined;

/**
 * Refuted obligations are errors, unknown ones warnings. Each cause is reported once. A line with an error gets no
 * warnings. `suggest` returns what to do about an open obligation. `fixFor` returns the edit for a fix of
 * the kernel at a location; without a location, of its definition.
 */
export function proofDiagnostics(
  { obligations }: Certificate,
  suggest: (obligation: Obligation) => Suggestion | undefined = () => undefined,
  fixFor: FixFor = () => undefined,
): readonly Diagnostic[] {
  const refutedLocations = new Set(obligations.filter(({ verdict }) => verdict.kind === "refuted").map(locationKey));
  const causes = new Set<string>();
  const isNew = (cause: string): boolean => causes.size < causes.add(cause).size;
  return obligations.filter(isReported).flatMap((obligation): Diagnostic[] => {
    const { property, of: subject, at, verdict } = obligation;
    if (property === "launch") {
      const message = launchDiagnostic(obligation);
      // One condition excludes all accesses of its line.
      return message && (verdict.kind !== "unreached" || isNew(`unreached ${at?.file} ${at?.line}`)) ? [message] : [];
    }
    const suggestion = suggest(obligation);
    const fix = fixOf(obligation, suggestion, fixFor);
    if (verdict.kind === "unknown") {
      const cause = `${KERNEL_WIDE.has(property) ? property : locationKey(obligation)} ${verdict.missing}`;
      return refutedLocations.has(locationKey(obligation)) || !isNew(cause)
        ? []
        : [warning(notProved(subject, verdict.missing, suggestion?.text ?? ""), at, fix)];
    }
    if (verdict.kind !== "refuted" || !isNew(verdict.mend ?? verdict.finding.message)) return [];
    return [{ ...refutedDiagnostic(verdict, suggestion, at), ...(verdict.mend === undefined && fix) }];
  });
}

/** The suggestion as an edit. A requirement and a declaration have the location of the kernel. */
function fixOf({ at }: Obligation, suggestion: Suggestion | undefined, fixFor: FixFor): Pick<Diagnostic, "edit"> {
  const fix = suggestion?.fix;
  const isOfDefinition = fix?.kind === "require" || fix?.kind === "declare";
  const edit = fix && fixFor(fix, isOfDefinition ? undefined : at);
  return edit ? { edit } : {};
}

/** What is refuted, with a case, and the remedy: the change that mends it, the condition that does, or the finding's. */
function refutedDiagnostic(
  { finding, mend, at: testCase }: Extract<Obligation["verdict"], { kind: "refuted" }>,
  suggestion: Suggestion | undefined,
  at: Location | undefined,
): Diagnostic {
  const { code, message, remedy = "" } = finding;
  const fact = mend === undefined ? message : message.replace(`; ${remedy}`, "");
  const problem = `${fact}; a case: ${formatCounterexample(testCase)}`;
  // The finding's own remedy stands inside the sentence; it is the one that removes a claim.
  const requires = suggestion?.fix?.kind === "require" ? suggestion.text : "";
  const details = mend === undefined && requires === "" ? { remedy: finding.remedy } : {};
  return errorDiagnostic(new Message(code, problem, mend ?? requires), finding.at ?? at, details);
}

/** A kernel or a config without a launch, and an access that no launch reaches. */
function launchDiagnostic({ of: subject, at, verdict }: Obligation): Diagnostic | undefined {
  if (verdict.kind === "unreached") return warning(unreachedAccess(subject), at);
  if (verdict.kind === "unknown") return warning(noLaunch.notFound(subject, verdict.missing), at);
  if (verdict.kind !== "impossible") return undefined;
  const message = noLaunch.contradiction(subject, linesOf(verdict.by));
  return verdict.configs === "all" ? errorDiagnostic(message, at) : warning(message, at);
}

/** `the requirements of lines 8, 9` */
function linesOf(places: readonly Location[]): string {
  const lines = [...new Set(places.map(({ line }) => line))];
  if (lines.length === 0) return "the ranges of its params";
  return lines.length === 1 ? `the requirements of line ${lines[0]}` : `the requirements of lines ${lines.join(", ")}`;
}

/** `M=1 N=17 y=sliced, config 0` */
function formatCounterexample({ sizes, scalars = {}, constexprs = {}, layouts = {}, config }: TestCase): string {
  const others = Object.entries({ ...constexprs, ...layouts }).map(([name, value]) => ` ${name}=${value}`);
  return `${formatSizes({ ...sizes, ...scalars })}${others.join("")}, config ${config}`;
}

// The verdicts of outputs, as lines of a report and as diagnostics.

const ITS_REFERENCE = "its reference";

type Shown = Exclude<OutputProof["verdict"], { kind: "refuted" }>;

/** A line for each output that is not refuted: `softmax computes y: equal to its reference over the reals, for …` */
export const computesLines = (
  kernel: CompiledKernel,
  outputs: readonly OutputProof[],
  source = ITS_REFERENCE,
): readonly string[] =>
  outputs.flatMap(({ output, isGradient, verdict }) => {
    const line = `${kernel.signature.name} computes ${isGradient ? `the gradient of ${output}` : output}`;
    const expected = isGradient ? `the derivative of ${source}` : source;
    return verdict.kind === "refuted" ? [] : [`${line}: ${describe(kernel, verdict, expected)}`];
  });

/** An error for each output that is refuted, with the case and what both sides give. */
export const outputDiagnostics = (outputs: readonly OutputProof[], source = "the reference"): readonly Diagnostic[] =>
  outputs.flatMap(({ output, at, verdict }) => {
    if (verdict.kind !== "refuted") return [];
    const { worst, at: testCase } = verdict;
    const element = worst.index.length === 0 ? output : `${output}[${worst.index.join(", ")}]`;
    const [got, expected] = [formatNumber(worst.got), formatNumber(worst.expected)];
    return [errorDiagnostic(wrongOutput(element, got, expected, formatCounterexample(testCase), source), at)];
  });

function describe({ signature, configs }: CompiledKernel, verdict: Shown, source: string): string {
  const of = signature.sizes.length === 0 ? "" : `all ${signature.sizes.join(", ")} and `;
  const scope = `for ${of}${configs.length} config${configs.length === 1 ? "" : "s"}`;
  const equality = `equal to ${source} over the reals, ${scope}`;
  switch (verdict.kind) {
    case "proved":
      return `${equality}; rounding is judged separately`;
    case "unstable": {
      const place = verdict.at ? ` at ${formatLocation(verdict.at)}` : "";
      return `${equality}, but unstable${place}: ${verdict.why}`;
    }
    case "unknown":
      return `not shown: ${verdict.missing}`;
    default:
      return verdict satisfies never;
  }
}

// On what the bits of outputs depend, as lines of a report and as diagnostics.

/** The lines of each output: `softmax y: invariant in M`, one for each size that is not, and one for runs. */
export const invarianceLines = (proofs: readonly InvarianceProof[]): readonly string[] =>
  proofs.flatMap(({ kernel, output, sizes, runs }) => {
    const invariant = sizes.flatMap(({ size, verdict }) => (verdict.kind === "invariant" ? [size] : []));
    const others = sizes.flatMap(({ size, verdict }) =>
      verdict.kind === "invariant" ? [] : [describeSize(size, verdict)],
    );
    const first = invariant.length === 0 ? [] : [`invariant in ${invariant.join(", ")}`];
    return [...first, ...others, describeRuns(runs)].map((line) => `${kernel} ${output}: ${line}`);
  });

function describeSize(size: string, verdict: Exclude<AxisVerdict, { kind: "invariant" }>): string {
  return verdict.kind === "dependent"
    ? `not invariant in ${size}${placeOf(verdict.at)}: ${verdict.why}`
    : `not shown to be invariant in ${size}${placeOf(verdict.at)}: ${verdict.missing}`;
}

function describeRuns(verdict: RunsVerdict): string {
  switch (verdict.kind) {
    case "proved":
      return "the same bits in every run";
    case "per-config":
      return "the same bits in every run with one config, which the autotuner may choose anew in each process";
    case "dependent":
      return `other bits in another run${placeOf(verdict.at)}: ${verdict.why}`;
    case "unknown":
      return `not shown to have the same bits in every run${placeOf(verdict.at)}: ${verdict.missing}`;
    default:
      return verdict satisfies never;
  }
}

const placeOf = (at: Location | undefined): string => (at ? ` at ${formatLocation(at)}` : "");

/** An error for each output that is not shown to be invariant in a size that the spec declares. */
function invarianceDiagnostics(kernel: CompiledKernel, cache?: ProofCache): readonly Diagnostic[] {
  if (!kernel.declaresInvariance) return [];
  return kernel.invariance(cache).flatMap(({ output, sizes }) =>
    sizes.flatMap(({ size, verdict, required }) => {
      if (!required || verdict.kind === "invariant") return [];
      const { cause, at = kernel.at } = verdict;
      const message =
        verdict.kind === "dependent"
          ? notInvariant.dependent(output, size, verdict.why, cause)
          : notInvariant.unknown(output, size, verdict.missing, cause);
      return [errorDiagnostic(message, at)];
    }),
  );
}

// Everything that the build and the proofs report about a kernel, and the rejection of kernels with errors of proofs.

export function kernelDiagnostics(
  kernel: CompiledKernel,
  proof: Certificate,
  cache: ProofCache | undefined,
): readonly Diagnostic[] {
  return [
    ...kernel.warnings,
    ...refusedShapes(kernel),
    ...invarianceDiagnostics(kernel, cache),
    ...proofDiagnostics(
      proof,
      suggestRemedies(kernel, proof, cache),
      (fix, location = kernel.at) => location && kernel.fixFor?.(location, fix),
    ),
  ];
}

/**
 * Rejects a kernel with refuted obligations, or that is not shown to be invariant in a size that its spec declares.
 *
 * @throws TileScriptError with these errors, at the author's lines.
 */
export function checkProofs(kernel: CompiledKernel): void {
  const diagnostics = [...invarianceDiagnostics(kernel), ...proofDiagnostics(kernel.proof())];
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new TileScriptError(errors);
}
