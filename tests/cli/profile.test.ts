/** The command lines that profile a kernel: a shell takes them apart as they are meant. */
import { execa } from "execa";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "tilescript";
import { afterAll, expect, it } from "vitest";
import { layerNorm } from "../../examples/layer-norm.js";
import type { ProfileReport } from "../../src/runtime/report/reports.js";
import { tunedGemm } from "../support/fixtures/tuned-gemm.js";
import { cli, expectUsageError } from "../support/cli.js";

const folder = await mkdtemp(join(tmpdir(), "tilescript profile's "));
afterAll(() => rm(folder, { recursive: true }));
const gemm = await build(tunedGemm);

async function profiled(kernel: Parameters<typeof cli>[0], ...args: string[]) {
  const { code, out } = await cli(kernel, "--profile", "--out", folder, "--json", ...args);
  expect(code).toBe(0);
  return (JSON.parse(out) as ProfileReport).kernels[0]!;
}

const words = async (line: string) => (await execa("sh", ["-c", `printf '%s\\n' ${line}`])).stdout.split("\n");

it("should name the module, the sizes and the kernel", async () => {
  const { file, commands } = await profiled(gemm, "--shapes", "M=64,N=32,K=16");
  const python = ["--size", "M=64", "--size", "K=16", "--size", "N=32", "--profile"];
  for (const line of Object.values(commands)) {
    const found = await words(line);
    expect(found.slice(-python.length)).toEqual(python);
    expect(found.at(-python.length - 1)).toBe(file);
  }
  expect(await words(commands.ncu)).toEqual(expect.arrayContaining(["--kernel-name", "tuned_gemm_kernel"]));
  expect(await words(commands.nsys)).toEqual(expect.arrayContaining(["-o", join(folder, "tuned_gemm")]));
});

it("should name every kernel of an operator", async () => {
  const { commands } = await profiled(await build(layerNorm), "--dtype", "T=float32");
  const pattern = "^(layer_norm_forward_kernel|layer_norm_gradients_kernel|column_sums_kernel)$";
  expect(await words(commands.ncu)).toContain(`regex:${pattern}`);
  expect(await words(commands.rocprofv3)).toContain(pattern);
});

it("should write a module that draws the dtype that was asked for", async () => {
  const drawn = async (kernel: typeof gemm, dtype: string) => {
    const { file } = await profiled(kernel, "--dtype", `T=${dtype}`);
    const text = await readFile(file, "utf8");
    return new Set(text.slice(text.indexOf("def get_inputs")).match(/dtype=torch\.\w+/g));
  };
  for (const dtype of ["float16", "bfloat16"]) {
    expect(await drawn(gemm, dtype)).toEqual(new Set([`dtype=torch.${dtype}`]));
    expect(await drawn(await build(layerNorm), dtype)).toEqual(new Set([`dtype=torch.${dtype}`]));
  }
});

it("should refuse sizes that the kernel refuses", async () => {
  expectUsageError(await cli(gemm, "--profile", "--out", folder, "--dtype", "T=float64"), /T can be float16, bfloat16/);
  expectUsageError(await cli(gemm, "--profile", "--out", folder, "--shapes", "M=3"), /missing; give values for/);
});
