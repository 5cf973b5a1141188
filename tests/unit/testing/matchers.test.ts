/** The matchers of `tilescript/vitest`, and what they say. */
import "tilescript/vitest";
import { expect, test } from "vitest";
import { build, NDArray, tl } from "tilescript";
import { cases, matchers } from "tilescript/testing";
import { careless, counting, scaled } from "../host-call/kernels.js";

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

test("matchers refuse what they do not know", async () => {
  const refused = (options: object) => matchers.toVerify(scaled, { device: "eval", ...options });
  await expect(refused({ shape: { Q: 3 } })).rejects.toThrow("toVerify: shape: there is no size Q; the sizes are M, N");
  await expect(refused({ shape: { M: 3 } })).rejects.toThrow("toVerify: shape: N missing; give values for M, N");
  await expect(refused({ dtype: { T: "int8" } })).rejects.toThrow(/toVerify: dtype: T can be .*float16, .*not int8/);
  await expect(refused({ dtype: { X: "float16" } })).rejects.toThrow("there is no dtype variable X; the kernel has T");
  await expect(refused({ config: 9 })).rejects.toThrow(/toVerify: config 9: scaled has configs 0 to \d/);
  await expect(refused({ devise: "eval" })).rejects.toThrow(
    "toVerify: there is no option devise; the options are shape,",
  );
  await expect(refused({ device: "gpu" })).rejects.toThrow("there is no device gpu; the devices are auto, cuda, hip,");
  await expect(matchers.toEvaluate({}, {}, {})).rejects.toThrow(
    "this is not a kernel; pass the value that kernel(…) returned",
  );
  await expect(matchers.toEvaluate(scaled, { x }, {})).rejects.toThrow("nothing is expected; name an output");
});

test("cases refuses what it cannot draw from", async () => {
  const built = await build(scaled);
  const refused = (options: object) => () => cases(built, options);
  expect(() => cases(scaled as never)).toThrow(
    "cases: the first argument is not a built kernel; pass build(…)'s result",
  );
  expect(refused({ maxsize: 5 })).toThrow("cases: there is no option maxsize; choose from maxSize,");
  expect(refused({ sizes: { Q: 1 } })).toThrow("cases: there is no size Q; choose from M, N");
  expect(refused({ dtypes: { T: "int8" } })).toThrow("cases: there is no T = int8; choose from float32,");
  expect(refused({ maxSize: 0 })).toThrow("cases: maxSize is 0; it must be an integer from 1 up");
  expect(refused({ config: 2 })).toThrow("cases: there is no config 2; the kernel has configs 0 to 1");
});
