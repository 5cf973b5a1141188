/** Recorded torch expressions in float64, against values that PyTorch gives, and the comparison with them. */
import { describe, expect, test } from "vitest";
import { tl } from "tilescript";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import { recordReference } from "../../../src/dsl/record-spec.js";
import { compareOutput } from "../../../src/eval/compare-outputs.js";
import { UnsupportedByEvaluator } from "../../../src/torch/array.js";
import { evaluateReference } from "../../../src/torch/evaluate-torch.js";
import type { Torch, TorchScalar, TorchTensor } from "../../../src/torch/types.js";
import { float32s } from "../../support/evaluate.js";

type Author = (x: TorchTensor, torch: Torch, y: TorchTensor) => TorchTensor;

function matrix(rows: readonly (readonly number[])[], dtype = "float64"): TensorData {
  return { dtype, shape: [rows.length, rows[0]!.length], data: Float64Array.from(rows.flat()) };
}

const x = matrix([
  [1, -2, 3],
  [0.5, 4, -1],
]);

function values(
  author: Author,
  given: TensorData = x,
  other: TensorData = x,
): { shape: readonly number[]; data: number[] } {
  const reference = recordReference(
    (({ x, y }: Record<"x" | "y", TorchTensor>, torch: Torch) => author(x, torch, y)) as never,
    { subject: "the reference", tensors: ["x", "y"], numbers: ["M"] },
    ["out"],
    undefined,
  );
  if (reference?.kind !== "recorded") throw new Error("not recorded");
  const [result] = evaluateReference(reference.outputs, { x: given, y: other });
  return { shape: result!.shape, data: [...result!.data] };
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  actual.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 12));
}

describe("torch functions", () => {
  // What PyTorch 2.15 gives in float64, where it is not plain to see.
  const cases: readonly (readonly [string, Author, readonly number[]])[] = [
    ["add a number", (a) => a.add(1), [2, -1, 4, 1.5, 5, 0]],
    ["div floor", (a) => a.div(2, { rounding_mode: "floor" }), [0, -1, 1, 0, 2, -1]],
    ["remainder", (a) => a.remainder(2), [1, 0, 1, 0.5, 0, 1]],
    ["relu", (_, t) => t.relu(_), [1, 0, 3, 0.5, 4, 0]],
    ["where", (a, t) => t.where(a.gt(0), a, 0), [1, 0, 3, 0.5, 4, 0]],
    ["clamp", (a) => a.clamp(-1, 2), [1, -1, 2, 0.5, 2, -1]],
    ["sum of rows", (a) => a.sum(1), [2, 3.5]],
    ["mean of columns", (a) => a.mean(0, { keepdim: true }), [0.75, 1, 1]],
    ["amax of all", (a, t) => t.amax(a), [4]],
    ["cumsum", (a) => a.cumsum(1), [1, -1, 2, 0.5, 4.5, 3.5]],
    ["T", (a) => a.T, [1, 0.5, -2, 4, 3, -1]],
    ["matmul with mT", (a) => a.matmul(a.mT), [14, -10.5, -10.5, 17.25]],
    ["reshape", (a) => a.reshape(3, -1).sum(0), [8, -2.5]],
    ["unsqueeze and squeeze", (a) => a.unsqueeze(0).squeeze(0).sum(-1), [2, 3.5]],
    ["var", (a) => a.var(1), [6.333333333333333, 6.583333333333334]],
    ["linear", (a, t) => t.nn.functional.linear(a, a), [14, -10.5, -10.5, 17.25]],
    ["exp2", (a, t) => t.exp2(a), [2, 0.25, 8, Math.SQRT2, 16, 0.5]],
    ["tril", (a) => a.tril(), [1, 0, 0, 0.5, 4, 0]],
    ["triu", (a) => a.triu(1), [0, -2, 3, 0, 0, -1]],
    ["cat", (a, t) => t.cat([a, a.narrow(1, 0, 1)], 1), [1, -2, 3, 1, 0.5, 4, -1, 0.5]],
    ["repeat_interleave by lengths", (a, t) => a.repeat_interleave(t.arange(2), 0), [0.5, 4, -1]],
    ["diff", (a, t) => t.diff(a), [-3, 5, 3.5, -5]],
    ["bit operators", (_, t) => t.arange(4).mul(-3).bitwise_right_shift(1).bitwise_and(6), [0, 6, 4, 2]],
    [
      "segment_reduce",
      (a, t) => t.segment_reduce(a, "max", { lengths: t.arange(2).mul(2) }),
      [-Infinity, -Infinity, -Infinity, 1, 4, 3],
    ],
    ["sort, values", (a, t) => t.sort(a, { dim: 1, descending: true })[0], [3, 1, -2, 4, 0.5, -1]],
    ["sort, indices", (a, t) => t.sort(a.abs(), { stable: true })[1], [0, 1, 2, 0, 2, 1]],
    ["einsum of two", (a, t) => t.einsum("ij,kj->ki", a, a), [14, -10.5, -10.5, 17.25]],
    ["einsum of three", (a, t) => t.einsum("ij,ij,kj->ik", a, a, a), [20, 7.5, -28.75, 63.125]],
    ["einsum of one", (a, t) => t.einsum("ij->j", a), [1.5, 2, 2]],
    [
      "erf",
      (a, t) => t.erf(a),
      [
        0.8427007929497149, -0.9953222650189527, 0.9999779095030014, 0.5204998778130465, 0.9999999845827421,
        -0.8427007929497149,
      ],
    ],
    [
      "gelu",
      (a, t) => t.nn.functional.gelu(a),
      [
        0.841344746068543, -0.04550026389635842, 2.99595030590511, 0.34573123063700656, 3.9998733150326675,
        -0.15865525393145702,
      ],
    ],
    [
      "gelu by tanh",
      (a, t) => t.nn.functional.gelu(a, { approximate: "tanh" }),
      [
        0.8411919906082768, -0.04540230591222494, 2.996362607918227, 0.34571400982514394, 3.9999297540518075,
        -0.15880800939172324,
      ],
    ],
    [
      "silu",
      (a, t) => t.nn.functional.silu(a),
      [
        0.7310585786300049, -0.2384058440442351, 2.8577223804672998, 0.3112296656009273, 3.928055160151634,
        -0.2689414213699951,
      ],
    ],
    [
      "softplus",
      (a, t) => t.nn.functional.softplus(a),
      [
        1.3132616875182228, 0.1269280110429725, 3.048587351573742, 0.9740769841801067, 4.0181499279178094,
        0.31326168751822286,
      ],
    ],
    [
      "log_softmax",
      (a, t) => t.log_softmax(a, 1),
      [
        -2.1328452337275756, -5.132845233727576, -0.13284523372757556, -3.5362695651247793, -0.03626956512477912,
        -5.036269565124779,
      ],
    ],
    ["logsumexp", (a, t) => t.logsumexp(a, 1), [3.1328452337275756, 4.036269565124779]],
    [
      "layer_norm",
      (a, t) => t.nn.functional.layer_norm(a, [3]),
      [
        0.16222122902678926, -1.2977698322143145, 1.135548603187525, -0.31822255113847825, 1.3524458423385324,
        -1.0342232912000544,
      ],
    ],
  ];

  test.each(cases)("%s", (_, author, expected) => expectClose(values(author).data, expected));

  test("should give a softmax of -inf no weight", () => {
    expectClose(values((a, t) => t.softmax(a, 0), float32s(0, -Infinity, 0)).data, [0.5, 0, 0.5]);
  });

  test("should round where it casts to a narrower dtype, and nowhere else", () => {
    const third = float32s(1 / 3);
    const exact = Math.fround(1 / 3);
    expect(values((a) => a.float().double(), third).data).toEqual([exact]);
    expect(values((a) => a.half(), third).data).toEqual([0.333251953125]);
    expect(values((a) => a.mul(1).to(a.dtype), { ...third, dtype: "bfloat16" }).data).toEqual([0.333984375]);
  });

  test("should compute a product of 512³ quickly", () => {
    const big = { dtype: "float32", shape: [512, 512], data: new Float32Array(512 * 512).fill(0.5) };
    // Not time on the clock, of which other processes take their share.
    const start = process.cpuUsage();
    expect(values((a, t) => t.matmul(a, a), big).data[7]).toBe(128);
    // 150 ms on the machine it was written on.
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(1000);
  });

  test("should take the items of several results, which do not end where nobody asks", () => {
    const sorted = (a: TorchTensor) => a.sort(1, { descending: true });
    expect(values((a) => sorted(a)[0]).data).toEqual([3, 1, -2, 4, 0.5, -1]);
    expect(values((a) => sorted(a).indices).data).toEqual([2, 0, 1, 1, 0, 2]);
    expect(() => values((a) => [...sorted(a)][0]!)).toThrow("a torch value cannot be spread");
  });

  test("should say what it cannot evaluate", () => {
    expect(() => values((a, t) => (t as any).logcumsumexp(a, 1))).toThrow(UnsupportedByEvaluator);
    expect(() => values((a, t) => (t as any).logcumsumexp(a, 1))).toThrow(
      "the reference uses logcumsumexp, which cannot be evaluated here",
    );
  });
});

const table: TensorData = { dtype: "int64", shape: [4], data: BigInt64Array.of(2n, 0n, 2n, 1n) };
const volume: TensorData = {
  dtype: "float64",
  shape: [1, 1, 2, 2, 3],
  data: Float64Array.of(0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1),
};

describe("attention's mask", () => {
  // What PyTorch 2.15 gives.
  const seen = [1, -2, 3, 0.5000000550723941, 3.9999993391312705, -0.9999995594208471];
  const added = [
    0.9999999820957697, -1.9999997851492344, 2.999999856766156, 0.5000000016630424, 3.9999999800434916,
    -0.9999999866956609,
  ];
  const masks: readonly (readonly [string, Author, readonly number[]])[] = [
    ["truth values", (m) => m.gt(0), seen],
    ["a row that sees nothing", (m) => m.gt(1), [0, 0, 0, 0.5, 4, -1]],
    ["moved truth values", (m, t) => t.ones_like(m, { dtype: tl.int1 }).T.tril(), seen],
    ["truth values of two conditions", (m) => m.gt(0).mul(m.lt(4)), [1, -2, 3, 1, -2, 3]],
    ["numbers", (m) => m, added],
    ["zeros and infinities", (m, t) => t.where(m.gt(0), 0, -Infinity), seen],
  ];
  test.each(masks)("%s", (_, mask, expected) => {
    const attended: Author = (a, t, y) =>
      t.nn.functional.scaled_dot_product_attention(a, a, a, { attn_mask: mask(a.narrow(1, 0, 2), t, y) });
    expectClose(values(attended).data, expected);
  });

  test("an input of truth values", () => {
    const mask: TensorData = { dtype: "int1", shape: [2, 2], data: Uint8Array.of(1, 0, 1, 1) };
    const attended: Author = (a, t, y) =>
      t.nn.functional.scaled_dot_product_attention(a, a, a, { attn_mask: y.view(2, 2) });
    expectClose(values(attended, x, mask).data, seen);
  });
});

describe("torch functions of places", () => {
  // What PyTorch 2.15 gives.
  const cases: readonly (readonly [string, Author, readonly number[]])[] = [
    ["index_select", (a, _, i) => a.index_select(1, i), [3, 1, 3, -2, -1, 0.5, -1, 4]],
    ["argsort", (a, t) => t.argsort(a, { descending: true, stable: true }), [2, 0, 1, 1, 0, 2]],
    ["bincount", (_, t, i) => t.bincount(i, { minlength: 5 }), [1, 1, 2, 0, 0]],
    ["searchsorted", (_, t, i) => t.searchsorted(t.arange(4).mul(2), i, { right: true }), [2, 1, 2, 1]],
    ["searchsorted left", (_, t, i) => t.searchsorted(t.arange(4).mul(2), i), [1, 0, 1, 1]],
    ["gather", (_, t, i) => t.arange(5).mul(3).gather(0, i), [6, 0, 6, 3]],
    ["repeat_interleave", (a) => a.repeat_interleave(2, 1), [1, 1, -2, -2, 3, 3, 0.5, 0.5, 4, 4, -1, -1]],
    ["narrow", (a) => a.narrow(1, 1, 2), [-2, 3, 4, -1]],
    ["lerp", (a, t) => t.lerp(a, a.neg(), 0.25), [0.5, -1, 1.5, 0.25, 2, -0.5]],
    ["expand", (a) => a.view(2, 1, 3).expand(2, 2, -1), [1, -2, 3, 1, -2, 3, 0.5, 4, -1, 0.5, 4, -1]],
    // argsort of the indices is [1, 3, 0, 2].
    ["scatter", (a, t, i) => t.zeros([4]).scatter(0, t.argsort(i), a.flatten().narrow(0, 0, 4)), [3, 1, 0.5, -2]],
  ];
  test.each(cases)("%s", (_, author, expected) => {
    expectClose(values(author, x, table).data, expected);
  });
  test("max_pool3d", () => {
    const pooled = (which: 0 | 1) =>
      values((a, t) => t.nn.functional.max_pool3d(a, 2, 1, 1, { return_indices: true })[which], volume).data;
    expectClose(pooled(0).slice(0, 12), [0, 1, 2, 2, 3, 4, 4, 2, 3, 4, 4, 0]);
    expectClose(pooled(1).slice(12, 24), [6, 7, 8, 8, 9, 4, 4, 8, 9, 4, 4, 11]);
  });

  test("should compute with numbers as Python does", () => {
    const reference = recordReference(
      (({ M, x }: { M: TorchScalar; x: TorchTensor }) => x.mul(M.mul(2).sub(1).floorDiv(2).pow(2).mod(7))) as never,
      { subject: "the reference", tensors: ["x"], numbers: ["M"] },
      ["out"],
      undefined,
    );
    if (reference?.kind !== "recorded") throw new Error("not recorded");
    const [result] = evaluateReference(reference.outputs, { x, M: 4 });
    expect(result!.data[0]).toBe(2);
  });

  test("should choose by flags, words and numbers", () => {
    const author = ({ FLAG, MODE, M, x }: Record<"FLAG" | "MODE" | "M", TorchScalar> & { x: TorchTensor }) =>
      FLAG.choose(x.mul(M.gt(3).choose(10, M)), MODE.eq("neg").choose(x.neg(), x));
    const given = { subject: "the reference", tensors: ["x"], numbers: ["FLAG", "MODE", "M"], flags: ["FLAG", "MODE"] };
    const reference = recordReference(author as never, given, ["out"], undefined);
    if (reference?.kind !== "recorded") throw new Error("not recorded");
    const first = (FLAG: boolean, MODE: string, M: number) =>
      evaluateReference(reference.outputs, { x, FLAG, MODE, M })[0]!.data[1];
    expect([first(true, "neg", 4), first(true, "neg", 3), first(false, "neg", 4), first(false, "as is", 4)]).toEqual([
      -20, -6, 2, -2,
    ]);
  });

  test("should see a flag that JavaScript has decided", () => {
    const record = (author: (given: Record<"FLAG" | "x", any>) => unknown) => () =>
      recordReference(
        author as never,
        { subject: "the reference", tensors: ["x"], numbers: ["FLAG"], flags: ["FLAG"] },
        ["out"],
        undefined,
      );
    expect(record(({ FLAG, x }) => (FLAG ? x : x.neg()))).toThrow(
      "reference: takes FLAG, and no result depends on it; JavaScript treats every recorded value as true, so write FLAG.choose(a, b) instead of FLAG ? a : b, or leave FLAG out",
    );
    expect(record(({ x, ...others }) => x.mul(Object.keys(others).length))).not.toThrow();
    expect(record(({ FLAG, x }) => FLAG.choose(x, 1))).toThrow("choose takes two tensors or two numbers");
  });

  test("should draw random numbers for inputs only", () => {
    expect(() => values((_, t) => t.rand([3]))).toThrow("those belong into inputs");
  });

  test("should refuse what a number of Python has not", () => {
    const record = (author: (given: { M: TorchScalar }) => unknown) => () =>
      recordReference(author as never, { subject: "the reference", tensors: [], numbers: ["M"] }, ["out"], undefined);
    expect(record(({ M }) => (M as unknown as TorchTensor).exp())).toThrow(
      "reference: a number has no .exp; it has add, sub, mul, div, floorDiv, mod, pow, eq, ne, lt, le, gt, ge, choose",
    );
  });
});

describe("comparison", () => {
  const tolerance = { rtol: 1e-3, atol: 1e-3 };
  const against = (got: TensorData, ...expected: number[]) =>
    compareOutput("out", got, { shape: [expected.length], data: Float64Array.from(expected) }, tolerance);

  test("should add the relative and the absolute tolerance", () => {
    expect(against(float32s(1000.9, 0.0009), 1000, 0)).toMatchObject({ correct: true, wrong: 0, total: 2 });
    expect(against(float32s(1002, 0.002), 1000, 0)).toMatchObject({ correct: false, wrong: 2 });
  });

  test("should name the worst element that is wrong", () => {
    const comparison = against(float32s(1000.9, 0.5, 3), 1000, 0, 3);
    expect(comparison.worst).toEqual({ output: "out", index: [1], expected: 0, got: 0.5 });
    expect(comparison).toMatchObject({ wrong: 1, maxAbsDiff: expect.closeTo(0.9, 3) });
  });

  test("should want NaN and infinity where the reference has them", () => {
    expect(against(float32s(NaN, Infinity), NaN, Infinity)).toMatchObject({ correct: true, maxAbsDiff: 0 });
    expect(against(float32s(NaN), 1)).toMatchObject({ correct: false, maxAbsDiff: Infinity });
    expect(against(float32s(1), NaN).correct).toBe(false);
    expect(against(float32s(-Infinity), Infinity).correct).toBe(false);
    expect(against(float32s(1e30), Infinity).correct).toBe(false);
  });

  test("should take an overflow of the dtype for right", () => {
    expect(against({ ...float32s(Infinity), dtype: "float16" }, 1e6).correct).toBe(true);
  });

  test("should compare integers exactly", () => {
    const got = { dtype: "int32", shape: [1], data: Int32Array.of(10_000) };
    expect(against(got, 10_001).correct).toBe(false);
  });
});
