/** The certificate of a warp-specialized kernel has the proof of its barriers, and `check` prints it. */
import { expect, test } from "vitest";
import { gemm } from "../../../examples/gemm.js";
import { build } from "../../../src/pipeline/build.js";
import { barrierLines, checkNotRefuted } from "../../../src/runtime/report/proof-text.js";
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

test("should reject a kernel whose barriers are not proved", async () => {
  const certificate = (await build(products.asked)).proof();
  const missing = "deadlock: the producer waits forever for emptied";
  const obligations = certificate.obligations.map((each) =>
    each.property === "barriers" ? { ...each, verdict: { kind: "unknown", missing } as const } : each,
  );
  expect(() => checkNotRefuted(certificate)).not.toThrow();
  expect(() => checkNotRefuted({ ...certificate, obligations })).toThrow(
    `the barriers of the warp-specialized asked are not proved: ${missing}; report this mistake of TileScript`,
  );
});
