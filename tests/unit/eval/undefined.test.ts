/** Values that differ from device to device are reported where they are stored or used, and only there. */
import { expect, test } from "vitest";
import { kernel } from "../../../src/pipeline/build.js";
import { tensor } from "../../../src/dsl/params.js";
import * as tl from "../../../src/dsl/tl.js";
import type { DType } from "../../../src/types/dtype.js";
import { evaluate, float32s, lineOf, onlyFinding } from "../../support/evaluate.js";

const line = (mark: string) => lineOf(import.meta.url, mark);

/** A kernel of one program over four floats. */
function of(dtype: DType<any>, body: (x: any, y: any, lanes: any) => void) {
  const spec = { params: { x: tensor(tl.float32, [4]), y: tensor.out(dtype, [4], { zeroed: true }) }, grid: () => [1] };
  return kernel(
    "k",
    spec as never,
    (({ x, y }: any) => body(tl.load(x.at(tl.arange(0, 4))), y, tl.arange(0, 4))) as never,
  );
}

const findings = (k: unknown, ...x: number[]) => evaluate(k, { sizes: {} }, { x: float32s(...x) }).findings;
const codes = (k: unknown, ...x: number[]) => findings(k, ...x).map(({ code }) => code);

const store = (dtype: DType<any>) =>
  of(dtype, (x, y, lanes) => {
    tl.store(y.at(lanes), x.to(dtype));
  });

test("a float that an integer does not hold, at the cast, with the value, the remedy and the line that stores it", () => {
  const k = of(tl.int32, (x, y, lanes) => {
    const whole = x.to(tl.int32); // casts
    tl.store(y.at(lanes), whole.add(1)); // stores
  });
  const finding = onlyFinding(evaluate(k, { sizes: {} }, { x: float32s(1, 2147483648, -3, 4) }));
  expect(finding).toMatchObject({ code: "undefined-cast", program: [0], lane: [1] });
  expect(finding.at?.line).toBe(line("casts"));
  expect(finding.message).toBe(
    "2147483648 is cast to int32, which cannot represent it: the result differs from device to device; " +
      `clamp it first: tl.clamp(x, -2147483648, 2147483520); line ${line("stores")} uses it`,
  );
});

test.each([
  [tl.int8, [-128.9, 127.9], [-129, 128, NaN]],
  [tl.uint8, [-0.9, 255.9], [-1, 256, Infinity]],
  [tl.int32, [-(2 ** 31), 2147483520], [2 ** 31, -(2 ** 31) - 256, -Infinity]],
  [tl.uint32, [0, 2 ** 32 - 256], [2 ** 32, -1, NaN]],
  [tl.int64, [-(2 ** 63), 2 ** 63 - 2 ** 39], [2 ** 63, -(2 ** 63) - 2 ** 40, NaN]],
  [tl.uint64, [0, 2 ** 64 - 2 ** 40], [2 ** 64, -1, NaN]],
] as const)("the bounds of %s", (dtype, inside, outside) => {
  expect(codes(store(dtype), ...inside, 0, 1)).toEqual([]);
  for (const value of outside) expect(codes(store(dtype), value, 0, 0, 0)).toEqual(["undefined-cast"]);
});

test.each([
  // Half the way to what would be next still rounds to the largest, whose last bit is even.
  [tl.float8e4nv, [-448, 464], [464.1, Infinity, -Infinity, 1e9]],
  [tl.float8e5, [-57344, 61439], [61440, Infinity, -Infinity, 1e9]],
  [tl.float8e4b8, [-240, 247.9], [248, Infinity]],
  [tl.float8e5b16, [-57344, 61439], [61440, -Infinity]],
] as const)("the bounds of %s, which holds NaN", (dtype, inside, outside) => {
  expect(codes(store(dtype), ...inside, NaN, 1)).toEqual([]);
  for (const value of outside) expect(codes(store(dtype), value, 0, 0, 0)).toEqual(["undefined-cast"]);
});

test("a clamp before a cast to an 8-bit float", () => {
  const [said] = findings(store(tl.float8e4nv), 1, 500, 3, 4);
  expect(said!.message).toContain(
    "500 is cast to float8e4nv, which cannot represent it: the result differs from device to device; " +
      "clamp it first: tl.clamp(x, -448, 448)",
  );
  const clamped = of(tl.float8e4nv, (x, y, lanes) => tl.store(y.at(lanes), tl.clamp(x, -448, 448).to(tl.float8e4nv)));
  expect(codes(clamped, 1, 500, -Infinity, 4)).toEqual([]);
});

test("an 8-bit float that is rounded toward zero holds every number", () => {
  const rtz = of(tl.float8e5, (x, y, lanes) => tl.store(y.at(lanes), x.to(tl.float8e5, { fpDowncastRounding: "rtz" })));
  expect(codes(rtz, 1e9, -1e9, 1, 2)).toEqual([]);
});

test("int1 holds every float", () => {
  expect(
    codes(
      of(tl.int1, (x, y, lanes) => tl.store(y.at(lanes), x.to(tl.int1))),
      NaN,
      2,
      0,
      -Infinity,
    ),
  ).toEqual([]);
});

test("lanes that nothing stores or selects are no finding", () => {
  const masked = of(tl.int32, (x, y, lanes) => tl.store(y.at(lanes), x.to(tl.int32), { mask: x.lt(100) }));
  const chosen = of(tl.int32, (x, y, lanes) => tl.store(y.at(lanes), tl.where(x.lt(100), x.to(tl.int32), 100)));
  const remedied = of(tl.int32, (x, y, lanes) =>
    tl.store(y.at(lanes), tl.clamp(x, -2147483648, 2147483520).to(tl.int32)),
  );
  for (const k of [masked, chosen]) expect(codes(k, 1, 2, 1e10, 3)).toEqual([]);
  expect(codes(remedied, NaN, 1e10, -Infinity, 3)).toEqual([]);
});

test("a cast that decides an address, a mask, a branch or a sum is a finding, out of the view's bounds too", () => {
  const address = of(tl.float32, (x, y) => tl.store(y.at(x.to(tl.int32)), x));
  const mask = of(tl.float32, (x, y, lanes) => tl.store(y.at(lanes), x, { mask: x.to(tl.int32).gt(0) }));
  const sum = of(tl.int32, (x, y) => tl.store(y.at(0), tl.sum(x, 0, { dtype: tl.int32 })));
  const branch = of(tl.int32, (x, y) => {
    tl.when(tl.sum(x, 0).to(tl.int32).gt(0), () => tl.store(y.at(0), 1));
  });
  for (const k of [address, mask, sum, branch]) {
    expect(codes(k, 0, 1, 2, 3)).toEqual([]);
    expect(codes(k, 0, 1, 3e9, 3)).toEqual(["undefined-cast"]);
  }
});

test("a constant is reported in every launch", () => {
  const k = of(tl.int32, (_, y, lanes) => tl.store(y.at(lanes), tl.full([4], 3e9, tl.float32).to(tl.int32)));
  for (const _ of [1, 2]) expect(codes(k, 0, 0, 0, 0)).toEqual(["undefined-cast"]);
});

test("what a load left unset and what a cast left undefined are both named", () => {
  const k = of(tl.int32, (x, y, lanes) => {
    const other = tl.load(y.at(lanes), { mask: lanes.gt(1) });
    tl.store(y.at(lanes), x.to(tl.int32).add(other));
  });
  const { message } = findings(k, 1, 1e10, 1, 1).find(({ code }) => code === "uninitialized")!;
  expect(message).toMatch(/left it unset; or, in line \d+, 10000000000 is cast to int32/);
});

test("an element chosen beside NaN, by each op that compares", () => {
  const ops = {
    argmax: (x: any) => tl.argmax(x, 0),
    argmin: (x: any) => tl.argmin(x, 0, { tieBreakLeft: false }),
    max: (x: any) => tl.max(x, 0, { returnIndices: true })[1],
    min: (x: any) => tl.min(x, 0, { returnIndices: true })[0].to(tl.int32),
  } as const;
  for (const [name, op] of Object.entries(ops)) {
    const k = of(tl.int32, (x, y) => tl.store(y.at(0), op(x)));
    expect(codes(k, 1, 3, 2, 0)).toEqual([]);
    const [finding, ...others] = findings(k, 1, NaN, 2, 0);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: "index-beside-nan" });
    expect(finding?.message).toContain(`tl.${name} compares a NaN`);
    expect(finding?.message).toContain(name.endsWith("max") ? "-Infinity" : "x, Infinity");
  }
});

test("rows without NaN, rows of one element and rows that nothing stores are no finding", () => {
  const rows = of(tl.int32, (x, y) => {
    const best = tl.argmax(tl.reshape(x, [2, 2]), 1);
    tl.store(y.at(tl.arange(0, 2)), best, { mask: tl.arange(0, 2).lt(1) });
  });
  const single = of(tl.int32, (x, y, lanes) => tl.store(y.at(lanes), tl.argmax(tl.reshape(x, [4, 1]), 1)));
  expect(codes(rows, 1, 2, NaN, 2)).toEqual([]);
  expect(codes(rows, 1, NaN, 1, 2)).toEqual(["index-beside-nan"]);
  expect(codes(single, 1, NaN, 2, NaN)).toEqual([]);
});

test("the largest value alone is defined beside NaN", () => {
  expect(
    codes(
      of(tl.float32, (x, y) => tl.store(y.at(0), tl.max(x, 0))),
      1,
      NaN,
      2,
      0,
    ),
  ).toEqual([]);
});

test("bounds of a clamp that leave nothing between them", () => {
  const k = of(tl.float32, (x, y, lanes) => tl.store(y.at(lanes), tl.clamp(1, x.neg(), x)));
  expect(codes(k, 1, 0, 2, Infinity)).toEqual([]);
  const [finding] = findings(k, 1, 2, -3, 4);
  expect(finding).toMatchObject({ code: "clamp-bounds", lane: [2] });
  expect(finding?.message).toContain("tl.clamp has the bounds 3 and -3");
  expect(codes(k, NaN, 0, 0, 0)).toEqual(["clamp-bounds"]);
});
