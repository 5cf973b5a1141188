/**
 * Runs the command that the arguments name, and turns every outcome into an exit code. Users never see a raw exception.
 */
import { Command, CommanderError, Option } from "commander";
import { basename } from "node:path";
import { errorDiagnostic, type MessageOfCode, TileScriptError } from "../../diagnostics/diagnostic.js";
import { formatList } from "../../diagnostics/format-list.js";
import { environment, kernelFile, usage } from "../../diagnostics/catalog/command-codes.js";
import { diagnosticText, explainHint } from "../report/code-frame.js";
import type { KernelCommand, PlainCommand, Runnable } from "../invocation/command.js";
import { thisMachine } from "../devices/machine.js";
import { kernelCommands, plainCommands } from "../commands/index.js";
import { selectKernels, importKernels, isBuildError, kernelFiles } from "../invocation/kernels.js";
import { version } from "../system/package-folder.js";
import { EnvironmentError, exitCodes, UsageError } from "../system/errors.js";
import { splitRemedy } from "../report/remedy.js";
import type { Problem } from "../report/reports.js";
import { keepOutput, printJson, terminal, type Streams, watchOutput } from "../system/streams.js";
import { thrownDiagnostics } from "./uncaught-errors.js";
import { watch } from "./watch.js";

/** Options of any command, as commander parses them. */
interface Given extends Readonly<Record<string, unknown>> {
  readonly kernel?: string;
  readonly watch?: true;
}

/** Runs the command line of a kernel file and returns the exit code: `gemm.ts --run`. */
export function runCli(
  file: string,
  args: readonly string[],
  kernels: readonly Runnable[],
  to: Streams = terminal,
): Promise<number> {
  return guarded(args, to, (running, streams) => {
    const program = rootCommand(basename(file), "Verify, measure, tune and emit the kernels of this file.", streams);
    for (const { name, description, flag, options } of kernelCommands) {
      const made = new Option(flag?.text ?? `--${name}`, description);
      const parse = options.find((each) => each.attributeName() === flag?.option)?.parseArg;
      program.addOption(parse ? made.argParser(parse) : made);
    }
    // A flag with a value also sets the option that it stands for.
    const all = new Set(
      kernelCommands.flatMap(({ options, flag }) => options.filter((each) => each.attributeName() !== flag?.option)),
    );
    for (const option of all) program.addOption(option);
    program.action(() => {
      const given = program.opts<Given>();
      const chosen = kernelCommands.filter(({ name }) => given[name] !== undefined);
      const [command] = chosen;
      if (!command) {
        if (args.length > 0)
          throw new UsageError(`${args[0]} alone does nothing; add --run, --check or another command (see --help)`);
        return streams.out(program.helpInformation());
      }
      if (chosen.length > 1)
        throw new UsageError(
          `${formatList(chosen.map(({ name }) => `--${name}`))} cannot be combined; give one command`,
        );
      for (const option of all)
        if (!command.options.includes(option) && program.getOptionValueSource(option.attributeName()) === "cli")
          throw new UsageError(`${option.long} cannot be combined with --${command.name}`);
      const value = command.flag && { [command.flag.option]: given[command.name] };
      const read = { files: async () => [file], kernels: async () => kernels };
      running(command, () => runKernels(command, read, { ...given, ...value }, streams));
    });
    return program;
  });
}

/**
 * Runs the `tilescript` command and returns the exit code: `tilescript run gemm.ts`. `language` loads the package that
 * kernel files import.
 */
export function runBinary(
  args: readonly string[],
  to: Streams = terminal,
  language: () => Promise<unknown> = () => Promise.resolve(),
): Promise<number> {
  return guarded(args, to, (running, streams) => {
    const program = rootCommand("tilescript", "Triton kernels in TypeScript.", streams);
    program.version(version, "--version", "show the version");
    const sub = (name: string, description: string, options: readonly Option[]): Command => {
      const command = quiet(program.command(name), streams).description(description);
      for (const option of options) command.addOption(option);
      return command;
    };
    for (const command of kernelCommands)
      sub(command.name, command.description, command.options)
        .argument("<files...>", "TypeScript files that export kernels, or patterns such as 'src/**/*.ts'")
        .action((names: string[], given: Given) =>
          running(command, () => {
            const read = {
              files: () => kernelFiles(names),
              kernels: (files: Files) => importKernels(files, names, language),
            };
            return runKernels(command, read, given, streams);
          }),
        );
    for (const command of plainCommands) {
      const made = sub(command.name, command.description, command.options);
      if (command.argument) made.argument(command.argument.text, command.argument.description);
      made.action((...parts: unknown[]) => {
        const argument = command.argument ? (parts[0] as string) : undefined;
        running(command, () => command.run(argument, made.opts(), streams, language));
      });
    }
    if (args.length === 0) program.action(() => streams.out(program.helpInformation()));
    return program;
  });
}

type Files = readonly string[];

interface Read {
  readonly files: () => Promise<Files>;
  readonly kernels: (files: Files) => Promise<readonly Runnable[]>;
}

/** From what is checked at once to what takes seconds: the options, the files, the kernels, and Python at last. */
async function runKernels(
  command: KernelCommand,
  { files: find, kernels }: Read,
  given: Given,
  streams: Streams,
): Promise<number> {
  command.checkOptions?.(given);
  const files = await find();
  if (given.watch) return watch(files, streams);
  const job = await command.plan(selectKernels(await kernels(files), given.kernel), given, streams);
  return job(thisMachine);
}

type Running = (command: KernelCommand | PlainCommand, action: () => Promise<number>) => void;

/** Parses the arguments, runs the command, and turns an exception into one readable message and an exit code. */
async function guarded(
  args: readonly string[],
  to: Streams,
  build: (running: Running, streams: Streams) => Command,
): Promise<number> {
  const [json, verbose] = [args.includes("--json"), args.includes("--verbose")];
  let reported = false;
  const streams: Streams = {
    ...to,
    out: (text) => {
      reported = true;
      to.out(text);
    },
  };
  let ended = (details: string): object => ({ ok: false, details }) satisfies Problem;
  const report = (error: unknown): number => {
    const { message, code, exitCode, diagnostics } = ending(error, verbose);
    // The output stays one JSON document even if something fails after the report.
    if (json && !reported) printJson(streams, { ...ended(message), ...(diagnostics && { diagnostics }) });
    streams.err(exitCode === exitCodes.failed ? `${message}\n${explainHint(code)}\n` : `error ${code}: ${message}\n`);
    return exitCode;
  };
  if (to === terminal) watchOutput();
  const release = to === terminal ? keepOutput() : () => undefined;
  const stopWatching = watchForStrays(report);
  try {
    let action = async (): Promise<number> => exitCodes.ok;
    parse(
      build((command, run) => {
        if ("problem" in command && command.problem) ended = command.problem;
        action = run;
      }, streams),
      args,
    );
    return await action();
  } catch (error) {
    return report(error);
  } finally {
    stopWatching();
    release();
  }
}

interface Ending extends MessageOfCode, Pick<Problem, "diagnostics"> {
  readonly exitCode: number;
}

/** The message of an exception for the user, and its exit code. */
function ending(error: unknown, verbose: boolean): Ending {
  if (error instanceof UsageError) return { ...usage(error.message), exitCode: exitCodes.usage };
  if (error instanceof EnvironmentError) return { ...environment(error.message), exitCode: exitCodes.environment };
  const diagnostics = isBuildError(error) ? error.diagnostics : thrownDiagnostics(error);
  const isWanted = verbose || Boolean(process.env["TILESCRIPT_DEBUG"]);
  const stack = isWanted && !isBuildError(error) && error instanceof Error ? [error.stack ?? ""] : [];
  const message = [...diagnostics.map(diagnosticText), ...stack].join("\n");
  const told = diagnostics.map(splitRemedy);
  return { code: diagnostics[0]!.code, message, exitCode: exitCodes.failed, diagnostics: told };
}

/** Handles what a kernel file may do on its own: throw later, await forever, end the process. */
function watchForStrays(report: (error: unknown) => number): () => void {
  const onThrown = (error: unknown): void => {
    stop();
    process.exit(report(error));
  };
  const onIdle = (): void => onThrown(mistake(kernelFile.waits()));
  const onExit = (): void => {
    process.exitCode = report(mistake(kernelFile.exits()));
  };
  const stop = (): void =>
    void process.off("uncaughtException", onThrown).off("beforeExit", onIdle).off("exit", onExit);
  process.on("uncaughtException", onThrown).on("beforeExit", onIdle).on("exit", onExit);
  return stop;
}

const mistake = (said: MessageOfCode): TileScriptError => new TileScriptError([errorDiagnostic(said)]);

/** Turns commander's error into a UsageError; does nothing if help was printed. */
function parse(command: Command, args: readonly string[]): void {
  try {
    command.parse(
      args.map((each) => (each === "-h" ? "--help" : each)),
      { from: "user" },
    );
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    const message = error.message.replace(/^error: /, "").replace(/(too many arguments).*/s, "$1");
    const help = error.code === "commander.invalidArgument" ? "" : "; --help lists the options";
    throw new UsageError(`${message}${help}`);
  }
}

function rootCommand(name: string, description: string, streams: Streams): Command {
  return quiet(new Command(name), streams)
    .description(description)
    .helpOption("--help", "show this help")
    .helpCommand(false);
}

/** Makes a command throw, so that one place decides how mistakes are shown. */
function quiet(command: Command, { out, width = 80 }: Streams): Command {
  return command
    .exitOverride()
    .helpOption("--help", "show this help")
    .showSuggestionAfterError(false)
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      writeOut: out,
      getOutHelpWidth: () => width,
      writeErr: () => undefined,
      outputError: () => undefined,
    });
}
