/** The choice between the plain kernel and the warp-specialized one, as a wrapper makes it. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { gemm } from "../../../examples/gemm.js";
import { testModules } from "../../support/python.js";
import * as products from "../../unit/codegen/fixtures/products.js";

test("an autotuned wrapper times both kernels for each key, and launches the faster one", async () => {
  const built = await build(gemm);
  const chosen = { ...built, ...built.emit({ warpSpecialize: "auto" }) };
  expect(await testModules(new URL("chosen.py", import.meta.url), { gemm: chosen })).toMatch(/\nOK\n?$/);
});

test("a wrapper times nothing where the specialized kernel is asked for, or nothing is autotuned", async () => {
  const asked = (await build(gemm)).emit({ warpSpecialize: "always" }).python;
  const fixed = (await build(products.twice)).emit({ warpSpecialize: "auto" }).python;
  for (const python of [asked, fixed]) {
    expect(python).toContain("_specialized_kernel[_programs](");
    expect(python).not.toContain("_is_faster");
  }
});
