/** The command line of a kernel file: flags, and their values checked against the kernel. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { CompiledKernel, Tolerance } from "../compiled.js";
import { sizeNames, type Selection } from "./cases.js";
import { deviceNames, type DeviceName } from "./devices.js";
import { UsageError } from "./problems.js";

export interface CliOptions {
  readonly run?: true;
  readonly check?: true;
  /** True for standard output, else the path to write. */
  readonly emit?: true | string;
  /** The namespace under which PyTorch registers what is emitted. */
  readonly emitOp?: string;
  readonly json?: true;
  readonly verbose?: true;
  readonly kernel?: string;
  readonly shape?: Readonly<Record<string, string>>;
  readonly dtype?: Readonly<Record<string, string>>;
  readonly device: DeviceName;
  readonly config?: number;
  readonly seed: number;
  readonly python?: string;
  readonly rtol?: number;
  readonly atol?: number;
  readonly order?: "sequential" | "reversed" | "shuffled";
}

/** The flags that a kernel file and the `tilescript` binary share. */
export function addKernelOptions(command: Command): Command {
  return command
    .option("--shape <sizes>", "verify these sizes only, such as M=300,N=200,K=100", assignments)
    .option("--dtype <dtypes>", "members of dtype variables, such as T=bfloat16", assignments)
    .addOption(new Option("--device <device>", "where to run").choices([...deviceNames]).default("auto"))
    .option("--config <index>", "one autotune config instead of all", whole)
    .option("--seed <number>", "seed of the inputs", whole, 0)
    .option("--kernel <name>", "one kernel of a file that has several")
    .option("--python <path>", "the Python to use, with torch and triton")
    .option("--rtol <number>", "relative tolerance instead of the default", positive)
    .option("--atol <number>", "absolute tolerance instead of the default", positive)
    .addOption(
      new Option("--order <order>", "in which order the evaluator runs programs, shuffled by the seed").choices([
        "sequential",
        "reversed",
        "shuffled",
      ]),
    )
    .option("--json", "print the report as JSON")
    .option("--verbose", "list every case, every failure, and what the worker prints");
}

/** The command of a kernel file: `tsx gemm.ts --run`. */
export function kernelCommand(file: string): Command {
  const command = quiet(new Command(file))
    .description("Verify, emit or check the kernels of this file.")
    .option("--run", "verify against the reference on the best device there is")
    .option("--emit [file]", "print the Python module, or write it with its source map")
    .option("--emit-op <namespace>", "emit, and register as torch.ops.NAMESPACE.NAME")
    .option("--check", "build and check only");
  return addKernelOptions(command).helpOption("--help", "show this");
}

/** Makes a command throw, so that one place decides how a mistake is shown. */
export function quiet(command: Command): Command {
  return command
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined });
}

/** Parses, or throws a UsageError with commander's sentence. `undefined` means that help was printed. */
export function parse(command: Command, args: readonly string[]): Command | undefined {
  try {
    return command.parse(args, { from: "user" });
  } catch (error) {
    const mistake = commanderMistake(error);
    if (mistake) throw mistake;
    return undefined;
  }
}

/** A commander error as a UsageError; undefined if it only ended the command after printing help. */
export function commanderMistake(error: unknown): UsageError | undefined {
  if (!(error instanceof CommanderError)) throw error;
  if (error.exitCode === 0) return undefined;
  return new UsageError(error.message.replace(/^error: /, ""));
}

/** What the flags select, checked against the kernel's signature. */
export function selectionFor(kernel: CompiledKernel, options: CliOptions): Selection {
  const { signature, configs } = kernel;
  const sizes = options.shape && checkedSizes(sizeNames(signature), options.shape);
  const dtypes = options.dtype && checkedDtypes(signature.dtypes, options.dtype);
  if (options.config !== undefined && options.config >= configs.length) {
    throw new UsageError(`--config ${options.config}: ${signature.name} has configs 0 to ${configs.length - 1}`);
  }
  return {
    seed: options.seed,
    ...(sizes && { sizes }),
    ...(dtypes && { dtypes }),
    ...(options.config !== undefined && { config: options.config }),
  };
}

/** Tolerances given on the command line. */
export function toleranceOf({ rtol, atol }: CliOptions): Partial<Tolerance> {
  return { ...(rtol !== undefined && { rtol }), ...(atol !== undefined && { atol }) };
}

function checkedSizes(names: readonly string[], given: Readonly<Record<string, string>>): Record<string, number> {
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name))
      throw new UsageError(`--shape: there is no size ${name}; the sizes are ${names.join(", ")}`);
    if (!/^\d+$/.test(value)) throw new UsageError(`--shape: ${name}=${value} is not a whole number`);
  }
  const missing = names.filter((name) => !(name in given));
  if (missing.length > 0)
    throw new UsageError(`--shape: ${missing.join(", ")} missing; give all of ${names.join(", ")}`);
  return Object.fromEntries(names.map((name) => [name, Number(given[name])]));
}

function checkedDtypes(
  variables: Readonly<Record<string, readonly string[]>>,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  for (const [name, value] of Object.entries(given)) {
    const members = variables[name];
    const known = Object.keys(variables).join(", ") || "none";
    if (!members) throw new UsageError(`--dtype: there is no dtype variable ${name}; there is ${known}`);
    if (!members.includes(value)) throw new UsageError(`--dtype: ${name} can be ${members.join(", ")}, not ${value}`);
  }
  return { ...given };
}

function assignments(text: string): Record<string, string> {
  const parts = text.split(",").map((part) => part.trim().split("="));
  if (parts.some((part) => part.length !== 2 || part.includes(""))) {
    throw new InvalidArgumentError("Write NAME=VALUE,NAME=VALUE.");
  }
  return Object.fromEntries(parts) as Record<string, string>;
}

function whole(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It is not a whole number.");
  return Number(text);
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0)) throw new InvalidArgumentError("It is not a number from 0 up.");
  return value;
}
