/** Every command, in the order of the help. */
import { bench } from "./bench.js";
import { check } from "./check.js";
import type { KernelCommand, PlainCommand } from "../invocation/command.js";
import { compile } from "./compile.js";
import { doctor } from "./doctor.js";
import { explain } from "./explain.js";
import { emit } from "./emit.js";
import { importTriton } from "./import.js";
import { fix } from "./fix.js";
import { create } from "./new.js";
import { packageKernels } from "./package.js";
import { plot } from "./plot.js";
import { prewarm } from "./prewarm.js";
import { profile } from "./profile.js";
import { run } from "./run.js";
import { setup } from "./setup.js";
import { trace } from "./trace.js";
import { tune } from "./tune.js";
import { verify } from "./verify.js";

export const kernelCommands: readonly KernelCommand[] = [
  run,
  verify,
  check,
  fix,
  trace,
  emit,
  packageKernels,
  compile,
  bench,
  tune,
  prewarm,
  profile,
];
export const plainCommands: readonly PlainCommand[] = [create, importTriton, plot, setup, doctor, explain];
