/** The kernels of another file, with which `check --against` compares those of the same names. */
import type { CompiledKernel, OutputProof, ProofCache } from "../../compiled/compiled-kernel.js";
import { runnableOf } from "./builders.js";
import type { Runnable } from "./command.js";
import { importFile } from "./import-file.js";
import { kernelFiles } from "./kernels.js";
import { UsageError } from "../system/errors.js";

export interface OtherKernels {
  readonly file: string;
  /** By the names of the kernels that they are compared with. */
  readonly kernels: ReadonlyMap<Runnable, Runnable>;
}

/** @throws UsageError if a kernel has no other one: of its name, or the only one if both files have one. */
export async function otherKernels(file: string, kernels: readonly Runnable[]): Promise<OtherKernels> {
  const [path = file] = await kernelFiles([file]);
  const others = Object.values(await importFile(path)).flatMap((value) => runnableOf(value) ?? []);
  const otherOf = (kernel: Runnable): Runnable => {
    const named = others.find(({ name }) => name === kernel.name);
    const only = others.length === 1 && kernels.length === 1 ? others[0] : undefined;
    const other = named ?? only;
    if (other) return other;
    const names = others.map(({ name }) => name).join(", ");
    throw new UsageError(`--against: ${file} has no kernel ${kernel.name}; it has ${names || "none"}`);
  };
  return { file, kernels: new Map(kernels.map((kernel) => [kernel, otherOf(kernel)])) };
}

/** The verdicts of a kernel's outputs against the other one's. */
export async function compareWith(
  kernel: Runnable,
  compiled: CompiledKernel,
  { kernels }: OtherKernels,
  cache: ProofCache | undefined,
): Promise<readonly OutputProof[]> {
  const other = await kernels.get(kernel)?.compile();
  if (!other) return [];
  // Proofs come from the cache.
  other.proof(cache);
  return compiled.against(other);
}
