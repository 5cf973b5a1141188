/** Gradients on Triton's interpreter: compared with PyTorch's, and their kernels' memory guarded as that of any. */
import { expect, test } from "vitest";
import { build, type CompiledKernel, constexpr, kernel, op, tensor, tl } from "tilescript";
import { layerNorm } from "../../../examples/layer-norm.js";
import { rmsNorm } from "../../../examples/rms-norm.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { interpreter } from "../../support/cli.js";
import { sampledTests } from "../../support/sampled-tests.js";

sampledTests("gradients", "src/codegen/operator");

const device = interpreter();
const at = { sizes: { M: 1, N: 5 }, dtypes: { T: "float32" }, config: 0, seed: 0 };

/** The emitted Python with one expression changed. */
function changed(right: CompiledKernel, from: string, to: string): CompiledKernel {
  expect(right.python.split(from)).toHaveLength(2);
  return { ...right, python: right.python.replace(from, to) };
}

test("a right one passes", { timeout: 60_000 }, async () => {
  const { status, comparisons } = await verifyCase(await build(layerNorm), device(), at);
  expect({ status, outputs: comparisons.map(({ worst }) => worst?.output) }).toEqual({
    status: "passed",
    outputs: expect.arrayContaining(["x.grad", "weight.grad", "bias.grad"]),
  });
});

test("one that writes an element too many fails, though every number is right", { timeout: 60_000 }, async () => {
  const store = "result.to(dx_ptr.dtype.element_ty),\n            mask=mask";
  const wrong = changed(await build(layerNorm), store, store.replace("=mask", "=cols < N + 1"));
  const { status, problems, comparisons } = await verifyCase(wrong, device(), at);
  expect(comparisons.every(({ wrong }) => wrong === 0)).toBe(true);
  expect({ status, problems }).toEqual({
    status: "failed",
    problems: ["the kernel wrote outside a tensor that its wrapper allocated"],
  });
});

/** A GPU multiplies and adds with one rounding: that of the product is left over where a sum of it is taken off. */
const separate = "weighted - normalized * along_x - along_one";
const fused = "gradient.to(tl.float64) * w - along_one - normalized * along_x";

test.each([1, 2])("rounding that 1/sqrt(eps) multiplies is no mistake, N=%i", { timeout: 120_000 }, async (N) => {
  const kernel = changed(await build(layerNorm), separate, fused);
  const outcomes = [];
  for (let seed = 0; seed < 6; seed++)
    outcomes.push(await verifyCase(kernel, device(), { ...at, sizes: { M: 3, N }, seed }));
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "passed"));
  // It is beyond the tolerance of float32.
  const differences = outcomes.flatMap(({ comparisons }) => comparisons.map(({ maxAbsDiff }) => maxAbsDiff));
  if (N === 1) expect(Math.max(...differences)).toBeGreaterThan(1e-5);
});

const mistakes = [
  ["layer_norm", "normalized * along_x - along_one", "normalized * along_x"],
  ["layer_norm", "weighted - normalized * along_x", "weighted - along_x"],
  ["layer_norm", "along_one) * scale", "along_one)"],
  ["layer_norm", "along_one) * scale", "along_one) * scale * 1.0001"],
  ["layer_norm", "weighted = gradient * w", "weighted = gradient"],
  ["layer_norm", "tl.sum(weighted, axis=0) / tl.cast(N", "tl.sum(weighted, axis=0) / tl.cast(N + 1"],
  ["layer_norm", "dw_sum += gradient * normalized", "dw_sum += gradient * values"],
  ["layer_norm", "db_sum += gradient", "db_sum += weighted"],
  ["rms_norm", "(weighted - normalized * along_x) * scale", "weighted * scale"],
  ["rms_norm", "(weighted - normalized * along_x) * scale", "weighted - normalized * along_x"],
  ["rms_norm", "tl.sum(weighted * normalized, axis=0)", "tl.sum(gradient * normalized, axis=0)"],
  ["rms_norm", "dw_sum += gradient * normalized", "dw_sum += gradient * values"],
] as const;

test.each(mistakes)("%s: %s to %s is a mistake", { timeout: 60_000 }, async (name, from, to) => {
  const wrong = changed(await build(name === "layer_norm" ? layerNorm : rmsNorm), from, to);
  const { status, comparisons } = await verifyCase(wrong, device(), { ...at, sizes: { M: 3, N: 5 } });
  expect(status).toBe("failed");
  expect(comparisons.some(({ wrong, worst }) => wrong > 0 && worst?.output.endsWith(".grad"))).toBe(true);
});

const T = tl.dtype("T", [tl.float32]);

/** y = 2 x, by a kernel that takes its tensors in certain layouts only. */
const doubling = {
  contiguous: () => {
    const rows = { contiguous: true } as const;
    return kernel(
      "doubling",
      {
        params: { x: tensor(T, ["M", "N"], rows), y: tensor.out(T, ["M", "N"], rows), BLOCK: constexpr() },
        grid: ({ M }) => [M],
        config: { BLOCK: 16 },
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
      },
      ({ x, y, BLOCK }) => {
        const row = tl.inBounds(tl.programId(0));
        const cols = tl.arange(0, BLOCK);
        tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(2));
      },
    );
  },
  sameStrides: () =>
    kernel(
      "doubling",
      {
        params: { x: tensor(T, ["M", "N"]), y: tensor.out(T, ["M", "N"]), BLOCK: constexpr() },
        sameStrides: [["x", "y"]],
        grid: ({ M }) => [M],
        config: { BLOCK: 16 },
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
      },
      ({ x, y, BLOCK }) => {
        const row = tl.inBounds(tl.programId(0));
        const cols = tl.arange(0, BLOCK);
        tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(2));
      },
    ),
  descriptor: () =>
    kernel(
      "doubling",
      {
        params: { x: tensor(T, ["M", "N"]), y: tensor.out(T, ["M", "N"]), BLOCK: constexpr() },
        grid: ({ M }) => [M],
        config: { BLOCK: 16 },
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
      },
      ({ x, y, BLOCK }) => {
        const row = tl.programId(0);
        const from = tl.makeTensorDescriptor(x, [1, BLOCK]);
        const to = tl.makeTensorDescriptor(y, [1, BLOCK]);
        to.store([row, 0], from.load([row, 0]).mul(2));
      },
    ),
};

test.each(Object.entries(doubling))(
  "autograd may lay out the gradient as it likes, though a kernel requires its layout: %s",
  { timeout: 60_000 },
  async (_, make) => {
    const inner = make();
    const doubled = op(
      "doubled",
      {
        params: { x: tensor(T, ["M", "N"]), y: tensor.out(T, ["M", "N"]) },
        reference: ({ x }) => x.mul(2),
      },
      ({ x }) => inner.call({ x }),
      (_, { y: dy }) => ({ x: inner.call({ x: dy }).y }),
    );
    const right = await build(doubled);
    const shape = { ...at, sizes: { M: 3, N: 12 } };
    expect(await verifyCase(right, device(), shape)).toMatchObject({ status: "passed", problems: [] });
    const wrong = changed(right, "    grad_y = grad_y.contiguous()\n    return _doubling(", "    return _doubling(");
    const { failure } = await verifyCase(wrong, device(), shape);
    expect(failure?.message).toMatch(/call \.contiguous\(\)/);
  },
);
