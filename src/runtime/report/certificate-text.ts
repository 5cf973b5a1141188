/** Compares a certificate in a file with the proof of a kernel. */
import { readFile } from "node:fs/promises";
import { jsonText } from "../../compiled/canonical-json.js";
import type {
  Certificate,
  Fingerprint,
  Obligation,
  OutputProof,
  CompiledKernel,
} from "../../compiled/compiled-kernel.js";
import { UsageError } from "../system/errors.js";
import { version, writeOutput } from "../system/files.js";
import type { CertificateMatch, CheckReport } from "./reports.js";
import { join } from "node:path";

/** The certificates in a file: a report of `check --json`, or one certificate. */
export interface GivenCertificates {
  readonly file: string;
  readonly certificates: readonly GivenCertificate[];
  /** The version of TileScript that made them, if the file says it. */
  readonly version?: string | undefined;
}

interface GivenCertificate {
  readonly proof: Certificate;
  /** The verdicts of `--computes`. */
  readonly computes?: readonly OutputProof[] | undefined;
}

/** @throws UsageError if the file has no certificate. */
export async function readCertificates(file: string): Promise<GivenCertificates> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new UsageError(`--certificate: there is no file ${file}`);
  });
  const report = parsed(text);
  const certificates = [{ proof: report }, ...kernelsOf(report)].flatMap(({ proof, computes }) =>
    isCertificate(proof) ? [{ proof, computes: isOutputs(computes) ? computes : undefined }] : [],
  );
  if (certificates.length === 0)
    throw new UsageError(
      `--certificate: ${file} holds no certificate; write one with tilescript check FILE --json > ${file}`,
    );
  const made = (report as Partial<CheckReport>).version;
  return { file, certificates, version: typeof made === "string" ? made : undefined };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function kernelsOf(report: unknown): readonly { readonly proof?: unknown; readonly computes?: unknown }[] {
  const kernels = isRecord(report) ? report["kernels"] : undefined;
  return Array.isArray(kernels) ? kernels.filter(isRecord) : [];
}

const isRecord = (subject: unknown): subject is Readonly<Record<string, unknown>> =>
  typeof subject === "object" && subject !== null;

const isFingerprint = (subject: unknown): subject is Fingerprint =>
  isRecord(subject) && typeof subject["kernel"] === "string" && isRecord(subject["parts"]);

function isCertificate(subject: unknown): subject is Certificate {
  if (!isRecord(subject)) return false;
  const { about, obligations } = subject;
  return (
    Array.isArray(about) &&
    about.every(isFingerprint) &&
    Array.isArray(obligations) &&
    obligations.every((each) => isRecord(each) && isRecord(each["verdict"]))
  );
}

const isOutputs = (subject: unknown): subject is readonly OutputProof[] =>
  Array.isArray(subject) && subject.every((each) => isRecord(each) && isRecord(each["verdict"]));

const kernelNames = ({ about }: Certificate): string => about.map(({ kernel }) => kernel).join();

/** The certificate of a kernel in a file. */
export const certificateIn = ({ certificates }: GivenCertificates, proof: Certificate): GivenCertificate | undefined =>
  certificates.find((each) => kernelNames(each.proof) === kernelNames(proof));

/** Compares a certificate in a file with a proof, and with what the outputs compute if the file has that too. */
export function matchCertificate(
  certificate: GivenCertificate | undefined,
  proof: Certificate,
  computes: readonly OutputProof[] = [],
): CertificateMatch {
  if (!certificate) return { kind: "missing" };
  const differs = proof.about.flatMap(({ kernel, parts }, i) => {
    const other: Readonly<Record<string, string>> = certificate.proof.about[i]?.parts ?? {};
    const names = Object.entries(parts).flatMap(([part, digest]) => (other[part] === digest ? [] : [part]));
    return proof.about.length === 1 ? names : names.map((part) => `${part} of ${kernel}`);
  });
  const compared = certificate.computes && computes;
  if (certificate.computes?.[0]?.about !== compared?.[0]?.about) differs.push("reference");
  if (differs.length > 0) return { kind: "other-kernel", differs };
  const difference = differenceOf(certificate, { proof, computes: compared });
  return difference === undefined ? { kind: "same" } : { kind: "other-verdict", differs: difference };
}

/** The first difference of what two certificates of one kernel say, apart from locations. */
function differenceOf(before: GivenCertificate, now: GivenCertificate): string | undefined {
  const [statements, proved] = [statementsOf(before), statementsOf(now)];
  for (let i = 0; i < Math.max(statements.length, proved.length); i++)
    if (statements[i] !== proved[i])
      return `it says ${statements[i] ?? "nothing more"} where the proof says ${proved[i] ?? "nothing more"}`;
  const fields = ["configs", "launches", "promises", "limits"] as const;
  const field = fields.find((each) => jsonText(before.proof[each]) !== jsonText(now.proof[each]));
  return field && `its ${field} are not those of the proof`;
}

const statementsOf = ({ proof, computes = [] }: GivenCertificate): readonly string[] => [
  ...proof.obligations.map(statementOf),
  ...computes.map(
    ({ output, isGradient, verdict }) => `${isGradient ? "the gradient of " : ""}${output} is ${verdict.kind}`,
  ),
];

/** `coverage of y is proved` */
const statementOf = ({ property, of: subject, verdict }: Obligation): string =>
  `${property} of ${subject} is ${verdict.kind}`;

/** `gemm: gemm.json has a certificate of this kernel, and the proof agrees` */
export function certificateLine(kernel: string, match: CertificateMatch, given: GivenCertificates): string {
  const { file } = given;
  const by = given.version === undefined || given.version === version ? "" : ` by tilescript ${given.version}`;
  const remedy = `; prove it anew: tilescript check FILE --json > ${file}`;
  switch (match.kind) {
    case "same":
      return `${kernel}: ${file} has a certificate of this kernel, and the proof agrees`;
    case "missing":
      return `${kernel}: ${file} has no certificate of this kernel${remedy}`;
    case "other-kernel":
      return `${kernel}: ${file} has a certificate${by} of another version of this kernel, which differs in its ${match.differs.join(", ")}${remedy}`;
    case "other-verdict":
      return `${kernel}: ${file} has a certificate${by} of this kernel, but ${match.differs}${remedy}`;
    default:
      return match satisfies never;
  }
}

// Writes the obligations of a kernel as SMT-LIB scripts, a file for each.

/** Writes the scripts, and returns a line that says how many there are and what they leave out. */
export async function writeScripts(kernel: CompiledKernel, folder: string): Promise<string> {
  const reasons = new Map<string, number>();
  let count = 0;
  for (const { kernel: name, obligations } of kernel.smt())
    for (const { property, config, scripts, reason } of obligations) {
      if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      for (const script of scripts ?? []) {
        const number = String(++count).padStart(3, "0");
        await writeOutput(join(folder, `${name}-${number}-${property}-config${config}.smt2`), script);
      }
    }
  const left = [...reasons].map(([reason, times]) => `; ${times} not written: ${reason}`);
  return `${kernel.signature.name}: ${count} scripts in ${folder}${left.join("")}`;
}
