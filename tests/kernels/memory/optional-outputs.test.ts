/** Outputs and updated tensors that a caller may leave out, and sizes that only optional tensors have. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { build, compile, constexpr, kernel, NDArray, op, tensor, tl, type TestCase } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { evaluate } from "../../support/evaluate.js";
import { interpreter } from "../../support/cli.js";
import { compileAll } from "../../support/aot.js";
import { testModules, tritonPythons } from "../../support/python.js";

sampledTests("kernels in memory", "src/lower");

/** RMS norm: a residual that is updated, a gain and a shift, and the reciprocal root on request. */
const normed = kernel(
  "normed",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      residual: tensor.inout(tl.float32, ["M", "N"]).optional(),
      gain: tensor(tl.float32, ["G"]).optional(),
      shift: tensor(tl.float32, ["G"]).optional(),
      y: tensor.out(tl.float32, ["M", "N"]),
      rstd: tensor.out(tl.float32, ["M"]).optional(),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    reference: ({ x, residual, gain, shift, M, N }, torch) => {
      const sum = x.add(residual.otherwise(torch.zeros([M, N])));
      const rstd = torch.rsqrt(sum.pow(2).mean(1).add(1e-6));
      const unit = sum.mul(rstd.unsqueeze(1));
      return [sum, unit.mul(gain.otherwise(torch.ones([N]))).add(shift.otherwise(torch.zeros([N]))), rstd];
    },
    requires: ({ N, G }) => [N.eq(G).or(G.eq(0))],
    shapes: [{ M: 5, N: 48, G: 48 }],
  },
  ({ x, residual, gain, shift, y, rstd, N, G, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK);
    const sum = tl.mut(tl.load(x.at(row, cols)));
    tl.when(residual.given, () => {
      sum.value = sum.value.add(tl.load(residual.at(row, cols)));
      tl.store(residual.at(row, cols), sum.value);
    });
    const mean = tl.sum(sum.value.mul(sum.value), 0).div(N.to(tl.float32));
    const scale = tl.rsqrt(mean.add(1e-6));
    tl.when(rstd.given, () => tl.store(rstd.at(row), scale));
    const result = tl.mut(sum.value.mul(scale));
    tl.when(gain.given, () => {
      result.value = result.value.mul(tl.load(gain.at(cols)));
    });
    tl.when(shift.given, () => {
      result.value = result.value.add(tl.where(cols.lt(G), tl.load(shift.at(cols)), 0));
    });
    tl.store(y.at(row, cols), result.value);
  },
);

const NAMES = ["residual", "gain", "shift", "rstd"];
const CHOICES = Array.from({ length: 16 }, (_, bits) => NAMES.filter((_name, place) => (bits >> place) % 2 === 1));
const sizes = { M: 5, N: 48, G: 48 };

test.each(CHOICES.map((absent) => [absent]))("without %j it is right, and gives what is there", (absent) => {
  const { outputs, findings, comparison } = evaluate(normed, { sizes, absent });
  expect([findings, comparison?.correct]).toEqual([[], true]);
  const given = ["residual", "y", "rstd"].filter((name) => !absent.includes(name));
  expect(Object.keys(outputs).sort()).toEqual(given.sort());
});

test("what a call asks for it gets, and nothing else", async () => {
  const x = NDArray.of([1, 2, 3, 4], [2, 2]);
  const { outputs } = await normed.evaluate({ x, rstd: true });
  expect([...outputs.rstd!.data].map((value) => Number(value).toFixed(4))).toEqual(["0.6325", "0.2828"]);
  const without = await normed.evaluate({ x });
  expect(Object.keys(without.outputs)).toEqual(["y"]);
  expectTypeOf(without.outputs.rstd).toEqualTypeOf<NDArray<"float32"> | undefined>();
  // @ts-expect-error a flag, for the call returns it
  await expect(normed.evaluate({ x, rstd: x })).rejects.toThrow("give true to have it, or leave it out");
});

test("a size that nobody gives is 0, and the first tensor that has it decides", async () => {
  const { sizes: of } = await build(normed);
  const at = (absent: readonly string[]): TestCase => ({ sizes, dtypes: {}, config: 0, seed: 0, absent });
  expect(of(at(["gain"]))["G"]).toBe(48);
  expect(of(at(["gain", "shift"]))["G"]).toBe(0);
  const { python } = await build(normed);
  expect(python).toContain(`    G = 0\n    if gain is not None:\n        if gain.ndim != 1:`);
  expect(python).toContain("        if gain is None and shift.ndim == 1:\n            G = shift.shape[0]\n");
});

test("the wrapper allocates what is asked for", async () => {
  const { python } = await build(normed);
  expect(python).toContain("    rstd: torch.Tensor | bool | None = None,\n");
  expect(python).toContain("rstd: where to write [M] float32; allocated if True, left out if None.");
  expect(python).toContain("-> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor | None]:");
  expect(python).toContain(
    "    if rstd is None or rstd is False:\n        rstd = None\n    elif rstd is True:\n        rstd = x.new_empty((M,))\n    else:\n",
  );
});

test("wrappers allocate, check, refuse and return", { timeout: 120_000 }, async () => {
  const said = await testModules(new URL("optional_outputs.py", import.meta.url), { normed: await build(normed) });
  expect(said).toMatch(/\nOK\n?$/);
});

describe("Triton", { timeout: 120_000 }, () => {
  test("compiles every choice for sm_90", async () => {
    const compiled = await build(normed);
    for (const { name, python: executable } of await tritonPythons()) {
      const jobs = CHOICES.map((absent) => ({ kernel: compiled, absent, constexprs: { BLOCK: 64 } }));
      const answers = await compileAll(executable, jobs);
      expect(
        answers.map((answer) => answer.ok || answer.error),
        name,
      ).toEqual(CHOICES.map(() => true));
    }
  });

  const device = interpreter();

  test.each(CHOICES.map((absent) => [absent]))("without %j the interpreter agrees", async (absent) => {
    const at: TestCase = { sizes, dtypes: {}, config: 0, seed: 5, absent };
    const { status, by, problems, failure } = await verifyCase(await build(normed), device(), at);
    expect([status, by, problems, failure]).toEqual(["passed", "python", [], undefined]);
  });
});

describe("an operator", () => {
  const params = { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]) };

  test("asks a kernel for an output, or does without", async () => {
    const scaled = op(
      "scaled",
      { params, reference: ({ x }, torch) => x.mul(torch.rsqrt(x.pow(2).mean(1).add(1e-6)).pow(2).unsqueeze(1)) },
      ({ x }) => {
        const { y, rstd } = normed.call({ x, rstd: true });
        return { y: y.mul(rstd.unsqueeze(1)) };
      },
    );
    const plain = op("plain", { params, reference: ({ x }) => x }, ({ x }) => ({ y: normed.call({ x }).y }));
    const unasked = op("unasked", { params, reference: ({ x }) => x }, ({ x }) => {
      // @ts-expect-error nobody asked for it
      const { y, rstd } = normed.call({ x });
      return { y: y.mul(rstd) };
    });
    expect(() => compile(unasked)).toThrow("it gives no rstd");
    const compiled = compile(scaled);
    expect(compiled.python).toContain("normed(x, rstd=True)");
    expect(compile(plain).python).toContain("normed(x)\n");
    const at: TestCase = { sizes: { M: 5, N: 48 }, dtypes: {}, config: 0, seed: 5 };
    const { unchecked, comparison } = compiled.evaluate(at);
    expect([comparison?.correct, unchecked]).toEqual([true, []]);
  });

  test("refuses what is no request, sizes that follow from tensors, and optional outputs of its own", () => {
    const calling = (given: any) => () =>
      compile(op("calling", { params }, ({ x }) => ({ y: normed.call({ x, ...given }).y })));
    expect(calling({ rstd: false })).toThrow("rstd is an output that may be left out; give true to have it");
    expect(calling({ G: 4 })).toThrow("G follows from the shapes of the tensors; leave it out");
    const y = tensor.out(tl.float32, ["M", "N"]).optional();
    const own = op("own", { params: { ...params, y } }, ({ x }) => ({ y: normed.call({ x }).y }));
    expect(() => compile(own)).toThrow("y is an output that may be left out; an operator always has the same results");
    expect(() => compile(normed).emit({ op: { namespace: "mine" } })).toThrow("rstd may be left out");
  });
});

describe("the build refuses", () => {
  test("optional tensors that autotuning would have to put back", () => {
    const tuned = (param: any, more = {}) =>
      kernel(
        "tuned",
        {
          params: { x: tensor(tl.float32, ["N"]), s: param, y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
          grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
          autotune: { key: ["N"], configs: [{ BLOCK: 32 }, { BLOCK: 64 }], ...more },
        } as any,
        ({ x, s, y, BLOCK }: any) => {
          const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
          tl.when(s.given, () => tl.store(s.at(i), tl.load(x.at(i))));
          tl.store(y.at(i), tl.load(x.at(i)));
        },
      );
    const sentence = "Triton cannot put back s, which may be left out; let it be required, or choose one config";
    expect(() => compile(tuned(tensor.inout(tl.float32, ["N"]).optional()))).toThrow(sentence);
    expect(() => compile(tuned(tensor.out(tl.float32, ["N"], { zeroed: true }).optional()))).toThrow(sentence);
    expect(() => compile(tuned(tensor.out(tl.float32, ["N"]).optional(), { resetToZero: ["s"] }))).toThrow(sentence);
    expect(() => compile(tuned(tensor.out(tl.float32, ["N"]).optional()))).not.toThrow();
  });
});
