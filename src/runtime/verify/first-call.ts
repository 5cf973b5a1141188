/** The call that goes through the emitted wrapper as a user's does: no config is selected, and no call went before. */
import type { CompiledKernel, TestCase } from "../../compiled/compiled-kernel.js";
import { costOf, type PlannedCase, shapeOf } from "../cases/cases.js";
import type { Outcome } from "../cases/outcome.js";
import type { Selection } from "../cases/selection.js";
import type { Device } from "../devices/device.js";
import { inEveryConfig } from "../target-compile/precompile.js";
import { deviceLimits } from "./device-limits.js";
import { gpuOf } from "./other-gpu.js";
import type { Runner } from "./runner.js";

interface FirstCall {
  /** The case in every config that the autotuner tries. */
  readonly testCases: readonly TestCase[];
  /** Undefined if this kernel, device or selection has no such call. */
  run(): Promise<Outcome | undefined>;
}

/** Plans a first call and one after it, on one of these cases. */
export function planFirstCall(
  kernel: CompiledKernel,
  device: Device,
  { tune }: Pick<Runner, "tune">,
  cases: readonly PlannedCase[],
  { config }: Pick<Selection, "config">,
): FirstCall {
  const isAffected = kernel.configs.length > 1 || kernel.signature.tensors.some(({ role }) => role === "inout");
  const planned = tune && isAffected && config === undefined ? cheapestCase(kernel, device, cases) : undefined;
  return {
    testCases: planned ? inEveryConfig(kernel, planned.testCase, gpuOf(device)) : [],
    run: async () => planned && tune?.(planned),
  };
}

/** The cheapest case in which no tensor is empty, because the autotuner runs every config. */
function cheapestCase(
  kernel: CompiledKernel,
  { kind }: Device,
  cases: readonly PlannedCase[],
): PlannedCase | undefined {
  const isEmpty = (testCase: TestCase): boolean => {
    const sizes = kernel.sizes(testCase);
    return kernel.signature.tensors.some(({ dims }) => shapeOf(dims, sizes).includes(0));
  };
  return cases
    .filter(({ testCase }) => !isEmpty(testCase))
    .map((planned) => ({ planned, cost: costOf(kernel, planned.testCase, deviceLimits[kind]) }))
    .toSorted((a, b) => a.cost - b.cost)[0]?.planned;
}
