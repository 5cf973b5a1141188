/** Tensor descriptors: what they refuse, how they are written, what they compute, and that Triton makes TMA of them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { build, compile, constexpr, descriptor, kernel, pointer, tensor, tl, type TestCase } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { planCases } from "../../../src/runtime/cases/cases.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { gfx942, jobsOf, compileAll as compileJobs } from "../../triton/compile/jobs.js";
import { evaluate, lineOf, onlyFinding } from "../../support/evaluate.js";
import { interpreter } from "../../support/cli.js";
import { requirePython, tritonPythons } from "../../support/python.js";
import { compileAll } from "../../support/aot.js";

sampledTests("kernels in memory", "src/lower");

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);
const line = (mark: string) => lineOf(import.meta.url, mark);

/** C = A Bᵀ, with descriptors that each program makes; B comes transposed, so that its axes are permuted. */
export const product = kernel(
  "product",
  {
    params: {
      a: tensor(T, ["M", "K"]),
      b: tensor(T, ["N", "K"]),
      c: tensor.out(T, ["M", "N"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
    reference: ({ a, b }, torch) => torch.matmul(a, b.T),
  },
  ({ a, b, c, K, BLOCK }) => {
    const aDesc = tl.makeTensorDescriptor(a, [BLOCK, BLOCK]);
    const bDesc = tl.makeTensorDescriptor(b, [BLOCK, BLOCK]);
    const cDesc = tl.makeTensorDescriptor(c, [BLOCK, BLOCK]);
    const i = tl.programId(0).mul(BLOCK);
    const j = tl.programId(1).mul(BLOCK);
    const acc = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32));
    for (const k of tl.range(0, K, BLOCK)) {
      acc.value = tl.dot(aDesc.load([i, k]), bDesc.load([j, k]).T, acc.value);
    }
    cDesc.store([i, j], acc.value.to(T));
  },
);

/** The sum of each row, by reductions into memory; the input comes as a descriptor whose block is a number's. */
export const total = kernel(
  "total",
  {
    params: {
      x: descriptor(tl.float32, ["M", "N"], [16, "BLOCK"]),
      y: tensor.inout(tl.float32, ["M", "N"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [tl.cdiv(M, 16), tl.cdiv(N, BLOCK), 2],
    config: { BLOCK: 32 },
    reference: ({ x, y }) => y.add(x.mul(2)),
  },
  ({ x, y, BLOCK }) => {
    const yDesc = tl.makeTensorDescriptor(y, [16, BLOCK]);
    const i = tl.programId(0).mul(16);
    const j = tl.programId(1).mul(BLOCK);
    yDesc.atomicAdd([i, j], x.load([i, j])); // adds
  },
);

/** A copy through a helper function, of pointers whose shape the author knows. */
const twice = tl.fn("twice", (desc: any, i: any) => desc.load([i]).add(desc.load([i])));
export const doubled = kernel(
  "doubled",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x }) => x.mul(2),
  },
  ({ x, y, N, BLOCK }) => {
    const xDesc = tl.makeTensorDescriptor(x.ptr, [N], [1], [BLOCK]);
    const yDesc = tl.makeTensorDescriptor(y, [BLOCK]);
    const i = tl.programId(0).mul(BLOCK);
    tl.storeTensorDescriptor(yDesc, [i], twice(xDesc, i) as any);
  },
);

const at = (sizes: Record<string, number>, dtypes: Record<string, string> = {}): TestCase => ({
  sizes,
  dtypes,
  config: 0,
  seed: 3,
});

describe("emission", () => {
  test("is Triton's own words, and asks for scratch memory", async () => {
    const { python } = await build(product);
    const body = python.slice(python.indexOf("a_desc ="), python.indexOf("def product("));
    expect(body.trimEnd()).toMatchInlineSnapshot(`
      "a_desc = tl.make_tensor_descriptor(
              a_ptr, shape=[M, K], strides=[stride_am, 1], block_shape=[BLOCK, BLOCK]
          )
          b_desc = tl.make_tensor_descriptor(
              b_ptr, shape=[N, K], strides=[stride_bn, 1], block_shape=[BLOCK, BLOCK]
          )
          c_desc = tl.make_tensor_descriptor(
              c_ptr, shape=[M, N], strides=[stride_cm, 1], block_shape=[BLOCK, BLOCK]
          )
          i = tl.program_id(0) * BLOCK
          j = tl.program_id(1) * BLOCK
          acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
          for k in range(0, K, BLOCK):
              acc = tl.dot(a_desc.load([i, k]), tl.trans(b_desc.load([j, k])), acc)
          c_desc.store([i, j], acc.to(c_ptr.dtype.element_ty))"
    `);
    const launch = python.slice(python.indexOf("    _check_descriptor("), python.indexOf("def reference_fn"));
    expect(launch.trimEnd()).toMatchInlineSnapshot(`
      "    _check_descriptor("product: a", a, 1)
          _check_descriptor("product: b", b, 1)
          _check_descriptor("product: out", c, 1, is_written=True)
          if M >= 2**31 - 2**20:
              raise ValueError(
                  f"product: M is {M}, and tensor descriptors count in int32; pass the "
                  "tensor in parts, or use views with { offsets: tl.int64 }"
              )
          if K >= 2**31 - 2**20:
              raise ValueError(
                  f"product: K is {K}, and tensor descriptors count in int32; pass the "
                  "tensor in parts, or use views with { offsets: tl.int64 }"
              )
          if N >= 2**31 - 2**20:
              raise ValueError(
                  f"product: N is {N}, and tensor descriptors count in int32; pass the "
                  "tensor in parts, or use views with { offsets: tl.int64 }"
              )
          triton.set_allocator(_allocate)

          with torch.cuda.device(a.get_device()):
              product_kernel[
                  _checked_grid("product", (triton.cdiv(M, 32), triton.cdiv(N, 32)))
              ](a, b, c, M, K, N, a.stride(0), b.stride(0), c.stride(0), BLOCK=32)
          return c"
    `);
  });

  test("a block that no config decides is given at once", async () => {
    const { python } = await build(total);
    expect(python).toContain("x_desc = TensorDescriptor.from_tensor(x, [16, 32])");
    expect(python).not.toContain("pre_hook");
  });

  test("padding", async () => {
    const { python } = await build(
      kernel(
        "padded",
        {
          params: {
            x: descriptor(tl.float32, ["N"], [64], { paddingOption: "nan" }),
            y: tensor.out(tl.float32, ["N"]),
          },
          grid: () => [1],
          config: {},
        },
        ({ x, y }) => tl.makeTensorDescriptor(y, [64], { paddingOption: "nan" }).store([0], x.load([0])),
      ),
    );
    expect(python).toContain('TensorDescriptor.from_tensor(x, [64], padding="nan")');
    expect(python).toContain('padding_option="nan"');
  });
});

describe("refusals", () => {
  const said = (body: (args: any) => unknown, block = 16): string => {
    try {
      compile(
        kernel(
          "k",
          {
            params: {
              x: tensor(tl.float16, ["M", "N"]),
              y: tensor.inout(tl.float32, ["M", "N"]),
              flags: tensor(tl.int1, ["M"]),
              p: pointer(tl.float16),
              BLOCK: constexpr(),
            },
            grid: () => [1],
            config: { BLOCK: block },
          },
          (args: any) => void body(args),
        ),
      );
    } catch (error) {
      return String(error);
    }
    return "";
  };
  const make = tl.makeTensorDescriptor as any;

  test.each([
    ["a block of another rank", ({ x }: any) => make(x, [16]), "[M, N] needs one block dimension an axis, 1 given"],
    ["truth values", ({ flags }: any) => make(flags, [16]), "does not hold int1"],
    ["a pointer alone", ({ p }: any) => make(p, [16]), "a pointer also needs its shape and strides"],
    ["a last stride", ({ p, M }: any) => make(p, [M, 8], [8, 2], [16, 8]), "the last stride must be 1"],
    ["too few strides", ({ p, M }: any) => make(p, [M, 8], [1], [16, 8]), "1 strides for 2 axes"],
    ["a padding", ({ x }: any) => make(x, [16, 16], { paddingOption: "one" }), "paddingOption is zero or nan"],
    ["an offset too few", ({ x }: any) => make(x, [16, 16]).load([0]), "a block [16, 16] needs one offset an axis"],
    ["a tile as offset", ({ x }: any) => make(x, [16, 16]).load([0, tl.arange(0, 16)]), "an offset is one number"],
    ["a wide offset", ({ x, M }: any) => make(x, [16, 16]).load([0, M.to(tl.int64)]), "cast with .to(tl.int32)"],
    ["a store to an input", ({ x }: any) => make(x, [16, 16]).store([0, 0], 0), "of an input"],
    ["a number as a block", ({ y }: any) => make(y, [16, 16]).store([0, 0], 0), "tl.full([16, 16], …, tl.float32)"],
    [
      "another dtype",
      ({ x, y }: any) => make(y, [16, 16]).store([0, 0], make(x, [16, 16]).load([0, 0])),
      "the descriptor holds float32, the value is float16",
    ],
    ["rows of wide blocks", ({ x }: any) => make(x, [16, 16]).gather(tl.arange(0, 8), 0), "with blocks [1, N]"],
    [
      "the greater of float32",
      ({ y }: any) => make(y, [16, 16]).atomicMax([0, 0], make(y, [16, 16]).load([0, 0])),
      "does not do this on float32",
    ],
    ["tl.load", ({ x }: any) => tl.load(make(x, [16, 16])), "call its method, desc.load(...)"],
    ["no descriptor", ({ x }: any) => (tl.loadTensorDescriptor as any)(x, [0, 0]), "needs a descriptor"],
  ])("%s", (_, body, message) => expect(said(body)).toContain(message));

  test("blocks that are too small, in a config", () => {
    expect(said(({ x, BLOCK }) => make(x, [16, BLOCK]), 4)).toContain(
      "the last block dimension BLOCK of a descriptor is 4; 16-bit elements need at least 8",
    );
    expect(said(({ x, BLOCK }) => make(x, [16, BLOCK]), 48)).toContain("a tile's dimension is a power of two");
    expect(said(({ x, BLOCK }) => make(x, [1, 16]).gather(tl.arange(0, BLOCK), 0), 4)).toContain(
      "gather: the number of rows BLOCK is 4; descriptors need at least 8",
    );
    expect(said(({ x, BLOCK }) => make(x, [1, BLOCK]).gather(tl.arange(0, 8), 0), 8)).toContain(
      "gather: the length of a row BLOCK is 8; 16-bit elements need at least 16",
    );
  });

  test.each([[[]], [["x"]]])("what the autotuner cannot put back, with restoreValue: %j", (restoreValue) => {
    const tuned = kernel(
      "tuned",
      {
        params: { x: descriptor.inout(tl.float32, ["N"], ["BLOCK"]), BLOCK: constexpr() },
        grid: () => [1],
        autotune: { key: ["N"], restoreValue: restoreValue as never, configs: [{ BLOCK: 16 }, { BLOCK: 32 }] },
      },
      ({ x }) => x.store([0], x.load([0])),
    );
    expect(() => compile(tuned)).toThrow("declare it tensor.inout(…) and make the descriptor in the kernel");
  });

  test("a block that names no constexpr", () => {
    const wrong = kernel(
      "wrong",
      { params: { x: descriptor(tl.float32, ["N"], ["N"]) }, grid: () => [1], config: {} },
      ({ x }) => void x.load([0]),
    );
    expect(() => compile(wrong)).toThrow("the block of x names N, which is not a constexpr() of params");
  });
});

describe("evaluation", () => {
  test("the edges of blocks give no findings", () => {
    for (const [M, N, K] of [
      [1, 8, 8],
      [33, 40, 72],
    ] as const)
      expect(compile(product).evaluate(at({ M, N, K }, { T: "float16" }))).toMatchObject({
        findings: [],
        unchecked: [],
        comparison: { correct: true },
      });
  });

  test("a reduction is not a race, but a store is", () => {
    expect(compile(total).evaluate(at({ M: 20, N: 36 }))).toMatchObject({
      findings: [],
      comparison: { correct: true },
    });
    const stores = kernel(
      "stores",
      { params: { y: tensor.out(tl.float32, ["N"]) }, grid: () => [2], config: {} },
      ({ y }) => {
        tl.makeTensorDescriptor(y, [16]).store([tl.programId(0).mul(8)], tl.zeros([16], tl.float32)); // meets
      },
    );
    const finding = onlyFinding(evaluate(stores, { sizes: { N: 24 } }));
    expect([finding.code, finding.at?.line]).toEqual(["race", line("meets")]);
  });

  test("what the hardware would not do is found", () => {
    const found = (body: (args: any) => void, sizes = { M: 16, N: 16 }) => {
      const k = kernel(
        "k",
        {
          params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.inout(tl.float32, ["M", "N"]) },
          grid: () => [1],
          config: {},
        },
        (args: any) => void body(args),
      );
      return evaluate(k, { sizes })
        .findings.map(({ code, message }) => `${code}: ${message}`)
        .join("\n");
    };
    const make = tl.makeTensorDescriptor as any;
    expect(found(({ x, y }) => make(y, [4, 8]).store([0, 0], make(x, [4, 8]).load([0, 2])))).toContain(
      "misaligned: the last offset is 2, which is 8 bytes",
    );
    expect(
      found(({ x, y }) => make(y, [4, 8]).store([0, 0], make(x.ptr.add(1), [4, 8], [16, 1], [4, 8]).load([0, 0]))),
    ).toContain("misaligned: the descriptor of x has a base 4 bytes into the tensor");
    expect(found(({ x }) => make(x, [4, 8]), { M: 3, N: 7 })).toContain("has a stride of 28 bytes");
    expect(
      found(({ x, y }) => make(y, [4, 8]).store([0, 0], make(x.ptr, [17, 16], [16, 1], [4, 8]).load([16, 0]))),
    ).toContain("out-of-bounds: element 256 of x is read");
  });

  test("cases are drawn that the wrapper takes", () => {
    const compiled = compile(product);
    const { cases, skipped: left } = planCases(
      compiled,
      { elements: 1e7, work: 1e8, op: 0, exhaustive: false },
      { seed: 0 },
    );
    expect(cases.length).toBeGreaterThan(3);
    expect(left).toEqual([]);
    for (const { sizes, layouts } of cases.map((each) => each.testCase)) {
      expect([sizes["K"]! % 8, sizes["N"]! % 8, layouts]).toEqual([0, 0, undefined]);
    }
    expect(cases.some((each) => each.testCase.sizes["M"]! % 2 === 1)).toBe(true);
    expect(compiled.refusal(at({ M: 3, N: 8, K: 7 }, { T: "float16" }))).toContain("a is reached through a descriptor");
  });
});

test("each kernel of an operator sets the blocks of its own descriptors", async () => {
  const text = (await build(attentionWithGradients)).python;
  const hooks = [...text.matchAll(/^def (_set_blocks\w*)\(args\):\n((?: .*\n)+)/gm)].map(
    ([, name, body]) => [name, body!.match(/\w+_desc/g)] as const,
  );
  expect(hooks).toEqual([
    ["_set_blocks", ["q_desc", "d_out_desc"]],
    ["_set_blocks_1", ["k_desc", "v_desc"]],
  ]);
  const tuned = text.split("@triton.autotune(").filter((part) => part.includes("pre_hook="));
  expect(tuned.map((part) => [...new Set(part.match(/(?<=pre_hook=)\w+/g))])).toEqual(hooks.map(([name]) => [name]));
});

describe("Triton", { timeout: 300_000 }, () => {
  test("moves blocks by TMA on sm_90, and rows on sm_100", async () => {
    const rows = kernel(
      "rows",
      {
        params: { x: tensor(T, ["M", "N"]), y: tensor.out(T, ["M", "N"]), BLOCK: constexpr() },
        grid: () => [1],
        config: { BLOCK: 32 },
      },
      ({ x, y, BLOCK }) => {
        const lanes = tl.arange(0, 16);
        const picked = tl.makeTensorDescriptor(x, [1, BLOCK]).gather(lanes.mul(2), 0);
        tl.makeTensorDescriptor(y, [1, BLOCK]).scatter(picked, lanes, 0);
      },
    );
    const jobs = [
      { kernel: compile(product), dtypes: { T: "float16" } },
      { kernel: compile(total), types: { x_desc: "tensordesc<fp32[16, 32]>" } },
      { kernel: compile(doubled) },
      {
        kernel: compile(gemmTma),
        types: {
          a_desc: "tensordesc<fp16[128, 64]>",
          b_desc: "tensordesc<fp16[64, 256]>",
          c_desc: "tensordesc<fp16[128, 256]>",
        },
        dtypes: { T: "float16" },
      },
      { kernel: compile(rows), dtypes: { T: "bfloat16" }, arch: 100 },
    ];
    for (const { name, python } of await tritonPythons()) {
      const ptx = (await compileAll(python, jobs)).map((answer) => (answer.ok ? answer.ptx : answer.error));
      const moves = ["load", "store", "reduce", "gather4", "scatter4"] as const;
      const word = {
        load: /cp\.async\.bulk\.tensor\.\dd\.shared::\w+\.global/,
        store: /cp\.async\.bulk\.tensor\.\dd\.global\.shared::cta/,
        reduce: /cp\.reduce\.async\.bulk\.tensor\.\dd\.global/,
        gather4: /cp\.async\.bulk\.tensor\.2d\.tile::gather4/,
        scatter4: /cp\.async\.bulk\.tensor\.2d\.tile::scatter4/,
      };
      const found = ptx.map((text) => moves.filter((move) => word[move].test(text)));
      expect([name, ...found]).toEqual([
        name,
        ["load", "store"],
        ["load", "reduce"],
        ["load", "store"],
        ["load", "store"],
        ["gather4", "scatter4"],
      ]);
    }
  });

  test("compiles them for gfx942, where they are plain loads and stores", async () => {
    for (const { name, python } of await tritonPythons()) {
      const answers = await compileJobs(
        python,
        [product, total].flatMap((each) => jobsOf(each, gfx942)),
      );
      expect([name, ...answers.flatMap(({ error = [] }) => error)]).toEqual([name]);
    }
  });

  const device = interpreter();

  test.each([
    [product, { M: 33, N: 40, K: 72 }, { T: "float16" }],
    [product, { M: 1, N: 8, K: 8 }, { T: "bfloat16" }],
    [doubled, { N: 200 }, {}],
  ])("computes right on the interpreter", async (k, sizes, dtypes) => {
    const outcome = await verifyCase(await build(k), device(), at(sizes, dtypes as Record<string, string>));
    expect([outcome.status, outcome.by, outcome.problems, outcome.failure]).toEqual([
      "passed",
      "python",
      [],
      undefined,
    ]);
  });

  test("a wrapper refuses tensors that the hardware cannot address", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tilescript-descriptors-"));
    try {
      const script = [
        "import torch, product",
        "def say(a, b):",
        "    try:",
        "        product.kernel_fn(a, b)",
        "    except ValueError as error:",
        "        print(error)",
        "half = lambda *shape: torch.zeros(shape, dtype=torch.float16)",
        "say(half(4, 12), half(8, 12))",
        "say(half(16, 4).T, half(8, 16))",
        "say(half(65)[1:].view(4, 16), half(8, 16))",
        "say(half(4, 16), half(12, 16))",
        "say(half(4, 0), half(8, 0))",
        "say(half(4, 24)[:, :16], half(8, 16))",
      ].join("\n");
      await writeFile(join(folder, "product.py"), (await build(product)).python);
      const env = { TRITON_INTERPRET: "1", PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" };
      const { stdout } = await execa(await requirePython(), ["-c", script], { env });
      expect(stdout.split("\n")).toMatchInlineSnapshot(`
        [
          "product: a must have rows and strides of a multiple of 16 bytes, got 12 elements of 2 bytes; pad the rows",
          "product: a must have stride 1 on axis 1, got strides (1, 4); call .contiguous() first",
          "product: a must start at a multiple of 16 bytes; call .clone()",
          "product: out must have rows and strides of a multiple of 16 bytes, got 12 elements of 2 bytes; pad the rows",
          "product: a must have elements, got shape [4, 0]",
        ]
      `);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
