/** What the command line gives a case besides sizes, and which values of flags and numbers are tried. */
import { describe, expect, it } from "vitest";
import { build, constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { compileCases } from "../../../src/runtime/cases/command-cases.js";
import { jsonText, formatLiteral, formatNumber } from "../../../src/compiled/canonical-json.js";
import { buildWith } from "../../../src/pipeline/build.js";
import { planCases, describeCase } from "../../../src/runtime/cases/cases.js";
import { pairwise, variantsFor } from "../../../src/runtime/cases/selection.js";
import { caseFor, selectionFor } from "../../../src/runtime/invocation/options.js";
import { deviceLimits } from "../../../src/runtime/verify/runner.js";

const scaled = await build(
  kernel(
    "scaled",
    {
      params: {
        x: tensor(tl.float32, ["N", "D"]),
        y: tensor.out(tl.float32, ["N", "D"]),
        factor: scalar(tl.float32),
        D: constexpr(),
        TIMES: constexpr.int({ default: 1 }),
        NEGATE: constexpr.bool(),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
      reference: ({ x, factor, TIMES, NEGATE }) =>
        NEGATE.choose(x.mul(factor).mul(TIMES).neg(), x.mul(factor).mul(TIMES)),
      shapes: [
        { N: 100, D: 16, factor: 0.25, NEGATE: true },
        { N: 70, D: 32, factor: 3, TIMES: 4, NEGATE: true },
      ],
    },
    ({ x, y, factor, D, TIMES, NEGATE, BLOCK }) => {
      const rows = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const cols = tl.arange(0, D);
      const value = tl.load(x.at(rows, cols)).mul(factor).mul(TIMES);
      tl.when(NEGATE, () => tl.store(y.at(rows, cols), value.neg())).otherwise(() => tl.store(y.at(rows, cols), value));
    },
  ),
);

const shaped = (shape: Readonly<Record<string, string>>) => selectionFor(scaled, { shape, seed: 0 });

describe("--shape", () => {
  it("should take scalars and constexprs as shapes of the spec do", () => {
    const selection = shaped({ N: "10", D: "16", factor: "0.5", TIMES: "2", NEGATE: "true" });
    expect(selection).toMatchObject({
      sizes: { N: 10, D: 16 },
      scalars: { factor: 0.5 },
      constexprs: { TIMES: 2, NEGATE: true },
    });
    const { cases } = planCases(scaled, deviceLimits.eval, selection);
    expect(cases.map(({ testCase: at }) => [at.scalars, at.constexprs])).toEqual([
      [{ factor: 0.5 }, { TIMES: 2, NEGATE: true }],
    ]);
  });

  it.each([
    [{ BLOCK: "64" }, "--shape: BLOCK belongs to the configs (0 has 32); choose one with --config"],
    [{ NEGATE: "1" }, "--shape: NEGATE=1: a flag is true or false"],
    [{ TIMES: "1.5" }, "--shape: TIMES=1.5 is not an integer"],
    [{ factor: "much" }, "--shape: factor=much is not a number"],
    [{ M: "3" }, "--shape: there is no size M; the sizes are N, D; it also takes factor, TIMES, NEGATE"],
  ])("should refuse %j", (given: Readonly<Record<string, string>>, message) => {
    expect(() => shaped({ N: "10", D: "16", ...given })).toThrow(message);
  });
});

describe("--case", () => {
  const at = { sizes: { N: 10, D: 16 }, scalars: { factor: 2 }, constexprs: { TIMES: 2, NEGATE: false } };

  it("should not ignore a constexpr that the configs decide", () => {
    expect(caseFor(scaled, at)).toMatchObject(at);
    const wrong = { ...at, constexprs: { ...at.constexprs, BLOCK: 64 } };
    expect(() => caseFor(scaled, wrong)).toThrow(
      "--case: BLOCK belongs to the configs (0 has 32); choose one with --config",
    );
    const direct = { ...wrong, dtypes: {}, config: 0, seed: 0 };
    expect(() => scaled.evaluate(direct)).toThrow("BLOCK is 32 in config 0, and a case gives 64; leave it out");
  });

  it("should say which number it lacks", () => {
    expect(() => caseFor(scaled, { ...at, scalars: {} })).toThrow("--case: scalars lacks factor");
  });
});

describe("what is compiled", () => {
  it("should have every value of a flag and every declared number and dim", () => {
    const { cases, skipped: left } = compileCases(scaled, { seed: 0 });
    const found = cases.map(({ sizes, constexprs }) =>
      [sizes["D"], constexprs!["TIMES"], constexprs!["NEGATE"]].join(),
    );
    expect(new Set(found)).toEqual(
      new Set(
        ["16", "32"].flatMap((d) => ["1", "4"].flatMap((times) => [`${d},${times},true`, `${d},${times},false`])),
      ),
    );
    expect(left).toEqual([]);
  });
});

describe("many flags", () => {
  it("should be tried so that each pair of values occurs together", () => {
    const flag = (name: string) => ({ name, python: name, kind: "bool", from: "argument" }) as const;
    const names = ["A", "B", "C", "D", "E", "F", "G"];
    const { signature } = scaled;
    const variants = variantsFor({ ...scaled, signature: { ...signature, constexprs: names.map(flag) } }, { seed: 0 });
    expect(variants.length).toBeLessThan(24);
    for (const [i, one] of names.entries())
      for (const other of names.slice(i + 1))
        expect(new Set(variants.map(({ constexprs }) => `${constexprs[one]} ${constexprs[other]}`)).size).toBe(4);
  });

  it("should have a row for each pair of indices", () => {
    const rows = pairwise([2, 3, 4]);
    expect(new Set(rows.map(([, b, c]) => `${b},${c}`)).size).toBe(12);
    expect(new Set(rows.map(([a, , c]) => `${a},${c}`)).size).toBe(8);
  });
});

describe("a case as text", () => {
  const long = kernel(
    "long",
    {
      params: {
        x: tensor(tl.int64, ["N"]),
        y: tensor.out(tl.int64, ["N"]),
        term: scalar(tl.int64),
        limit: scalar(tl.uint64),
        factor: scalar(tl.float64),
        FACTOR: constexpr.float(),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
    },
    ({ x, y, term, limit, factor, FACTOR, BLOCK }) => {
      const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const kept = tl.load(x.at(at)).to(tl.float64).mul(factor).mul(FACTOR).to(tl.int64);
      tl.store(y.at(at), kept.add(term).add(limit.to(tl.int64)));
    },
  );
  const floats = [NaN, Infinity, -Infinity, -0, 0, 5e-324, -1e308, 0.1, 1e21];
  const integers = [0, -1, 2 ** 53, -(2 ** 63), 2 ** 62 + 1024, 123456789012345680];

  it.each(floats)("should hold the float %s", async (value) => {
    const built = await build(long);
    const at = {
      sizes: { N: 3 },
      dtypes: {},
      scalars: { term: 1, limit: 2, factor: value },
      // A constexpr is never -0.
      constexprs: { FACTOR: value + 0 },
      config: 0,
      seed: 0,
    };
    const read = caseFor(built, JSON.parse(jsonText(at)));
    expect([read.scalars, read.constexprs]).toStrictEqual([at.scalars, at.constexprs]);
    expect(describeCase(at, 1)).toContain(`factor=${formatNumber(value)} FACTOR=${value + 0}`);
  });

  it.each(integers)("should hold the integer %s", async (value) => {
    const built = await build(long);
    const scalars = { term: value, limit: Math.abs(value), factor: 1 };
    const at = { sizes: { N: 3 }, dtypes: {}, scalars, constexprs: { FACTOR: 1 }, config: 0, seed: 0 };
    expect(caseFor(built, JSON.parse(jsonText(at))).scalars).toStrictEqual(scalars);
  });

  it("should refuse a constexpr of -0, for which Triton runs what it compiled for 0", async () => {
    const scalars = { term: 1, limit: 1, factor: 1 };
    const at = { sizes: { N: 3 }, dtypes: {}, scalars, constexprs: { FACTOR: -0 }, config: 0, seed: 0 };
    const built = await build(long);
    expect(() => caseFor(built, at)).toThrow("FACTOR must not be -0.0, which Triton takes for 0.0");
    await expect(buildWith(long, [{ values: { BLOCK: 32, FACTOR: -0 } }])).rejects.toThrow(
      "FACTOR is -0, which Triton takes for 0; write 0, or declare FACTOR as scalar(tl.float32)",
    );
  });

  it("should refuse digits that would be rounded", async () => {
    const built = await build(long);
    const shape = { N: "3", term: "9007199254740993", limit: "2", factor: "1", FACTOR: "1" };
    expect(() => selectionFor(built, { shape, seed: 0 })).toThrow(
      "--shape: term=9007199254740993 is an integer that JavaScript rounds to 9007199254740992; give that",
    );
  });

  it("should be written as JavaScript where a config holds it", () => {
    expect([-0, NaN, Infinity, 2, true, "a"].map(formatLiteral)).toEqual(["-0", "NaN", "Infinity", "2", "true", '"a"']);
  });
});
