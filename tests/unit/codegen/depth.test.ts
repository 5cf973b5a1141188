/** Programs as deep as Python takes them: deeper ones get further lines, or are refused with a sentence. */
import { describe, expect, test } from "vitest";
import { compile, constexpr, kernel, tensor, tl } from "tilescript";
import { definitionOf } from "../../../src/dsl/definition.js";
import { traceAndCheck } from "../../../src/pipeline/trace-and-check.js";
import { bodyOf } from "../../support/emit.js";

const deep = (body: (v: any) => unknown) =>
  kernel("deep", { params: { y: tensor.out(tl.int32, [1]) }, grid: () => [1] }, ({ y }) => {
    tl.store(y.at(0), body(tl.programId(0)) as never);
  });

function said(body: (v: any) => unknown): string {
  const { diagnostics: seen } = traceAndCheck(definitionOf(deep(body)), undefined);
  return seen.map(({ code, message }) => `${code}: ${message}`).find((line) => !line.startsWith("no-source")) ?? "";
}

const nested = (levels: number, enclose: (inner: () => void) => void): void =>
  levels === 0 ? undefined : enclose(() => nested(levels - 1, enclose));
const loop = (inner: () => void): void => {
  for (const _ of tl.range(2)) inner();
};

describe("expressions", () => {
  test("of many steps are written on several lines", () => {
    const text = bodyOf(deep((v) => Array.from({ length: 300 }).reduce((x: any, _, i) => x.mul(2).add(i), v)));
    const depths = text.split("\n").map((line) => line.match(/\(/g)?.length ?? 0);
    expect(Math.max(...depths)).toBeLessThan(60);
    expect(depths.length).toBeGreaterThan(10);
  });

  test("of helper functions, too", () => {
    const helpers = Array.from({ length: 100 }, (_, i) => tl.fn((x: any) => x.add(i)));
    const text = bodyOf(deep((v) => helpers.reduce((x, helper) => helper(x), v)));
    expect(Math.max(...text.split("\n").map((line) => line.match(/\(/g)?.length ?? 0))).toBeLessThan(60);
  });

  test("and so are those with many operands in one call", () => {
    const addends = Array.from({ length: 200 }, (_, i) => i);
    expect(bodyOf(deep((v) => v.add(...addends))).split("\n").length).toBeGreaterThan(5);
  });
});

describe("bodies", () => {
  test("20 loops are taken, 21 refused", () => {
    const loops = (count: number) => said((v) => (nested(count, loop), v));
    expect(loops(20)).toBe("");
    expect(loops(21)).toMatch(/deep-program: this loop is inside 20 others, and Python takes no more; /);
  });

  test("nested branches, and chains of arms, are counted alike", () => {
    const branches = (count: number) => said((v) => (nested(count, (inner) => void tl.when(v.gt(count), inner)), v));
    const chain = (count: number) =>
      said((v) => {
        let arms = tl.when(v.eq(0), () => undefined);
        for (let i = 1; i < count; i++) arms = arms.elseWhen(v.eq(i) as never, () => undefined);
        return v;
      });
    expect([branches(80), chain(80)]).toEqual(["", ""]);
    const refused = /deep-program: more than 80 loops and arms of branches/;
    expect(branches(81)).toMatch(refused);
    expect(chain(81)).toMatch(refused);
  });

  test("helper functions that call one another", () => {
    const calls = (count: number) => {
      const last = Array.from({ length: count }).reduce<(x: any) => any>(
        (inner) => tl.fn((x: any) => inner(x).add(1)),
        (x: any) => x.add(0),
      );
      return said((v) => last(v));
    };
    expect(calls(32)).toBe("");
    expect(calls(33)).toMatch(/deep-program: more than 32 helper functions call one another/);
  });

  test("constexprs that use a value twice, many times over", () => {
    const body = (step: (each: any, turn: number) => any) => () =>
      compile(
        kernel(
          "twice",
          { params: { y: tensor.inout(tl.float32, ["N"]), F: constexpr() }, grid: () => [1], config: { F: 2 } },
          ({ y, F }: any) => {
            const truth = Array.from({ length: 60 }, (_, turn) => turn).reduce<any>(step, F.gt(1));
            tl.when(truth, () => tl.store(y.at(0), 1));
          },
        ),
      );
    expect(body((each, turn) => each.and(each.or(turn > 3)))).toThrow(/deep-program: this constexpr is computed/);
    expect(body((each) => tl.choose(each, each, each.not()))).toThrow(/deep-program: this constexpr is computed/);
  });

  test("expressions of the host that use a value twice, many times over", () => {
    const twice = (count: number, n: any): any =>
      Array.from({ length: count }).reduce<any>((each, _, turn) => tl.cdiv(each, turn + 2).add(each), n);
    const spec = (more: object) =>
      kernel(
        "twice",
        { params: { y: tensor.inout(tl.float32, ["N"]) }, grid: ({ N }: any) => [N], ...more } as never,
        (({ y }: any) => tl.store(y.at(tl.programId(0)), 1)) as never,
      );
    const refused = /deep-program: this expression of the host has more than 2000 ops/;
    expect(compile(spec({ grid: ({ N }: any) => [twice(8, N)] })).python).toContain("cdiv");
    expect(() => compile(spec({ grid: ({ N }: any) => [twice(60, N)] }))).toThrow(refused);
    expect(() => compile(spec({ requires: ({ N }: any) => [twice(60, N).ge(0)] }))).toThrow(refused);
  });
});

/** A branch with results, of which the program uses some. */
const branched = (body: (i: any, F: any, G: any) => unknown) =>
  kernel(
    "branched",
    {
      params: { y: tensor.out(tl.int32, [16]), F: constexpr.bool(), G: constexpr.bool() },
      grid: () => [1],
      config: { F: false, G: true },
    },
    ({ y, F, G }) => {
      const i = tl.arange(0, 16);
      tl.store(y.at(i), (body(i, F, G) ?? i) as never);
    },
  );

describe("results of branches that nothing uses", () => {
  test("are not written, and a branch of nothing else is left out", () => {
    const text = bodyOf(
      branched((i, F, G) => {
        tl.when(F, () => void tl.debugBarrier()).otherwise(() => {
          tl.when(G, () => i).otherwise(() => i.add(1));
        });
      }),
    );
    expect(text).toMatchInlineSnapshot(`
      "i = tl.arange(0, 16)
      if F:
          tl.debug_barrier()
      tl.store(y_ptr + i * stride_y0, i)"
    `);
  });

  test("and one of two that an outer branch hands on", () => {
    const text = bodyOf(
      branched((i, F, G) =>
        tl
          .when(F, () => i)
          .otherwise(() => {
            const [, second] = tl.when(G, () => [i.add(1), i.add(2)]).otherwise(() => [i.add(3), i.add(4)]) as any[];
            return second;
          }),
      ),
    );
    expect(text).toMatchInlineSnapshot(`
      "i = tl.arange(0, 16)
      if F:
          result = i
      elif G:
          result = i + 2
      else:
          result = i + 4
      tl.store(y_ptr + i * stride_y0, result)"
    `);
  });
});
