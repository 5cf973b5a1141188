/** Operators made of kernels: what is refused, what is emitted, and what they compute. */
import { describe, expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { build, constexpr, kernel, op, tensor, tl, type TorchTensor } from "tilescript";
import { type Diagnostic, TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { rmsNorm } from "../../../examples/rms-norm.js";
import { lint } from "../../support/emit.js";
import { accumulate, affine, doubled, rows, scale, scaled, shifted } from "./kernels.js";

/** An operator's function that is wrong, what is said of it, and how it would be right. */
interface Mistake {
  readonly title: string;
  readonly wrong: OperatorBody;
  readonly says: string;
  readonly right: OperatorBody;
}
type Inputs = Readonly<Record<Exclude<keyof typeof more, "y"> | "M" | "N", any>>;
type OperatorBody = (inputs: Inputs, torch: any) => any;
type GradientFunction = (known: Inputs, gradients: { readonly y: TorchTensor }) => object;

const source = readFileSync(import.meta.filename, "utf8").split("\n");

const params = {
  x: tensor(tl.float16, ["M", "N"]),
  weight: tensor(tl.float16, ["N"]),
  y: tensor.out(tl.float16, ["M", "N"]),
};

const more = { ...params, wide: tensor(tl.float32, ["N"]), index: tensor(tl.int32, ["N"]) };

describe("what is refused", () => {
  test("a call outside an operator", () => {
    expect(() => scaled.call({ x: undefined!, weight: undefined! })).toThrow("a kernel is called inside op(…) only");
  });

  const mistakes: readonly Mistake[] = [
    {
      title: "an argument that is missing",
      wrong: ({ x }) => scaled.call({ x } as any),
      says: "scaled.call: weight is missing; give scaled.call({ weight, … })",
      right: ({ x, weight }) => scaled.call({ x, weight }),
    },
    {
      title: "an argument that there is not",
      wrong: ({ x, weight }) => scaled.call({ x, weight, bias: weight } as any),
      says: "scaled.call: there is no argument bias; leave it out, or declare it in the params of scaled",
      right: ({ x, weight }) => scaled.call({ x, weight }),
    },
    {
      title: "an output as an argument",
      wrong: ({ x, weight }) => scaled.call({ x, weight, y: x } as any),
      says: "scaled.call: y is an output; take it from the call's result",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }).y }),
    },
    {
      title: "a constexpr of the configs as an argument",
      wrong: ({ x, weight }) => scaled.call({ x, weight, BLOCK: 64 } as any),
      says: "scaled.call: the kernel determines BLOCK; leave it out",
      right: ({ x, weight }) => scaled.call({ x, weight }),
    },
    {
      title: "a size that tensors have",
      wrong: ({ x, weight }) => scaled.call({ x, weight, N: 64 } as any),
      says: "scaled.call: N follows from the shapes of the tensors; leave it out",
      right: ({ x, weight }) => scaled.call({ x, weight }),
    },
    {
      title: "a number for a tensor",
      wrong: ({ x, N }) => scaled.call({ x, weight: N }),
      says: "scaled.call: weight is a tensor; give an input of the operator, or a result of a kernel or of torch",
      right: ({ x, N }, torch) => scaled.call({ x, weight: torch.ones([N], { dtype: tl.float16 }) }),
    },
    {
      title: "a tensor for a number",
      wrong: ({ x, weight }) => shifted.call({ x: scaled.call({ x, weight }).y, by: weight } as any),
      says: "shifted.call: by is not a tensor; give a number, a flag or a dtype",
      right: ({ x, weight, M }) => shifted.call({ x: scaled.call({ x, weight }).y, by: M }),
    },
    {
      title: "an output that a kernel does not have",
      wrong: ({ x, weight }) => ({ y: (scaled.call({ x, weight }) as any).z }),
      says: "scaled.call: it gives no z; its outputs are y",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }).y }),
    },
    {
      title: "another rank",
      wrong: ({ weight }) => scaled.call({ x: weight, weight }),
      says: "scaled.call: x is [M, N], and is given a tensor of shape [N]; give one with 2 axes",
      right: ({ weight }) => scaled.call({ x: weight.unsqueeze(0), weight }),
    },
    {
      title: "an input that would change",
      wrong: ({ wide }) => accumulate.call({ x: wide, total: wide }),
      says: "accumulate.call: it would change wide through total, and wide belongs to the caller of wrong; give total a copy, .clone()",
      right: ({ x, weight, wide }) => {
        accumulate.call({ x: wide, total: wide.clone() });
        return scaled.call({ x, weight });
      },
    },
    ...(
      [
        ["a view of an input", (wide) => wide.view(-1)],
        ["a cast of an input to its own dtype", (wide) => wide.float()],
        ["a sum of one tensor without a sum", (wide, torch) => torch.einsum("i->i", wide)],
      ] satisfies [string, (wide: any, torch: any) => any][]
    ).map(([what, of]): Mistake => ({
      title: `${what} that would change`,
      wrong: ({ wide }, torch) => accumulate.call({ x: torch.zeros_like(wide), total: of(wide, torch) }),
      says: "accumulate.call: it would change wide through total, and wide belongs to the caller of wrong; give total a copy, .clone()",
      right: ({ x, weight, wide }, torch) => {
        accumulate.call({ x: torch.zeros_like(wide), total: of(wide, torch).clone() });
        return scaled.call({ x, weight });
      },
    })),
    {
      title: "a cast of an input, which has the dtype already, as a result",
      wrong: ({ x, weight }) => ({ y: scaled.call({ x, weight }) && x.half() }),
      says: "wrong: y shares memory with x; return a copy, .clone()",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }) && x.float().half() }),
    },
    {
      title: "a view as a result",
      wrong: ({ x, weight }) => ({ y: scaled.call({ x, weight }) && x.view(1, -1) }),
      says: "wrong: y shares memory with x; return a copy, .clone()",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }) && x.view(1, -1).clone() }),
    },
    {
      title: "no result",
      wrong: () => ({}),
      says: "wrong: the function does not return y; return it by name, { y }",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }).y }),
    },
    {
      title: "a number as a result",
      wrong: ({ M }) => ({ y: M }),
      says: "wrong: the function returns y, which is not a tensor; return a result of a kernel or of torch",
      right: ({ x, weight, M }) => ({ y: scaled.call({ x, weight }).y.mul(M) }),
    },
    {
      title: "a result of another shape",
      wrong: ({ x, weight }) => ({ y: rows.call({ x: scaled.call({ x, weight }).y }).y }),
      says: "wrong: y is declared [M, N], and has shape [M]; return one of shape [M, N]",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }).y }),
    },
    {
      title: "JavaScript that computes",
      wrong: ({ x }) => ({ y: ((x as any) + 1) as any }),
      says: "wrong: JavaScript's operators cannot compute with a torch value; write its methods, x.mul(y) for x * y, x.matmul(y) for x @ y, x.gt(y) for x > y",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }).y.add(1) }),
    },
    {
      title: "no kernel",
      wrong: ({ x }) => ({ y: x.mul(2) }),
      says: "wrong: it calls no kernel; write kernel.call({ … }) in its function",
      right: ({ x, weight }) => ({ y: scaled.call({ x, weight }).y }),
    },
  ];

  test.each(mistakes)("$title", async ({ wrong, says, right }) => {
    const error: unknown = await build(op("wrong", { params: more }, wrong)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TileScriptError);
    const [{ message, at }] = (error as TileScriptError).diagnostics as readonly [Diagnostic];
    expect(message).toBe(says);
    // At the mistake, or where the operator is.
    expect(at!.file).toBe(import.meta.filename);
    expect(source[at!.line - 1]).toMatch(/^ +wrong: |op\("wrong"/);
    await build(op("right", { params: more }, right));
  });

  const gradients: readonly (Pick<Mistake, "title" | "says"> & {
    readonly wrong: GradientFunction;
    readonly right: GradientFunction;
  })[] = [
    {
      title: "a gradient of what is no input",
      wrong: (_, { y }) => ({ z: y.clone() }),
      says: "wrong: backward returns z, which is not an input; return gradients by the names of inputs",
      right: (_, { y }) => ({ x: y.clone() }),
    },
    {
      title: "a gradient of another shape",
      wrong: ({ x, weight }) => ({ weight: scaled.call({ x, weight }).y }),
      says: "wrong: the gradient of weight is, as weight is, [N], and has shape [M, N]; return one of shape [N]",
      right: ({ weight }, { y }) => ({ weight: scaled.call({ x: y, weight }).y.sum(0) }),
    },
    {
      title: "a gradient of an output that nothing uses but its dtype",
      wrong: ({ x, weight, wide }, { y }) => ({ x: scaled.call({ x, weight }).y, wide: wide.to(y.dtype).float() }),
      says: "wrong: backward does not use the gradient of y, so what depends on y alone would get none; add its part, or do not declare y as an output",
      right: ({ weight }, { y }) => ({ x: scaled.call({ x: y, weight }).y }),
    },
    {
      title: "a gradient that is the output's own",
      wrong: (_, { y }) => ({ x: y }),
      says: "wrong: x shares memory with grad_y; return a copy, .clone()",
      right: (_, { y }) => ({ x: y.clone() }),
    },
    {
      title: "a gradient that PyTorch has given, and a kernel changes",
      wrong: ({ x, weight, wide }, { y }) => {
        accumulate.call({ x: wide, total: y.view(-1) });
        return { x: scaled.call({ x, weight }).y };
      },
      says: "accumulate.call: it would change grad_y through total, and grad_y belongs to the caller of wrong; give total a copy, .clone()",
      right: ({ x, weight, wide }, { y }) => {
        accumulate.call({ x: wide, total: y.float().view(-1).clone() });
        return { x: scaled.call({ x, weight }).y };
      },
    },
    {
      title: "a gradient, and a view of it",
      wrong: ({ x, weight }) => {
        const sums = scaled.call({ x, weight }).y.sum(0);
        return { weight: sums, wide: sums.view(-1) };
      },
      says: "wrong: wide shares memory with weight; return a copy, .clone()",
      right: ({ weight }, { y }) => {
        const sums = scaled.call({ x: y, weight }).y.sum(0);
        return { weight: sums, wide: sums };
      },
    },
    {
      title: "a gradient of integers",
      wrong: ({ index }) => ({ index: index.clone() }),
      says: "wrong: index holds integers, which have no gradient; leave it out",
      right: ({ weight }, { y }) => ({ weight: weight.mul(y.sum(0)) }),
    },
  ];

  test.each(gradients)("$title", async ({ wrong, says, right }) => {
    const forward: Mistake["right"] = ({ x, weight }) => scaled.call({ x, weight });
    await expect(build(op("wrong", { params: more }, forward, wrong as any))).rejects.toThrow(says);
    await build(op("right", { params: more }, forward, right as any));
  });

  test("what only a gradient would need is not given without one", async () => {
    const both: Mistake["right"] = ({ x, weight }) => ({ ...scaled.call({ x, weight }), kept: weight.float() });
    const alone = await build(op("alone", { params: more }, both));
    expect(/def alone_op\([^)]*\) -> (.*):/.exec(alone.python)?.[1]).toBe("torch.Tensor");
    const kept = await build(
      op("kept", { params: more }, both, (({ kept }: any, { y }: any) => ({
        weight: kept.mul(y.sum(0)).half(),
      })) as any),
    );
    expect(/def kept_op\([^)]*\) -> (.*):/.exec(kept.python)?.[1]).toBe("tuple[torch.Tensor, torch.Tensor]");
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
});

test("what torch looks at is settled before a kernel changes it", async () => {
  const { python } = await build(doubled);
  const start = python.indexOf("def doubled_op(");
  expect(python.slice(start, python.indexOf("@doubled_op", start)).trim()).toMatchInlineSnapshot(`
    "def doubled_op(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = x.clone()
        before = total.add(1)
        _accumulate(x, total)
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
        if needs_x:
            dx = _scaled(grad_y, weight)
        else:
            dx = grad_y.new_empty(0)
        if needs_weight or needs_bias:
            wide = grad_y.float()
        if needs_weight:
            grad_weight = wide.mul(x.float()).sum(0).to(grad_y.dtype)
        else:
            grad_weight = grad_y.new_empty(0)
        if needs_bias:
            grad_bias = wide.sum(0).to(grad_y.dtype)
        else:
            grad_bias = grad_y.new_empty(0)
        return dx, grad_weight, grad_bias"
  `);
  expect(from("def _affine_setup_context(", "def _affine_backward(")).toMatchInlineSnapshot(`
    "def _affine_setup_context(ctx, inputs, output):
        x, weight, _ = inputs
        needs_x = ctx.needs_input_grad[0]
        needs_weight = ctx.needs_input_grad[1]
        ctx.save_for_backward(x if needs_weight else None, weight if needs_x else None)"
  `);
  expect(from("def _affine_backward(", "affine_op.register_autograd")).toMatchInlineSnapshot(`
    "def _affine_backward(ctx, grad_y):
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

test("the emitted modules leave nothing to a linter", async () => {
  for (const each of [scale, affine, doubled, layerNorm]) expect(lint((await build(each)).python)).toEqual([]);
});

test.each([scale, affine, doubled, layerNorm, rmsNorm])("$name in the evaluator", async (operator) => {
  const compiled = await build(operator);
  const at = { sizes: { M: 5, N: 37 }, dtypes: { T: "float32" }, config: 0, seed: 7, scalars: { eps: 1e-5 } };
  const { comparison, findings } = compiled.evaluate(at);
  expect({ findings, wrong: comparison?.wrong }).toEqual({ findings: [], wrong: 0 });
});

test.each([true, false])("a flag of an operator reaches its kernels in the evaluator, NEGATE=%s", async (NEGATE) => {
  const negated = kernel(
    "negated",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        NEGATE: constexpr.bool(),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
    },
    ({ x, y, NEGATE, BLOCK }) => {
      const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const values = tl.load(x.at(at));
      tl.store(
        y.at(at),
        tl.when(NEGATE, () => values.neg()).otherwise(() => values),
      );
    },
  );
  const operator = op(
    "negated_op",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), NEGATE: constexpr.bool() },
    },
    ({ x, NEGATE }) => negated.call({ x, NEGATE }),
  );
  const x = { dtype: "float32", shape: [2], data: Float32Array.of(1, -2) };
  const at = { sizes: { N: 2 }, dtypes: {}, config: 0, seed: 0, constexprs: { NEGATE } };
  const { outputs } = (await build(operator)).evaluate(at, { inputs: { x } });
  expect([...(outputs["y"]!.data as Float32Array)]).toEqual(NEGATE ? [-1, 2] : [1, -2]);
});
