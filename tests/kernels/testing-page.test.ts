/** The code of docs/testing.md, which shows the parts between the marks. */
import "tilescript/vitest";
import fc from "fast-check";
import { expect, test } from "vitest";
import { build, NDArray, tl } from "tilescript";
import { cases } from "tilescript/testing";
import { gemm } from "../../examples/gemm.js";

// begin arrays
const a = NDArray.randn([50, 30], tl.float16, 1); // normal numbers from a seed
const ramp = Float32Array.from({ length: 30 * 40 }, (_, i) => i / 1000);
const b = NDArray.of(ramp, [30, 40], tl.float16); // copied, and rounded to float16
const c = NDArray.of([1, 2, 3, 4], [2, 2]); // float32

const lists = c.t().toArray(); // [[1, 3], [2, 4]]
const rows = a.slice(0, 10, 20); // a[10:20]
const even = a.slice(1, 0, undefined, 2); // a[:, ::2], with strides [30, 2]
const values = a.transpose(0, 1).data; // a Float32Array in row-major order
// end

test("a product of two arrays", async () => {
  // begin evaluate
  const { outputs, correct, findings } = await gemm.evaluate({ a, b }, { BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 16 });
  expect(outputs.c.shape).toEqual([50, 40]);
  expect(correct).toBe(true);
  expect(findings).toEqual([]);
  // end
});

test("what the comments on arrays say", () => {
  expect(lists).toEqual([
    [1, 3],
    [2, 4],
  ]);
  expect(rows.data).toEqual(a.data.slice(300, 600));
  expect(even.strides).toEqual([30, 2]);
  expect(values[1]).toBe(a.data[30]);
});

// begin property
test("gemm is right at any shape", async () => {
  const compiled = await build(gemm);
  fc.assert(fc.property(cases(compiled, { maxSize: 80 }), (at) => void compiled.check(at)));
});
// end

// begin matchers
test("gemm agrees with PyTorch", async () => {
  await expect(gemm).toVerify({ device: "interpreter", shape: { M: 40, N: 50, K: 60 }, dtype: { T: "float16" } });
}, 120_000);

test("gemm multiplies", async () => {
  const one = NDArray.of([1, 2, 3, 4], [2, 2], tl.float16);
  await expect(gemm).toEvaluate(
    { a: one, b: one.t() },
    {
      c: [
        [5, 11],
        [11, 25],
      ],
    },
  );
});
// end

test("a run on the best device", { timeout: 120_000 }, async () => {
  // begin run
  const { outputs, device } = await gemm.run({ a, b });
  console.log(device, outputs.c.shape);
  // end
  await expect(gemm).toEvaluate({ a, b }, { c: outputs.c });
});
