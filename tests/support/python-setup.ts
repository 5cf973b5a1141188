/** Vitest's global setup: makes the Python environment that tests need, unless there is a usable Python already. */
import { findPython } from "../../src/runtime/python/environment.js";
import { setup } from "../../src/runtime/python/install-environment.js";

export default async function pythonSetup(): Promise<void> {
  const { environment } = await findPython();
  if (!environment) await setup({ say: (line) => process.stderr.write(`${line}\n`) });
}
