/** Arguments that a caller may leave out: refusals, the wrapper, both ways evaluated, run and compiled. */
import { describe, expect, test } from "vitest";
import { build, compile, constexpr, kernel, pointer, python, tensor, tl, type TestCase } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { closeDevice, openDevice } from "../../../src/runtime/devices/devices.js";
import { planCases } from "../../../src/runtime/cases/cases.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { evaluate, float32s } from "../../support/evaluate.js";
import { interpreter } from "../../support/cli.js";
import { compileAll } from "../../support/aot.js";
import { tritonPythons } from "../../support/python.js";

sampledTests("kernels in memory", "src/lower");

/** Rows of a table, and a bias on each if there is one. */
const embedding = kernel(
  "embedding",
  {
    params: {
      ids: tensor(tl.int64, ["B"], { range: [0, "V"] }),
      table: tensor(tl.float32, ["V", "D"]),
      bias: tensor(tl.float32, ["D"]).optional(),
      out: tensor.out(tl.float32, ["B", "D"]),
      BLOCK: constexpr(),
    },
    grid: ({ B, D, BLOCK }) => [B, tl.cdiv(D, BLOCK)],
    config: { BLOCK: 32 },
    reference: python`
      rows = table[ids]
      return rows if bias is None else rows + bias
    `,
  },
  ({ ids, table, bias, out, BLOCK }) => {
    const row = tl.programId(0);
    const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const id = tl.load(ids.at(row));
    const y = tl.mut(tl.load(table.at(id, columns)));
    tl.when(bias.given, () => {
      y.value = y.value.add(tl.load(bias.at(columns)));
    });
    tl.store(out.at(row, columns), y.value);
  },
);

/** A bias that lies like x, whose strides are therefore its sizes. */
const added = kernel(
  "added",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      bias: tensor(tl.float32, ["M", "N"], { contiguous: true }).optional(),
      y: tensor.out(tl.float32, ["M", "N"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
    reference: ({ x, bias, M, N }, torch) => x.add(bias.otherwise(torch.zeros([M, N]))),
  },
  ({ x, bias, y, N, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.mut(tl.where(cols.lt(N), tl.load(x.at(row, cols)), 0));
    tl.when(bias.given, () => {
      sum.value = sum.value.add(tl.load(bias.at(row, cols)));
    });
    tl.store(y.at(row, cols), sum.value);
  },
);

/** A reference that both PyTorch and the evaluator know. */
const linear = kernel(
  "linear",
  {
    params: {
      x: tensor(tl.float32, ["M", "K"]),
      w: tensor(tl.float32, ["N", "K"]),
      bias: tensor(tl.float32, ["N"]).optional(),
      out: tensor.out(tl.float32, ["M", "N"]),
      SCALE: constexpr.float({ default: 1 }),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
    reference: ({ x, w, bias }, torch) => torch.nn.functional.linear(x, w, bias),
  },
  ({ x, w, bias, out, K, BLOCK }) => {
    const m = tl.programId(0);
    const rn = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const acc = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const k of tl.range(0, K)) {
      acc.value = acc.value.add(tl.load(w.at(rn, k)).mul(tl.load(x.at(m, k))));
    }
    const y = tl.when(bias.given, () => acc.value.add(tl.load(bias.at(rn)))).otherwise(() => acc.value);
    tl.store(out.at(m, rn), y);
  },
);

describe("the build", () => {
  const of = (body: (args: any) => void) => () =>
    compile(
      kernel(
        "of",
        {
          params: {
            x: tensor(tl.float32, ["N"]),
            y: tensor(tl.float32, ["N"]).optional(),
            p: pointer(tl.float32).optional(),
            out: tensor.out(tl.float32, ["N"]),
            FLAG: constexpr.bool(),
          },
          grid: ({ N }) => [N],
        },
        (args: any) => void body({ ...args, i: tl.programId(0) }),
      ),
    );

  test("refuses a use where the argument may be absent", () => {
    const sentence = "y may be absent here; use it inside tl.when(y.given, () => { … })";
    expect(of(({ y, out, i }) => tl.store(out.at(i), tl.load(y.at(i))))).toThrow(sentence);
    expect(of(({ y, out, i }) => tl.when(y.given.not(), () => tl.store(out.at(i), tl.load(y.at(i)))))).toThrow(
      sentence,
    );
    expect(of(({ y, FLAG, out, i }) => tl.when(y.given.or(FLAG), () => tl.store(out.at(i), tl.load(y.at(i)))))).toThrow(
      sentence,
    );
    expect(
      of(({ y, out, i }) => tl.when(y.given, () => {}).otherwise(() => tl.store(out.at(i), tl.load(y.ptr)))),
    ).toThrow(sentence);
    expect(of(({ p, out, i }) => tl.store(out.at(i), tl.load(p)))).toThrow("p may be absent here");
  });

  test("takes a use where it is known to be there", () => {
    expect(
      of(({ y, p, FLAG, x, out, i }) => {
        tl.store(out.at(i), tl.load(x.at(i)));
        tl.when(y.given.and(FLAG), () => tl.store(out.at(i), tl.load(y.at(i))));
        tl.when(p.given.not(), () => {}).otherwise(() => tl.store(out.at(i), tl.load(p)));
        tl.when(y.given.not().or(FLAG), () => {}).otherwise(() => tl.store(out.at(i), tl.load(y.at(i))));
      }),
    ).not.toThrow();
  });

  test("takes the sizes of a contiguous one anywhere, for other tensors have them too", () => {
    const { evaluate } = compile(added);
    for (const absent of [[], ["bias"]]) {
      const { comparison, findings } = evaluate({ sizes: { M: 3, N: 70 }, dtypes: {}, absent, config: 0, seed: 1 });
      expect({ absent, correct: comparison?.correct, findings }).toEqual({ absent, correct: true, findings: [] });
    }
  });

  test("refuses given of what is always there", () => {
    expect(of(({ x }) => tl.when(x.given, () => undefined))).toThrow("given: this is always there");
  });
});

test("the emitted module asks for None", async () => {
  const { python: module } = await build(linear);
  expect(module).toMatch(/ {4}if bias_ptr is not None:\n {8}\w+ = acc \+ tl\.load\(bias_ptr \+ rn \* stride_bias_n/);
  expect(module).toContain("    bias: torch.Tensor | None = None,\n    SCALE: float = 1.0,\n");
  expect(module).toContain(`    if bias is not None:\n        if bias.shape != (N,):`);
  expect(module).toContain("    stride_bias_n = 0 if bias is None else bias.stride(0)\n");
  expect(module).toContain("        bias: [N] float32, or None.");
  expect(module).toMatch(/def reference_fn\([^)]*bias=None,/);
});

describe("evaluation", () => {
  test("runs with and without", () => {
    for (const absent of [[], ["bias"]]) {
      const { findings, comparison } = evaluate(linear, { sizes: { M: 3, N: 37, K: 5 }, absent });
      expect([findings, comparison?.correct]).toEqual([[], true]);
    }
  });

  test("a pointer that is not given", () => {
    const fill = kernel(
      "fill",
      { params: { p: pointer(tl.float32).optional(), out: tensor.out(tl.float32, ["N"]) }, grid: ({ N }) => [N] },
      ({ p, out }) => {
        const i = tl.programId(0);
        const v = tl.when(p.given, () => tl.load(p.add(i))).otherwise(() => tl.full([], 7, tl.float32));
        tl.store(out.at(i), v);
      },
    );
    expect([...evaluate(fill, { sizes: { N: 2 } }).outputs["out"]!.data]).toEqual([7, 7]);
    const given = evaluate(fill, { sizes: { N: 2 } }, { p: float32s(3, 4) });
    expect([given.findings, [...given.outputs["out"]!.data]]).toEqual([[], [3, 4]]);
  });
});

test("verification runs both ways", async () => {
  const limits = { elements: 1e6, work: 1e9, op: 0, exhaustive: false };
  const { cases } = planCases(await build(linear), limits, { seed: 1 });
  const first = cases.filter(({ isExtra: extra }) => !extra).map(({ testCase: at }) => at.absent ?? []);
  // The declared shape, special rows and columns, and what is left out.
  expect(first).toEqual([[], [], [], [], [], ["bias"]]);
  expect(
    new Set(cases.filter(({ isExtra: extra }) => extra).map(({ testCase: at }) => (at.absent ?? []).join())).size,
  ).toBe(2);
});

describe("Triton", { timeout: 120_000 }, () => {
  test("compiles it with and without for sm_90", async () => {
    const kernels = [await build(linear), await build(embedding)];
    const jobs = kernels.flatMap((each) => [
      {
        kernel: each,
        types: { bias_ptr: "*fp32", ids_ptr: "*i64" },
        constexprs: each === kernels[0] ? { SCALE: 1 } : {},
      },
      { kernel: each, absent: ["bias"], constexprs: each === kernels[0] ? { SCALE: 1 } : {} },
    ]);
    for (const { name, python: executable } of await tritonPythons()) {
      const answers = await compileAll(executable, jobs);
      expect(
        answers.map((answer) => answer.ok || answer.error),
        name,
      ).toEqual([true, true, true, true]);
    }
  });

  const device = interpreter();

  test.each([["linear", linear] as const, ["embedding", embedding] as const])(
    "%s is right on the interpreter, with and without",
    async (_, kernel) => {
      for (const absent of [[], ["bias"]]) {
        const sizes = { B: 5, V: 11, D: 40, M: 5, N: 40, K: 7 };
        const at: TestCase = { sizes, dtypes: {}, config: 0, seed: 5, absent };
        const { status, by, problems, failure } = await verifyCase(await build(kernel), device(), at);
        expect([status, by, problems, failure]).toEqual(["passed", "python", [], undefined]);
      }
    },
  );
});

test("a loop does not set up pointers of what may be absent", async () => {
  const k = kernel(
    "k",
    {
      params: {
        x: tensor(tl.float16, ["M", "K"]),
        y: tensor(tl.float16, ["M", "K"]).optional(),
        out: tensor.out(tl.float32, ["M", "M"]),
        BLOCK: constexpr(),
      },
      grid: () => [1],
      config: { BLOCK: 32 },
      reference: python`return x.float() @ (x if y is None else y).float().t()`,
    },
    ({ x, y, out, K, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const acc = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32));
      for (const k of tl.range(0, K, BLOCK)) {
        const rk = k.add(lanes);
        const a = tl.load(x.at(lanes, rk));
        const b = tl.mut(tl.load(x.T.at(rk, lanes)));
        tl.when(y.given, () => {
          b.value = tl.load(y.T.at(rk, lanes));
        });
        acc.value = tl.dot(a, b.value, acc.value);
      }
      tl.store(out.at(lanes, lanes), acc.value);
    },
  );
  const compiled = await build(k);
  for (const { name, python: executable } of await tritonPythons()) {
    const [answer] = await compileAll(executable, [{ kernel: compiled, absent: ["y"] }]);
    expect(answer!.ok || answer!.error, name).toBe(true);
  }
  const device = await openDevice({ device: "interpreter" });
  try {
    for (const absent of [[], ["y"]]) {
      const at: TestCase = { sizes: { M: 20, K: 50 }, dtypes: {}, config: 0, seed: 5, absent };
      expect((await verifyCase(compiled, device, at)).status).toBe("passed");
    }
  } finally {
    await closeDevice(device);
  }
});

describe("nothing but an optional input", () => {
  const counts = kernel(
    "counts",
    {
      params: {
        x: tensor(tl.float32, ["N"]).optional(),
        y: tensor.out(tl.float32, ["N"], { zeroed: true }),
        SCALE: constexpr.float({ default: 1 }),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
      reference: python`
        return torch.zeros(N, dtype=torch.float32) if x is None else x * SCALE
      `,
    },
    ({ x, y, N, SCALE, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.when(x.given, () => {
        const added = tl.load(x.at(offsets)).mul(SCALE);
        tl.atomicAdd(y.at(offsets), added, { mask: offsets.lt(N) });
      });
    },
  );

  test("sizes and the device are arguments, and what may be left out comes last", async () => {
    const { python } = await build(counts);
    const signature = python.slice(python.indexOf("def counts("), python.indexOf(") -> torch.Tensor"));
    expect(signature).toMatchInlineSnapshot(`
      "def counts(
          N: int,
          x: torch.Tensor | None = None,
          SCALE: float = 1.0,
          *,
          out: torch.Tensor | None = None,
          device: torch.device | str | None = None,
      "
    `);
    const device = python.slice(python.indexOf("    if out is not None:"), python.indexOf("    y = torch.empty("));
    expect(device).toMatchInlineSnapshot(`
      "    if out is not None:
              device = out.device
          elif x is not None:
              device = x.device
          elif device is None:
              device = "cpu" if _INTERPRETED else "cuda"
      "
    `);
  });

  test("an atomic finds zeros in a zeroed output, with and without", async () => {
    const compiled = await build(counts);
    const device = await openDevice({ device: "interpreter" });
    try {
      for (const absent of [[], ["x"]]) {
        const at: TestCase = { sizes: { N: 37 }, dtypes: {}, constexprs: { SCALE: 2 }, absent, config: 0, seed: 3 };
        expect(compiled.evaluate(at).findings).toEqual([]);
        expect((await verifyCase(compiled, device, at)).status).toBe("passed");
      }
    } finally {
      await closeDevice(device);
    }
  });

  test("it does not say the dtype of an output", () => {
    const T = tl.dtype("T", [tl.float16, tl.float32]);
    const params = { x: tensor(T, ["N"]).optional(), n: tensor(tl.int32, ["N"]), BLOCK: constexpr() };
    const spec = { grid: () => [1] as const, config: { BLOCK: 32 } };
    const body = ({ x, n, BLOCK, ...rest }: any) => {
      const offsets = tl.arange(0, BLOCK);
      const into = "out" in rest ? rest.out : n;
      tl.when(x.given, () => tl.store(into.at(offsets), tl.load(x.at(offsets)).to(into.dtype)));
    };
    const inPlace = { ...params, n: tensor.inout(tl.int32, ["N"]) };
    expect(() => compile(kernel("copy", { params: inPlace, ...spec }, body))).not.toThrow();
    const allocated = { ...params, out: tensor.out(T, ["N"]) };
    expect(() => compile(kernel("copy", { params: allocated, ...spec }, body))).toThrow(
      "no argument gives the dtype T of out",
    );
  });
});
