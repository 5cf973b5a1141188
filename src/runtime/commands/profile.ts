import { join, resolve } from "node:path";
import type { Case, CompiledKernel } from "../../compiled.js";
import { writeOutput } from "../files.js";
import { compileAll, warn } from "../kernels.js";
import { measuredCases } from "../measured-cases.js";
import { measuring, measuringOptions, options, type MeasuringOptions } from "../options.js";
import { exitCodes } from "../problems.js";
import type { ProfileReport } from "../reports.js";
import { printJson } from "../streams.js";
import { pythonFolder } from "../worker.js";
import type { KernelCommand } from "./command.js";

export const profile: KernelCommand<MeasuringOptions & { readonly out?: string }> = {
  name: "profile",
  description: "emit the module and print the command lines that profile it",
  options: [...measuringOptions, options.folder, options.json],
  async run(kernels, given, streams) {
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const folder = given.out ?? "profile";
    const found: ProfileReport["kernels"][number][] = [];
    for (const kernel of compiled) {
      const [at] = measuredCases(kernel, measuring(kernel, given)).cases;
      if (!at) continue;
      const file = join(folder, kernel.file);
      await writeOutput(file, kernel.python);
      found.push({ kernel: kernel.signature.name, file, commands: commandsFor(kernel, at, file, folder) });
    }
    if (given.json) printJson(streams, { ok: true, kernels: found } satisfies ProfileReport);
    else
      for (const { kernel, file, commands } of found) {
        streams.out(`${kernel}: wrote ${file}; on a machine with a GPU run one of\n`);
        for (const line of Object.values(commands)) streams.out(`\n  ${line}\n`);
      }
    return exitCodes.ok;
  },
};

/** Profilers see one call in an NVTX range, after the calls that compile and tune. */
function commandsFor(
  { signature: { name, jit } }: CompiledKernel,
  at: Case,
  file: string,
  folder: string,
): ProfileReport["kernels"][number]["commands"] {
  const script = resolve(pythonFolder, "benchmark_kernel.py");
  const sizes = Object.entries(at.sizes).map(([size, value]) => `--size ${size}=${value}`);
  const python = ["python", script, file, ...sizes, "--profile"].join(" ");
  const out = join(folder, name);
  return {
    ncu: `ncu --set full --import-source yes --profile-from-start off --kernel-name ${jit} -o ${out} ${python}`,
    nsys: `nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi -o ${out} ${python}`,
    rocprofv3: `rocprofv3 --kernel-trace --stats --kernel-include-regex ${jit} -d ${out} -- ${python}`,
  };
}
