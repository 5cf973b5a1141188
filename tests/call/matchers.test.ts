/** The matchers of `tilescript/vitest`, and what they say. */
import "tilescript/vitest";
import { expect, test } from "vitest";
import { NDArray, tl } from "tilescript";
import { matchers } from "tilescript/testing";
import { careless, counting, scaled } from "./kernels.js";

const x = NDArray.of([1, -2, 3], [1, 3]);

test("toVerify passes a kernel that is right", async () => {
  await expect(scaled).toVerify({ device: "eval", dtype: { T: "float16" } });
  await expect(scaled).toVerify({ device: "eval", shape: { M: 3, N: 70 }, config: 1, seed: 5 });
  await expect(careless).not.toVerify({ device: "eval" });
});

test("toVerify reports as the command line does", async () => {
  const { pass, message } = await matchers.toVerify(careless, { device: "eval", shape: { N: 17 } });
  expect(pass).toBe(false);
  expect(message()).toMatch(/careless failed[\s\S]*kernels\.ts:\d+/);
});

test("toVerify does not pass what was compared with nothing", async () => {
  await expect(counting).not.toVerify({ device: "eval" });
});

test("toEvaluate compares with values written down", async () => {
  await expect(scaled).toEvaluate({ x, alpha: 3 }, { y: [[3, -6, 9]] });
  await expect(scaled).toEvaluate({ x }, { y: NDArray.of([-2, 4, -6], [1, 3]) }, { NEGATE: true, BLOCK: 16 });
  await expect(scaled).toEvaluate({ x: NDArray.of([0.1], [1, 1], tl.float16) }, { y: [[0.2]] });
  await expect(counting).toEvaluate({ n: BigInt64Array.of(1n, 2n), by: 1 }, { n: BigInt64Array.of(2n, 3n) });
  await expect(scaled).not.toEvaluate({ x }, { y: [[2, -4, 6.001]] });
  await expect(scaled).toEvaluate({ x }, { y: [[2, -4, 6.001]] }, { tolerance: { atol: 0.01 } });
});

test("toEvaluate says what is wrong", async () => {
  const said = async (...args: Parameters<typeof matchers.toEvaluate>) =>
    (await matchers.toEvaluate(...args)).message();
  expect(await said(scaled, { x }, { y: [[2, -4, 7]] })).toBe("y: 1 of 3 elements are wrong; y[0, 2] is 6, expected 7");
  expect(await said(scaled, { x }, { y: [2, -4, 6] })).toBe("y has shape [1, 3], expected [3]");
  expect(await said(scaled, { x }, { z: [2] })).toBe("there is no output z; the kernel writes y");
  expect(await said(careless, { x: new Float32Array(17) }, { y: Array<number>(17).fill(1) })).toMatch(
    /kernels\.ts:\d+:\d+ - error false-in-bounds: .*inBounds/,
  );
});
