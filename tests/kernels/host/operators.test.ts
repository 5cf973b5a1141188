/** Emission mode `op`: a kernel that PyTorch knows as an operator. */
import { beforeAll, expect, test } from "vitest";
import { sampledTests } from "../../support/sampled-tests.js";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import * as argumentKernels from "./argument-kernels.js";
import * as kernels from "./kernels.js";
import { buildAll } from "../../support/build.js";
import { testModules } from "../../support/python.js";

sampledTests("operators on PyTorch", "src/codegen/operator");

let built: { readonly [N in keyof typeof kernels]: CompiledKernel };
const op = { namespace: "tests" };

beforeAll(async () => {
  built = await buildAll(kernels);
});

test("opcheck and torch.compile accept them", { timeout: 180_000 }, async () => {
  const { choices, even, moments } = built;
  const { accumulate } = await buildAll({ accumulate: argumentKernels.accumulate });
  const emitted = Object.fromEntries(
    Object.entries({ accumulate, choices, even, moments }).map(([name, kernel]) => [name, kernel.emit({ op })]),
  );
  expect(await testModules(new URL("operators.py", import.meta.url), emitted)).toMatch(/\nOK\n?$/);
});

test("what is registered", () => {
  const { python } = built.moments.emit({ op });
  const start = python.indexOf("@torch.library");
  expect(python.slice(start, python.indexOf("def reference_fn"))).toMatchInlineSnapshot(`
    "@torch.library.custom_op("tests::moments", mutates_args=("seen",))
    def moments_op(
        x: torch.Tensor, seen: torch.Tensor, eps: float = 0.0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """moments as torch.ops.tests.moments."""
        _, mean, centered = moments(x, seen, eps)
        return mean, centered


    @moments_op.register_fake
    def _(x, seen, eps=0.0):
        _check_operands("moments", x=x, seen=seen)
        if x.ndim != 2 or seen.shape != x.shape[:1]:
            raise ValueError(
                f"moments: x and seen must have shapes [M, N] and [M], got {x.shape} "
                f"and {seen.shape}"
            )
        M, N = x.shape
        _check_dtypes("moments", (torch.float16, torch.float32), x=x)
        _check_dtypes("moments", (torch.int32,), seen=seen)
        return x.new_empty((M,), dtype=torch.float32), x.new_empty((M, N))


    "
  `);
  expect(built.moments.python).not.toContain("torch.library");
});

test("a kernel that reads nothing, and a namespace that is not a name", () => {
  for (const each of [op, { ...op, form: "triton_op" } as const])
    expect(() => built.ramp.emit({ op: each })).toThrow(
      "ramp: an operator needs a tensor that it reads, and no raw pointers",
    );
  expect(() => built.even.emit({ op: { namespace: "my-ops" } })).toThrow(
    'even: "my-ops" cannot be a namespace; use letters, digits and _',
  );
  for (const [namespace, owner] of [
    ["class", "Python"],
    ["aten", "PyTorch"],
  ] as const)
    expect(() => built.even.emit({ op: { namespace } })).toThrow(
      `even: the namespace ${namespace} is ${owner}'s own; use your project's name`,
    );
});
