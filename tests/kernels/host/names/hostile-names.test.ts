/** No name, string or comment breaks an emitted module, or runs in it. `bench/fuzz-names.ts` tries thousands. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { commentText } from "../../../../src/codegen/syntax/precedence.js";
import { LAUNCH_NAMES } from "../../../../src/codegen/names/kernel-names.js";
import { drawnCount, seedOfRun } from "../../../support/sampled-tests.js";
import { emit } from "../../../support/emit.js";
import { tryNames } from "./try-names.js";
import { tryPlaces } from "./try-places.js";

test("hostile kernels are refused with a sentence, or give modules that compute the right result", async () => {
  const { built, refusals, failures } = await tryNames(seedOfRun(), 80, drawnCount("hostile names", 80));
  expect(failures).toEqual([]);
  expect(built).toBeGreaterThan(refusals.length);
}, 400_000);

test("packages, namespaces and files with hostile names are refused with a sentence, or load and run", async () => {
  const { built, refusals, failures } = await tryPlaces(seedOfRun(), 48, drawnCount("hostile places", 48));
  expect(failures).toEqual([]);
  expect([built, refusals.length].every((count) => count > 0)).toBe(true);
}, 400_000);

/** A kernel with one scalar and one constexpr. */
function named(s: string, b: string, dim = "N", dtype = "T") {
  const D = tl.dtype(dtype, [tl.float32, tl.float16]);
  return kernel(
    "named",
    {
      params: {
        x: tensor(D, [dim]),
        y: tensor.out(D, [dim]),
        [s]: scalar(tl.float32, { default: 1 }),
        [b]: constexpr(),
      },
      grid: (m: any) => [tl.cdiv(m[dim], m[b])],
      config: { [b]: 16 },
    } as any,
    (m: any) => {
      // Turned ‮and ⁦isolated.
      const offsets = tl.programId(0).mul(m[b]).add(tl.arange(0, m[b]));
      tl.store(m.y.at(offsets), tl.load(m.x.at(offsets)).to(tl.float32).add(m[s]).to(D));
    },
  );
}

describe("names that a launch of Triton takes for itself", () => {
  const renamed = new Set(["grid", "device", "self"]);
  test.each([...LAUNCH_NAMES])("%s", (name) => {
    for (const make of [() => named(name, "B"), () => named("s", name), () => named("s", "B", name)]) {
      if (renamed.has(name)) expect(emit(make()).text).toMatch(new RegExp(`\\b${name}_(1\\b|\\b)`));
      else expect(() => emit(make())).toThrow(`named: ${name} would be ${name} in Python, which a launch of Triton`);
    }
  });

  test("in the author's spelling", () => {
    expect(() => emit(named("numWarps", "B"))).toThrow("named: numWarps would be num_warps in Python");
  });
});

test("names that every JavaScript object has", () => {
  for (const name of ["constructor", "__proto__", "toString"])
    expect(() => named("s", "B", "N", name)).toThrow(`dtype: every JavaScript object has a ${name} of its own`);
});

test("names that are none", () => {
  for (const name of ["", "a b", "π²", 'x"; y', "\0"]) {
    const message = `named: ${JSON.stringify(name)} cannot be the name of a param; use letters, digits and _`;
    expect(() => named("s", name)).toThrow(message);
  }
});

test("what is invisible in a comment is escaped", () => {
  const text = emit(named("s", "B")).text;
  expect(text).toContain("# Turned \\u202eand \\u2066isolated.");
  expect(commentText("a\0b\u2028c\fd\n e π 変数")).toBe("a\\x00b c d\n e π 変数");
  expect(text).not.toMatch(/[^\n\P{C}]/u);
});
