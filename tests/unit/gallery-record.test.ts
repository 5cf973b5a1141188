/** The gallery's record says of a kernel that changed since it was timed. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { changedParts } from "../../bench/gallery-record.js";
import { isStillCurrent, kernelDigest } from "../../bench/kernel-digest.js";

const module = readFileSync("tests/unit/codegen/golden/rms-norm.py", "utf8");
const digest = kernelDigest(module);

function changed(from: string | RegExp, to: string): boolean {
  const other = module.replace(from, to);
  expect(other).not.toBe(module);
  return kernelDigest(other) !== digest;
}

test("a kernel's code and configs count, its comments, the names of its variables and its launch do not", () => {
  expect(changed("eviction_policy", "cache_modifier")).toBe(true);
  expect(changed("num_warps=", "num_stages=")).toBe(true);
  expect(changed("        dw_sum += ", "    dw_sum += ")).toBe(true);
  expect(changed("    row = ", "    # Why.\n    row = ")).toBe(false);
  expect(changed(/\bmean_square\b/g, "average_of_all_the_squares_of_a_row")).toBe(false);
  expect(changed("> 2**20:", "> 2**19:")).toBe(false);
});

test("so does a lone config, which the wrapper gives", () => {
  const launched = (numbers: string) =>
    kernelDigest(`def f():\n    _launch(x_kernel, grid, (x,), (N,), device, ${numbers})`);
  expect(launched("BLOCK=512, num_warps=4")).not.toBe(launched("BLOCK=512, num_warps=8"));
  expect(launched("BLOCK=512")).not.toBe(launched("BLOCK=1024"));
});

test("what was timed is still there where configs were added, and not where one of its own is gone", () => {
  const lines = (configs: readonly string[]) => configs.map((each) => `        triton.Config({}, ${each}),\n`);
  const of = (...configs: string[]) =>
    kernelDigest(`@triton.autotune(\n    configs=[\n${lines(configs).join("")}    ],\n    key=["N"],\n)`);
  const [few, many] = ["num_warps=4", "num_warps=8"];
  expect([isStillCurrent(of(few), of(few, many)), isStillCurrent(of(few, many), of(few))]).toEqual([true, false]);
  expect([isStillCurrent(of(few, few), of(few)), isStillCurrent(of(few), of(many))]).toEqual([false, false]);
});

test("a limit of registers counts, however it is passed", () => {
  const limited = (limit: string) => kernelDigest(`@triton.autotune(configs=[triton.Config({}, ${limit})])`);
  const onlyNvidia = (count: number) => limited(`maxnreg=None if torch.version.hip else ${count}`);
  expect(onlyNvidia(128)).toBe(limited("maxnreg=128"));
  expect(onlyNvidia(128)).not.toBe(onlyNvidia(168));
});

test("a table of configs stands for its rows", () => {
  const of = (configs: string) => kernelDigest(`@triton.autotune(\n    configs=[\n${configs}\n    ],\n)`);
  const config = (m: number, warps: number) => `triton.Config({"M": ${m}, "N": 8}, num_warps=${warps}, num_stages=2)`;
  const row = 'triton.Config({"M": M, "N": 8}, num_warps=num_warps, num_stages=2)';
  expect(of(`${row}\n for M, num_warps in [\n(16, 4),\n(32, 8),\n]`)).toBe(of(`${config(16, 4)},\n${config(32, 8)},`));
  const lone = 'triton.Config({"M": M, "N": 8}, num_warps=4, num_stages=2)';
  expect(of(`${lone} for M in (16, 32)`)).toBe(of(`${config(16, 4)},\n${config(32, 4)},`));
});

test("a part is changed if one of its kernels is", () => {
  const gallery = (kernels: Record<string, string>) => ({ parts: { rms_norm: { kernels } } });
  expect([...changedParts(gallery({ rms_norm: digest }))]).toEqual([]);
  expect([...changedParts(gallery({ rms_norm: "0123456789abcdef" }))]).toEqual(["rms_norm"]);
  expect([...changedParts(gallery({ rms_norm: digest, no_longer: digest }))]).toEqual(["rms_norm"]);
});
