/** A size that the host computes is never negative: cases leave such sizes out, and the call is refused in words. */
import { expect, it } from "vitest";
import { build } from "tilescript";
import { cases } from "tilescript/testing";
import { conv2d } from "../../support/fixtures/conv2d.js";
import { openDevice } from "../../../src/runtime/devices/devices.js";
import { verify } from "../../../src/runtime/verify/plan-cases.js";
import { fc } from "../../support/property.js";

it("is never drawn as negative", async () => {
  const compiled = await build(conv2d);
  const sizes = fc.sample(cases(compiled, { maxSize: 12 }), { numRuns: 300, seed: 1 }).map((at) => compiled.sizes(at));
  expect(sizes.filter(({ OH, OW }) => OH! < 0 || OW! < 0)).toEqual([]);
  // A formula that gives one is drawn all the same.
  expect(sizes.some(({ OH }) => OH === 0)).toBe(true);
});

it("is checked before a config is chosen and memory is allocated", async () => {
  const { python, refusal } = await build(conv2d);
  const wrapper = python.slice(python.indexOf("\ndef conv2d("));
  const order = ["if not (STRIDE >= 1", "OH = (H", "if OH < 0 or OW < 0:", "new_empty"].map((text) =>
    wrapper.indexOf(text),
  );
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(order[0]).toBeGreaterThan(0);
  const sizes = { B: 1, H: 1, W: 3, C: 4, KH: 5, KW: 3, F: 4 };
  const constexprs = { STRIDE: 1, PAD: 1 };
  expect(refusal({ sizes, constexprs, dtypes: { T: "float32" }, config: 0, seed: 0 })).toBe(
    "a computed size is negative: OH = -1",
  );
});

it("verifies a convolution whose stride and padding are constexprs against PyTorch's", async () => {
  const device = await openDevice({ device: "eval" });
  const { outcomes } = await verify(await build(conv2d), device, { selection: { seed: 3 } });
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "passed"));
  expect(outcomes.length).toBeGreaterThanOrEqual(3);
});
