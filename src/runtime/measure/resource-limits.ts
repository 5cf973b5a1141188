/** Candidates that a GPU has no room for, found by compiling them in other processes while nothing is measured. */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { PythonDevice } from "../devices/devices.js";
import { compileRequest } from "../devices/request.js";
import type { Workspace } from "../devices/workspace.js";
import { problemsOf } from "../target-compile/diagnostics.js";
import { failureOf } from "../cases/failure.js";
import { COMPILE_DEADLINE_MS } from "../target-compile/precompile.js";
import { occupancyOf, targets } from "../system/gpu-targets.js";

/** Bytes of registers that a thread may keep in memory: more of them cost more than a larger tile gains. */
const MOST_SPILLED = 128;

/** Why the cases' configs cannot run, or would spill much, by the config. What is compiled stays in Triton's cache. */
export async function configsOverResources(
  kernel: CompiledKernel,
  { compilers, hello }: Pick<PythonDevice, "compilers" | "hello">,
  { module }: Workspace,
  cases: readonly TestCase[],
  onDone?: (done: number, planned: number) => void,
): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  const target = targets.find(({ triton }) => JSON.stringify(triton) === JSON.stringify(hello.target));
  if (!compilers || !target) return found;
  let done = 0;
  await compilers.each(cases, async (server, at) => {
    const reply = await server.request(compileRequest(kernel, module, at, target), COMPILE_DEADLINE_MS);
    const why = reply.ok
      ? whyMisfit({ target, at, cached: false, resources: reply.result, occupancy: occupancyOf(target, reply.result) })
      : whyMisfit({ target, at, cached: false, failure: failureOf(kernel, reply.error) });
    if (why !== undefined) found.set(at.config, why);
    onDone?.(++done, cases.length);
  });
  return found;
}

function whyMisfit(compilation: Parameters<typeof problemsOf>[0]): string | undefined {
  const problems = problemsOf(compilation, undefined);
  const spilled = compilation.resources?.spilled ?? 0;
  const worst = problems.find(({ severity }) => severity === "error");
  if (worst) return worst.what;
  return spilled > MOST_SPILLED ? `registers spill: each thread keeps ${spilled} bytes in memory` : undefined;
}
