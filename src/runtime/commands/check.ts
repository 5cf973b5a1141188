import { Option } from "commander";
import type { CompiledKernel, ProofCache } from "../../compiled/compiled-kernel.js";
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import {
  certificateLine,
  type GivenCertificates,
  matchCertificate,
  certificateIn,
  readCertificates,
  writeScripts,
} from "../report/certificate-text.js";
import pc from "picocolors";
import { explainHint, printDiagnostic } from "../report/text-blocks.js";
import {
  barrierLines,
  proofSummary,
  computesLines,
  outputDiagnostics,
  invarianceLines,
  kernelDiagnostics,
} from "../report/proof-text.js";
import { isBuildError, compareWith, type OtherKernels, otherKernels } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import type { CheckReport } from "../report/reports.js";
import { version, openProofCache } from "../system/files.js";
import { printJson, progress } from "../system/streams.js";
import type { KernelCommand, Runnable } from "../invocation/command.js";

interface CheckOptions extends JsonOptions {
  readonly computes?: true;
  readonly invariance?: true;
  readonly against?: string;
  readonly certificate?: string;
  readonly smt?: string;
}

type KernelReport = CheckReport["kernels"][number];

interface Checked {
  readonly report: KernelReport;
  /** What is printed below the kernel's own line. */
  readonly lines: readonly string[];
}

export const check: KernelCommand<CheckOptions> = {
  name: "check",
  description: "build, check and prove; write nothing and run nothing",
  example: "check gemm.ts",
  options: [
    new Option("--computes", "also prove for all shapes that each output equals the reference over the reals").implies({
      check: true,
    }),
    new Option(
      "--against <file>",
      "also prove for all shapes that each output equals that of the kernel of the same name in this file",
    ).implies({ check: true }),
    new Option(
      "--invariance",
      "also report whether the bits of each output depend on sizes, other rows or the run",
    ).implies({
      check: true,
    }),
    new Option(
      "--certificate <file>",
      "also compare each proof with the one in this file, which check --json wrote; fail if they differ",
    ).implies({ check: true }),
    new Option(
      "--smt <dir>",
      "also write obligations as SMT-LIB scripts, for a solver such as z3; :status is the verdict of the proof",
    ).implies({ check: true }),
    options.kernel,
    options.watch,
    options.json,
  ],
  async plan(kernels, { json, computes = false, invariance = false, against, certificate, smt }, streams) {
    const cache = openProofCache();
    const given = certificate === undefined ? undefined : await readCertificates(certificate);
    const others = against === undefined ? undefined : await otherKernels(against, kernels);
    const show = progress(streams);
    const colors = pc.createColors(streams.color && !json);
    const results: Checked[] = [];
    for (const kernel of kernels) {
      show(`building and proving ${kernel.name} …`);
      results.push(await checkKernel(kernel, { cache, computes, invariance, others, given, smt }));
    }
    const reports = results.map(({ report }) => report);
    const ok = reports.every((kernel) => kernel.ok);
    for (const { report, lines } of results) {
      const { kernel, ok: isOk, diagnostics, proof } = report;
      for (const diagnostic of diagnostics) printDiagnostic(diagnostic, streams);
      if (json || !proof) continue;
      streams.out(`${kernel}: ${isOk ? colors.green("ok") : colors.red("wrong")}, ${proofSummary(proof)}\n`);
      for (const line of lines) streams.out(`${line}\n`);
    }
    const firstError = reports.flatMap(({ diagnostics }) => diagnostics).find(({ severity }) => severity === "error");
    if (firstError) streams.err(`${explainHint(firstError.code)}\n`);
    if (json) printJson(streams, { ok, version, kernels: reports } satisfies CheckReport);
    return async () => (ok ? exitCodes.ok : exitCodes.failed);
  },
};

interface CheckContext {
  readonly cache: ProofCache | undefined;
  readonly computes: boolean;
  readonly invariance: boolean;
  readonly others: OtherKernels | undefined;
  readonly given: GivenCertificates | undefined;
  /** The folder of scripts. */
  readonly smt: string | undefined;
}

/** Builds and proves a kernel. Its errors are part of the report, so that the other kernels are checked too. */
async function checkKernel(kernel: Runnable, context: CheckContext): Promise<Checked> {
  const { cache, given, smt } = context;
  try {
    const compiled = await kernel.compile();
    const { name } = compiled.signature;
    const proof = compiled.proof(cache);
    const certificate = given && certificateIn(given, proof);
    const computes = context.computes || certificate?.computes !== undefined;
    const asked = await askedOf(kernel, compiled, { ...context, computes });
    const diagnostics = [...kernelDiagnostics(compiled, proof, cache), ...asked.diagnostics];
    const match = given && matchCertificate(certificate, proof, asked.report.computes);
    const hasErrors = diagnostics.some(({ severity }) => severity === "error");
    const isOther = match !== undefined && match.kind !== "same";
    const report: KernelReport = {
      kernel: name,
      ok: !hasErrors && !isOther,
      configs: compiled.configs.length,
      diagnostics,
      proof,
      ...asked.report,
      ...(match && { certificate: match }),
    };
    const lines = [...barrierLines(proof), ...asked.lines];
    if (given && match) lines.push(certificateLine(name, match, given));
    if (smt !== undefined) lines.push(await writeScripts(compiled, smt));
    return { report, lines };
  } catch (error) {
    if (!isBuildError(error)) throw error;
    return { report: { kernel: kernel.name, ok: false, configs: 0, diagnostics: error.diagnostics }, lines: [] };
  }
}

/** What options ask besides the proof. */
async function askedOf(
  kernel: Runnable,
  compiled: CompiledKernel,
  { cache, computes, invariance, others }: CheckContext,
): Promise<{
  readonly report: Pick<KernelReport, "computes" | "against" | "invariance">;
  readonly diagnostics: readonly Diagnostic[];
  readonly lines: readonly string[];
}> {
  const outputs = computes ? compiled.computes(cache) : undefined;
  const compared = others && (await compareWith(kernel, compiled, others, cache));
  const bits = invariance ? compiled.invariance(cache) : undefined;
  return {
    report: {
      ...(outputs && { computes: outputs }),
      ...(compared && { against: compared }),
      ...(bits && { invariance: bits }),
    },
    diagnostics: [...outputDiagnostics(outputs ?? []), ...outputDiagnostics(compared ?? [], others?.file)],
    lines: [
      ...computesLines(compiled, outputs ?? []),
      ...computesLines(compiled, compared ?? [], others?.file),
      ...invarianceLines(bits ?? []),
    ],
  };
}
