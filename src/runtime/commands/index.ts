/** Every command, in the order of the help. */
import { check } from "./check.js";
import type { KernelCommand, PlainCommand } from "./command.js";
import { compile } from "./compile.js";
import { doctor } from "./doctor.js";
import { emit } from "./emit.js";
import { create } from "./new.js";
import { packageKernels } from "./package.js";
import { run } from "./run.js";
import { setup } from "./setup.js";
import { verify } from "./verify.js";

export const kernelCommands: readonly KernelCommand[] = [run, verify, check, emit, packageKernels, compile];
export const plainCommands: readonly PlainCommand[] = [create, setup, doctor];
