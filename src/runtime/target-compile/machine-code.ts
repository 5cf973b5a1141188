/** Faults that `python/tilescript_worker/machine_code.py` finds in the machine code of ptxas. */
import { statSync } from "node:fs";
import { COMPILE_DEADLINE_MS } from "./precompile.js";
import { formatMessage, formatList } from "../../diagnostics/message.js";
import type { MachineCode, RunRequest, VerifyRequest } from "../worker/protocol.js";
import type { PythonDevice } from "../devices/device.js";

export interface Fault {
  readonly problem: string;
  readonly remedy: string;
}

/** The faults of ptxas, one sentence per affected kernel. */
export function faultsOf(machineCode: readonly MachineCode[]): Fault[] {
  return machineCode.flatMap(({ compiler, variable, unwritten = [] }) => {
    if (unwritten.length === 0) return [];
    const problem = `${compiler} made machine code that reads ${formatList(unwritten.map(({ register }) => register))}`;
    const pronoun = unwritten.length > 1 ? "them" : "it";
    return [
      {
        problem: `${problem} before anything writes ${pronoun}: results would be wrong`,
        remedy: `set ${variable} to a newer ptxas, or change the config`,
      },
    ];
  });
}

/** The distinct reasons why machine code was not checked. */
export function uncheckedOf(machineCode: readonly MachineCode[]): string[] {
  return [
    ...new Set(machineCode.flatMap(({ unchecked }) => (unchecked === undefined ? [] : `machine code: ${unchecked}`))),
  ];
}

/**
 * The faults in the kernels that a case launches on a GPU, one line each. The kernels are in Triton's cache, because
 * the case has run.
 */
export async function faultsOfCase(
  { compilers, hello: { target } }: Pick<PythonDevice, "compilers" | "hello">,
  request: RunRequest & Partial<Pick<VerifyRequest, "specialized">>,
): Promise<string[]> {
  if (!compilers || target?.[0] !== "cuda") return [];
  const faults: Fault[] = [];
  // A case may run both the plain and the warp-specialized kernel.
  await compilers.forEach([...new Set([null, request.specialized ?? null])], async (worker, specialized) => {
    const reply = await worker.request({ ...request, type: "compile", target, specialized }, COMPILE_DEADLINE_MS);
    if (reply.ok) faults.push(...faultsOf(reply.result.machineCode));
  });
  return [...new Set(faults.map(formatMessage))];
}

/** The ptxas that the environment selects instead of Triton's own, with its modification time. */
export function ptxasKey(env: NodeJS.ProcessEnv): readonly (string | number)[] {
  return ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"].flatMap((name) => {
    const path = env[name];
    if (!path) return [name];
    return [name, path, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? ""];
  });
}
