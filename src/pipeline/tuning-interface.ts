/** The parts of a compiled kernel that only benchmarks and tuning use. */
import { isPipelined, tileRoles } from "../analysis/tile-roles.js";
import { checkConfigs } from "../check/configs.js";
import { checkLimits } from "../check/tile-limits.js";
import type { TestCase, CompiledKernel, Config, FoundConfigs } from "../compiled/compiled-kernel.js";
import { fail } from "../diagnostics/diagnostic.js";
import { configsInSource } from "../diagnostics/catalog/config-codes.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import { sizesOf } from "../eval/bindings.js";
import { estimateWork } from "../eval/cost-estimate.js";
import type { KernelIR } from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";

export function withConfigs(ir: KernelIR, configs: readonly Config[]): KernelIR {
  return { ...ir, tuning: { ...ir.tuning, configs } };
}

export function tuningInterface(
  ir: KernelIR,
  source: SourceIndex | undefined,
): Pick<CompiledKernel, "providers" | "flops" | "tuning"> {
  const { at, flops, tuning } = ir;
  return {
    providers: Object.keys(ir.providers),
    ...(flops && { flops: (testCase: TestCase) => flopsOf(ir, flops, testCase) }),
    ...(tuning.key && {
      tuning: {
        ...(tuning.byGpu && { byGpu: true as const }),
        ...(tuning.space && { space: tuning.space }),
        roles: tileRoles(ir),
        pipelined: isPipelined(ir),
        traffic: (config: Config, testCase: TestCase) =>
          estimateWork(withConfigs(ir, [config]), { ...testCase, config: 0 }),
        unfit: (config: Config) => {
          const singleConfig = withConfigs(ir, [config]);
          return [...checkConfigs(singleConfig), ...checkLimits(singleConfig)][0]?.message;
        },
        rewrite: async (configs: readonly FoundConfigs[]) => {
          const rewritten = at && (await source?.withConfigs(at, configs));
          if (rewritten) return { file: at.file, ...rewritten };
          return fail(configsInSource(ir.name), at);
        },
      },
    }),
  };
}

function flopsOf(ir: KernelIR, flops: NonNullable<KernelIR["flops"]>, testCase: TestCase): number {
  const count = flops({ ...sizesOf(ir, testCase), ...testCase.scalars, ...testCase.constexprs });
  if (typeof count === "number" && count >= 0) return count;
  return fail(specValue.flops(ir.name, count), ir.at);
}
