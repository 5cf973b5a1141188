/** Findings of `python/tilescript_worker/machine_code.py` in the machine code of ptxas. */
import { statSync } from "node:fs";
import { COMPILE_DEADLINE_MS } from "./precompile.js";
import { formatList } from "../../diagnostics/format-list.js";
import type { PythonDevice } from "../devices/devices.js";
import type { MachineCode, RunRequest, VerifyRequest } from "../worker/protocol.js";

export interface Fault {
  readonly what: string;
  readonly remedy: string;
}

/** The faults of ptxas, one sentence for each affected kernel. */
export function faultsOf(machineCode: readonly MachineCode[]): Fault[] {
  return machineCode.flatMap(({ compiler, variable, unwritten = [] }) => {
    if (unwritten.length === 0) return [];
    const what = `${compiler} made machine code that reads ${formatList(unwritten.map(({ register }) => register))}`;
    const them = unwritten.length > 1 ? "them" : "it";
    return [
      {
        what: `${what} before anything writes ${them}: results would be wrong`,
        remedy: `; set ${variable} to a newer ptxas, or change the config`,
      },
    ];
  });
}

/** Why machine code was not checked, each reason once. */
export function uncheckedOf(machineCode: readonly MachineCode[]): string[] {
  return [
    ...new Set(machineCode.flatMap(({ unchecked }) => (unchecked === undefined ? [] : `machine code: ${unchecked}`))),
  ];
}

/**
 * The faults in the kernels that a case launches on a GPU, one line each. Triton's cache has the kernels, since the
 * case ran.
 */
export async function faultsOfCase(
  { compilers, hello: { target } }: Pick<PythonDevice, "compilers" | "hello">,
  at: RunRequest & Partial<Pick<VerifyRequest, "specialized">>,
): Promise<string[]> {
  if (!compilers || target?.[0] !== "cuda") return [];
  const faults: Fault[] = [];
  // A case may run both kernels.
  await compilers.each([...new Set([null, at.specialized ?? null])], async (worker, specialized) => {
    const reply = await worker.request({ ...at, type: "compile", target, specialized }, COMPILE_DEADLINE_MS);
    if (reply.ok) faults.push(...faultsOf(reply.result.machineCode));
  });
  return [...new Set(faults.map(({ what, remedy }) => `${what}${remedy}`))];
}

/** The ptxas that the environment names instead of Triton's own, with its modification time. */
export function ptxasOf(env: NodeJS.ProcessEnv): readonly (string | number)[] {
  return ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"].flatMap((name) => {
    const path = env[name];
    if (!path) return [name];
    return [name, path, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? ""];
  });
}
