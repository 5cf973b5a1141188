/** A kernel's certificate: what is proved of it, with the evaluator as the judge of what is refuted. */
import { preconditions } from "../analysis/preconditions.js";
import { signatureOf } from "../codegen/module/signature.js";
import type { Certificate, KeptProof, ProofCache } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { evaluateCase } from "../eval/evaluate-case.js";
import { refusal } from "../eval/refusal.js";
import { estimateWork } from "../eval/cost-estimate.js";
import { fingerprint } from "../ir/fingerprint.js";
import type { KernelIR } from "../ir/nodes.js";
import { prove } from "../prove/prove.js";

/** The certificate that a cache has of the same kernel, wherever it stood, or a new one. */
export function proofFrom(cache: ProofCache | undefined, ir: KernelIR, lowered: KernelIR): Certificate {
  if (!cache) return proofOf(ir, lowered);
  const text = fingerprint(ir);
  const kept = cache.read(text);
  const moved = kept && movedTo(ir.at, kept);
  if (moved) return moved;
  const certificate = proofOf(ir, lowered);
  cache.write(text, { certificate, at: ir.at });
  return certificate;
}

/** The certificate of a kernel that stands elsewhere now; undefined if its words name places. */
function movedTo(to: Location | undefined, { certificate, at: from }: KeptProof): Certificate | undefined {
  if (!to || !from || (to.file === from.file && to.line === from.line)) return certificate;
  const words = certificate.obligations.flatMap(({ verdict }) =>
    verdict.kind === "unknown" ? [verdict.missing] : verdict.kind === "refuted" ? [verdict.finding.message] : [],
  );
  if (words.some((each) => /\bline \d/.test(each) || each.includes(from.file))) return undefined;
  const moved = (at: Location | undefined) =>
    at?.file === from.file ? { ...at, file: to.file, line: at.line + to.line - from.line } : at;
  const obligations = certificate.obligations.map((each) => {
    const { verdict } = each;
    if (verdict.kind !== "refuted") return { ...each, at: moved(each.at) };
    const finding = { ...verdict.finding, at: moved(verdict.finding.at) };
    return { ...each, at: moved(each.at), verdict: { ...verdict, finding } };
  });
  return { ...certificate, obligations };
}

function proofOf(ir: KernelIR, lowered: KernelIR): Certificate {
  const signature = signatureOf(lowered);
  return prove(ir, preconditions(lowered), {
    refusal: (at) => refusal(lowered, at),
    lanes: (at) => estimateWork(ir, at).lanes,
    evaluate: (at) => evaluateCase(ir, signature, at, undefined, { lowered }),
  });
}

/** An operator's certificate, of those of its kernels. */
export function joinedProofs(certificates: readonly Certificate[]): Certificate {
  return {
    configs: Math.max(0, ...certificates.map(({ configs }) => configs)),
    obligations: certificates.flatMap(({ obligations }) => obligations),
    promises: [...new Set(certificates.flatMap(({ promises }) => promises))],
    limits: [...new Set(certificates.flatMap(({ limits }) => limits))],
  };
}
