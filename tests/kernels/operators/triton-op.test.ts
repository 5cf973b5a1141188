/** `triton_op`: what PyTorch sees of a kernel, and what is refused. That its graphs run, `tests/gpu` shows. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { bitonicTopk } from "../../../examples/bitonic-topk.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { softmax } from "../../../examples/softmax.js";
import { adamwStochastic } from "../../../examples/stochastic-rounding.js";
import { lint } from "../../support/emit.js";
import { examples } from "../../support/examples.js";
import { testModules } from "../../support/python.js";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { affine, doubled, scale } from "./kernels.js";
import { newFolder, packaged } from "../../cli/package/packaged.js";

sampledTests("operators on PyTorch", "src/codegen/operator");

const op = { namespace: "traced", form: "triton_op" } as const;

test("what is registered", async () => {
  const { python } = (await build(softmax)).emit({ op });
  expect(lint(python)).toEqual([]);
  expect(python).toContain("from torch.library import wrap_triton\n");
  const start = python.indexOf("@torch.library");
  expect(python.slice(start, python.indexOf("def reference_fn")).trim()).toMatchInlineSnapshot(`
    "@torch.library.triton_op("traced::softmax", mutates_args=())
    def softmax_op(x: torch.Tensor) -> torch.Tensor:
        """softmax as torch.ops.traced.softmax."""
        return softmax(x)


    @softmax_op.register_fake
    def _(x):
        _check_operands("softmax", x=x)
        if x.ndim != 2:
            raise ValueError(f"softmax: x must have shape [M, N], got {x.shape}")
        M, N = x.shape
        _check_dtypes("softmax", (torch.float32,), x=x)
        return x.new_empty((M, N))"
  `);
  expect(/^ +\(wrap_triton[^]*?\n {8}\)$/m.exec(python)![0]).toMatchInlineSnapshot(`
    "        (wrap_triton(softmax_kernel) if _is_traced(x) else softmax_kernel)[(M,)](
                x, y, N, *x.stride(), *y.stride(), BLOCK_N=BLOCK_N
            )"
  `);
});

/** Two outputs and a tensor that is updated in place. */
const moments = kernel(
  "moments",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      seen: tensor.inout(tl.int32, ["M"]),
      mean: tensor.out(tl.float32, ["M"]),
      centered: tensor.out(tl.float32, ["M", "N"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
  },
  ({ x, seen, mean, centered, N, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const values = tl.load(x.at(row, cols), { other: 0 });
    const average = tl.sum(values, 0).div(N.to(tl.float32));
    tl.store(mean.at(row), average);
    tl.store(centered.at(row, cols), values.sub(average));
    tl.store(seen.at(row), tl.load(seen.at(row)).add(1));
  },
);

test("schemas, shapes and graphs, without a GPU and without the interpreter", { timeout: 180_000 }, async () => {
  const built: Record<string, { readonly python: string }> = { moments: (await build(moments)).emit({ op }) };
  for (const each of [scale, affine, doubled]) built[each.name] = (await build(each)).emit({ op });
  const refused: Record<string, string> = {};
  for (const example of examples) {
    const compiled = await build(example.kernel);
    try {
      built[compiled.signature.name] = compiled.emit({ op });
    } catch (error) {
      refused[compiled.signature.name] = String(error);
    }
  }
  for (const [name, message] of Object.entries(refused))
    expect(message, name).toMatch(/triton_op cannot have .+; .+, so emit a custom_op/);
  // No rule takes away what PyTorch can trace.
  const traceable = ["attention", "gemm_persistent", "int8_gemm", "max_pool3d", "paged_attention", "silu_mul"];
  expect(Object.keys(built)).toEqual(expect.arrayContaining(traceable));
  expect(await testModules(new URL("triton_op.py", import.meta.url), built, false)).toMatch(/\nOK\n?$/);
});

const inline = (name: string, launch: object) =>
  kernel(
    name,
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
      ...launch,
    },
    ({ x, y, BLOCK }) => {
      const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(at), tl.load(x.at(at)).mul(2));
    },
  );

const refusals = [
  [bitonicTopk, "bitonic_topk: triton_op cannot have the heuristic of LOG_N"],
  [gemmTma, "gemm_tma: triton_op cannot have configs with a hook, which sets the blocks of its descriptors"],
  [inline("pdl", { launch: { launchPdl: true } }), "pdl: triton_op cannot have the launch option launchPdl"],
  [
    inline("clusters", { config: { BLOCK: 64, numCtas: 2 } }),
    "clusters: triton_op cannot have numCtas outside autotune.configs",
  ],
  [adamwStochastic, "adamw_stochastic: triton_op cannot have the float argument lr"],
  [layerNorm, "layer_norm: its kernel layer_norm_forward: triton_op cannot have the float argument eps"],
] as const;

test.each(refusals)("$0.name is refused", async (refused, message) => {
  const built = await build(refused);
  expect(() => built.emit({ op })).toThrow(message);
});

test("a package has a custom_op where there can be no triton_op, and says so", async () => {
  const folder = await newFolder();
  try {
    const kernels = [await build(softmax), await build(bitonicTopk)];
    const { code, err } = await packaged(join(folder, "mixed"), kernels, "--triton-op");
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/^no triton_op: bitonic_topk: .*LOG_N.*\n$/) });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
