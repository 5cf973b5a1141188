/** Certificates of kernels, with a cache. The evaluator confirms refutations. */
import { preconditions } from "../analysis/preconditions.js";
import { signatureOf } from "../codegen/module/signature.js";
import type {
  Certificate,
  CachedProof,
  CompiledKernel,
  InvarianceProof,
  Obligation,
  OutputProof,
  ProofCache,
  SmtExport,
  Verdict,
  Comparison,
  Signature,
  TensorData,
  TestCase,
} from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { evaluateCase, evaluateUnrounded, inputsOf } from "../eval/evaluate-case.js";
import { refusal } from "../eval/refusal.js";
import { estimateWork } from "../eval/cost-estimate.js";
import { proofKey } from "../ir/fingerprint.js";
import { type KernelIR, kernelsOf } from "../ir/nodes.js";
import { outputProofs, outputsAgainst, type Side, type ComparingRunner } from "../prove/equivalence/output-proofs.js";
import type { CaseRunner } from "../prove/counterexample.js";
import { invarianceProofs } from "../prove/invariance/invariance.js";
import { withMends } from "./mends.js";
import { obligationCount, overwrites, prove, proveAsScripts } from "../prove/prove.js";
import { warpSpecializedKernel } from "./compiled-parts.js";
import { rangesOf } from "../eval/bindings.js";
import { checkRanges } from "../eval/make-inputs.js";
import { coordinates } from "../eval/findings.js";

/** The cached certificate of an equal kernel at any source location, or a new one. */
export function cachedProof(
  cache: ProofCache | undefined,
  ir: KernelIR,
  lowered: KernelIR,
  verdicts = (): Certificate => proveKernel(ir, lowered),
): Certificate {
  if (!cache) return explain(verdicts(), ir, lowered);
  const text = proofKey(ir);
  const cached = cache.read(text);
  const relocated = cached && relocate(ir.at, cached);
  if (relocated) return relocated;
  const certificate = explain(verdicts(), ir, lowered);
  cache.write(text, { certificate, at: ir.at });
  return certificate;
}

/** Moves a certificate to a new source location; undefined if its messages name locations. */
function relocate(
  location: Location | undefined,
  { certificate, at: originalLocation }: CachedProof,
): Certificate | undefined {
  if (
    !location ||
    !originalLocation ||
    (location.file === originalLocation.file && location.line === originalLocation.line)
  )
    return certificate;
  const messages = certificate.obligations.flatMap(({ verdict }) => {
    if (verdict.kind === "unknown") return [verdict.missing];
    return verdict.kind === "refuted" ? [verdict.finding.message] : [];
  });
  if (messages.some((each) => /\bline \d/.test(each) || each.includes(originalLocation.file))) return undefined;
  const shift = (at: Location | undefined) =>
    at?.file === originalLocation.file
      ? { ...at, file: location.file, line: at.line + location.line - originalLocation.line }
      : at;
  const obligations = certificate.obligations.map((each) => {
    const { verdict } = each;
    if (verdict.kind !== "refuted") return { ...each, at: shift(each.at) };
    const finding = { ...verdict.finding, at: shift(verdict.finding.at) };
    return { ...each, at: shift(each.at), verdict: { ...verdict, finding } };
  });
  return { ...certificate, obligations };
}

/** The most iterations of a `tl.whileLoop` in a search for counterexamples, which takes small sizes. */
export const SEARCH_LIMITS = { maxIterations: 10_000 } as const;

function proveKernel(ir: KernelIR, lowered: KernelIR): Certificate {
  const certificate = prove(ir, preconditions(lowered), caseRunner(ir, lowered));
  return { ...certificate, obligations: [...certificate.obligations, ...barrierObligations(ir, lowered)] };
}

/** Adds suggested changes of the kernel to a certificate. Each takes another proof. */
function explain(certificate: Certificate, ir: KernelIR, lowered: KernelIR): Certificate {
  const [checked, runner] = [preconditions(lowered), caseRunner(ir, lowered)];
  const signature = signatureOf(lowered);
  return withMends(certificate, ir, (changed) =>
    prove(changed, checked, {
      ...runner,
      lanes: (at) => estimateWork(changed, at).lanes,
      evaluate: (at) => evaluateCase(changed, signature, at, undefined, SEARCH_LIMITS),
    }),
  );
}

/** The obligation of a kernel's warp-specialized form, which exists only if its barriers are proved. */
function barrierObligations(ir: KernelIR, lowered: KernelIR): readonly Obligation[] {
  if (!warpSpecializedKernel(ir, lowered).form()) return [];
  const verdict: Verdict = { kind: "proved", configs: "each" };
  return [{ property: "barriers", of: `the warp-specialized ${ir.name}`, at: ir.at, verdict }];
}

/** The obligations of a kernel as SMT-LIB scripts. */
export const kernelScripts = (ir: KernelIR, lowered: KernelIR, certificate: Certificate): SmtExport =>
  proveAsScripts(ir, preconditions(lowered), caseRunner(ir, lowered), certificate);

function caseRunner(ir: KernelIR, lowered: KernelIR): CaseRunner {
  const signature = signatureOf(lowered);
  return {
    refusal: (at) => refusal(lowered, at),
    lanes: (at) => estimateWork(ir, at).lanes,
    evaluate: (at) => evaluateCase(ir, signature, at, undefined, { lowered, ...SEARCH_LIMITS }),
  };
}

/** What the outputs of a kernel compute, for every shape and config. */
function kernelOutputs(
  ir: KernelIR,
  lowered: KernelIR,
  certificate: () => Certificate,
  evaluate: CompiledKernel["evaluate"],
): readonly OutputProof[] {
  return outputProofs(ir, undefined, {
    checkedOf: () => preconditions(lowered),
    certificateOf: certificate,
    overwrites: (_, tensor) => overwrites(ir, preconditions(lowered), tensor),
    runner: {
      refusal: (at) => refusal(lowered, at),
      lanes: (at) => estimateWork(ir, at).lanes,
      compare: (at) => evaluate(at, SEARCH_LIMITS).comparison,
    },
  });
}

/** What the bits of a kernel's outputs depend on. */
export const kernelInvariance = (
  ir: KernelIR,
  lowered: KernelIR,
  certificate: Certificate,
): readonly InvarianceProof[] => invarianceProofs(ir, { checked: preconditions(lowered), certificate });

/** The proofs of a compiled kernel, each computed once. */
export function proofsOf(
  ir: KernelIR,
  lowered: KernelIR,
  evaluate: CompiledKernel["evaluate"],
): Pick<
  CompiledKernel,
  "proof" | "verdicts" | "obligationCount" | "smt" | "computes" | "declaresInvariance" | "invariance"
> {
  let unexplained: Certificate | undefined;
  let certificate: Certificate | undefined;
  let bits: readonly InvarianceProof[] | undefined;
  const verdicts = (): Certificate => (unexplained ??= proveKernel(ir, lowered));
  const proof: CompiledKernel["proof"] = (cache) => (certificate ??= cachedProof(cache, ir, lowered, verdicts));
  return {
    proof,
    verdicts: () => certificate ?? verdicts(),
    obligationCount: () => obligationCount(ir, preconditions(lowered)),
    smt: () => [kernelScripts(ir, lowered, proof())],
    computes: (cache) => kernelOutputs(ir, lowered, () => proof(cache), evaluate),
    declaresInvariance: ir.launch.invariant.length > 0,
    invariance: (cache) => (bits ??= kernelInvariance(ir, lowered, proof(cache))),
  };
}

/** The certificate of an operator: those of its kernels together. */
export function mergeCertificates(certificates: readonly Certificate[]): Certificate {
  return {
    about: certificates.flatMap(({ about }) => about),
    configs: Math.max(0, ...certificates.map(({ configs }) => configs)),
    obligations: certificates.flatMap(({ obligations }) => obligations),
    launches: certificates.flatMap(({ launches }) => launches),
    promises: [...new Set(certificates.flatMap(({ promises }) => promises))],
    limits: [...new Set(certificates.flatMap(({ limits }) => limits))],
  };
}

// Kernel against kernel: the outputs of two compiled kernels or operators, which take the same arguments by name.

type Tensors = Readonly<Record<string, TensorData>>;

/** What a comparison needs of a compiled kernel, besides its interface. */
export interface ComparableSide extends Side {
  readonly loweredOf: (ir: KernelIR) => KernelIR;
  readonly certificateOf: (ir: KernelIR) => Certificate;
  /** The inputs of a test case. */
  readonly inputs: (testCase: TestCase) => Tensors;
  /**
   * The outputs of a test case in float64, if they can be computed.
   *
   * @throws Error if an input is out of its declared range.
   */
  readonly unrounded: (testCase: TestCase, inputs: Tensors) => Tensors | undefined;
}

type ComparedSide = ComparableSide & Pick<CompiledKernel, "refusal" | "work">;

/** A kernel, for comparisons. */
export const kernelSide = (
  ir: KernelIR,
  lowered: KernelIR,
  signature: Signature,
  certificate: () => Certificate,
): ComparableSide => ({
  ir,
  forward: undefined,
  loweredOf: () => lowered,
  certificateOf: certificate,
  inputs: (testCase) => inputsOf(ir, signature, testCase),
  unrounded(testCase, inputs) {
    checkRanges(signature, inputs, rangesOf(ir, testCase), ir);
    return evaluateUnrounded(ir, testCase, inputs, SEARCH_LIMITS);
  },
});

/** The kernels that this copy of the package has compiled. */
const sides = new WeakMap<CompiledKernel, ComparedSide>();

/** A compiled kernel that others can be compared with. */
export function withSide(compiled: Omit<CompiledKernel, "against">, comparable: ComparableSide): CompiledKernel {
  const side = { ...comparable, refusal: compiled.refusal, work: compiled.work };
  const result: CompiledKernel = Object.defineProperties(
    { against: (other: CompiledKernel) => compare(side, sides.get(other)) },
    Object.getOwnPropertyDescriptors(compiled),
  ) as CompiledKernel;
  sides.set(result, side);
  return result;
}

function compare(own: ComparedSide, other: ComparedSide | undefined): ReturnType<CompiledKernel["against"]> {
  if (!other) throw new Error("the other kernel was compiled by another copy of the package");
  const sideOf = (ir: KernelIR): ComparedSide =>
    ir === own.ir || (own.forward && kernelsOf(own.forward).includes(ir)) ? own : other;
  return outputsAgainst(own, other, {
    checkedOf: (ir) => preconditions(sideOf(ir).loweredOf(ir)),
    certificateOf: (ir) => sideOf(ir).certificateOf(ir),
    runner: runnerOf(own, other),
  });
}

/** Runs both sides on the inputs of a test case of the first, the other one in its first config. */
function runnerOf(own: ComparedSide, other: ComparedSide): ComparingRunner {
  const otherCase = (testCase: TestCase): TestCase => ({ ...testCase, config: 0 });
  return {
    refusal: (at) => own.refusal(at) ?? other.refusal(otherCase(at)),
    lanes: (at) => own.work(at).lanes + other.work(otherCase(at)).lanes,
    compare: (at, output) => {
      const inputs = own.inputs(at);
      const computed = own.unrounded(at, inputs)?.[output];
      const expected = computed && other.unrounded(otherCase(at), inputs)?.[output];
      return expected && largestDifference(output, computed, expected);
    },
  };
}

/** The element that differs most, if any differs. Undefined for tensors of other shapes. */
function largestDifference(output: string, computed: TensorData, expected: TensorData): Comparison | undefined {
  const { data, shape } = computed;
  if (expected.shape.join() !== shape.join()) return undefined;
  let worst: Comparison["worst"];
  let largest = 0;
  for (let flat = 0; flat < data.length; flat++) {
    const [got, wanted] = [data[flat] ?? 0, expected.data[flat] ?? 0];
    const difference = Math.abs(Number(got) - Number(wanted)) / (1 + Math.abs(Number(wanted)));
    if (!(difference > largest) || !Number.isFinite(difference)) continue;
    largest = difference;
    worst = { output, index: coordinates(shape, flat), expected: wanted, got };
  }
  const difference = { maxAbsDiff: largest, maxRelDiff: largest, total: data.length };
  if (!worst) return { correct: true, ...difference, wrong: 0 };
  return { correct: false, ...difference, worst, finds: "mistake", wrong: 1 };
}
