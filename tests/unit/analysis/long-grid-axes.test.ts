/** The axes of a grid that the wrapper checks: those that may have more programs than a GPU launches. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { preconditionsOf } from "../../../src/analysis/preconditions.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { lowerViews } from "../../../src/lower/views.js";
import { LIMITS } from "../../../src/types/limits.js";

const f32 = tl.float32;
const params = {
  x: tensor(f32, ["M", "N"]),
  y: tensor.out(f32, ["M", "N"]),
  P: constexpr.int(),
  n: scalar(tl.int32, { default: 1 }),
  BLOCK: constexpr(),
};
const gridded = (grid: (args: any) => readonly unknown[], more: object = {}) =>
  kernel("gridded", { params, grid, config: { BLOCK: 64 }, ...more } as never, ({ x, y }: any) =>
    tl.store(y.at(0, 0), tl.load(x.at(0, 0))),
  );
const axes = (definition: ReturnType<typeof gridded>) =>
  preconditionsOf(lowerViews(trace(definitionOf(definition))), "grid").map(({ axis }) => axis);

test.each<[string, (args: any) => readonly unknown[], readonly number[]]>([
  ["constants", () => [3, 65_535, 65_535], []],
  ["a constant beyond the limit", () => [1, 65_536], [1]],
  ["a size of an output on the first axis", ({ M }) => [M], []],
  ["a size on the second axis", ({ M }) => [1, M], [1]],
  ["blocks of a size on the third axis", ({ M, BLOCK }) => [1, 1, tl.cdiv(M, BLOCK)], [2]],
  ["large blocks of a size on the second axis", ({ M }) => [1, tl.cdiv(M, 32_800)], []],
  ["all elements of an output", ({ M, N }) => [M.mul(N)], []],
  ["all blocks of an output", ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK).mul(tl.cdiv(N, BLOCK))], []],
  ["the square of a size", ({ M }) => [M.mul(M)], [0]],
  ["a number that the caller passes", ({ P }) => [P], [0]],
  ["a number of int32", ({ n }) => [n, n], [1]],
  [
    "the smaller of two numbers",
    ({ M, device }) => [1, tl.minimum(tl.minimum(M, 512), device.multiProcessorCount)],
    [],
  ],
])("the wrapper checks a grid of %s only beyond the limit", (_, grid, expected) => {
  expect(axes(gridded(grid))).toEqual(expected);
});

test("a requirement bounds an axis", () => {
  expect(axes(gridded(({ M }) => [1, M], { requires: ({ M }: any) => [M.le(65_535)] }))).toEqual([]);
  expect(axes(gridded(({ M }) => [1, M], { requires: ({ M }: any) => [M.le(65_536)] }))).toEqual([1]);
});

test("the blocks of an output with descriptors need no check", () => {
  const moved = kernel(
    "moved",
    {
      params: {
        x: tensor(f32, ["M", "N"], { offsets: tl.int64 }),
        y: tensor.out(f32, ["M", "N"], { offsets: tl.int64 }),
        BLOCK: constexpr(),
      },
      grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK).mul(tl.cdiv(N, BLOCK))],
      config: { BLOCK: 64 },
    },
    ({ x, y, BLOCK }) => {
      const at = [tl.programId(0).mul(BLOCK), 0] as const;
      const block = tl.makeTensorDescriptor(x, [BLOCK, BLOCK]).load(at);
      tl.makeTensorDescriptor(y, [BLOCK, BLOCK]).store(at, block);
    },
  );
  expect(axes(moved as never)).toEqual([]);
});

test("the certificate lists the axes that may be too long, and the wrapper then checks the grid", async () => {
  const cases: readonly [(sizes: any) => unknown, readonly (0 | 1 | 2)[]][] = [
    [({ M, N }) => [N, M], [1]],
    [({ N }) => [N], []],
    [({ M, N }) => [M.mul(N).mul(2), 1, M], [0, 2]],
  ];
  for (const [grid, axes] of cases) {
    const built = await build(gridded(grid as never));
    const limits = built.proof().limits.map((limit) => Number(limit.split(" <= ")[1]));
    expect(limits).toEqual(axes.map((axis) => LIMITS.maxGrid[axis]));
    expect(built.python.includes("_checked_grid(")).toBe(axes.length > 0);
  }
});
