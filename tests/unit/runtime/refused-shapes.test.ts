/** Declared shapes that the kernel itself refuses. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { refusedShapes } from "../../../src/runtime/cases/command-cases.js";

const rows = (shapes: readonly { readonly N: number }[]) =>
  compile(
    kernel(
      "rows",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: () => [1],
        requires: ({ N, BLOCK }) => [N.le(BLOCK)],
        autotune: { key: ["N"], configs: [{ BLOCK: 64 }, { BLOCK: 128 }] },
        shapes,
      },
      ({ x, y, BLOCK }) => {
        const i = tl.arange(0, BLOCK);
        tl.store(y.at(i), tl.load(x.at(i)));
      },
    ),
  );

test("a declared shape that no config takes is an error at the kernel", () => {
  const compiled = rows([{ N: 100 }, { N: 300 }]);
  expect(refusedShapes(compiled)).toMatchObject([
    {
      severity: "error",
      code: "no-launch",
      message: expect.stringMatching(
        /^no config of rows takes the declared shape N=300: .*; declare another in shapes/,
      ),
      at: compiled.at,
    },
  ]);
  expect(compiled.at?.file).toBe(import.meta.filename);
});

test("a shape that one config takes is none", () => {
  expect(refusedShapes(rows([{ N: 100 }, { N: 128 }]))).toEqual([]);
});
