/** A constexpr that another one chooses, and state under a constexpr condition. */
import { expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

const params = { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), FLAG: constexpr.bool() };
const grid = (): [number] => [1];

test("a flag chooses a size, which is written as a conditional expression", () => {
  const chosen = kernel("chosen", { params, grid }, ({ x, y, FLAG }) => {
    const BLOCK = FLAG.choose(64, 32);
    const at = tl.arange(0, BLOCK);
    tl.store(y.at(at), tl.load(x.at(at)));
  });
  const compiled = compile(chosen);
  expect(compiled.python).toContain("tl.arange(0, 64 if FLAG else 32)");
  for (const [FLAG, lanes] of [
    [true, 64],
    [false, 32],
  ] as const) {
    const { outputs } = compiled.evaluate({ sizes: { N: 100 }, dtypes: {}, constexprs: { FLAG }, config: 0, seed: 1 });
    const written = [...outputs["y"]!.data].filter((value) => Number(value) !== 0).length;
    expect(written).toBe(lanes);
  }
});

test("the build checks a size for both values of its flag", () => {
  const odd = kernel("odd", { params, grid }, ({ y, FLAG }) => tl.store(y.at(tl.arange(0, FLAG.choose(64, 48))), 1));
  expect(() => compile(odd)).toThrow("choose(FLAG, 64, 48) is 48 where FLAG is false");
});

test("comparisons, words and conjunctions choose", () => {
  const worded = kernel(
    "worded",
    {
      params: { ...params, MODE: constexpr.string(["row", "col"]), B: constexpr() },
      grid,
      config: { B: 16 },
    },
    ({ x, y, FLAG, MODE, B }) => {
      const ROWS = MODE.eq("row").choose(B, B.mul(2));
      const COLS = FLAG.and(MODE.ne("row")).or(B.lt(8)).choose(8, 4);
      const tile = tl.zeros([ROWS, COLS], tl.float32);
      // The size as the tile says it.
      const at = tl.arange(0, tile.shape[0]);
      tl.store(y.at(at), tl.load(x.at(at)).add(tl.sum(tile, 1)));
    },
  );
  const { evaluate, python } = compile(worded);
  expect(python).toContain('B if MODE == "row" else B * 2');
  for (const [MODE, lanes] of [
    ["row", 16],
    ["col", 32],
  ] as const) {
    const at = { sizes: { N: 40 }, dtypes: {}, constexprs: { FLAG: true, MODE }, config: 0, seed: 1 };
    const { outputs, findings } = evaluate(at, { lowered: true });
    expect(findings.map(({ code }) => code)).toEqual(["never-written"]);
    expect([...outputs["y"]!.data].filter((value) => Number(value) !== 0).length).toBe(lanes);
  }
});

test("both sides are numbers or both are truth values", () => {
  const spec = { params: { ...params, s: scalar(tl.float32) }, grid };
  // @ts-expect-error choose: one side is a truth value, the other a number
  const apart = kernel("apart", spec, ({ y, FLAG }) => tl.store(y.at(0), FLAG.choose(true, 1)));
  expect(() => compile(apart)).toThrow("choose: one side is a truth value, the other a number");
  // @ts-expect-error choose: needs constexprs or numbers
  const tiles = kernel("tiles", spec, ({ y, FLAG, s }) => tl.store(y.at(0), FLAG.choose(s, 1)));
  expect(() => compile(tiles)).toThrow("choose: needs constexprs or numbers; choose tiles with tl.when");
  const mixed = kernel("mixed", spec, ({ y, FLAG, s }) => {
    const isWide = FLAG.choose(FLAG.not(), true);
    tl.when(isWide, () => tl.store(y.at(0), s));
  });
  expect(compile(mixed).python).toContain("if not FLAG if FLAG else True:");
});

test("state of a constexpr arm lives in later arms of the same condition only", () => {
  const outside = kernel("outside", { params, grid }, ({ y, FLAG }) => {
    const count = tl.when(FLAG, () => tl.mut(0)).value;
    tl.store(y.at(0), count.value.to(tl.float32));
  });
  expect(() => compile(outside)).toThrow("this tl.mut");
  const joined = kernel("joined", { params, grid }, ({ y, FLAG }) => {
    const either = tl.when(FLAG, () => tl.mut(0));
    // @ts-expect-error when: the arms return state, which has no common variable
    either.otherwise(() => tl.mut(1));
    tl.store(y.at(0), 1);
  });
  expect(() => compile(joined)).toThrow("when: the arms return state, which has no common variable");
});
