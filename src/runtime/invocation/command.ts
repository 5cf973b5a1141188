/** The interface of commands. Each command has a file in `commands`, named after it, and a place in its `index.ts`. */
import type { Option } from "commander";
import type { CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import type { Machine } from "../devices/machine.js";
import type { Streams } from "../system/streams.js";

/** What a command needs from a kernel: a name, and a way to build it. */
export interface Runnable {
  readonly name: string;
  /** `configs` instead of those that the author wrote. */
  compile(configs?: readonly Config[]): Promise<CompiledKernel>;
}

interface CommandBase {
  readonly name: string;
  readonly description: string;
  readonly options: readonly Option[];
}

/** The work of a command after its checks; returns the exit code. Only here a Python is looked for. */
export type CommandTask = (machine: Machine) => Promise<number>;

/** A command on the kernels of files: `tilescript NAME FILE…`, and the flag `--NAME` of a kernel file. */
export interface KernelCommand<Options = any> extends CommandBase {
  /** The flag of a kernel file if it takes a value, and the option that the value sets: `--emit [file]` sets `out`. */
  readonly flag?: { readonly text: string; readonly option: string };
  /** Refuses options that are wrong whatever the kernels are, before their files are read. */
  checkOptions?(options: Options): void;
  /** Builds the kernels and checks the options against them. */
  plan(kernels: readonly Runnable[], options: Options, streams: Streams): Promise<CommandTask>;
  /** What `--json` prints when the command ends before its report. */
  problem?(details: string): object;
}

/** A command that needs no kernel. */
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
