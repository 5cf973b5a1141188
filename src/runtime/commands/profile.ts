import { join, resolve } from "node:path";
import type { Case, CompiledKernel } from "../../contract/compiled.js";
import { writeOutput } from "../system/files.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { measuredCases } from "../cases/measured-cases.js";
import { measuring, options, type JsonOptions, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/problems.js";
import type { ProfileReport } from "../report/reports.js";
import { printJson } from "../system/streams.js";
import { pythonFolder } from "../python/start-python.js";
import type { KernelCommand } from "../invocation/command.js";

interface ProfileOptions extends JsonOptions, Pick<MeasuringOptions, "shapes" | "dtype"> {
  readonly out?: string;
}

export const profile: KernelCommand<ProfileOptions> = {
  name: "profile",
  description: "emit the module and print the commands that profile it",
  options: [options.shapes, options.dtype, options.kernel, options.folder, options.json],
  async plan(kernels, given, streams) {
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const folder = given.out ?? "profile";
    const plans = compiled.map((kernel) => {
      const { cases, left } = measuredCases(kernel, measuring(kernel, { ...given, seed: 0 }));
      const [at] = cases;
      if (!at) throw new UsageError(`${kernel.signature.name}: ${left.join("; ")}`);
      return { kernel, at };
    });
    return async () => {
      const found: ProfileReport["kernels"][number][] = [];
      for (const { kernel, at } of plans) {
        const file = join(folder, kernel.file);
        await writeOutput(file, kernel.emit({ dtypes: at.dtypes }).python);
        found.push({ kernel: kernel.signature.name, file, commands: commandsFor(kernel, at, file, folder) });
      }
      if (given.json) printJson(streams, { ok: true, kernels: found } satisfies ProfileReport);
      else
        for (const { kernel, file, commands } of found) {
          streams.out(`${kernel}: wrote ${file}; on a machine with a GPU run one of\n`);
          for (const line of Object.values(commands)) streams.out(`\n  ${line}\n`);
        }
      return exitCodes.ok;
    };
  },
};

/** Profilers see a single call, in an NVTX range, after the calls that compile and tune. */
function commandsFor(
  { signature, parts = [] }: CompiledKernel,
  at: Case,
  file: string,
  folder: string,
): ProfileReport["kernels"][number]["commands"] {
  const script = resolve(pythonFolder, "benchmark_kernel.py");
  const sizes = Object.entries(at.sizes).flatMap(([size, value]) => ["--size", `${size}=${value}`]);
  const python = ["python", script, file, ...sizes, "--profile"];
  const out = join(folder, signature.name);
  const jits = [...new Set([signature.jit, ...parts.map((part) => part.signature.jit)])];
  const regex = jits.length > 1 ? `^(${jits.join("|")})$` : signature.jit;
  const command = (start: string, ...words: readonly string[]) => [start, ...words.map(quoted)].join(" ");
  return {
    ncu: command(
      "ncu --set full --import-source yes --profile-from-start off --kernel-name",
      jits.length > 1 ? `regex:${regex}` : regex,
      "-o",
      out,
      ...python,
    ),
    nsys: command("nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi -o", out, ...python),
    rocprofv3: command("rocprofv3 --kernel-trace --stats --kernel-include-regex", regex, "-d", out, "--", ...python),
  };
}

/** A word of a command line of the shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
