/** Arms of a branch that return numbers beside tiles: `start = 0` in one, a load in the other. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, type Scalar, tensor, type Tile, tl } from "tilescript";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { compileAll } from "../../support/aot.js";
import { interpreter } from "../../support/cli.js";
import { emit } from "../../support/emit.js";
import { tritonPythons } from "../../support/python.js";

const same = <A>(value: A): A => value;

const segments = kernel(
  "segments",
  {
    params: {
      x: tensor(tl.float16, ["N"]),
      bias: tensor(tl.float16, ["N"]).optional(),
      ends: tensor(tl.int64, ["R"]),
      y: tensor.out(tl.float16, ["N"]),
      starts: tensor.out(tl.int64, ["R"]),
      BLOCK: constexpr(),
    },
    grid: ({ R, N, BLOCK }) => [tl.maximum(R, tl.cdiv(N, BLOCK))],
    config: { BLOCK: 16 },
    reference: ({ x, bias, ends, N, R }, torch) => [
      x.add(bias.otherwise(torch.zeros([N]))).add(1),
      torch.cat([torch.zeros([1], { dtype: tl.int64 }), ends]).narrow(0, 0, R),
    ],
    // The loop adds up in float16.
    tolerance: { y: { rtol: 2e-3, rms: 2e-3 } },
    shapes: [{ N: 40, R: 5 }],
  },
  ({ x, bias, ends, y, starts, R, BLOCK }) => {
    const row = tl.programId(0);
    tl.when(row.lt(R), () => {
      const start = tl.when(row.eq(0), () => 0).otherwise(() => tl.load(ends.at(row.sub(1))));
      tl.store(starts.at(row), same<Scalar<"int64">>(start));
    });
    const i = row.mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.mut(tl.load(x.at(i)));
    for (const turn of tl.range(0, 2)) {
      // The first arm has a number, then the last one, then one of a list.
      const offset = tl.when(bias.given, () => tl.load(bias.at(i))).otherwise(() => 0);
      const [whole, isFirst] = tl
        .when(turn.eq(0), () => [1, true])
        .otherwise(() => [tl.full([], 0, tl.float16), turn.lt(0)]);
      const part = tl
        .when(isFirst, () => same<Tile<"float16", ["BLOCK"]>>(offset))
        .elseWhen(turn.gt(1), () => 7)
        .otherwise(() => 0);
      sum.value = sum.value.add(part).add(same<Scalar<"float16">>(whole));
    }
    tl.store(y.at(i), sum.value);
  },
);

const both = [{ absent: [] }, { absent: ["bias"] }];

const device = interpreter();

describe("a number that an arm returns", () => {
  test("has the dtype and the shape of what the others return", () => {
    const text = emit(segments).text;
    expect(text).toContain("start = tl.full([], 0, dtype=tl.int64)");
    expect(text).toContain("offset = tl.full([BLOCK], 0.0, dtype=tl.float16)");
    expect(text).toContain("is_first = tl.full([], True, dtype=tl.int1)");
  });

  test.each(both)("is right on the evaluator and on Triton's interpreter without $absent", async ({ absent }) => {
    const compiled = await build(segments);
    const at = { sizes: { N: 40, R: 5 }, dtypes: {}, absent, config: 0, seed: 1 };
    const { findings, comparison } = compiled.evaluate(at, { lowered: true });
    expect([findings, comparison?.correct]).toEqual([[], true]);
    const { status, by, problems } = await verifyCase(compiled, device(), at);
    expect({ status, by, problems }).toEqual({ status: "passed", by: "python", problems: [] });
  });

  test("compiles for sm_90", { timeout: 120_000 }, async () => {
    const compiled = await build(segments);
    for (const { python } of await tritonPythons()) {
      const jobs = both.map(({ absent }) => ({ kernel: compiled, dtypes: {}, absent, constexprs: { BLOCK: 16 } }));
      const answers = await compileAll(python, jobs);
      expect(answers.map((answer) => answer.ok || answer.error)).toEqual([true, true]);
    }
  });

  test("needs a dtype from another arm", () => {
    const numbers = kernel("numbers", { params: { x: tensor.inout(tl.int32, [1]) }, grid: () => [1] }, ({ x }) => {
      const isLarge = tl.load(x.at(0)).gt(0);
      // @ts-expect-error the arms have no dtype
      const value = tl.when(isLarge, () => 1).otherwise(() => 2);
      tl.store(x.at(0), value);
    });
    expect(() => emit(numbers)).toThrow("when: a number has no dtype; return tl.full([], x, dtype)");
  });

  test("must be one of the other arm's dtype", () => {
    const numbers = kernel("numbers", { params: { x: tensor.inout(tl.int32, [1]) }, grid: () => [1] }, ({ x }) => {
      const value = tl.load(x.at(0));
      tl.store(
        x.at(0),
        tl.when(value.gt(0), () => 1.5).otherwise(() => value),
      );
    });
    expect(() => emit(numbers)).toThrow("1.5");
  });
});
