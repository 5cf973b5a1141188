/** Views of views, dims that are constexprs or computed, and offsets that are 64 bits wide. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, compile, constexpr, kernel, python, tensor, tl, type TestCase, type CompiledKernel } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { closeDevice, openDevice } from "../../../src/runtime/devices/devices.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { evaluate } from "../../support/evaluate.js";
import { requirePython, tritonPythons } from "../../support/python.js";
import { compileAll } from "../../support/aot.js";
import type { Device } from "../../../src/runtime/devices/device.js";

sampledTests("kernels in memory", "src/lower");

/** Out of [B, S, H, D] into [B, H, D, S], one head at a time. */
const heads = kernel(
  "heads",
  {
    params: {
      x: tensor(tl.float32, ["B", "S", "H", "HEAD"]),
      out: tensor.out(tl.float32, ["B", "H", "HEAD", "S"]),
      HEAD: constexpr(),
      BLOCK: constexpr(),
    },
    grid: ({ B, S, H, BLOCK }) => [tl.cdiv(S, BLOCK), H, B],
    config: { BLOCK: 16 },
    reference: ({ x }) => x.permute(0, 2, 3, 1).contiguous(),
    shapes: [{ B: 2, S: 20, H: 3, HEAD: 8 }],
  },
  ({ x, out, HEAD, BLOCK }) => {
    const rs = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const rd = tl.arange(0, HEAD);
    const [h, b] = [tl.programId(1), tl.programId(2)];
    const tile = tl.load(x.permute([2, 0, 1, 3]).at(h, b, rs, rd).permute([1, 0]));
    tl.store(out.at(b, h, rd, rs), tile);
  },
);

/** Each row of `x` TOP_K times: the number of rows is computed. */
const spread = kernel(
  "spread",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      order: tensor(tl.int32, ["MT"], { range: [0, "M"] }),
      out: tensor.out(tl.float32, ["N", "MT"]),
      TOP_K: constexpr.int({ default: 2 }),
      BLOCK: constexpr(),
    },
    dims: { MT: ({ M, TOP_K }) => M.mul(TOP_K) },
    grid: ({ MT, N, BLOCK }) => [tl.cdiv(MT, BLOCK), tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: python`return x[order].t().contiguous()`,
  },
  ({ x, order, out, BLOCK }) => {
    const rm = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const rn = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const rows = tl.load(order.at(rm));
    tl.store(out.T.at(rm, rn), tl.load(x.gather(rows.col, rn.row)));
  },
);

const wide = kernel(
  "wide",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"], { offsets: tl.int64 }),
      out: tensor.out(tl.float32, ["M", "N"], { offsets: tl.int64 }),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x }, torch) => torch.add(x, x),
  },
  ({ x, out, BLOCK }) => {
    const m = tl.programId(0);
    const rn = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const first = tl.load(x.at(2, rn)).mul(0);
    tl.store(out.at(m, rn), tl.load(x.at(m, rn)).mul(2).add(first));
  },
);

/** The first half of the lanes of a view needs no mask, in each of the ways that there are. */
const unmasked = kernel(
  "unmasked",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      out: tensor.out(tl.float32, ["M", "N"]),
      BLOCK: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK: 16 },
    requires: ({ N, BLOCK }) => [N.mod(BLOCK).eq(0)],
    reference: ({ x }, torch) => torch.add(x, x),
  },
  ({ x, out, N, BLOCK }) => {
    const m = tl.programId(0);
    for (const n of tl.range(0, N, BLOCK)) {
      const rn = n.add(tl.arange(0, BLOCK));
      const claimed = tl.load(x.at(tl.inBounds(m), tl.inBounds(rn)), { other: -Infinity });
      tl.store(out.at(m, rn), claimed.add(tl.load(x.at(m, rn), { other: -Infinity })));
    }
  },
);

const small: Partial<TestCase> & Pick<TestCase, "sizes"> = { sizes: { B: 2, S: 20, H: 3, HEAD: 8, M: 5, N: 21 } };

describe("the wrapper", () => {
  test("binds a constexpr dim from the shape and passes it on", async () => {
    const { python: module } = await build(heads);
    expect(module).toContain("B, S, H, HEAD = x.shape");
    expect(module).toContain("HEAD=HEAD,");
    expect(module).toContain("x_ptr");
  });

  test("computes a dim from others and checks it", async () => {
    const { python: module } = await build(spread);
    expect(module).toContain("MT = M * TOP_K");
    expect(module).toContain("order.shape[0] != MT");
  });
});

test("what masked lanes would hold is left out where no lane is masked", async () => {
  const { python: module } = await build(unmasked);
  expect(module).toContain("tl.load(");
  expect(module).not.toContain("other=");
});

test("an order that is none, and a transpose of rank 3", () => {
  const of = (body: (args: any) => void) => () =>
    compile(
      kernel(
        "of",
        { params: { x: tensor(tl.float32, ["A", "B", "C"]) }, grid: () => [1] },
        (args: any) => void body(args),
      ),
    );
  expect(of(({ x }) => x.permute([0, 0, 1]))).toThrow("permute");
  expect(of(({ x }) => x.permute([0, 1]))).toThrow("permute");
  expect(of(({ x }) => x.T)).toThrow("T: needs a tensor of rank 2");
});

test.each([
  ["heads", heads],
  ["wide", wide],
] as const)("%s is evaluated right", (_, kernel) => {
  for (const layouts of [{}, { x: "transposed" as const }]) {
    const { findings, comparison } = evaluate(kernel, { ...small, layouts });
    expect([findings, comparison?.correct]).toEqual([[], true]);
  }
});

test("a computed dim is known to the evaluator and to the runtime", async () => {
  const compiled = await build(spread);
  const at: TestCase = { sizes: { M: 5, N: 21 }, dtypes: {}, config: 0, seed: 3, constexprs: { TOP_K: 3 } };
  expect(compiled.sizes(at)).toEqual({ M: 5, N: 21, MT: 15 });
  const { outputs, findings } = compiled.evaluate(at);
  expect([outputs["out"]?.shape, findings]).toEqual([[21, 15], []]);
});

describe("Triton", { timeout: 120_000 }, () => {
  let kernels: readonly CompiledKernel[];
  let device: Device;
  beforeAll(async () => {
    await requirePython();
    device = await openDevice({ device: "interpreter" });
    kernels = await Promise.all([heads, spread, wide].map((each) => build(each)));
  }, 60_000);
  afterAll(() => closeDevice(device));

  test("compiles them for sm_90, wide offsets as 64-bit products", async () => {
    for (const { name, python: executable } of await tritonPythons()) {
      const answers = await compileAll(
        executable,
        kernels.map((kernel, i) => ({ kernel, constexprs: [{ HEAD: 8 }, { TOP_K: 2 }, {}][i]! })),
      );
      expect(
        answers.map((answer) => answer.ok || answer.error),
        name,
      ).toEqual([true, true, true]);
      const [, , last] = answers;
      const products = last!.ok ? [...last!.ttir.matchAll(/arith\.muli .* : (\S+)/g)].map(([, type]) => type) : [];
      // The offsets of the block itself are counted in 32 bits; whatever meets a stride is not.
      expect(products.filter((type) => type?.includes("i64")).length, name).toBeGreaterThanOrEqual(4);
      expect(
        products.filter((type) => type === "i32"),
        name,
      ).toHaveLength(1);
      expect(
        products.filter((type) => type?.includes("xi32")),
        name,
      ).toEqual([]);
    }
  });

  test("is right on the interpreter", async () => {
    for (const kernel of kernels) {
      const at: TestCase = {
        ...small,
        dtypes: {},
        config: 0,
        seed: 5,
        constexprs: { TOP_K: 3 },
        layouts: { x: "transposed" },
      };
      const { status, by, problems, failure } = await verifyCase(kernel, device, at);
      expect([kernel.file, status, by, problems, failure]).toEqual([kernel.file, "passed", "python", [], undefined]);
    }
  });
});
