/** The evaluator decides whether a kernel differs from its reference. */
import { expect, test } from "vitest";
import { signatureOf } from "../../../../src/codegen/module/signature.js";
import { evaluateCase } from "../../../../src/eval/evaluate-case.js";
import { estimateWork } from "../../../../src/eval/cost-estimate.js";
import { refusal } from "../../../../src/eval/refusal.js";
import { constexpr, kernel, tensor, tl } from "../../../../src/index.js";
import { type DifferingLaunch, findDifference } from "../../../../src/prove/equivalence/output-proofs.js";
import { withTermTable } from "../../../../src/symbolic/term.js";
import { loweredOf, traced } from "../../../support/traced-examples.js";

function differenceOf(definition: any): DifferingLaunch | undefined {
  const { ir } = traced(definition);
  const lowered = loweredOf(ir);
  const configs = ir.tuning.configs.map(({ values }, index) => ({ values, index }));
  return withTermTable(() =>
    findDifference(ir, "y", configs, {
      refusal: (at) => refusal(lowered, at),
      lanes: (at) => estimateWork(ir, at).lanes,
      compare: (at) => evaluateCase(ir, signatureOf(lowered), at, { rtol: 1e-2, atol: 1e-2 }, { lowered }).comparison,
    }),
  );
}

const rows = (body: (values: any, mask: any, N: any) => any, dim = -1) =>
  kernel(
    "rows",
    {
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]), BLOCK: constexpr() },
      grid: ({ M }) => [M],
      requires: ({ N, BLOCK }) => [N.le(BLOCK)],
      config: { BLOCK: 64 },
      reference: ({ x }: any, torch: any) => torch.softmax(x, dim),
    },
    ({ x, y, N, BLOCK }: any) => {
      const [row, cols] = [tl.programId(0), tl.arange(0, BLOCK)];
      const mask = cols.lt(N);
      const values = tl.load(x.at(row, cols), { mask, other: -Infinity });
      tl.store(y.at(row, cols), body(values, mask, N), { mask });
    },
  );
const softmax = (values: any) => {
  const powers = tl.exp(values.sub(tl.max(values, 0)));
  return powers.div(tl.sum(powers, 0));
};

test("a right kernel has no difference", () => {
  expect(differenceOf(rows(softmax))).toBeUndefined();
});

test("a reference over another axis differs, at sizes that show it", () => {
  const { at, worst } = differenceOf(rows(softmax, 0))!;
  expect(Number(at.sizes["M"]) * Number(at.sizes["N"])).toBeGreaterThan(1);
  expect(worst.got).not.toBeCloseTo(Number(worst.expected), 2);
});

test("a quotient upside down differs", () => {
  const reversed = (values: any) => {
    const powers = tl.exp(values.sub(tl.max(values, 0)));
    return tl.sum(powers, 0).div(powers);
  };
  expect(differenceOf(rows(reversed))).toBeDefined();
});
