/**
 * The interface of commands. Each command is an object in a file of `commands`, with an entry in `commands/index.ts`.
 */
import type { Option } from "commander";
import type { CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import type { Machine } from "../devices/devices.js";
import type { Streams } from "../system/streams.js";

/** A kernel as commands see it: a name and a build function. */
export interface Runnable {
  readonly name: string;
  /** Builds the kernel, optionally with `configs` instead of the author's. */
  compile(configs?: readonly Config[]): Promise<CompiledKernel>;
}

interface CommandBase {
  readonly name: string;
  readonly description: string;
  /** A call of the command, without `tilescript`. */
  readonly example: string;
  readonly options: readonly Option[];
}

/** The work of a command after its checks; returns the exit code. Python is only looked for here. */
export type CommandTask = (machine: Machine) => Promise<number>;

/** A command on the kernels of files: `tilescript NAME FILE…`, and the flag `--NAME` of a kernel file. */
export interface KernelCommand<Options = any> extends CommandBase {
  /** A flag of a kernel file that accepts a value, and the option that the value sets: `--emit [file]` sets `out`. */
  readonly flag?: { readonly text: string; readonly option: string };
  /** Checks options that do not depend on the kernels, before files are read. */
  checkOptions?(options: Options): void;
  /** Builds the kernels and checks the options against them. */
  plan(kernels: readonly Runnable[], options: Options, streams: Streams): Promise<CommandTask>;
  /** The report that `--json` prints if the command fails early. */
  problem?(details: string): object;
}

/** A command without kernels. */
export interface PlainCommand<Options = any> extends CommandBase {
  /** Its argument, such as `<name>`. */
  readonly argument?: { readonly text: string; readonly description: string };
  /** `language` loads the package that kernel files import. */
  run(
    argument: string | undefined,
    options: Options,
    streams: Streams,
    language: () => Promise<unknown>,
  ): Promise<number>;
}

// A registry of builders for the kernels of imported files. A kernel file may import its own copy of this package, and
// only that copy recognizes its kernels, so each copy registers a builder here.

type Builder = (value: unknown) => Runnable | undefined;

const shared = globalThis as { [key: symbol]: Builder[] | undefined };
const builders = (shared[Symbol.for("tilescript.builders")] ??= []);

export function addBuilder(builder: Builder): void {
  builders.push(builder);
}

/** Wraps a kernel of any copy of the package; undefined for any other value. */
export function runnableOf(value: unknown): Runnable | undefined {
  for (const builder of builders) {
    const runnable = builder(value);
    if (runnable) return runnable;
  }
  return undefined;
}
