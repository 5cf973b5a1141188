/** Runs the command in the arguments, and converts every outcome to an exit code. Users never see a raw exception. */
import { Command, CommanderError, Option } from "commander";
import { basename, dirname, relative, isAbsolute, join } from "node:path";
import type { DiagnosticCode } from "../../diagnostics/catalog/index.js";
import {
  errorDiagnostic,
  type MessageOfCode,
  TileScriptError,
  type Diagnostic,
  type Location,
} from "../../diagnostics/diagnostic.js";
import { formatList } from "../../diagnostics/message.js";
import { environment, kernelFile, usage, exception, imports, syntax } from "../../diagnostics/catalog/command-codes.js";
import { formatWithFrame, explainHint } from "../report/text-blocks.js";
import type { KernelCommand, PlainCommand, Runnable } from "../invocation/command.js";
import { thisMachine } from "../devices/devices.js";
import { headedCommands, isKernelCommand, kernelCommands } from "../commands/index.js";
import { selectKernels, importKernels, isBuildError, kernelFiles } from "../invocation/kernels.js";
import { EnvironmentError, exitCodes, UsageError } from "../system/errors.js";
import type { Problem } from "../report/reports.js";
import {
  redirectStdout,
  printJson,
  progress,
  terminal,
  type Streams,
  watchOutput,
  withProgress,
} from "../system/streams.js";
import { rmSync, watch as watchFolder, readFileSync } from "node:fs";
import { sourcesOf, version, createProofFolder, packageFolder } from "../system/files.js";
import { loadExeca, ProcessGroup } from "../system/processes.js";
import { fileURLToPath } from "node:url";
import { undefinedName, pythonSyntax } from "../../diagnostics/python-names.js";

/** The options of any command, as commander parses them. */
interface ParsedOptions extends Readonly<Record<string, unknown>> {
  readonly kernel?: string;
  readonly watch?: true;
}

/** Runs the command line of a kernel file, such as `gemm.ts --run`, and returns the exit code. */
export function runCli(
  file: string,
  args: readonly string[],
  kernels: readonly Runnable[],
  to: Streams = terminal,
): Promise<number> {
  return runGuarded(args, to, (setAction, streams) => {
    const program = rootCommand(basename(file), "Verify, measure, tune and emit the kernels of this file.", streams);
    for (const { name, description, flag, options } of kernelCommands) {
      const option = new Option(flag?.text ?? `--${name}`, description).helpGroup("Commands:");
      const parse = options.find((each) => each.attributeName() === flag?.option)?.parseArg;
      program.addOption(parse ? option.argParser(parse) : option);
    }
    // A flag with a value also sets the option named in `flag.option`.
    const allOptions = new Set(
      kernelCommands.flatMap(({ options, flag }) => options.filter((each) => each.attributeName() !== flag?.option)),
    );
    for (const option of allOptions) program.addOption(option);
    program.action(() => {
      const options = program.opts<ParsedOptions>();
      const commands = kernelCommands.filter(({ name }) => options[name] !== undefined);
      const [command] = commands;
      if (!command) {
        if (args.length > 0)
          throw new UsageError(`${args[0]} alone does nothing; add --run, --check or another command (see --help)`);
        return streams.out(program.helpInformation());
      }
      if (commands.length > 1)
        throw new UsageError(
          `${formatList(commands.map(({ name }) => `--${name}`))} cannot be combined; give one command`,
        );
      for (const option of allOptions)
        if (!command.options.includes(option) && program.getOptionValueSource(option.attributeName()) === "cli")
          throw new UsageError(`${option.long} cannot be combined with --${command.name}`);
      const value = command.flag && { [command.flag.option]: options[command.name] };
      const source = { files: async () => [file], kernels: async () => kernels };
      setAction(command, () => runKernelCommand(command, source, { ...options, ...value }, streams));
    });
    return program;
  });
}

/**
 * Runs the `tilescript` command, such as `tilescript run gemm.ts`, and returns the exit code. `language` loads the
 * package that kernel files import.
 */
export function runBinary(
  args: readonly string[],
  to: Streams = terminal,
  language: () => Promise<unknown> = () => Promise.resolve(),
): Promise<number> {
  return runGuarded(args, to, (setAction, streams) => {
    const program = rootCommand("tilescript", "Triton kernels in TypeScript.", streams);
    program.version(version, "--version", "show the version");
    for (const { heading, command } of headedCommands) {
      const subcommand = configureOutput(program.command(command.name), streams)
        .description(command.description)
        .helpGroup(heading)
        .addHelpText("after", `\nExample:\n  tilescript ${command.example}\n`);
      for (const option of command.options) subcommand.addOption(option);
      if (isKernelCommand(command)) {
        subcommand
          .argument("<files...>", "TypeScript files that export kernels, or patterns such as 'src/**/*.ts'")
          .action((names: string[], options: ParsedOptions) =>
            setAction(command, () => {
              const source = {
                files: () => kernelFiles(names),
                kernels: (files: Files) => importKernels(files, names, language),
              };
              return runKernelCommand(command, source, options, streams);
            }),
          );
        continue;
      }
      if (command.argument) subcommand.argument(command.argument.text, command.argument.description);
      subcommand.action((...actionArgs: unknown[]) => {
        const argument = command.argument ? (actionArgs[0] as string) : undefined;
        setAction(command, () => command.run(argument, subcommand.opts(), streams, language));
      });
    }
    if (args.length === 0) program.action(() => streams.out(program.helpInformation()));
    return program;
  });
}

type Files = readonly string[];

interface KernelSource {
  readonly files: () => Promise<Files>;
  readonly kernels: (files: Files) => Promise<readonly Runnable[]>;
}

/** Runs the checks in order of their cost: the options, the files, the kernels, and finally Python. */
async function runKernelCommand(
  command: KernelCommand,
  { files: find, kernels }: KernelSource,
  options: ParsedOptions,
  streams: Streams,
): Promise<number> {
  command.checkOptions?.(options);
  const files = await find();
  if (options.watch) return watch(files, streams);
  progress(streams)(`reading ${files.join(", ")} …`);
  const job = await command.plan(selectKernels(await kernels(files), options.kernel), options, streams);
  return job(thisMachine);
}

type SetAction = (command: KernelCommand | PlainCommand, action: () => Promise<number>) => void;

/** Parses the arguments, runs the command, and converts an exception to one readable message and an exit code. */
async function runGuarded(
  args: readonly string[],
  to: Streams,
  build: (running: SetAction, streams: Streams) => Command,
): Promise<number> {
  const [json, verbose] = [args.includes("--json"), args.includes("--verbose")];
  let hasReported = false;
  const streams: Streams = withProgress({
    ...to,
    out: (text) => {
      hasReported = true;
      to.out(text);
    },
  });
  const show = progress(streams);
  let problem = (details: string): object => ({ ok: false, details }) satisfies Problem;
  const report = (error: unknown): number => {
    const { message, code, exitCode, diagnostics } = describeError(error, verbose, streams.errColor);
    // Standard output stays one JSON document, even if something fails after the report.
    if (json && !hasReported) printJson(streams, { ...problem(message), ...(diagnostics && { diagnostics }) });
    streams.err(exitCode === exitCodes.failed ? `${message}\n${explainHint(code)}\n` : `error ${code}: ${message}\n`);
    return exitCode;
  };
  if (to === terminal) watchOutput();
  const release = to === terminal ? redirectStdout() : () => undefined;
  const stopWatching = watchProcess(report);
  try {
    let action = async (): Promise<number> => exitCodes.ok;
    parse(
      build((command, run) => {
        if ("problem" in command && command.problem) problem = command.problem;
        action = run;
        show(`${command.name} …`);
      }, streams),
      args,
    );
    return await action();
  } catch (error) {
    return report(error);
  } finally {
    show("");
    stopWatching();
    release();
  }
}

interface ErrorOutcome extends Pick<Problem, "diagnostics"> {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly exitCode: number;
}

/** The user's message for an exception, and its exit code. */
function describeError(error: unknown, verbose: boolean, isColored: boolean | undefined): ErrorOutcome {
  if (error instanceof UsageError) return { code: usage.code, message: error.message, exitCode: exitCodes.usage };
  if (error instanceof EnvironmentError)
    return { code: environment.code, message: error.message, exitCode: exitCodes.environment };
  const diagnostics = isBuildError(error) ? error.diagnostics : thrownDiagnostics(error);
  const showsStack = verbose || Boolean(process.env["TILESCRIPT_DEBUG"]);
  const stack = showsStack && !isBuildError(error) && error instanceof Error ? [error.stack ?? ""] : [];
  const message = [...diagnostics.map((each) => formatWithFrame(each, isColored)), ...stack].join("\n");
  return { code: diagnostics[0]!.code, message, exitCode: exitCodes.failed, diagnostics };
}

/** Handles kernel files that throw later, await forever, or end the process. */
function watchProcess(report: (error: unknown) => number): () => void {
  const onThrown = (error: unknown): void => {
    stop();
    process.exit(report(error));
  };
  const onIdle = (): void => onThrown(tileScriptError(kernelFile.pendingPromise()));
  const onExit = (): void => {
    process.exitCode = report(tileScriptError(kernelFile.processExit()));
  };
  const stop = (): void =>
    void process.off("uncaughtException", onThrown).off("beforeExit", onIdle).off("exit", onExit);
  process.on("uncaughtException", onThrown).on("beforeExit", onIdle).on("exit", onExit);
  return stop;
}

const tileScriptError = (message: MessageOfCode): TileScriptError => new TileScriptError([errorDiagnostic(message)]);

/** Other words for options. */
const SYNONYMS: Readonly<Record<string, string>> = { "--size": "--shape", "--sizes": "--shape", "--gpu": "--device" };

/** Converts commander's error to a UsageError; does nothing if help was printed. */
function parse(command: Command, args: readonly string[]): void {
  try {
    command.parse(
      args.map((each) => (each === "-h" ? "--help" : each)),
      { from: "user" },
    );
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    const [message = "", suggestions] = error.message
      .replace(/^error: /, "")
      .replace(/(too many arguments).*/s, "$1")
      .split(/\n\(Did you mean (?:one of )?(.*)\?\)$/);
    if (error.code === "commander.invalidArgument") throw new UsageError(message);
    const flag = args.find((each) => command.options.some(({ long }) => long === `--${each}`));
    const synonym = SYNONYMS[/'(--[^']+)'/.exec(message)?.[1] ?? ""];
    const called = command.commands.find((each) => each.name() === args[0]) ?? command;
    const known = called.options.some(({ long }) => long === synonym) ? synonym : undefined;
    const meant = error.code === "commander.excessArguments" && flag ? `--${flag}` : (suggestions ?? known);
    const remedy = meant ? `did you mean ${formatList(meant.split(", "), "or")}?` : "--help lists the options";
    throw new UsageError(`${message}; ${remedy}`);
  }
}

function rootCommand(name: string, description: string, streams: Streams): Command {
  return configureOutput(new Command(name), streams)
    .description(description)
    .helpOption("--help", "show this help")
    .helpCommand(false);
}

/** Makes a command throw instead of printing, so that `runGuarded` formats all errors. */
function configureOutput(command: Command, { out, width = 80 }: Streams): Command {
  return command
    .exitOverride()
    .helpOption("--help", "show this help")
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      writeOut: out,
      getOutHelpWidth: () => width,
      writeErr: () => undefined,
      outputError: () => undefined,
    });
}

// `--watch`: reruns the command in a new process whenever a source file changes. Proofs of unchanged kernels are
// cached.

/** An editor may write a file in several steps. */
const DEBOUNCE_MS = 50;

/** Runs until the process is interrupted. */
async function watch(files: readonly string[], streams: Streams): Promise<never> {
  await loadExeca();
  const args = process.argv.slice(1).filter((argument) => argument !== "--watch");
  const proofs = createProofFolder();
  let group: ProcessGroup | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => {
      void group?.kill();
      rmSync(proofs.folder, { recursive: true, force: true });
      process.kill(process.pid, signal);
    });
  for (;;) {
    const sources = sourcesOf(files);
    const change = nextChange(sources);
    streams.err(`watching ${sources.size} file${sources.size === 1 ? "" : "s"}; Ctrl-C ends\n`);
    group = new ProcessGroup(process.execPath, [...process.execArgv, ...args], {
      env: { ...process.env, ...proofs.env },
      stdio: "inherit",
    });
    const { child, completion } = group;
    void completion.then(() => streams.err("waiting for a change\n"));
    const changed = await change;
    child.kill();
    await completion;
    streams.err(`${relative(process.cwd(), changed)} changed\n`);
  }
}

/** Watches folders instead of files, because an editor may replace a file with a new one. */
function nextChange(sources: ReadonlySet<string>): Promise<string> {
  return new Promise((resolvePath) => {
    const watchers = [...new Set([...sources].map(dirname))].map((folder) =>
      watchFolder(folder, (_, name) => {
        const path = [...sources].find((source) => dirname(source) === folder && basename(source) === name);
        if (path === undefined) return;
        for (const watcher of watchers) watcher.close();
        setTimeout(() => resolvePath(path), DEBOUNCE_MS);
      }),
    );
  });
}

// Converts exceptions of an author's code to diagnostics at source lines.

/** One diagnostic, or one for each syntax error. */
export function thrownDiagnostics(error: unknown): readonly Diagnostic[] {
  if (!(error instanceof Error)) return [errorDiagnostic(exception.notAnError(error))];
  const syntax = syntaxErrors(error.message);
  return syntax.length > 0 ? syntax : [missingModule(error) ?? missingExport(error) ?? otherError(error)];
}

/** Parses the errors of esbuild, which tsx uses. Its columns start at 0. */
function syntaxErrors(message: string): readonly Diagnostic[] {
  return [...message.matchAll(/^(.+):(\d+):(\d+): ERROR: (.*)$/gm)].map(([, file = "", line, column, text = ""]) => {
    const problem = pythonSyntax(text, lineOf(file, Number(line))) ?? text;
    return errorDiagnostic(syntax(problem), { file, line: Number(line), column: Number(column) + 1 });
  });
}

function lineOf(file: string, line: number): string {
  try {
    return readFileSync(file, "utf8").split("\n")[line - 1] ?? "";
  } catch {
    return "";
  }
}

/** An import that cannot be resolved. Node's message names the specifier and the file, but not the line. */
function missingModule(error: Error): Diagnostic | undefined {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (!/^(ERR_)?(MODULE_NOT_FOUND|PACKAGE_PATH_NOT_EXPORTED|UNSUPPORTED_DIR_IMPORT)$/.test(code)) return undefined;
  const from = /(?:imported from |^- )(.+?)(?:\?[^/]*)?$/m.exec(message)?.[1] ?? "";
  const importer = pathOf(from);
  const specifier = /'([^']*)'/.exec(message)?.[1] ?? "";
  const exporter = / in (.+)[\\/]package\.json/.exec(message)?.[1];
  const name = exporter === undefined ? specifier : `${basename(exporter)}${specifier.slice(1)}`;
  const isPath = isAbsolute(name) || name.startsWith(".");
  const displayName = isAbsolute(name) && importer ? relative(dirname(importer), name) : name;
  const installHint = `\`npm install ${name.match(/^(?:@[^/]+\/)?[^/]+/)?.[0]}\` in its folder installs it`;
  const pathRemedy = isPath ? "check the path" : installHint;
  const remedy = exporter === undefined ? pathRemedy : "check the name";
  return errorDiagnostic(imports.missing(displayName, remedy), locationOf(importer, isPath ? basename(name) : name));
}

/** An import of a name that a module does not export. Node prints the importing file above the stack. */
function missingExport({ message, stack = "" }: Error): Diagnostic | undefined {
  const [, module = "", name] = /'(.+)' does not provide an export named '(.+)'$/.exec(message) ?? [];
  if (name === undefined) return undefined;
  const [firstLine = ""] = stack.split("\n", 1);
  const importer = /^(.+):\d+$/m.exec(firstLine)?.[1] ?? "";
  return errorDiagnostic(imports.noExport(module, name), locationOf(pathOf(importer), name));
}

function otherError(error: Error): Diagnostic {
  const internalFrame = internalFrameOf(error);
  if (internalFrame !== undefined)
    return errorDiagnostic(
      exception.internal(`${error.name}: ${error.message}`, version, internalFrame),
      authorFrame(error),
    );
  const undefinedDiagnostic = undefinedName(error);
  if (undefinedDiagnostic) return errorDiagnostic(undefinedDiagnostic, authorFrame(error));
  const isBeforeInitialization = error instanceof ReferenceError && error.message.includes("before initialization");
  const remedy = isBeforeInitialization ? "it is used before its line has run: do two files import each other?" : "";
  return errorDiagnostic(exception.uncaught(error.name, error.message, remedy), authorFrame(error));
}

/** The location of an error inside this package: a mistake of the author would have a diagnostic. */
function internalFrameOf({ stack = "", name }: Error): string | undefined {
  if (!/^(?:Type|Range|Reference)Error$/.test(name)) return undefined;
  const [innermost] = framesOf(stack);
  if (innermost === undefined || !isPackageFile(innermost.file)) return undefined;
  const { file, line, column } = innermost;
  return `${relative(packageFolder, file).replaceAll("\\", "/")}:${line}:${column}`;
}

/** The innermost stack frame outside this package and its dependencies. */
function authorFrame({ stack = "" }: Error): Location | undefined {
  return framesOf(stack).find(({ file }) => isAbsolute(file) && !file.includes("node_modules") && !isPackageFile(file));
}

/** The stack frames with a location, innermost first. */
function framesOf(stack: string): readonly Location[] {
  return stack.split("\n").flatMap((text) => {
    const [, path = "", line, column] = /^\s+at (?:.*\(|async )?(.+):(\d+):(\d+)\)?$/.exec(text) ?? [];
    return path === "" ? [] : [{ file: pathOf(path), line: Number(line), column: Number(column) }];
  });
}

function pathOf(path: string): string {
  return path.startsWith("file:") ? fileURLToPath(path) : path;
}

function isPackageFile(file: string): boolean {
  return ["src", "dist", "bin"].some((folder) => file.startsWith(join(packageFolder, folder, "/")));
}

/** The first line of a file that contains this text. */
function locationOf(file: string, text: string): Location | undefined {
  try {
    for (const [index, line] of readFileSync(file, "utf8").split("\n").entries())
      if (line.includes(text)) return { file, line: index + 1, column: line.indexOf(text) + 1 };
    return undefined;
  } catch {
    return undefined;
  }
}
