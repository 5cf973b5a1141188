/** Runs what the flags ask for, and turns every outcome into an exit code. Nothing here throws at the user. */
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import pc from "picocolors";
import type { CompiledKernel } from "../compiled.js";
import { formatDiagnostic, type Diagnostic, type TileScriptError } from "../diagnostics.js";
import { closeDevice, openDevice, type Device } from "./devices.js";
import { kernelCommand, parse, selectionFor, toleranceOf, type CliOptions } from "./options.js";
import { EnvironmentError, exitCodes, UsageError } from "./problems.js";
import { joinReports, jsonProblem, jsonReport } from "./report-json.js";
import { textReport } from "./report-text.js";
import { codeFrame, relocateMap } from "./source-map.js";
import { summarize } from "./summary.js";
import { verify } from "./verify.js";

/** What the runner needs of a kernel: a name, and a way to build it. */
export interface Runnable {
  readonly name: string;
  compile(): Promise<CompiledKernel>;
}

/** Where output goes. */
export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly color: boolean;
}

export const terminal: Streams = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  color: pc.isColorSupported && process.stdout.isTTY === true,
};

/** Runs the command line of a kernel file and returns the exit code. */
export async function runCli(
  file: string,
  args: readonly string[],
  kernels: readonly Runnable[],
  streams: Streams = terminal,
): Promise<number> {
  return guard(streams, args, async () => {
    const command = kernelCommand(basename(file)).configureOutput({ writeOut: streams.out });
    if (!parse(command, args)) return exitCodes.ok;
    if (command.args.length > 0) throw new UsageError(`unexpected argument ${command.args[0]}`);
    const options = command.opts<CliOptions>();
    if (!options.run && !options.emit && options.emitOp === undefined && !options.check) {
      streams.out(command.helpInformation());
      return exitCodes.ok;
    }
    return runOptions(kernels, options, streams);
  });
}

/** Does what parsed options ask for. */
export async function runOptions(all: readonly Runnable[], options: CliOptions, streams: Streams): Promise<number> {
  const kernels = choose(all, options);
  if (options.emit || options.emitOp !== undefined) return emit(kernels, options, streams);
  if (!options.run) return check(kernels, streams);
  return run(kernels, options, streams);
}

/** Turns what is thrown into one readable message and an exit code. */
export async function guard(streams: Streams, args: readonly string[], action: () => Promise<number>): Promise<number> {
  const [json, verbose] = [args.includes("--json"), args.includes("--verbose")];
  const report = (message: string, code: number): number => {
    if (json && code !== exitCodes.usage) streams.out(`${JSON.stringify(jsonProblem(message))}\n`);
    streams.err(`${message}\n`);
    return code;
  };
  try {
    return await action();
  } catch (error) {
    if (error instanceof UsageError) return report(`error: ${error.message}`, exitCodes.usage);
    if (error instanceof EnvironmentError) return report(`error: ${error.message}`, exitCodes.environment);
    if (isBuildError(error)) return report(error.diagnostics.map(diagnosticText).join("\n"), exitCodes.failed);
    return report(unexpectedText(error, verbose), exitCodes.failed);
  }
}

/** An interrupt ends this process through `exit`, so that the Python worker ends too. */
export function endOnSignals(): void {
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
}

/** An exception in an author's function: what it says, and where in files that are not ours. */
function unexpectedText(error: unknown, verbose: boolean): string {
  if (!(error instanceof Error)) return String(error);
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const theirs = frames.filter((line) => !/node:|node_modules/.test(line) && !line.includes(ownFolder));
  return [`${error.name}: ${error.message}`, ...(verbose ? frames : theirs)].join("\n");
}

const ownFolder = fileURLToPath(new URL("../", import.meta.url));

/** By name: a kernel file that tsx imported for the binary has its own copy of the class. */
function isBuildError(error: unknown): error is TileScriptError {
  return error instanceof Error && error.name === "TileScriptError" && "diagnostics" in error;
}

async function run(kernels: readonly Runnable[], options: CliOptions, streams: Streams): Promise<number> {
  const colors = pc.createColors(streams.color && !options.json);
  // Python takes seconds to start, so it starts while the kernels are built.
  const opening = openDevice({
    device: options.device,
    python: options.python,
    ...(options.verbose && { onOutput: streams.err }),
  });
  opening.catch(() => undefined);
  let device: Device | undefined;
  try {
    const compiled = await compileAll(kernels);
    const selections = compiled.map((kernel) => selectionFor(kernel, options));
    device = await opening;
    if (options.order && device.kind !== "eval")
      throw new UsageError("--order: only the evaluator runs programs in a chosen order; add --device eval");
    const reports: Record<string, unknown>[] = [];
    let correct = true;
    for (const [i, kernel] of compiled.entries()) {
      const tolerance = toleranceOf(options);
      const verification = await verify(kernel, device, { selection: selections[i]!, tolerance, order: options.order });
      correct &&= summarize(verification, device).correct;
      if (options.json) reports.push(jsonReport(verification, device));
      else streams.out(`${textReport(verification, device, colors, options.verbose === true)}\n`);
    }
    if (options.json) streams.out(`${JSON.stringify(joinReports(reports), null, 2)}\n`);
    return correct ? exitCodes.ok : exitCodes.failed;
  } finally {
    device ??= await opening.catch(() => undefined);
    if (device) await closeDevice(device);
  }
}

async function emit(kernels: readonly Runnable[], options: CliOptions, streams: Streams): Promise<number> {
  if (kernels.length > 1) throw new UsageError(`--emit needs one kernel; choose by --kernel ${names(kernels)}`);
  const [kernel] = await compileAll(kernels);
  if (!kernel) return exitCodes.ok;
  warn([kernel], streams);
  const { emit: target = true, emitOp: namespace } = options;
  const { python, map } = namespace === undefined ? kernel : kernel.emit({ op: { namespace } });
  if (target === true) {
    streams.out(python);
    return exitCodes.ok;
  }
  const folder = dirname(resolve(target));
  await mkdir(folder, { recursive: true });
  await writeFile(target, python);
  await writeFile(`${target}.map`, relocateMap(map, folder));
  streams.err(`wrote ${target} and ${target}.map\n`);
  return exitCodes.ok;
}

async function check(kernels: readonly Runnable[], streams: Streams): Promise<number> {
  const compiled = await compileAll(kernels);
  warn(compiled, streams);
  for (const { signature, configs } of compiled) {
    streams.out(`${signature.name}: ok, ${configs.length} config${configs.length === 1 ? "" : "s"}\n`);
  }
  return exitCodes.ok;
}

async function compileAll(kernels: readonly Runnable[]): Promise<CompiledKernel[]> {
  const compiled: CompiledKernel[] = [];
  for (const kernel of kernels) compiled.push(await kernel.compile());
  return compiled;
}

function warn(kernels: readonly CompiledKernel[], streams: Streams): void {
  for (const { warnings } of kernels) for (const warning of warnings) streams.err(`${diagnosticText(warning)}\n`);
}

function diagnosticText(diagnostic: Diagnostic): string {
  const frame = diagnostic.at ? codeFrame(diagnostic.at) : "";
  return frame ? `${formatDiagnostic(diagnostic)}\n${frame}` : formatDiagnostic(diagnostic);
}

function choose(kernels: readonly Runnable[], { kernel }: CliOptions): readonly Runnable[] {
  if (kernel === undefined) return kernels;
  const chosen = kernels.filter(({ name }) => name === kernel);
  if (chosen.length === 0) throw new UsageError(`--kernel: there is no ${kernel}; there is ${names(kernels)}`);
  return chosen;
}

function names(kernels: readonly Runnable[]): string {
  return kernels.map(({ name }) => name).join(", ");
}
