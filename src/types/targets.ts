/** Which of Triton's backends have what, where not all do. Tests ask Triton whether this is so. */
import type { DTypeName } from "./dtype.js";

/** NVIDIA's and AMD's backend, as `GPUTarget` names them. */
export type Backend = "cuda" | "hip";

/** The backends that have something, each with the Triton that had it first, of those we support. */
export type Targets = Readonly<Partial<Record<Backend, "3.6" | "3.9">>>;

/** Dtypes that one backend alone has: the others are on both. */
export const dtypeTargets: Readonly<Partial<Record<DTypeName, Targets>>> = {
  float8e4b15: { cuda: "3.6" },
  float8e4b8: { hip: "3.6" },
  float8e5b16: { hip: "3.6" },
};

/** In words, such as `CUDA; HIP from Triton 3.9`. */
export function targetWords(targets: Targets): string {
  const names = { cuda: "CUDA", hip: "HIP" };
  const words = Object.entries(targets).map(
    ([backend, since]) => names[backend as Backend] + (since === "3.9" ? " from Triton 3.9" : ""),
  );
  return words.length === 1 ? `${words[0]} only` : words.join("; ");
}
