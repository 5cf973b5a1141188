/** A kernel's certificate: what is proved of it, with the evaluator as the judge of what is refuted. */
import { signatureOf } from "../codegen/module/signature.js";
import type { Certificate, CompiledKernel } from "../contract/compiled.js";
import { evaluateCase } from "../eval/evaluate-case.js";
import { refusal } from "../eval/refusal.js";
import { workOf } from "../eval/work.js";
import type { KernelIR } from "../ir/nodes.js";
import { prove } from "../prove/prove.js";

export function proofOf(ir: KernelIR, lowered: KernelIR): Certificate {
  const signature = signatureOf(lowered);
  return prove(ir, {
    refusal: (at) => refusal(lowered, at),
    lanes: (at) => workOf(ir, at).lanes,
    evaluate: (at) => evaluateCase(ir, signature, at, undefined, { lowered }),
  });
}

/** An operator's certificate: those of its kernels. */
export function proofOfParts(parts: readonly CompiledKernel[]): Certificate {
  const certificates = parts.map((part) => part.proof());
  return {
    configs: Math.max(0, ...certificates.map(({ configs }) => configs)),
    obligations: certificates.flatMap(({ obligations }) => obligations),
    promises: [...new Set(certificates.flatMap(({ promises }) => promises))],
    limits: [...new Set(certificates.flatMap(({ limits }) => limits))],
  };
}
