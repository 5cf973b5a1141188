/** `check --computes`: what outputs compute, in one line each, and in the report. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { cli } from "../support/cli.js";

type Body = (values: any) => any;

const softmax = (body: Body, grid: (M: any) => any = (M) => M) =>
  build(
    kernel(
      "softmax",
      {
        params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]), BLOCK: constexpr() },
        grid: ({ M }) => [grid(M)],
        requires: ({ N, BLOCK }) => [N.le(BLOCK)],
        autotune: { key: ["N"], configs: [{ BLOCK: 64 }, { BLOCK: 128 }] },
        reference: ({ x }, torch) => torch.softmax(x, -1),
      },
      ({ x, y, N, BLOCK }) => {
        const [row, cols] = [tl.programId(0), tl.arange(0, BLOCK)];
        const values = tl.load(x.at(row, cols), { mask: cols.lt(N), other: -Infinity });
        tl.store(y.at(row, cols), body(values));
      },
    ),
  );
const of =
  (powersOf: Body, divisor: Body = (powers) => tl.sum(powers, 0)): Body =>
  (values) => {
    const powers = powersOf(values);
    return powers.div(divisor(powers));
  };
const shifted: Body = (values) => tl.exp(values.sub(tl.max(values, 0)));

async function check(body: Body, grid?: (M: any) => any) {
  const { code, out, err } = await cli(await softmax(body, grid), "--check", "--computes");
  return { code, text: `${out}${err}`, line: out.split("\n").find((each) => each.startsWith("softmax computes y: ")) };
}

test("a right kernel is equal", async () => {
  expect(await check(of(shifted))).toMatchObject({
    code: 0,
    line: "softmax computes y: equal to its reference over the reals, for all M, N and 2 configs; rounding is judged separately",
  });
});

test("a kernel that overflows is unstable at its line", async () => {
  const { code, line } = await check(of((values) => tl.exp(values.add(tl.max(values, 0)))));
  expect(code).toBe(0);
  expect(line).toMatch(/but unstable at .*computes\.test\.ts:\d+:\d+: nothing shows that this exponent is bounded/);
});

test("a wrong kernel is refuted at a case, and fails", async () => {
  const { code, text, line } = await check(of(shifted, (powers) => tl.max(powers, 0)));
  expect(code).toBe(1);
  expect(line).toBeUndefined();
  expect(text).toMatch(
    /wrong-output: y\[\d+, \d+\] is [\d.]+ where the reference gives [\d.]+, with every float in float64; a case: M=\d+ N=\d+, config 0/,
  );
});

test("right values in some rows alone prove nothing", async () => {
  const { line } = await check(of(shifted), (M) => tl.cdiv(M, 2));
  expect(line).toMatch(/not shown: coverage of y in softmax is not proved/);
});

test("the report has the verdicts only if they are asked for", async () => {
  const built = await softmax(of(shifted));
  const asked = JSON.parse((await cli(built, "--check", "--computes", "--json")).out);
  expect(asked.kernels[0].computes).toMatchObject([{ output: "y", at: { line: 10 }, verdict: { kind: "proved" } }]);
  const plain = await cli(built, "--check");
  expect(plain.out).not.toContain("computes");
});
