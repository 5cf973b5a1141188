/** Divisors without a quotient, and shifts and hints that promise too much, are told with the lane. */
import { expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { evaluate, onlyFinding } from "../../support/evaluate.js";

/** A kernel over eight numbers. */
const over = (body: (x: any) => any) =>
  kernel(
    "k",
    { params: { x: tensor(tl.int32, [8]), out: tensor.out(tl.int32, [8]) }, grid: () => [1] },
    ({ x, out }) => {
      const i = tl.arange(0, 8);
      tl.store(out.at(i), body(tl.load(x.at(i))));
    },
  );
const run = (body: (x: any) => any) =>
  evaluate(
    over(body),
    { sizes: {} },
    { x: { dtype: "int32", shape: [8], data: Int32Array.of(3, 2, 1, 0, 5, -6, 7, 8) } },
  );

test("`//`, `%` and cdiv report a divisor of 0", () => {
  for (const name of ["floorDiv", "mod"]) {
    const finding = onlyFinding(run((x) => tl.full([8], 40, tl.int32)[name as "mod"](x)));
    expect(finding).toMatchObject({ code: "division", lane: [3] });
    expect(finding.message).toBe("the divisor is 0");
  }
  expect(onlyFinding(run((x) => tl.cdiv(tl.full([8], 40, tl.int32), x))).code).toBe("division");
});

test("`//` and `%` by a negative divisor truncate toward zero, and nothing is reported", () => {
  const result = run((x) => x.floorDiv(-2).mul(10).add(x.mod(-4)));
  expect(result.findings).toEqual([]);
  expect([...Object.values(result.outputs)[0]!.data]).toEqual([-7, -8, 1, 0, -19, 28, -27, -40]);
});

test("a negative divisor is named where an address or a mask depends on it", () => {
  for (const name of ["floorDiv", "mod"]) {
    const masked = run((x) => tl.where(tl.arange(0, 8)[name as "mod"](tl.minimum(x, -1)).lt(3), 1, 0));
    expect(masked.findings).toEqual([]);
    const addressed = kernel(
      "k",
      { params: { x: tensor(tl.int32, [8]), out: tensor.out(tl.int32, [8], { zeroed: true }) }, grid: () => [1] },
      ({ x, out }) => {
        const i = tl.arange(0, 8);
        tl.store(out.at(i), i, { mask: i[name as "mod"](tl.minimum(tl.load(x.at(i)), -1)).lt(3) });
      },
    );
    const data = Int32Array.of(3, 2, 1, 0, 5, -6, 7, 8);
    const { findings } = evaluate(addressed, { sizes: {} }, { x: { dtype: "int32", shape: [8], data } });
    expect(findings.map(({ message }) => message)).toEqual([
      expect.stringContaining("the divisor is -1, which is not positive"),
    ]);
  }
});

test("cdiv reports a divisor that is not positive, since its sum rounds up for positive ones only", () => {
  expect(onlyFinding(run((x) => tl.cdiv(x, -2))).message).toContain("the divisor is -2, which is not positive");
});

test("a quotient that the dtype does not hold is reported", () => {
  const minimum = -2147483648;
  for (const name of ["floorDiv", "mod"]) {
    const finding = onlyFinding(run((x) => x.mul(0).add(minimum)[name as "mod"](-1)));
    expect(finding.code).toBe("division");
    expect(finding.message).toContain("-2147483648 is divided by -1, and its dtype cannot represent the quotient");
  }
});

test("positive divisors are silent", () => {
  expect(run((x) => x.floorDiv(3).add(x.mod(5))).findings).toEqual([]);
});

test("cdiv wraps at 32 bits, as its sum does", () => {
  const max = 2147483647;
  const result = evaluate(
    over((x) => tl.cdiv(x.mul(0).add(max), 2)),
    { sizes: {} },
    { x: { dtype: "int32", shape: [8], data: new Int32Array(8) } },
  );
  expect(result.findings.map(({ code }) => code)).toEqual([]);
  expect(Number(Object.values(result.outputs)[0]!.data[0])).toBe(-1073741824);
});

test("a shift by the width is reported", () => {
  expect(onlyFinding(run((x) => x.mul(0).add(1).shl(32))).code).toBe("shift-amount");
});

test("hints and assumptions that do not hold are reported", () => {
  expect(onlyFinding(run((x) => tl.multipleOf(x, 4))).code).toBe("false-hint");
  expect(onlyFinding(run((x) => (tl.assume(tl.sum(x, 0).lt(0)), x))).code).toBe("false-assume");
  expect(onlyFinding(run((x) => (tl.deviceAssert(x.ge(0), "negative"), x))).message).toBe(
    "the assertion fails: negative",
  );
});
