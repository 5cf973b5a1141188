/** Where a command's device comes from, if no flag names it. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chosenDevice } from "../../../src/runtime/invocation/chosen-device.js";

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tilescript-chosen-"));
  await mkdir(join(folder, "src/kernels"), { recursive: true });
  file = join(folder, "tilescript.config.json");
});
afterAll(() => rm(folder, { recursive: true }));

describe("the device of a command", () => {
  it("is the flag's, else the variable's, else that of the nearest file, else auto", async () => {
    const below = join(folder, "src/kernels");
    expect(chosenDevice(undefined, {}, below)).toEqual({ device: "auto" });
    await writeFile(file, `{ "device": "ssh:box" }`);
    expect(chosenDevice(undefined, {}, below)).toEqual({ device: "ssh:box", source: file });
    const variable = { TILESCRIPT_DEVICE: "cpu:2" };
    expect(chosenDevice(undefined, variable, below)).toEqual({ device: "cpu:2", source: "TILESCRIPT_DEVICE" });
    expect(chosenDevice("cuda:0", variable, below)).toEqual({ device: "cuda:0", source: "--device" });
  });

  it.each([
    ["{", /tilescript\.config\.json is no JSON object; write \{ "device": "ssh:box" \}/],
    ["[]", /is no JSON object/],
    [`{ "devices": "eval" }`, /unknown key devices; the file has device/],
    [`{ "device": 1 }`, /device must be a string/],
    [`{ "device": "-oProxyCommand=x" }`, /tilescript\.config\.json: there is no device -oProxyCommand=x/],
    [`{ "device": "ssh:-oProxyCommand=x" }`, /is no host/],
  ])("is refused: %s", async (text, says) => {
    await writeFile(file, text);
    expect(() => chosenDevice(undefined, {}, folder)).toThrow(says);
  });

  it("is refused where the variable names none", () => {
    expect(() => chosenDevice(undefined, { TILESCRIPT_DEVICE: "gpu" }, folder)).toThrow(
      /TILESCRIPT_DEVICE: there is no device gpu/,
    );
  });
});
