import { formatProgress, precompile, inEveryConfig } from "../target-compile/precompile.js";
import { formatCase } from "../cases/case-text.js";
import { closeDevice } from "../devices/devices.js";
import { failureOf } from "../cases/failure.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { measuredCases } from "../cases/measured-cases.js";
import { benchmarkCaseFor, measuringOptions, options, deviceOf, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import type { PrewarmedNodes, PrewarmReport } from "../report/reports.js";
import { prewarmRequest, runRequest } from "../devices/request.js";
import { openWorkspace } from "../devices/workspace.js";
import { printJson, progress } from "../system/streams.js";
import { type TestCase, type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import type { KernelCommand } from "../invocation/command.js";
import type { PythonDevice } from "../devices/device.js";

/** Time limit of a request, which compiles and measures every config. */
const DEADLINE_MS = 1_800_000;

type PrewarmedKernel = PrewarmReport["kernels"][number];

export const prewarm: KernelCommand<MeasuringOptions> = {
  name: "prewarm",
  description: "compile on a GPU into Triton's cache, so that later processes start fast",
  example: "prewarm gemm.ts --shapes M=512,N=512,K=512",
  options: [...measuringOptions, options.json, options.verbose],
  async plan(kernels, flags, streams) {
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const plans = compiled.map((kernel) => ({ kernel, ...measuredCases(kernel, benchmarkCaseFor(kernel, flags)) }));
    const alternative = "`tilescript compile` compiles, but fills no cache of Triton's,";
    return async (machine) => {
      const deviceOptions = { ...deviceOf(flags, streams), byNode: true };
      const devices = await machine.gpus({ what: "prewarming", instead: alternative }, deviceOptions);
      const show = progress(streams);
      let reports: readonly PrewarmReport[];
      try {
        reports = await Promise.all(devices.map((device) => prewarmOn(device, plans, show)));
      } finally {
        show("");
        await Promise.all(devices.map(closeDevice));
      }
      const ok = reports.every((report) => report.ok);
      const [single, ...others] = reports;
      const merged: PrewarmedNodes = { ok, nodes: reports };
      if (flags.json) printJson(streams, single && others.length === 0 ? single : merged);
      else for (const report of reports) streams.out(`${prewarmText(report)}\n`);
      return ok ? exitCodes.ok : exitCodes.failed;
    };
  },
};

type Plan = ReturnType<typeof measuredCases> & { readonly kernel: CompiledKernel };

/** Fills the Triton cache of the device's machine. */
async function prewarmOn(
  device: PythonDevice,
  plans: readonly Plan[],
  show: (text: string) => void,
): Promise<PrewarmReport> {
  const { hello, node } = device;
  const prefix = node === undefined ? "" : `${node}: `;
  const kernels: PrewarmedKernel[] = [];
  let folder = "";
  for (const { kernel, cases, skipped } of plans) {
    const result = await prewarmKernel(kernel, device, cases, {
      onCompiled: (done, all) => show(`${prefix}${formatProgress(kernel, done, all)}`),
      onDone: (done) => show(`${prefix}${kernel.signature.name}: ${done} of ${cases.length} cases`),
    });
    folder = result.folder ?? folder;
    kernels.push({ ...result.kernel, failed: [...skipped, ...result.kernel.failed] });
  }
  const ok = kernels.every(({ failed, cases }) => failed.length === 0 && cases.length > 0);
  const { deviceName: device_name, versions } = hello;
  return { ok, ...(node !== undefined && { node }), device_name, triton: versions.triton, folder, kernels };
}

async function prewarmKernel(
  kernel: CompiledKernel,
  device: PythonDevice,
  cases: readonly TestCase[],
  { onCompiled, onDone }: Record<"onCompiled" | "onDone", (done: number, planned: number) => void>,
): Promise<{ readonly kernel: PrewarmedKernel; readonly folder: string | undefined }> {
  const workspace = await openWorkspace(kernel, device.host);
  const cached: PrewarmedKernel["cases"][number][] = [];
  const failed: string[] = [];
  let keepsChoice = true;
  let folder: string | undefined;
  try {
    const requestsByCase = cases.map((testCase) =>
      inEveryConfig(kernel, testCase, device.hello.target).map((configCase) =>
        runRequest(kernel, workspace.module, configCase),
      ),
    );
    const { compiled } = await precompile(device, requestsByCase.flat(), onCompiled);
    const caseIndices = requestsByCase.flatMap((requests, i) => requests.map(() => i));
    for (const [i, testCase] of cases.entries()) {
      const precompiled = compiled.reduce((sum, count, index) => sum + (caseIndices[index] === i ? count : 0), 0);
      const { sizes, dtypes, constexprs } = testCase;
      const reply = await device.workers.request(prewarmRequest(kernel, workspace.module, testCase), DEADLINE_MS);
      if (reply.ok) {
        const { seconds, added, config: chosenConfig } = reply.result;
        const config = chosenConfig ?? "autotuned";
        cached.push({ sizes, dtypes, ...(constexprs && { constexprs }), seconds, added: precompiled + added, config });
        keepsChoice = reply.result.keepsChoice;
        folder = reply.result.folder;
      } else failed.push(`${formatSizes(sizes)}: ${failureOf(kernel, reply.error).message}`);
      onDone(cached.length + failed.length, cases.length);
    }
  } finally {
    await workspace.remove();
  }
  return { kernel: { kernel: kernel.signature.name, keeps_choice: keepsChoice, cases: cached, failed }, folder };
}

/** The compiled cases, and the processes that can use them. */
function prewarmText({ node, device_name, triton, folder, kernels }: PrewarmReport): string {
  const suffix = node === undefined ? "" : ` of ${node}`;
  return [
    ...kernels.flatMap(({ kernel, cases, failed, keeps_choice: keepsChoice }) => [
      `${kernel}: ${cases.length} cases on ${device_name}${suffix}`,
      ...cases.map(
        ({ seconds, added, config, ...testCase }) =>
          `  ${formatCase(testCase)}: ${added === 0 ? "all was there" : `${added} new in the cache`}, ${config === "autotuned" ? "each kernel tuned" : `config ${config} chosen`} (${seconds} s)`,
      ),
      ...failed.map((text) => `  failed ${text}`),
      ...(keepsChoice
        ? []
        : [
            "  Triton keeps the binaries, but not the choice of a config: each process measures its configs again",
            "  unless the spec says autotune: { cacheResults: true }",
          ]),
    ]),
    `cache: ${folder}${suffix} (TRITON_CACHE_DIR). It serves processes with Triton ${triton}, the same kind of GPU and the`,
    "same emitted module; on another machine, copy the folder and set TRITON_CACHE_DIR.",
  ].join("\n");
}
