/** Calls that the editor and the build once judged differently, in kernels that both must take. tsc reads this file too. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { compile } from "../../src/pipeline/compile-kernel.js";

test("a hint's value may be a constexpr", () => {
  const hinted = kernel(
    "hinted",
    { params: { y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr() }, grid: () => [1], config: { BLOCK: 64 } },
    ({ y, BLOCK }) => {
      const start = tl.multipleOf(tl.programId(0).mul(BLOCK), BLOCK);
      const offsets = tl.maxContiguous(start.add(tl.arange(0, BLOCK)), BLOCK);
      tl.store(y.at(offsets), offsets);
    },
  );
  expect(compile(hinted).python).toContain("tl.max_contiguous(");
});

test("a product takes its options in the accumulator's place", () => {
  const product = kernel("product", { params: { c: tensor.out(tl.float32, [16, 16]) }, grid: () => [1] }, ({ c }) => {
    const [r, x] = [tl.arange(0, 16), tl.zeros([16, 16], tl.float32)];
    tl.store(c.at(r, r), tl.dot(x, x, { inputPrecision: "ieee" }));
  });
  expect(compile(product).python).toContain('input_precision="ieee"');
});

test("a scaled product takes an accumulator", () => {
  const scaled = kernel("scaled", { params: { c: tensor.out(tl.float32, [32, 32]) }, grid: () => [1] }, ({ c }) => {
    const r = tl.arange(0, 32);
    const [a, b] = [tl.zeros([32, 64], tl.uint8), tl.zeros([64, 32], tl.uint8)];
    const scale = tl.zeros([32, 2], tl.uint8);
    tl.store(c.at(r, r), tl.dotScaled(a, scale, "e4m3", b, scale, "e4m3", tl.zeros([32, 32], tl.float32)));
  });
  expect(compile(scaled).python).toContain("tl.dot_scaled(");
});

test("a launch computes with what its functions give", () => {
  const padded = kernel(
    "padded",
    {
      params: {
        y: tensor.out(tl.int32, ["N"]),
        BLOCK: constexpr(),
        PAD: constexpr.launch(({ N, BLOCK }) => tl.cdiv(N, BLOCK).mul(BLOCK)),
      },
      grid: () => [1],
      config: { BLOCK: 32 },
    },
    ({ y, BLOCK, PAD }) => {
      for (const i of tl.range(0, PAD, BLOCK)) {
        const at = i.add(tl.arange(0, BLOCK));
        tl.store(y.at(at), at);
      }
    },
  );
  expect(compile(padded).python).toContain("triton.cdiv(N, 32) * 32");
});

test("a product of a dtype variable whose members add up in different dtypes is refused by both", () => {
  const T = tl.dtype("T", [tl.float16, tl.int8]);
  const mixed = kernel("mixed", { params: { a: tensor(T, [32, 32]) }, grid: () => [1] }, ({ a }) => {
    const r = tl.arange(0, 32);
    const x = tl.load(a.at(r, r));
    // @ts-expect-error the members of T add up in different dtypes
    tl.dot(x, x);
  });
  expect(() => compile(mixed)).toThrow("dot: the members of T add up in different dtypes; cast with .to(tl.float16)");
});

test("a reference gives two outputs as one call of torch does, and takes flags as the call's options", () => {
  const params = {
    x: tensor(tl.float32, ["M"]),
    y: tensor(tl.float32, ["M"]),
    FLAG: constexpr.bool({ default: false }),
  };
  const greatest = kernel(
    "greatest",
    {
      params: { ...params, values: tensor.out(tl.float32, [2]), indices: tensor.out(tl.int64, [2]) },
      grid: () => [1],
      reference: ({ x }, torch) => torch.topk(x, 2),
    },
    ({ x, values, indices }) => {
      tl.store(values.at(0), tl.load(x.at(0)));
      tl.store(indices.at(0), 0);
    },
  );
  expect(compile(greatest).python).toContain("torch.topk(x, 2)");
  const divergence = kernel(
    "divergence",
    {
      params: { ...params, loss: tensor.out(tl.float32, [1]) },
      grid: () => [1],
      reference: ({ x, y, FLAG }, torch) => torch.nn.functional.kl_div(x, y, { log_target: FLAG }).view(1),
    },
    ({ x, y, loss }) => tl.store(loss.at(0), tl.load(x.at(0)).add(tl.load(y.at(0)))),
  );
  expect(compile(divergence).python).toContain("log_target=FLAG");
});
