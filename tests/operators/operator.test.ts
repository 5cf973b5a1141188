/** Operators made of kernels: what is refused, what is emitted, and what they compute. */
import { describe, expect, test } from "vitest";
import { build, op, tensor, tl } from "tilescript";
import { layerNorm } from "../../examples/layer-norm.js";
import { rmsNorm } from "../../examples/rms-norm.js";
import { lint } from "../codegen/emit.js";
import { runPython } from "../host/python.js";
import { accumulate, affine, doubled, scale, scaled } from "./kernels.js";

const params = {
  x: tensor(tl.float16, ["M", "N"]),
  weight: tensor(tl.float16, ["N"]),
  y: tensor.out(tl.float16, ["M", "N"]),
};

describe("what is refused", () => {
  test("a call outside an operator", () => {
    expect(() => scaled.call({ x: undefined!, weight: undefined! })).toThrow("a kernel is called inside op(…) only");
  });

  test.each([
    ["an argument that is missing", ({ x }: any) => scaled.call({ x } as any), "scaled.call: weight is missing"],
    [
      "an argument that there is not",
      ({ x, weight }: any) => scaled.call({ x, weight, bias: weight } as any),
      "scaled.call: bias is no argument; those are x, weight",
    ],
    [
      "another rank",
      ({ weight }: any) => scaled.call({ x: weight, weight }),
      "scaled.call: x is [M, N], and is given a tensor of shape [N]",
    ],
    [
      "an input that would change",
      ({ weight }: any) => accumulate.call({ x: weight, total: weight }),
      "it would change total, which the caller of wrong owns",
    ],
    ["an input as a result", ({ x }: any) => ({ y: x }), "y is an input; return a copy, x.clone()"],
    ["no result", () => ({}), "its function returns no y"],
    ["no kernel", ({ x }: any) => ({ y: x.mul(2) }), "it calls no kernel"],
  ])("%s", async (_, forward, message) => {
    await expect(build(op("wrong", { params }, forward as any))).rejects.toThrow(message);
  });

  test("sizes and dtypes that differ", async () => {
    const sizes = op("wrong", { params: { ...params, weight: tensor(tl.float16, ["M"]) } }, ({ x, weight }) =>
      scaled.call({ x, weight }),
    );
    await expect(build(sizes)).rejects.toThrow("weight is [N] with N = N, and is given a tensor of shape [M]");
    const dtypes = op("wrong", { params: { ...params, weight: tensor(tl.float32, ["N"]) } }, ({ x, weight }) =>
      scaled.call({ x, weight }),
    );
    await expect(build(dtypes)).rejects.toThrow("weight is float16, and is given float32; cast it, .to(…)");
  });

  test("a gradient of what has none", async () => {
    const wrong = op(
      "wrong",
      { params },
      ({ x, weight }) => scaled.call({ x, weight }),
      (_, { y }) => ({ z: y.clone() }) as any,
    );
    await expect(build(wrong)).rejects.toThrow("backward gives a gradient of z; inputs with one are x, weight");
  });
});

test("what torch looks at is settled before a kernel changes it", async () => {
  const { python } = await build(doubled);
  const start = python.indexOf("def doubled_op(");
  expect(python.slice(start, python.indexOf("@doubled_op", start)).trim()).toMatchInlineSnapshot(`
    "def doubled_op(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """torch.ops.tilescript.doubled."""
        total = x.clone()
        before = total.add(1)
        accumulate(x, total)
        return before, total"
  `);
});

test("a gradient that nobody asks for costs nothing but what others need too", async () => {
  const { python } = await build(affine);
  const from = (text: string, end: string) => python.slice(python.indexOf(text), python.indexOf(end)).trim();
  expect(from("def affine_backward_op(", "@affine_backward_op")).toMatchInlineSnapshot(`
    "def affine_backward_op(
        grad_y: torch.Tensor,
        x: torch.Tensor | None,
        weight: torch.Tensor | None,
        needs_x: bool,
        needs_weight: bool,
        needs_bias: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """torch.ops.tilescript.affine_backward."""
        if needs_x:
            dx = scaled(grad_y, weight)
        else:
            dx = grad_y.new_empty(0)
        if needs_weight or needs_bias:
            wide = grad_y.float()
        if needs_weight:
            grad_weight = wide.mul(x.float()).sum(0).to(x.dtype)
        else:
            grad_weight = grad_y.new_empty(0)
        if needs_bias:
            grad_bias = wide.sum(0).to(x.dtype)
        else:
            grad_bias = grad_y.new_empty(0)
        return dx, grad_weight, grad_bias"
  `);
  expect(from("def _affine_setup_context(", "def _affine_backward(")).toMatchInlineSnapshot(`
    "def _affine_setup_context(ctx, inputs, output):
        """Keeps what the gradient of affine needs."""
        x, weight, _ = inputs
        needs_x = ctx.needs_input_grad[0]
        needs_weight = ctx.needs_input_grad[1]
        needs_bias = any(ctx.needs_input_grad[2:3])
        ctx.save_for_backward(
            x if needs_weight or needs_bias else None, weight if needs_x else None
        )"
  `);
  expect(from("def _affine_backward(", "affine_op.register_autograd")).toMatchInlineSnapshot(`
    "def _affine_backward(ctx, grad_y):
        """The gradients of the inputs of affine."""
        x, weight = ctx.saved_tensors
        needs_x = ctx.needs_input_grad[0]
        needs_weight = ctx.needs_input_grad[1]
        needs_bias = any(ctx.needs_input_grad[2:3])
        grad_x, grad_weight, grad_bias = affine_backward_op(
            grad_y, x, weight, needs_x, needs_weight, needs_bias
        )
        return grad_x, grad_weight, grad_bias if needs_bias else None"
  `);
});

test("what a kernel gives is written to the caller's tensor at once, unless something looks at it", async () => {
  const body = (python: string, name: string) => {
    const start = python.indexOf(`def ${name}_out_op(`);
    const text = python.slice(start, python.indexOf("\n\n\n", start));
    return text.slice(text.lastIndexOf("    )\n") + 6);
  };
  expect(body((await build(layerNorm)).python, "layer_norm")).toBe(
    "    layer_norm_forward(x, weight, bias, eps, y=out)",
  );
  expect(body((await build(affine)).python, "affine")).toContain("    out.copy_(");
});

test("the emitted modules leave nothing to a linter", async () => {
  for (const each of [scale, affine, doubled, layerNorm]) expect(lint((await build(each)).python)).toEqual([]);
});

test.each([scale, affine, doubled, layerNorm, rmsNorm])("$name in the evaluator", async (operator) => {
  const compiled = await build(operator);
  const at = { sizes: { M: 5, N: 37 }, dtypes: { T: "float32" }, config: 0, seed: 7, scalars: { eps: 1e-5 } };
  const { comparison, findings } = compiled.evaluate(at);
  expect({ findings, wrong: comparison?.wrong }).toEqual({ findings: [], wrong: 0 });
});

test("opcheck, torch.compile and gradients in float64", { timeout: 300_000 }, async () => {
  const built = {
    scale: await build(scale),
    affine: await build(affine),
    doubled: await build(doubled),
    layer_norm: await build(layerNorm),
    rms_norm: await build(rmsNorm),
  };
  expect(await runPython("../operators/operators.py", built)).toMatch(/\nOK\n?$/);
});
