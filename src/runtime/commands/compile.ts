import { InvalidArgumentError, Option } from "commander";
import pc from "picocolors";
import { printDiagnostic } from "../report/text-blocks.js";
import { type Layout, type TestCase, type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import { allLayouts } from "../cases/selection.js";
import type { DeviceName } from "../../compiled/gpus.js";
import { compileForTargets } from "../target-compile/targets.js";
import { compileAll, warn } from "../invocation/kernels.js";
import {
  deviceOf,
  options,
  selectionFor,
  type SelectionOptions,
  benchmarkCaseFor,
  measuringOptions,
  type MeasuringOptions,
} from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { compileDiagnostics, compileJson, compileText } from "../report/compile-report.js";
import { printJson, progress } from "../system/streams.js";
import { parseTargets, type Target, targets as known } from "../system/gpu-targets.js";
import type { KernelCommand } from "../invocation/command.js";
import { formatProgress, precompile, inEveryConfig } from "../target-compile/precompile.js";
import { formatCase } from "../cases/cases.js";
import { closeDevice } from "../devices/devices.js";
import { failureOf } from "../cases/outcome.js";
import { measuredCases } from "../cases/command-cases.js";
import type { PrewarmedNodes, PrewarmReport } from "../report/reports.js";
import { prewarmRequest, runRequest } from "../devices/request.js";
import { type PythonDevice, parseDevice, openWorkspace } from "../devices/device.js";

interface CompileOptions extends SelectionOptions {
  readonly targets?: readonly Target[];
  readonly layouts?: readonly Layout[];
  readonly device?: DeviceName;
}

export const compile: KernelCommand<CompileOptions> = {
  name: "compile",
  description: "compile every config for any GPU, and show registers, spills and occupancy; needs no GPU",
  example: "compile gemm.ts --targets cuda:90,hip:gfx942",
  options: [
    new Option("--targets <list>", `GPUs to compile for: ${known.map(({ name }) => name).join(", ")}`).argParser(
      parseTargets,
    ),
    options.shape,
    options.dtype,
    options.config,
    new Option(
      "--layouts <list>",
      `memory layouts of the inputs: ${allLayouts.join(", ")}, or all (default: contiguous)`,
    ).argParser(parseLayouts),
    options.seed,
    options.kernel,
    options.device,
    options.python,
    options.processes,
    options.json,
    options.verbose,
  ],
  flag: { text: "--compile <targets>", option: "targets" },
  checkOptions({ targets, device }) {
    if (device !== undefined && parseDevice(device).ray === undefined)
      throw new UsageError(
        `--device ${device}: compile needs no device; name a cluster whose CPUs compile, ray:ADDRESS, or leave it out`,
      );
    if (!targets) throw new UsageError("--targets is missing; name GPUs, such as cuda:90,hip:gfx942");
  },
  async plan(kernels, flags, streams) {
    const startMs = performance.now();
    const built = await compileAll(kernels);
    warn(built, streams);
    const compiled = built.flatMap((kernel) => kernel.parts ?? [kernel]);
    const selections = compiled.map((kernel) => selectionFor(kernel, flags));
    return async (machine) => {
      const service = await machine.compilers(deviceOf(flags, streams));
      const show = progress(streams);
      const results = await compileForTargets(compiled, {
        service,
        targets: flags.targets ?? [],
        selections,
        layouts: flags.layouts,
        withConstants: true,
        onDone: (done, planned) => show(`compiled ${done} of ${planned}`),
      });
      show("");
      const { versions, python } = service;
      const facts = { triton: versions.triton ?? "", python, seconds: Math.round(performance.now() - startMs) / 1000 };
      const diagnostics = results.map(compileDiagnostics);
      const ok = diagnostics.flat().every(({ severity }) => severity !== "error");
      if (flags.json) printJson(streams, compileJson(results, diagnostics, facts));
      else {
        const colors = pc.createColors(streams.color);
        for (const each of results) streams.out(`${compileText(each, facts, colors)}\n`);
      }
      for (const diagnostic of diagnostics.flat()) printDiagnostic(diagnostic, streams);
      if (flags.verbose) {
        const failures = results.flatMap(({ compilations }) =>
          compilations.flatMap(({ failure }) => failure?.raw ?? []),
        );
        for (const raw of new Set(failures)) streams.err(`${raw}\n`);
      }
      return ok ? exitCodes.ok : exitCodes.failed;
    };
  },
};

/** Parses `transposed,sliced` or `all`. */
function parseLayouts(text: string): readonly Layout[] {
  if (text === "all") return allLayouts;
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  const unknown = names.find((name) => !(allLayouts as readonly unknown[]).includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`a layout is ${allLayouts.join(", ")} or all, not ${JSON.stringify(unknown)}`);
  return names as Layout[];
}

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
