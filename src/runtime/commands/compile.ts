import { InvalidArgumentError, Option } from "commander";
import pc from "picocolors";
import { printDiagnostic } from "../report/code-frame.js";
import type { Layout } from "../../compiled/compiled-kernel.js";
import { allLayouts } from "../cases/tensor-layouts.js";
import type { DeviceName } from "../../compiled/device-names.js";
import { parseDevice } from "../devices/device-name.js";
import { compileForTargets } from "../target-compile/targets.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { deviceOf, options, selectionFor, type SelectionOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { compileDiagnostics, compileJson, compileText } from "../report/compile-report.js";
import { printJson, progress } from "../system/streams.js";
import { parseTargets, type Target, targets as known } from "../system/gpu-targets.js";
import type { KernelCommand } from "../invocation/command.js";

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
