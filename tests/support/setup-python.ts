/** Global setup of the tiers that need Python: creates the environment if there is none, and trims Triton's cache. */
import { readdirSync, rmSync } from "node:fs";
import { findPython } from "../../src/runtime/worker/environment.js";
import { setup } from "../../src/runtime/worker/install-environment.js";
import { tritonCache } from "./python.js";

/** Limit on the kernels in Triton's cache, which is deleted beyond this limit. */
const MAX_CACHED_KERNELS = 20_000;

export default async function setupPython(): Promise<void> {
  if (entriesOf(tritonCache) > MAX_CACHED_KERNELS) rmSync(tritonCache, { recursive: true });
  const { environment } = await findPython();
  if (!environment) await setup({ onProgress: (line) => void process.stderr.write(`${line}\n`) });
}

function entriesOf(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}
