/** Finds candidates that exceed the GPU's resources by compiling them in other processes while nothing is measured. */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { compileRequest } from "../devices/request.js";
import type { Workspace } from "../devices/workspace.js";
import { problemsOf } from "../target-compile/diagnostics.js";
import { failureOf } from "../cases/failure.js";
import { COMPILE_DEADLINE_MS } from "../target-compile/precompile.js";
import { occupancyOf, targets } from "../system/gpu-targets.js";
import type { PythonDevice } from "../devices/device.js";

/** The limit of spilled bytes per thread. More spilling costs more than a larger tile gains. */
const MAX_SPILLED_BYTES = 128;

/** Returns the reason why a config cannot run or spills much, by config. Compiled binaries stay in Triton's cache. */
export async function configsOverResources(
  kernel: CompiledKernel,
  { compilers, hello }: Pick<PythonDevice, "compilers" | "hello">,
  { module }: Workspace,
  cases: readonly TestCase[],
  onDone?: (done: number, planned: number) => void,
): Promise<ReadonlyMap<number, string>> {
  const reasonByConfig = new Map<number, string>();
  const target = targets.find(({ triton }) => JSON.stringify(triton) === JSON.stringify(hello.target));
  if (!compilers || !target) return reasonByConfig;
  let done = 0;
  await compilers.forEach(cases, async (server, testCase) => {
    const reply = await server.request(compileRequest(kernel, module, testCase, target), COMPILE_DEADLINE_MS);
    const reason = reply.ok
      ? whyOverResources({
          target,
          testCase,
          cached: false,
          resources: reply.result,
          occupancy: occupancyOf(target, reply.result),
        })
      : whyOverResources({ target, testCase, cached: false, failure: failureOf(kernel, reply.error) });
    if (reason !== undefined) reasonByConfig.set(testCase.config, reason);
    onDone?.(++done, cases.length);
  });
  return reasonByConfig;
}

function whyOverResources(compilation: Parameters<typeof problemsOf>[0]): string | undefined {
  const problems = problemsOf(compilation, undefined);
  const spilled = compilation.resources?.spilled ?? 0;
  const worst = problems.find(({ severity }) => severity === "error");
  if (worst) return worst.problem;
  return spilled > MAX_SPILLED_BYTES ? `registers spill: each thread keeps ${spilled} bytes in memory` : undefined;
}
