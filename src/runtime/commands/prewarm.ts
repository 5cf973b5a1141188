import { aheadText, precompile, inEveryConfig } from "../target-compile/precompile.js";
import { caseText } from "../cases/case-text.js";
import { closeDevice, type PythonDevice } from "../devices/devices.js";
import { failureOf } from "../cases/failure.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { measuredCases } from "../cases/measured-cases.js";
import { measuring, measuringOptions, options, deviceOf, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import type { PrewarmedNodes, PrewarmReport } from "../report/reports.js";
import { prewarmRequest, runRequest } from "../devices/request.js";
import { openWorkspace } from "../devices/workspace.js";
import { printJson, progress } from "../system/streams.js";
import { type TestCase, type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import type { KernelCommand } from "../invocation/command.js";

/** Every config is compiled and measured. */
const DEADLINE_MS = 1_800_000;

type Warmed = PrewarmReport["kernels"][number];

export const prewarm: KernelCommand<MeasuringOptions> = {
  name: "prewarm",
  description: "compile on a GPU into Triton's cache, so that later processes start fast",
  options: [...measuringOptions, options.json, options.verbose],
  async plan(kernels, given, streams) {
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const plans = compiled.map((kernel) => ({ kernel, ...measuredCases(kernel, measuring(kernel, given)) }));
    const instead = "`tilescript compile` compiles, but fills no cache of Triton's,";
    return async (machine) => {
      const chosen = { ...deviceOf(given, streams), byNode: true };
      const devices = await machine.gpus({ what: "prewarming", instead }, chosen);
      const show = progress(streams);
      let reports: readonly PrewarmReport[];
      try {
        reports = await Promise.all(devices.map((device) => prewarmOn(device, plans, show)));
      } finally {
        show("");
        await Promise.all(devices.map(closeDevice));
      }
      const ok = reports.every((report) => report.ok);
      const [only, ...others] = reports;
      const joined: PrewarmedNodes = { ok, nodes: reports };
      if (given.json) printJson(streams, only && others.length === 0 ? only : joined);
      else for (const report of reports) streams.out(`${prewarmText(report)}\n`);
      return ok ? exitCodes.ok : exitCodes.failed;
    };
  },
};

type Plan = ReturnType<typeof measuredCases> & { readonly kernel: CompiledKernel };

/** Fills the cache of the device's machine. */
async function prewarmOn(
  device: PythonDevice,
  plans: readonly Plan[],
  show: (text: string) => void,
): Promise<PrewarmReport> {
  const { hello, node } = device;
  const where = node === undefined ? "" : `${node}: `;
  const kernels: Warmed[] = [];
  let folder = "";
  for (const { kernel, cases, left } of plans) {
    const warmed = await warm(kernel, device, cases, {
      onCompiled: (done, all) => show(`${where}${aheadText(kernel, done, all)}`),
      onDone: (done) => show(`${where}${kernel.signature.name}: ${done} of ${cases.length} cases`),
    });
    folder = warmed.folder ?? folder;
    kernels.push({ ...warmed.kernel, failed: [...left, ...warmed.kernel.failed] });
  }
  const ok = kernels.every(({ failed, cases }) => failed.length === 0 && cases.length > 0);
  const { deviceName: device_name, versions } = hello;
  return { ok, ...(node !== undefined && { node }), device_name, triton: versions.triton, folder, kernels };
}

async function warm(
  kernel: CompiledKernel,
  device: PythonDevice,
  cases: readonly TestCase[],
  { onCompiled, onDone }: Record<"onCompiled" | "onDone", (done: number, planned: number) => void>,
): Promise<{ readonly kernel: Warmed; readonly folder: string | undefined }> {
  const workspace = await openWorkspace(kernel, device.host);
  const done: Warmed["cases"][number][] = [];
  const failed: string[] = [];
  let keeps = true;
  let folder: string | undefined;
  try {
    const each = cases.map((at) =>
      inEveryConfig(kernel, at, device.hello.target).map((one) => runRequest(kernel, workspace.module, one)),
    );
    const { compiled } = await precompile(device, each.flat(), onCompiled);
    const owners = each.flatMap((requests, i) => requests.map(() => i));
    for (const [i, at] of cases.entries()) {
      const ahead = compiled.reduce((sum, count, place) => sum + (owners[place] === i ? count : 0), 0);
      const { sizes, dtypes, constexprs } = at;
      const reply = await device.workers.request(prewarmRequest(kernel, workspace.module, at), DEADLINE_MS);
      if (reply.ok) {
        const { seconds, added, config: chosen } = reply.result;
        const config = chosen ?? "autotuned";
        done.push({ sizes, dtypes, ...(constexprs && { constexprs }), seconds, added: ahead + added, config });
        keeps = reply.result.keepsChoice;
        folder = reply.result.folder;
      } else failed.push(`${formatSizes(sizes)}: ${failureOf(kernel, reply.error).message}`);
      onDone(done.length + failed.length, cases.length);
    }
  } finally {
    await workspace.remove();
  }
  return { kernel: { kernel: kernel.signature.name, keeps_choice: keeps, cases: done, failed }, folder };
}

/** What was compiled, and which processes can use it. */
function prewarmText({ node, device_name, triton, folder, kernels }: PrewarmReport): string {
  const where = node === undefined ? "" : ` of ${node}`;
  return [
    ...kernels.flatMap(({ kernel, cases, failed, keeps_choice: keeps }) => [
      `${kernel}: ${cases.length} cases on ${device_name}${where}`,
      ...cases.map(
        ({ seconds, added, config, ...at }) =>
          `  ${caseText(at)}: ${added === 0 ? "all was there" : `${added} new in the cache`}, ${config === "autotuned" ? "each kernel tuned" : `config ${config} chosen`} (${seconds} s)`,
      ),
      ...failed.map((text) => `  failed ${text}`),
      ...(keeps
        ? []
        : [
            "  the binaries are kept and the choice of a config is not: each process measures its configs again",
            "  unless the spec says autotune: { cacheResults: true }",
          ]),
    ]),
    `cache: ${folder}${where} (TRITON_CACHE_DIR). It serves processes with Triton ${triton}, the same kind of GPU and the`,
    "same emitted module; on another machine, copy the folder and set TRITON_CACHE_DIR.",
  ].join("\n");
}
