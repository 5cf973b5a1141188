/** Warp-specialized kernels under Triton's concurrency sanitizer. Skipped, and counted so, where there is no Hopper GPU. */
import { execa } from "execa";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { closeDevice, openDevice } from "../../../src/runtime/devices/devices.js";
import { inTemporaryFolder, requirePython } from "../../support/python.js";
import { emitSanitized } from "./cases.js";

interface Outcome {
  readonly form: string;
  readonly module: string;
  readonly outcome: "clean" | "reported" | "wrong" | "not run";
  readonly findings?: readonly string[];
  readonly reason?: string;
}

const device = await openDevice({ device: "auto" });
const isHopper = device.kind === "cuda" && device.hello.capability?.[0] === 9;
await closeDevice(device);

const SECONDS = 1800;

test.skipIf(!isHopper)(
  "the sanitizer should find each seeded mistake and nothing else",
  { timeout: 1000 * (SECONDS + 300) },
  () =>
    inTemporaryFolder(async (folder) => {
      await emitSanitized(folder);
      const out = join(folder, "result.json");
      const script = fileURLToPath(new URL("sanitizer.py", import.meta.url));
      await execa(await requirePython(), [script, folder, "--out", out, "--seconds", `${SECONDS}`]);
      const { rows } = JSON.parse(readFileSync(out, "utf8")) as { readonly rows: readonly Outcome[] };
      const isMistake = ({ form }: Outcome): boolean => form === "seeded mistake";
      const mistakes = rows.filter(isMistake);
      expect(mistakes).toHaveLength(4);
      // An H200 stops a kernel that copies into a block before it is free.
      const isFound = ({ outcome, reason = "" }: Outcome): boolean =>
        outcome === "reported" || reason.includes("illegal instruction");
      expect(mistakes.filter((each) => !isFound(each))).toEqual([]);
      expect(rows.filter((row) => !isMistake(row) && row.outcome !== "clean")).toEqual([]);
    }),
);
