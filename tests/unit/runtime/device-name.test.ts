/** What `--device` accepts, and what it says otherwise. */
import { describe, expect, it } from "vitest";
import { parseDevice } from "../../../src/runtime/devices/device.js";
import { cli, expectUsageError } from "../../support/cli.js";
import { vectorAdd } from "../../support/fixtures/vector-add.js";

describe("the name of a device", () => {
  it.each([
    ["auto", { kind: "auto" }],
    ["interpreter", { kind: "interpreter" }],
    ["cuda", { kind: "cuda" }],
    ["cuda:all", { kind: "cuda", gpus: "all" }],
    ["cuda:1", { kind: "cuda", gpus: [1] }],
    ["hip:2,0", { kind: "hip", gpus: [2, 0] }],
    ["cpu:4", { kind: "interpreter", workers: 4 }],
    ["ray:auto", { kind: "auto", ray: "auto" }],
    ["ray:head-1.local:6379", { kind: "auto", ray: "head-1.local:6379" }],
    ["ray:[::1]:6379", { kind: "auto", ray: "[::1]:6379" }],
    ["ray:head:6379#cuda", { kind: "cuda", ray: "head:6379" }],
    ["ray://head:10001", { kind: "auto", ray: "ray://head:10001" }],
    ["ray://[::1]:10001#cpu:2", { kind: "interpreter", workers: 2, ray: "ray://[::1]:10001" }],
    ["ray:auto#cpu:4", { kind: "interpreter", workers: 4, ray: "auto" }],
    ["ray:auto#H200", { kind: "auto", ray: "auto", model: "H200" }],
    ["ray:auto#RTX 4090", { kind: "auto", ray: "auto", model: "RTX 4090" }],
  ])("%s is read", (text, choice) => {
    expect(parseDevice(text)).toEqual(choice);
  });

  it.each([
    ["gpu", /there is no device gpu; the devices are auto, cuda, .* cuda:all or cuda:0,1/],
    ["cuda:", /name GPUs by their indices/],
    ["cuda:0,", /name GPUs by their indices/],
    ["cuda:-1", /name GPUs by their indices/],
    ["cuda:1e1", /name GPUs by their indices/],
    ["cuda:0,1,0", /names GPU 0 twice/],
    ["cuda:0,00", /names GPU 0 twice/],
    ["cpu:0", /from 1 to 256/],
    ["cpu:257", /from 1 to 256/],
    ["cpu:two", /from 1 to 256/],
    ["ray:", /names no cluster; write ray:auto/],
    ["ray://", /names no cluster; write ray:auto/],
    ["ray://head", /names no cluster; write ray:auto .* or ray:\/\/HOST:10001 from a machine outside it/],
    ["ray://-x:10001", /names no cluster; write ray:auto/],
    ["ray:head", /names no cluster; write ray:auto/],
    ["ray:-x:6379", /names no cluster; write ray:auto/],
    ["ray:auto#", /after "#" stands cuda, hip, part of a GPU's name/],
    ["ray:auto#eval", /after "#" stands cuda, hip, part of a GPU's name/],
    ["ray:auto#cuda:0,1", /after "#" stands cuda, hip, part of a GPU's name/],
    ["ray:auto#ssh:box", /after "#" stands cuda, hip, part of a GPU's name/],
    ["ssh:box#ray:auto", /is no device; after "#" stands a device of that machine/],
  ])("%s is a mistake on the command line", async (text, says) => {
    expectUsageError(await cli(vectorAdd(), "--run", "--device", text), says);
  });

  it("--profile needs one machine, which a cluster is not", async () => {
    const says = /--device ray:auto: profile prints commands for one machine; name one, such as --device ssh:HOST/;
    expectUsageError(await cli(vectorAdd(), "--profile", "--device", "ray:auto", "--shapes", "N=64"), says);
  });

  it.each(["--bench", "--prewarm", "--tune"])("%s needs a GPU, which the interpreter is not", async (command) => {
    const { code, err } = await cli(vectorAdd(), command, "--device", "cpu:2", "--shapes", "N=64");
    expect(code).toBe(2);
    expect(err).toMatch(
      command === "--tune" ? /not autotuned|search space|needs a GPU/ : /--device cpu:2: .* needs a GPU/,
    );
  });
});
