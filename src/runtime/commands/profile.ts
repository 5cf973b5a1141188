import { join, posix, resolve } from "node:path";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { writeOutput } from "../system/files.js";
import { refuseCluster } from "../invocation/chosen-device.js";
import { compileAll, refuseSameNames, warn } from "../invocation/kernels.js";
import { measuredCases } from "../cases/measured-cases.js";
import { deviceOf, measuring, options, type JsonOptions, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import type { ProfileReport } from "../report/reports.js";
import { printJson } from "../system/streams.js";
import type { RemoteMachine } from "../devices/devices.js";
import { keyOfText } from "../system/json-cache.js";
import { shellWord } from "../system/shell.js";
import { pythonFolder } from "../worker/start-python.js";
import type { KernelCommand } from "../invocation/command.js";

interface ProfileOptions extends JsonOptions, Pick<MeasuringOptions, "shapes" | "dtype" | "device"> {
  readonly out?: string;
}

export const profile: KernelCommand<ProfileOptions> = {
  name: "profile",
  description: "emit the module and print the commands that profile it",
  options: [options.device, options.shapes, options.dtype, options.kernel, options.folder, options.json],
  checkOptions: ({ device }) => refuseCluster(device, "profile prints what to run on one machine"),
  async plan(kernels, given, streams) {
    refuseSameNames(kernels);
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const folder = given.out ?? "profile";
    const plans = compiled.map((kernel) => {
      const { cases, left } = measuredCases(kernel, measuring(kernel, { ...given, seed: 0 }));
      const [at] = cases;
      if (!at) throw new UsageError(`${kernel.signature.name}: ${left.join("; ")}`);
      return { kernel, at };
    });
    return async (machine) => {
      const elsewhere = await machine.elsewhere(deviceOf({ ...given, seed: 0 }, streams));
      const found: Profiled[] = [];
      try {
        for (const { kernel, at } of plans) {
          const { python } = kernel.emit({ dtypes: at.dtypes });
          const file = join(folder, kernel.file);
          await writeOutput(file, python);
          const profiled = elsewhere
            ? await profiledThere(elsewhere, kernel, at, python, folder)
            : { commands: commandsFor(kernel, at, { ...here, file, folder }) };
          found.push({ kernel: kernel.signature.name, file, ...profiled });
        }
      } finally {
        await elsewhere?.host.close();
      }
      if (given.json) printJson(streams, { ok: true, kernels: found } satisfies ProfileReport);
      else for (const profiled of found) streams.out(profileText(profiled));
      return exitCodes.ok;
    };
  },
};

type Profiled = ProfileReport["kernels"][number];

function profileText({ kernel, file, commands, fetch }: Profiled): string {
  const where = fetch === undefined ? "on a machine with a GPU run one of" : "run one of these here";
  const lines = [`${kernel}: wrote ${file}; ${where}`, ...Object.values(commands).map((line) => `\n  ${line}`)];
  return `${[...lines, ...(fetch === undefined ? [] : [`\nand get its report with\n\n  ${fetch}`])].join("\n")}\n`;
}

/** The module goes there too; the commands run there through ssh, in the folder of the module. */
async function profiledThere(
  { host, environment }: RemoteMachine,
  kernel: CompiledKernel,
  at: TestCase,
  python: string,
  folder: string,
): Promise<Pick<Profiled, "commands" | "fetch">> {
  const there = posix.join(posix.dirname(posix.dirname(host.folder)), "profile", keyOfText(python).slice(0, 16));
  await host.ask({ do: "make", path: there });
  await host.ask({ do: "replace", path: posix.join(there, kernel.file), text: python });
  const script = posix.join(host.folder, "benchmark_kernel.py");
  const inside = { python: environment.python, script, file: kernel.file, folder: "." };
  const commands = commandsFor(kernel, at, inside);
  const run = (line: string) => words(...host.shell, `cd ${shellWord(there)} && ${line}`);
  return {
    commands: { ncu: run(commands.ncu), nsys: run(commands.nsys), rocprofv3: run(commands.rocprofv3) },
    fetch: words(...host.copy(there), folder),
  };
}

const here = { python: "python", script: resolve(pythonFolder, "benchmark_kernel.py") };

interface Place {
  readonly python: string;
  readonly script: string;
  /** The module, and where the profiler writes. */
  readonly file: string;
  readonly folder: string;
}

/** Profilers see a single call, in an NVTX range, after the calls that compile and tune. */
function commandsFor(
  { signature, parts = [] }: CompiledKernel,
  at: TestCase,
  { python: program, script, file, folder }: Place,
): Profiled["commands"] {
  const sizes = Object.entries(at.sizes).flatMap(([size, value]) => ["--size", `${size}=${value}`]);
  const python = [program, script, file, ...sizes, "--profile"];
  const out = join(folder, signature.name);
  const jits = [...new Set([signature.jit, ...parts.map((part) => part.signature.jit)])];
  const regex = jits.length > 1 ? `^(${jits.join("|")})$` : signature.jit;
  const command = (start: string, ...rest: readonly string[]) => [start, words(...rest)].join(" ");
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

/** A command line of the shell. */
const words = (...each: readonly string[]): string => each.map(shellWord).join(" ");
