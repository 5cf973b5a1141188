/** The gallery's record says of a kernel that changed since it was timed. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { changedParts } from "../../bench/gallery-record.js";
import { kernelDigest } from "../../bench/kernel-digest.js";

const module = readFileSync("tests/unit/codegen/golden/rms-norm.py", "utf8");
const digest = kernelDigest(module);

function changed(from: string, to: string): boolean {
  const other = module.replace(from, to);
  expect(other).not.toBe(module);
  return kernelDigest(other) !== digest;
}

test("a kernel's code and configs count, its comments and its launch do not", () => {
  expect(changed("eviction_policy", "cache_modifier")).toBe(true);
  expect(changed("num_warps=", "num_stages=")).toBe(true);
  expect(changed("    row = ", "    # Why.\n    row = ")).toBe(false);
  expect(changed("_MAX_TILE = 2**20", "_MAX_TILE = 2**19")).toBe(false);
});

test("a limit of registers counts, however it is passed", () => {
  const limited = (limit: string) => kernelDigest(`@triton.autotune(configs=[triton.Config({}, ${limit})])`);
  expect(limited("**_maxnreg(128)")).toBe(limited("maxnreg=128"));
  expect(limited("**_maxnreg(128)")).not.toBe(limited("**_maxnreg(168)"));
});

test("a part is changed if one of its kernels is", () => {
  const gallery = (kernels: Record<string, string>) => ({ parts: { rms_norm: { kernels } } });
  expect([...changedParts(gallery({ rms_norm: digest }))]).toEqual([]);
  expect([...changedParts(gallery({ rms_norm: "0123456789abcdef" }))]).toEqual(["rms_norm"]);
  expect([...changedParts(gallery({ rms_norm: digest, no_longer: digest }))]).toEqual(["rms_norm"]);
});
