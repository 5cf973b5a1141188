/** Every command, in the order of the help. */
import { bench, plot, profile } from "./bench.js";
import { check } from "./check.js";
import type { KernelCommand, PlainCommand } from "../invocation/command.js";
import { compile, prewarm } from "./compile.js";
import { doctor, setup } from "./doctor.js";
import { explain, fix } from "./explain.js";
import { emit } from "./emit.js";
import { importTriton } from "./import.js";
import { lsp } from "./lsp.js";
import { packageKernels, create } from "./package.js";
import { trace } from "./trace.js";
import { tune } from "./tune.js";
import { verify, run } from "./verify.js";

/** Related commands, under one heading of the help. */
interface CommandGroup {
  readonly title: string;
  readonly commands: readonly (KernelCommand | PlainCommand)[];
}

const groups: readonly CommandGroup[] = [
  { title: "Write and check a kernel", commands: [create, run, check, fix, verify, trace, explain, lsp] },
  { title: "Use it from Python", commands: [emit, packageKernels, compile, prewarm] },
  { title: "Make it fast on a GPU", commands: [bench, tune, profile, plot] },
  { title: "Port a Triton kernel", commands: [importTriton] },
  { title: "Set up this machine", commands: [doctor, setup] },
];

/** The commands with their headings. The heading has the example of its first command. */
export const headedCommands: readonly { readonly heading: string; readonly command: KernelCommand | PlainCommand }[] =
  groups.flatMap(({ title, commands: [first, ...others] }) =>
    first
      ? [first, ...others].map((command) => ({ heading: `${title}, as in \`tilescript ${first.example}\`:`, command }))
      : [],
  );

export const isKernelCommand = (command: KernelCommand | PlainCommand): command is KernelCommand => "plan" in command;
const commands = headedCommands.map(({ command }) => command);
export const kernelCommands: readonly KernelCommand[] = commands.filter(isKernelCommand);
export const plainCommands: readonly PlainCommand[] = commands.filter(
  (command): command is PlainCommand => !isKernelCommand(command),
);
