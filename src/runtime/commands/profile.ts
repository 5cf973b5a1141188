import { join, posix, resolve } from "node:path";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { writeOutput } from "../system/files.js";
import { refuseCluster } from "../invocation/chosen-device.js";
import { compileAll, refuseSameNames, warn } from "../invocation/kernels.js";
import { measuredCases } from "../cases/command-cases.js";
import { deviceOf, benchmarkCaseFor, options, type JsonOptions, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import type { ProfileReport } from "../report/reports.js";
import { printJson } from "../system/streams.js";
import type { RemoteMachine } from "../devices/devices.js";
import { keyOfText } from "../system/caches.js";
import { shellWord } from "../system/processes.js";
import { pythonFolder } from "../worker/host.js";
import type { KernelCommand } from "../invocation/command.js";

interface ProfileOptions extends JsonOptions, Pick<MeasuringOptions, "shapes" | "dtype" | "device"> {
  readonly out?: string;
}

export const profile: KernelCommand<ProfileOptions> = {
  name: "profile",
  description: "emit the module and print the commands that profile it",
  example: "profile gemm.ts --out profile",
  options: [options.device, options.shapes, options.dtype, options.kernel, options.folder, options.json],
  checkOptions: ({ device }) => refuseCluster(device, "profile prints commands for one machine"),
  async plan(kernels, flags, streams) {
    refuseSameNames(kernels);
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const folder = flags.out ?? "profile";
    const plans = compiled.map((kernel) => {
      const { cases, skipped } = measuredCases(kernel, benchmarkCaseFor(kernel, { ...flags, seed: 0 }));
      const [testCase] = cases;
      if (!testCase) throw new UsageError(`${kernel.signature.name}: ${skipped.join("; ")}`);
      return { kernel, at: testCase };
    });
    return async (machine) => {
      const remote = await machine.remoteMachine(deviceOf({ ...flags, seed: 0 }, streams));
      const profiles: ProfiledKernel[] = [];
      try {
        for (const { kernel, at } of plans) {
          const { python } = kernel.emit({ dtypes: at.dtypes });
          const file = join(folder, kernel.file);
          await writeOutput(file, python);
          const commands = remote
            ? await profileRemotely(remote, kernel, at, python, folder)
            : { commands: commandsFor(kernel, at, { ...localProgram, file, folder }) };
          profiles.push({ kernel: kernel.signature.name, file, ...commands });
        }
      } finally {
        await remote?.host.close();
      }
      if (flags.json) printJson(streams, { ok: true, kernels: profiles } satisfies ProfileReport);
      else for (const profiled of profiles) streams.out(profileText(profiled));
      return exitCodes.ok;
    };
  },
};

type ProfiledKernel = ProfileReport["kernels"][number];

function profileText({ kernel, file, commands, fetch }: ProfiledKernel): string {
  const instruction = fetch === undefined ? "on a machine with a GPU run one of" : "run one of these here";
  const lines = [`${kernel}: wrote ${file}; ${instruction}`, ...Object.values(commands).map((line) => `\n  ${line}`)];
  return `${[...lines, ...(fetch === undefined ? [] : [`\nand get its report with\n\n  ${fetch}`])].join("\n")}\n`;
}

/** Copies the module to the remote machine. The commands run there through ssh, in the folder of the module. */
async function profileRemotely(
  { host, environment }: RemoteMachine,
  kernel: CompiledKernel,
  testCase: TestCase,
  python: string,
  folder: string,
): Promise<Pick<ProfiledKernel, "commands" | "fetch">> {
  const remoteFolder = posix.join(posix.dirname(posix.dirname(host.folder)), "profile", keyOfText(python).slice(0, 16));
  await host.ask({ do: "make", path: remoteFolder });
  await host.ask({ do: "replace", path: posix.join(remoteFolder, kernel.file), text: python });
  const script = posix.join(host.folder, "benchmark_kernel.py");
  const program = { python: environment.python, script, file: kernel.file, folder: "." };
  const commands = commandsFor(kernel, testCase, program);
  const run = (line: string) => shellWords(...host.shell, `cd ${shellWord(remoteFolder)} && ${line}`);
  return {
    commands: { ncu: run(commands.ncu), nsys: run(commands.nsys), rocprofv3: run(commands.rocprofv3) },
    fetch: shellWords(...host.copy(remoteFolder), folder),
  };
}

const localProgram = { python: "python", script: resolve(pythonFolder, "benchmark_kernel.py") };

interface ProfiledProgram {
  readonly python: string;
  readonly script: string;
  /** The module, and the output folder of the profiler. */
  readonly file: string;
  readonly folder: string;
}

/** The commands that profile a single call, in an NVTX range, after the calls that compile and tune. */
function commandsFor(
  { signature, parts = [] }: CompiledKernel,
  testCase: TestCase,
  { python: program, script, file, folder }: ProfiledProgram,
): ProfiledKernel["commands"] {
  const sizes = Object.entries(testCase.sizes).flatMap(([size, value]) => ["--size", `${size}=${value}`]);
  const python = [program, script, file, ...sizes, "--profile"];
  const out = join(folder, signature.name);
  const jits = [...new Set([signature.jit, ...parts.map((part) => part.signature.jit)])];
  const regex = jits.length > 1 ? `^(${jits.join("|")})$` : signature.jit;
  const command = (start: string, ...args: readonly string[]) => [start, shellWords(...args)].join(" ");
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

/** Formats words as a shell command line. */
const shellWords = (...commandLine: readonly string[]): string => commandLine.map(shellWord).join(" ");
