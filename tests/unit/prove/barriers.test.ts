/** The certificate of a warp-specialized kernel has the proof of its barriers, and `check` prints it. */
import { expect, test } from "vitest";
import { gemm } from "../../../examples/gemm.js";
import { build } from "../../../src/pipeline/build.js";
import { requireBarriers } from "../../../src/pipeline/compiled-parts.js";
import { barrierLines } from "../../../src/runtime/report/proof-text.js";
import * as attentions from "../codegen/fixtures/attentions.js";
import * as products from "../codegen/fixtures/products.js";

test.each([
  ["a product", products.asked],
  ["attention", attentions.asked],
])("should prove the barriers of %s", async (_, kernel) => {
  const certificate = (await build(kernel)).proof();
  const barriers = certificate.obligations.filter(({ property }) => property === "barriers");
  expect(barriers).toEqual([
    expect.objectContaining({ of: "the warp-specialized asked", verdict: { kind: "proved", configs: "each" } }),
  ]);
  expect(barrierLines(certificate)).toEqual([
    "barriers of the warp-specialized asked: proved: no deadlock, no slot reused early, no read before its copy, for every trip count",
  ]);
});

test.each([
  ["that requests no specialized form", gemm],
  ["that has none", products.askedInVain],
])("should say nothing about a kernel %s", async (_, kernel) => {
  expect(barrierLines((await build(kernel)).proof())).toEqual([]);
});

test("should refuse to emit a kernel whose barriers are not proved", () => {
  const kernel = { name: "gemm", at: undefined };
  const fault = "deadlock: the producer waits forever for emptied";
  expect(() => requireBarriers(kernel, { kind: "proved", states: 9 })).not.toThrow();
  expect(() => requireBarriers(kernel, { kind: "refuted", fault, iterations: 9, states: 9 })).toThrow(
    `the barriers of the warp-specialized gemm are not proved: ${fault}; report this mistake of TileScript`,
  );
});
