/** Features that only some of Triton's backends support. Tests compare them with Triton. */
import type { DTypeName } from "./dtype.js";

/** NVIDIA's and AMD's backends, as `GPUTarget` names them. */
export type Backend = "cuda" | "hip";

/** The backends that support a feature, each with the first supported Triton version that has it. */
export type Targets = Readonly<Partial<Record<Backend, "3.6" | "3.9">>>;

/** Dtypes that only one backend supports. All others are supported by both. */
export const dtypeTargets: Readonly<Partial<Record<DTypeName, Targets>>> = {
  float8e4b15: { cuda: "3.6" },
  float8e4b8: { hip: "3.6" },
  float8e5b16: { hip: "3.6" },
};

/** Formats targets for messages and docs, such as `CUDA; HIP from Triton 3.9`. */
export function formatTargets(targets: Targets): string {
  const names = { cuda: "CUDA", hip: "HIP" };
  const descriptions = Object.entries(targets).map(
    ([backend, since]) => names[backend as Backend] + (since === "3.9" ? " from Triton 3.9" : ""),
  );
  return descriptions.length === 1 ? `${descriptions[0]} only` : descriptions.join("; ");
}
