/** What must hold before a launch: the evaluator refuses a case just beyond each limit, and the wrapper asks for the same. */
import { expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { preconditions } from "../../../src/analysis/preconditions.js";
import type { Case } from "../../../src/contract/compiled.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { lowerViews } from "../../../src/lower/lower-views.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { INT32_REACH, MAX_NUMEL } from "../../../src/types/limits.js";

const all = kernel(
  "all",
  {
    params: {
      x: tensor(tl.float16, ["M", "N"]),
      flat: tensor(tl.float16, ["L"], { contiguous: true }),
      y: tensor.out(tl.float16, ["M", "N"], { offsets: tl.int64 }),
      few: scalar(tl.int8, { default: 1 }),
      SIZE: constexpr.int(),
      TWICE: constexpr.launch(({ L }) => L.mul(2)),
    },
    grid: ({ M, L }) => [1, M, L.mul(0).add(1)],
    requires: ({ N }) => [N.mod(8).eq(0)],
  },
  ({ x, flat, y, few, SIZE, TWICE }) => {
    const desc = tl.makeTensorDescriptor(x, [16, SIZE]);
    const rows = tl.arange(0, 16);
    const block = desc.load([0, 0]).add(tl.load(flat.at(TWICE)));
    tl.store(y.at(rows, tl.arange(0, SIZE)), block);
    tl.store(y.at(0, 0), tl.load(x.at(0, 0)).mul(few.to(tl.float16)));
  },
);
const compiled = compile(all);
const right: Case = { sizes: { M: 16, N: 16, L: 16 }, dtypes: {}, config: 0, seed: 0, constexprs: { SIZE: 16 } };
const refused = (change: Partial<Case>): string | undefined => compiled.refusal({ ...right, ...change });
const sized = (sizes: Record<string, number>): Partial<Case> => ({ sizes: { ...right.sizes, ...sizes } });

/** The largest row stride, of a multiple of 16 bytes, that keeps the last of 16 × 16 elements below the limit. */
const FARTHEST = 8 * Math.floor((INT32_REACH - 16) / 15 / 8);

test("a kernel has each of them", () => {
  const kinds = preconditions(lowerViews(trace(definitionOf(all)))).map(({ kind }) => kind);
  expect([...new Set(kinds)].sort()).toEqual([
    "contiguous",
    "descriptor",
    "grid",
    "launch-size",
    "number",
    "reach",
    "requirement",
    "tile-size",
  ]);
  expect(compiled.python).toContain("_check_descriptor(");
  expect(compiled.python.match(/>= _INT32_REACH/g)).toHaveLength(2);
  expect(compiled.python).toContain("> _MAX_TILE");
  expect(compiled.python).toMatch(/_check_int\("all_?1?: few", few, torch.int8\)/);
  expect(compiled.python).toContain("if not flat.is_contiguous():");
  expect(compiled.python).toContain("a requirement does not hold");
  expect(compiled.python).toContain("SIZE must be a power of two");
});

test.each<[string, within: Partial<Case>, beyond: Partial<Case>, sentence: RegExp]>([
  ["a requirement", sized({ N: 24 }), sized({ N: 25 }), /^it requires .* here N is 25$/],
  ["a number", { scalars: { few: 127 } }, { scalars: { few: 128 } }, /^few must be a value of int8, got 128$/],
  ["a number's fraction", { scalars: { few: -128 } }, { scalars: { few: 0.5 } }, /^few must be a whole number/],
  [
    "row-major order",
    { layouts: { flat: [1] } },
    { layouts: { flat: [2] } },
    /^flat must be contiguous, got strides \[2\]$/,
  ],
  ["the grid", sized({ M: 65_535 }), sized({ M: 65_536 }), /^axis 1 of the grid has 65536 programs/],
  ["a descriptor", { layouts: { x: [24, 1] } }, { layouts: { x: [25, 1] } }, /^x is reached through a descriptor/],
  [
    "the reach of a strided tensor",
    { layouts: { x: [FARTHEST, 1] } },
    { layouts: { x: [FARTHEST + 8, 1] } },
    /^x spans more elements than int32 offsets reach/,
  ],
  [
    "a tile's dimension",
    { constexprs: { SIZE: 32 } },
    { constexprs: { SIZE: 24 } },
    /SIZE is 24, and a tile's dimension/,
  ],
  [
    "a size that the launch computes",
    sized({ L: MAX_NUMEL / 2 }),
    sized({ L: MAX_NUMEL / 2 + 1 }),
    /^TWICE would be 1048578/,
  ],
])("%s", (_, within, beyond, sentence) => {
  expect(refused(within)).toBeUndefined();
  expect(refused(beyond)).toMatch(sentence);
});
