/** The target that Triton compiles for, as truth values that Triton knows, so that it folds `tl.when` on them. */
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
    spelling: { form: "call", name: `tl.target_info.${python}` },
    infer: () => constexprType("bool", `${python}()`),
    needs: { needsTriton39: since39 ? () => true : undefined },
  });
}

/** Whether Triton compiles for NVIDIA: `tl.target_info.is_cuda()`. */
export const isCuda = query("isCuda", "is_cuda");
/** Whether Triton compiles for AMD: `tl.target_info.is_hip()`. */
export const isHip = query("isHip", "is_hip");
/** Whether Triton compiles for gfx942: `tl.target_info.is_hip_cdna3()`. */
export const isHipCdna3 = query("isHipCdna3", "is_hip_cdna3");
/** Whether Triton compiles for gfx950: `tl.target_info.is_hip_cdna4()`. */
export const isHipCdna4 = query("isHipCdna4", "is_hip_cdna4");
/** Whether Triton compiles for gfx1250, which needs Triton 3.9: `tl.target_info.is_hip_gfx1250()`. */
export const isHipGfx1250 = query("isHipGfx1250", "is_hip_gfx1250", true);

/** Whether Triton compiles for this CUDA capability or above: `tl.target_info.cuda_capability_geq(9, 0)`. */
export const cudaCapabilityGeq = defineOp<
  <const Major extends number, const Minor extends number | undefined = undefined>(
    major: Validate<Major, WhyWhole<"cudaCapabilityGeq", Major>>,
    minor?: Validate<Minor, Minor extends number ? WhyWhole<"cudaCapabilityGeq", Minor> : "">,
  ) => ConstBool<`cuda_capability_geq(${Major}, ${Minor extends number ? Minor : 0})`>
>()({
  name: "cudaCapabilityGeq",
  operands: { major: "constant", minor: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.target_info.cuda_capability_geq" },
  infer: ({ major, minor }) => {
    const given = [major.literal, minor ? minor.literal : 0];
    if (!given.every((number) => typeof number === "number")) return "cudaCapabilityGeq: needs numbers, such as 9, 0";
    const why = given.map((number) => whyWhole("cudaCapabilityGeq", String(number))).find(Boolean);
    return why ?? constexprType("bool", `cuda_capability_geq(${given.join(", ")})`);
  },
});
