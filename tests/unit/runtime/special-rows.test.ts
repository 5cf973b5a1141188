/** A plain run finds mistakes that random numbers hide: its first cases have rows of equal, far and cancelling elements. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { planCases } from "../../../src/runtime/cases/cases.js";
import { deviceLimits } from "../../../src/runtime/verify/device-limits.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";

type Row = (values: any, args: { cols: any; inside: any; N: any }) => any;

/** A kernel that gives one number for each row. */
const perRow = (row: Row, reference: (x: any, torch: any) => any, result: any = tl.float32) =>
  compile(
    kernel(
      "per_row",
      {
        params: {
          x: tensor(tl.float32, ["M", "N"]),
          y: tensor.out(result, ["M"]),
          BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
        },
        grid: ({ M }: any) => [M],
        requires: ({ N, BLOCK }: any) => [BLOCK.ge(N)],
        reference: ({ x }: any, torch: any) => reference(x, torch),
        shapes: [{ M: 4, N: 40 }],
      } as never,
      (({ x, y, N, BLOCK }: any) => {
        const [at, cols] = [tl.programId(0), tl.arange(0, BLOCK)];
        const values = tl.load(x.at(at, cols), { other: -Infinity });
        tl.store(y.at(at), row(values, { cols, inside: cols.lt(N), N }));
      }) as never,
    ),
  );

/** The labels of the first planned cases that the evaluator calls wrong. */
function wrongIn(compiled: ReturnType<typeof compile>): readonly string[] {
  const { cases } = planCases(compiled, deviceLimits.eval, { seed: 0 });
  return cases
    .slice(0, 2)
    .flatMap(({ testCase, label }) => (compiled.evaluate(testCase).comparison?.correct === false ? [label] : []));
}

const mean = (values: any, { inside, N }: any): any => tl.sum(tl.where(inside, values, 0), 0).div(N);

test("a sum of exponentials without its maximum is wrong in special rows", () => {
  const logSum = (x: any, torch: any) => torch.logsumexp(x, -1);
  expect(wrongIn(perRow((values) => tl.log(tl.sum(tl.exp(values), 0)), logSum))).toEqual(["special rows"]);
  const stable: Row = (values) => {
    const best = tl.max(values, 0);
    return tl.log(tl.sum(tl.exp(values.sub(best)), 0)).add(best);
  };
  expect(wrongIn(perRow(stable, logSum))).toEqual([]);
});

test("an argmax that takes the last of equal elements is wrong in special rows", () => {
  const reference = (x: any) => x.argmax(-1).to("int32");
  const last: Row = (values, { cols }) => tl.max(tl.where(values.eq(tl.max(values, 0)), cols, -1), 0);
  expect(wrongIn(perRow(last, reference, tl.int32))).toEqual(["special rows"]);
  expect(wrongIn(perRow((values) => tl.argmax(values, 0), reference, tl.int32))).toEqual([]);
});

test("a variance as the mean of squares less the square of the mean is wrong in special rows", () => {
  const reference = (x: any) =>
    x
      .sub(x.mean(-1, { keepdim: true }))
      .square()
      .mean(-1);
  const squares: Row = (values, args) => {
    const average = mean(values, args);
    return mean(values.mul(values), args).sub(average.mul(average));
  };
  expect(wrongIn(perRow(squares, reference))).toEqual(["special rows"]);
  const deviations: Row = (values, args) => {
    const centered = values.sub(mean(values, args));
    return mean(centered.mul(centered), args);
  };
  expect(wrongIn(perRow(deviations, reference))).toEqual([]);
});
