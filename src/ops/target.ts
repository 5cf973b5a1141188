/**
 * Queries of the compilation target. They are constexprs, so Triton folds a `tl.when` on them. On the evaluator the target
 * is the GPU of the test case, by default an H200.
 */
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { ConstBool } from "../types/constexpr.js";
import type { Validate } from "../types/rule-error.js";
import { whyWhole, type WhyWhole } from "../types/promote.js";
import { constexprType } from "../types/types.js";
import { defineOp } from "./define.js";

function query<Name extends string, Python extends string>(name: Name, python: Python, since39 = false) {
  return defineOp<() => ConstBool<`${Python}()`>>()({
    name,
    operands: {},
    effect: "pure",
    facts: { answer: () => name === "isCuda" },
    spelling: { form: "call", name: `tl.target_info.${python}` },
    infer: () => constexprType("bool", `${python}()`),
    needs: { needsTriton39: since39 ? () => true : undefined },
  });
}

/** True if the target is an NVIDIA GPU: `tl.target_info.is_cuda()`. */
export const isCuda = query("isCuda", "is_cuda");
/** True if the target is an AMD GPU: `tl.target_info.is_hip()`. */
export const isHip = query("isHip", "is_hip");
/** True if the target is gfx942: `tl.target_info.is_hip_cdna3()`. */
export const isHipCdna3 = query("isHipCdna3", "is_hip_cdna3");
/** True if the target is gfx950: `tl.target_info.is_hip_cdna4()`. */
export const isHipCdna4 = query("isHipCdna4", "is_hip_cdna4");
/** True if the target is gfx1250: `tl.target_info.is_hip_gfx1250()`. Needs Triton 3.9. */
export const isHipGfx1250 = query("isHipGfx1250", "is_hip_gfx1250", true);

/** True if the target has at least this CUDA capability: `tl.target_info.cuda_capability_geq(9, 0)`. */
export const cudaCapabilityGeq = defineOp<
  <const Major extends number, const Minor extends number | undefined = undefined>(
    major: Validate<Major, WhyWhole<"cudaCapabilityGeq", Major>>,
    minor?: Validate<Minor, Minor extends number ? WhyWhole<"cudaCapabilityGeq", Minor> : "">,
  ) => ConstBool<`cuda_capability_geq(${Major}, ${Minor extends number ? Minor : 0})`>
>()({
  name: "cudaCapabilityGeq",
  operands: { major: "constant", minor: "constant?" },
  effect: "pure",
  facts: { answer: (gpu, major, minor = 0) => 10 * gpu.major + gpu.minor >= 10 * Number(major) + Number(minor) },
  spelling: { form: "call", name: "tl.target_info.cuda_capability_geq" },
  infer: ({ major, minor }) => {
    const capability = [major.literal, minor ? minor.literal : 0];
    if (!capability.every((number) => typeof number === "number"))
      return operandKind("cudaCapabilityGeq: needs numbers, such as 9, 0");
    const why = capability.map((number) => whyWhole("cudaCapabilityGeq", String(number))).find(Boolean);
    return why ?? constexprType("bool", `cuda_capability_geq(${capability.join(", ")})`);
  },
});
