/** Kernels with the launches of a script: several calls in one file, and what scripts do beside a launch. */
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import type { ReadKernel } from "../../../src/runtime/worker/protocol.js";
import type { ImportedKernel } from "../../../src/runtime/import-check/imported-kernel.js";
import { DEADLINE_MS, useImporter } from "./importer.js";

const file = fileURLToPath(new URL("launched.py", import.meta.url));

const importer = useImporter();
let kernels: readonly ReadKernel[];
let stopped: string | undefined;
beforeAll(async () => {
  ({ kernels, stopped } = await importer.readLaunched(file));
}, DEADLINE_MS);

const imported = (name: string): Promise<ImportedKernel> =>
  importer.imported(kernels.find((each) => each.name === name)!);

it("should run a script that reads what an autotuner chose, times a launch and asks a generator", () => {
  expect(stopped).toBeUndefined();
  expect(kernels.map(({ name }) => name).toSorted()).toEqual(["flags_of_given_pointers", "tuned"]);
});

it("should ask for a pointer itself where a flag says that it is given, for all calls", async () => {
  const { status, text, calls } = await imported("flags_of_given_pointers");
  expect([status, calls]).toEqual(["equal", undefined]);
  expect(text).toContain("tl.when(bias.given, () =>");
  expect(text).toContain("tl.when(scale.given, () =>");
  expect(text).not.toContain("HAS_");
});

it("should import a kernel whose tuned config the script uses", async () => {
  expect((await imported("tuned")).status).toBe("equal");
});
