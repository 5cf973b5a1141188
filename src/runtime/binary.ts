/** The `tilescript` command: what works on any kernel file, and the Python environment. */
import { Command } from "commander";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { endOnSignals, guard, runOptions, terminal, type Runnable, type Streams } from "./cli.js";
import { closeDevice, missingPython, openDevice } from "./devices.js";
import { findPython } from "./environment.js";
import { addKernelOptions, commanderMistake, quiet, type CliOptions } from "./options.js";
import { exitCodes, UsageError } from "./problems.js";
import { setup } from "./setup.js";

/** Runs the command and returns the exit code. */
export function runBinary(args: readonly string[], streams: Streams = terminal): Promise<number> {
  endOnSignals();
  return guard(streams, args, async () => {
    let code: number = exitCodes.ok;
    const program = commands(streams, (done) => (code = done));
    if (args.length === 0) {
      streams.out(program.helpInformation());
      return code;
    }
    try {
      await program.parseAsync(args, { from: "user" });
    } catch (error) {
      if (!(error instanceof Error) || !error.name.startsWith("Commander")) throw error;
      const mistake = commanderMistake(error);
      if (mistake) throw mistake;
    }
    return code;
  });
}

function commands(streams: Streams, finish: (code: number) => void): Command {
  const sub = (name: string, description: string): Command =>
    quiet(program.command(name)).configureOutput({ writeOut: streams.out }).description(description);
  const program = quiet(new Command("tilescript"))
    .configureOutput({ writeOut: streams.out })
    .description("Triton kernels in TypeScript: verify, emit and check them.")
    .helpOption("--help", "show this")
    .helpCommand(false);

  sub("setup", "make the Python environment with torch and triton (about 3 GB to download)")
    .option("--python <path>", "the Python to make it with")
    .action(async ({ python }: { python?: string }) => {
      await setup({ python, say: (line) => streams.err(`${line}\n`) });
    });
  sub("doctor", "show which Python and device a run would use")
    .option("--python <path>", "look at this Python only")
    .action(async ({ python }: { python?: string }) => finish(await doctor(python, streams)));

  const onFile = (name: string, description: string, change: (options: CliOptions) => CliOptions): Command =>
    addKernelOptions(sub(name, description).argument("<file>", "a TypeScript file that exports kernels")).action(
      async (file: string, options: CliOptions) =>
        finish(await runOptions(await importKernels(file), change(options), streams)),
    );
  onFile("run", "verify the kernels of a file", (options) => ({ ...options, run: true }));
  onFile("check", "build and check the kernels of a file", (options) => ({ ...options, check: true }));
  onFile("emit", "print the Python module of a kernel", (options) => ({
    ...options,
    emit: options.emit ?? true,
  })).option("--emit <path>", "write it, with its source map");
  return program;
}

async function doctor(python: string | undefined, streams: Streams): Promise<number> {
  const discovery = await findPython({ python });
  for (const { python: path, source, reason } of discovery.rejected) {
    streams.out(`not used: ${path} (${source}): ${reason}\n`);
  }
  const found = discovery.environment;
  if (!found) {
    streams.out(`${missingPython(discovery)}\n`);
    return discovery.named ? exitCodes.environment : exitCodes.ok;
  }
  const versions = Object.entries(found.versions).map(([name, version]) => `${name} ${version}`);
  streams.out(`python: ${found.python} (${found.source}): ${versions.join(", ")}\n`);
  const device = await openDevice({ device: "auto", python });
  await closeDevice(device);
  const name = device.kind === "eval" ? "" : ` ${device.hello.deviceName}`;
  streams.out(`device: ${device.kind}${name} (${device.why})\n`);
  return exitCodes.ok;
}

/** Imports a TypeScript file with the tsx that is installed, and takes what it exports and can be compiled. */
async function importKernels(file: string): Promise<Runnable[]> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`there is no file ${file}`);
  let tsx: typeof import("tsx/esm/api");
  try {
    tsx = await import("tsx/esm/api");
  } catch {
    throw new UsageError(`reading ${file} needs tsx; \`npm install --save-dev tsx\` installs it`);
  }
  const exported = (await tsx.tsImport(pathToFileURL(path).href, import.meta.url)) as Record<string, unknown>;
  const kernels = Object.values(exported).filter(isRunnable);
  if (kernels.length === 0) throw new UsageError(`${file} exports no kernel`);
  return kernels;
}

function isRunnable(value: unknown): value is Runnable {
  const held = value as Partial<Runnable> | null | undefined;
  return (typeof value === "object" || typeof value === "function") && typeof held?.compile === "function";
}
