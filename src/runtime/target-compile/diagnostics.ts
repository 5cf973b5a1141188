/** Problems of a config on a target, from its compilation and its resources. */
import {
  compileError,
  compileMiscompiled,
  compileResources,
  compileSpill,
} from "../../diagnostics/catalog/command-codes.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import type { Compilation } from "./targets.js";
import { faultsOf } from "./machine-code.js";

export interface CompileMessage {
  readonly severity: "error" | "warning";
  readonly rule: typeof compileError | typeof compileResources | typeof compileMiscompiled | typeof compileSpill;
  readonly problem: string;
  readonly remedy: string;
  readonly at: Location | undefined;
}

/** The errors and warnings of a config on a target. */
export function problemsOf(
  { target, failure, resources, occupancy }: Compilation,
  config: Location | undefined,
): CompileMessage[] {
  if (failure?.kind === "out-of-resources") {
    const problem = `it needs more registers than a thread may have: ${failure.message}`;
    const remedy = "raise maxnreg or leave it out, make the blocks smaller or raise numWarps";
    return [{ severity: "error", rule: compileResources, problem, remedy, at: config }];
  }
  if (failure) {
    const problem = `it does not compile: ${failure.message}`;
    return [{ severity: "error", rule: compileError, problem, remedy: "", at: failure.at ?? config }];
  }
  if (!resources) return [];
  const { limits } = target;
  const messages: CompileMessage[] = [];
  const addError = (problem: string, remedy: string) =>
    messages.push({ severity: "error", rule: compileResources, problem, remedy, at: config });
  if (resources.shared > limits.sharedOfProgram)
    addError(
      `it needs ${resources.shared} bytes of shared memory; the limit is ${limits.sharedOfProgram} for a program`,
      "make the blocks smaller or lower numStages",
    );
  else if (limits.tensorMemory !== undefined && (resources.tensorMemory ?? 0) > limits.tensorMemory)
    addError(
      `it needs ${resources.tensorMemory} columns of tensor memory; the limit is ${limits.tensorMemory} for a program`,
      "make the accumulator smaller",
    );
  else if (occupancy?.programs === 0)
    addError(`no program fits: a multiprocessor has too few ${occupancy.limit}`, "make the blocks or numWarps smaller");
  for (const fault of faultsOf(resources.machineCode))
    messages.push({ severity: "error", rule: compileMiscompiled, ...fault, at: config });
  if (resources.spilled > 0)
    messages.push({
      severity: "warning",
      rule: compileSpill,
      problem: `registers spill: each thread keeps ${resources.spilled} bytes in memory`,
      remedy: "make the blocks smaller, raise numWarps or lower numStages",
      at: config,
    });
  return messages;
}
