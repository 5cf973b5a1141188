/** A plain run finds mistakes that random numbers hide: its first cases have special rows and columns. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { planCases } from "../../../src/runtime/cases/cases.js";
import { deviceLimits } from "../../../src/runtime/verify/runner.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";

type Row = (values: any, args: { cols: any; inside: any; N: any }) => any;

/** A kernel that gives one number for each row, or for each column. Lanes beyond a row hold `other`. */
const perRow = (
  row: Row,
  reference: (x: any, torch: any) => any,
  { result = tl.float32, other = -Infinity, along = "row" }: { result?: any; other?: number; along?: string } = {},
) =>
  compile(
    kernel(
      "per_row",
      {
        params: {
          x: tensor(tl.float32, along === "row" ? ["M", "N"] : ["N", "M"]),
          y: tensor.out(result, ["M"]),
          BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
        },
        grid: ({ M }: any) => [M],
        requires: ({ N, BLOCK }: any) => [BLOCK.ge(N)],
        reference: ({ x }: any, torch: any) => reference(along === "row" ? x : x.t(), torch),
        shapes: [{ M: 4, N: 40 }],
      } as never,
      (({ x, y, N, BLOCK }: any) => {
        const [at, cols] = [tl.programId(0), tl.arange(0, BLOCK)];
        const values = tl.load(along === "row" ? x.at(at, cols) : x.at(cols, at), { other });
        tl.store(y.at(at), row(values, { cols, inside: cols.lt(N), N }));
      }) as never,
    ),
  );

/** The labels of the cases before the generated ones that the evaluator calls wrong. */
function wrongIn(compiled: ReturnType<typeof compile>): readonly string[] {
  const { cases } = planCases(compiled, deviceLimits.eval, { seed: 0 });
  return cases
    .slice(
      0,
      cases.findIndex(({ label }) => label === "beyond blocks"),
    )
    .flatMap(({ testCase, label }) => (compiled.evaluate(testCase).comparison?.correct === false ? [label] : []));
}

const mean = (values: any, { inside, N }: any): any => tl.sum(tl.where(inside, values, 0), 0).div(N);

test("a sum of exponentials without its maximum is wrong in special rows", () => {
  const logSum = (x: any, torch: any) => torch.logsumexp(x, -1);
  const naive: Row = (values) => tl.log(tl.sum(tl.exp(values), 0));
  expect(wrongIn(perRow(naive, logSum))).toEqual(["special rows", "special columns"]);
  const shifted: Row = (values) => {
    const best = tl.max(values, 0);
    return tl.log(tl.sum(tl.exp(values.sub(best)), 0)).add(best);
  };
  // The difference of two infinities is NaN, where PyTorch gives -Infinity.
  expect(wrongIn(perRow(shifted, logSum))).toEqual(["rows of -Infinity"]);
  const stable: Row = (values) => {
    const best = tl.max(values, 0);
    const finite = tl.where(best.eq(-Infinity), 0, best);
    return tl.log(tl.sum(tl.exp(values.sub(finite)), 0)).add(finite);
  };
  expect(wrongIn(perRow(stable, logSum))).toEqual([]);
});

test("a softmax without its maximum is wrong in special rows, and one with it is right", () => {
  const reference = (x: any, torch: any) => torch.softmax(x, -1).amax(-1);
  const naive: Row = (values) => {
    const weights = tl.exp(values);
    return tl.max(weights.div(tl.sum(weights, 0)), 0);
  };
  expect(wrongIn(perRow(naive, reference))).toContain("special rows");
  const stable: Row = (values) => {
    const weights = tl.exp(values.sub(tl.max(values, 0)));
    return tl.max(weights.div(tl.sum(weights, 0)), 0);
  };
  expect(wrongIn(perRow(stable, reference))).toEqual([]);
});

test.each([
  ["argmax", (values: any) => tl.argmax(values, 0), (x: any) => x.argmax(-1).to("int32"), tl.int32],
  ["maximum", (values: any) => tl.max(values, 0), (x: any) => x.amax(-1), tl.float32],
] as const)("%s padded with 0 is wrong in negative rows, and with -1e9 in rows of -Infinity", (_, row, ref, result) => {
  expect(wrongIn(perRow(row, ref, { result, other: 0 }))).toContain("special rows");
  expect(wrongIn(perRow(row, ref, { result, other: -1e9 }))).toEqual(["rows of -Infinity"]);
  expect(wrongIn(perRow(row, ref, { result }))).toEqual([]);
});

test("a minimum padded with 0 is wrong in rows of positive numbers", () => {
  const smallest: Row = (values) => tl.min(values, 0);
  expect(wrongIn(perRow(smallest, (x) => x.amin(-1), { other: 0 }))).toContain("special rows");
});

test("columns are special too", () => {
  const reference = (x: any) => x.argmax(-1).to("int32");
  const last: Row = (values, { cols }) => tl.max(tl.where(values.eq(tl.max(values, 0)), cols, -1), 0);
  expect(wrongIn(perRow(last, reference, { result: tl.int32, along: "column" }))).toContain("special columns");
});

/** A kernel of one axis. */
const elementwise = (
  body: (x: any) => any,
  reference: (x: any, torch: any) => any,
  range?: readonly [number, number],
) =>
  compile(
    kernel(
      "elementwise",
      {
        params: {
          x: tensor(tl.float32, ["N"], range && { range }),
          y: tensor.out(tl.float32, ["N"]),
          BLOCK: constexpr(),
        },
        grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 64 },
        reference: ({ x }: any, torch: any) => reference(x, torch),
      } as never,
      (({ x, y, BLOCK }: any) => {
        const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(at), body(tl.load(x.at(at))));
      }) as never,
    ),
  );

const specialLabels = (compiled: ReturnType<typeof compile>): readonly string[] =>
  planCases(compiled, deviceLimits.eval, { seed: 0 }).cases.flatMap(({ testCase, label }) =>
    testCase.special ? [label] : [],
  );

test("a tensor of one row has each kind of rows in turn", () => {
  const double = elementwise(
    (x) => x.mul(2),
    (x) => x.mul(2),
  );
  expect(specialLabels(double)).toEqual([...Array<string>(4).fill("special rows"), "offset rows", "rows of -Infinity"]);
});

test("each seed has them", () => {
  const shifted = elementwise(
    (x) => x.add(1e-9),
    (x) => x.add(1e-9),
  );
  for (const seed of [0, 1, 2, 3]) {
    const { cases } = planCases(shifted, deviceLimits.eval, { seed });
    const rows = cases.flatMap(({ testCase, label }) => {
      const [first = 0, second = 0] = [
        ...(testCase.special ? (shifted.evaluate(testCase).outputs["y"]?.data ?? []) : []),
      ].map(Number);
      if (label === "rows of -Infinity") return first === -Infinity ? [label] : [];
      if (label === "offset rows") return first > 24 && second > 24 ? [label] : [];
      return label === "special rows" && first === 1.5 && second === 1.5 ? ["equal"] : [];
    });
    expect(rows).toEqual(["equal", "offset rows", "rows of -Infinity"]);
  }
});

test("only a reference about NaN gets NaN, and only one that returns numbers gets infinities", () => {
  const masked = elementwise(
    (x) => tl.where(x.eq(x), x, 0),
    (x, torch) => torch.where(x.isnan(), 0, x),
  );
  expect(specialLabels(masked).slice(-2)).toEqual(["rows of -Infinity", "NaN"]);
  const kept = elementwise(
    (x) => x,
    (x, torch) => torch.where(x.isnan(), 0, x),
  );
  expect(wrongIn(kept)).toEqual(["NaN"]);
  const zero = elementwise(
    (x) => x.sub(x),
    (x) => x.sub(x),
  );
  expect(specialLabels(zero)).not.toContain("rows of -Infinity");
});

test("a declared range has no special rows", () => {
  const bounded = elementwise(
    (x) => x,
    (x) => x,
    [0, 1],
  );
  expect(specialLabels(bounded)).toEqual([]);
});

test("an argmax that takes the last of equal elements is wrong in special rows", () => {
  const reference = (x: any) => x.argmax(-1).to("int32");
  const last: Row = (values, { cols }) => tl.max(tl.where(values.eq(tl.max(values, 0)), cols, -1), 0);
  expect(wrongIn(perRow(last, reference, { result: tl.int32 }))).toContain("special rows");
  expect(wrongIn(perRow((values) => tl.argmax(values, 0), reference, { result: tl.int32 }))).toEqual([]);
});

test("a variance as the mean of squares less the square of the mean is wrong in offset rows", () => {
  const reference = (x: any) =>
    x
      .sub(x.mean(-1, { keepdim: true }))
      .square()
      .mean(-1);
  const squares: Row = (values, args) => {
    const average = mean(values, args);
    return mean(values.mul(values), args).sub(average.mul(average));
  };
  expect(wrongIn(perRow(squares, reference))).toContain("offset rows");
  const deviations: Row = (values, args) => {
    const centered = values.sub(mean(values, args));
    return mean(centered.mul(centered), args);
  };
  expect(wrongIn(perRow(deviations, reference))).toEqual([]);
});
