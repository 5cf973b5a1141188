/** What must hold before a launch: the evaluator refuses a case just beyond each limit, and the wrapper asks for the same. */
import { expect, test } from "vitest";
import { constexpr, kernel, pointer, scalar, tensor, tl } from "tilescript";
import { preconditions } from "../../../src/analysis/preconditions.js";
import type { TestCase } from "../../../src/compiled/compiled-kernel.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { lowerViews } from "../../../src/lower/views.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { LIMITS, MAX_NUMEL } from "../../../src/types/limits.js";

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
const right: TestCase = { sizes: { M: 16, N: 16, L: 16 }, dtypes: {}, config: 0, seed: 0, constexprs: { SIZE: 16 } };
const refused = (change: Partial<TestCase>): string | undefined => compiled.refusal({ ...right, ...change });
const sized = (sizes: Record<string, number>): Partial<TestCase> => ({ sizes: { ...right.sizes, ...sizes } });

/** The largest row stride, of a multiple of 16 bytes, that keeps the last of 16 × 16 elements below the limit. */
const { int32Reach: REACH } = LIMITS;
const FARTHEST = 8 * Math.floor((REACH - 16) / 15 / 8);

test("a kernel has each of them", () => {
  const kinds = preconditions(lowerViews(trace(definitionOf(all)))).map(({ kind }) => kind);
  expect([...new Set(kinds)].sort()).toEqual([
    "contiguous",
    "count",
    "descriptor",
    "grid",
    "launch-size",
    "number",
    "reach",
    "requirement",
    "tile-size",
  ]);
  expect(compiled.python).toContain("_check_descriptor(");
  expect(compiled.python.match(/ >= 2\*\*31 - 2\*\*20/g)).toHaveLength(3);
  expect(compiled.python).toContain("> 2**20");
  expect(compiled.python).toMatch(/_check_int\("all_?1?: few", few, -\(2\*\*7\), 2\*\*7 - 1\)/);
  expect(compiled.python).toContain('_check_contiguous("all_1", flat=flat');
  expect(compiled.python).toContain("a requirement does not hold");
  expect(compiled.python).toContain("SIZE must be a power of two");
});

test.each<[string, within: Partial<TestCase>, beyond: Partial<TestCase>, sentence: RegExp]>([
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

type Body = (args: any) => void;
const wide = { offsets: tl.int64 } as const;
const params = { x: tensor(tl.float32, ["N"], wide), y: tensor.out(tl.float32, ["N"], wide) };
const narrow = () => tl.programId(0).mul(1024).add(tl.arange(0, 1024));
const int64 = () => tl.programId(0).to(tl.int64).mul(1024).add(tl.arange(0, 1024));
const rows = { x: tensor(tl.float32, ["M", "N"], wide), y: tensor.out(tl.float32, ["M", "N"], wide) };
const row = (x: any) => tl.programId(0).to(tl.int64).mul(x.stride(0));

const BEYOND = { M: 1, P: 1, N: REACH };
const NEAR = { M: 1, N: REACH - 1 };

/** What a launch with these sizes is refused for, `N` or the tensor; smaller ones are accepted. */
function refusedFor(body: Body, more: object = params, sizes: TestCase["sizes"] = BEYOND, less: object = NEAR) {
  const options = { params: more, grid: ({ N }: any) => [tl.cdiv(N, 1024)] };
  const counting = compile(kernel("counting", options as never, body as never));
  const at = (of: TestCase["sizes"]): TestCase => ({
    sizes: of,
    scalars: { n: of.N! },
    dtypes: {},
    config: 0,
    seed: 0,
  });
  expect(counting.refusal(at({ ...sizes, ...less }))).toBeUndefined();
  const why = counting.refusal(at(sizes));
  const isCounted = /if (?!last).* >= 2\*\*31 - 2\*\*20/.test(counting.python);
  const [, wide = ""] = /_check_tensors\("counting", \((.*?)\)/.exec(counting.python) ?? [];
  expect(isCounted || !wide.includes('"x"')).toBe(why !== undefined);
  return why?.split(" ")[0];
}

/** None of the axes is long. */
const SQUARE = { M: 3, P: 1, N: 2 ** 30 };

test.each<[string, Body, string | undefined, object?, object?]>([
  ["an index in int32", ({ x, y }) => tl.store(y.at(int64()), tl.load(x.at(narrow()))), "N"],
  ["one that is cast too late", ({ y }) => tl.store(y.at(narrow().to(tl.int64)), 1), "N"],
  ["one of a gather", ({ x, y }) => tl.store(y.at(int64()), tl.load(x.gather(narrow()))), "N"],
  [
    "the turns of a loop",
    ({ y, N }) => {
      for (const i of tl.range(0, N)) tl.store(y.at(i), 1);
    },
    "N",
  ],
  [
    "an index in a helper function",
    ({ y }) => {
      const index = tl.fn(() => narrow());
      tl.store(y.at(index()), 1);
    },
    "N",
  ],
  [
    "blocks in int32, of an index in int64",
    ({ y }) => tl.store(y.at(tl.programId(0).add(0).to(tl.int64).mul(1024).add(tl.arange(0, 1024))), 1),
    undefined,
  ],
  [
    "what int32 adds to the start of a part",
    ({ y, n }) => tl.store(y.at(n.add(narrow())), 1, { mask: n.add(narrow()).lt(n) }),
    undefined,
    { ...params, n: scalar(tl.int64) },
  ],
  ["an index in int32 that is moved by one", ({ y }) => tl.store(y.at(narrow().to(tl.int64).add(1)), 1), "N"],
  ["an index in int64", ({ x, y }) => tl.store(y.at(int64()), tl.load(x.at(int64()))), undefined],
  [
    "the turns of a loop in int64",
    ({ y, N }) => {
      for (const i of tl.range(0, N.to(tl.int64))) tl.store(y.at(i), 1);
    },
    undefined,
  ],
  [
    "a program id, and a loaded index",
    ({ ids, y }) => tl.store(y.at(tl.load(ids.at(tl.programId(0)))), 1),
    undefined,
    { ...params, ids: tensor(tl.int32, ["P"], wide) },
  ],
  [
    "what a mask compares",
    ({ x, y, N }) => tl.store(y.at(int64()), tl.load(x.at(int64()), { mask: narrow().lt(N) })),
    "N",
  ],
  [
    "elements behind a raw pointer",
    ({ p, y }) => tl.store(y.at(int64()), tl.load(p.add(narrow()))),
    "N",
    { ...params, p: pointer(tl.float32, { numel: "N" }) },
  ],
  [
    "the same in int64",
    ({ p, y }) => tl.store(y.at(int64()), tl.load(p.add(int64()))),
    undefined,
    { ...params, p: pointer(tl.float32, { numel: "N" }) },
  ],
  [
    "columns by hand, of rows in int64",
    ({ x, y }) => {
      tl.store(y.at(0, int64()), tl.load(x.ptr.add(row(x)).add(narrow())));
    },
    "N",
    rows,
  ],
  [
    "rows by hand",
    ({ x, y }) => {
      tl.store(y.at(0, int64()), tl.load(x.ptr.add(tl.programId(0).mul(x.stride(0)))));
    },
    "x",
    rows,
    SQUARE,
  ],
  ["a flat offset by hand", ({ x, y }) => tl.store(y.at(0, int64()), tl.load(x.ptr.add(narrow()))), "x", rows, SQUARE],
])("what int32 counts up to is refused beyond its reach, and no other size: %s", (_, body, why, more, sizes) => {
  expect(refusedFor(body, more, sizes as TestCase["sizes"])).toBe(why);
});

test("descriptors count in int32", () => {
  const body: Body = ({ x, y }) => {
    const to = tl.makeTensorDescriptor(y, [16, 16]);
    to.store([0, 0], tl.makeTensorDescriptor(x, [16, 16]).load([0, 0]));
  };
  const more = { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]) };
  expect(refusedFor(body, more, BEYOND, { N: REACH - 16 })).toBe("N");
  expect(refusedFor(body, more, { M: REACH, N: 16 }, { M: 16, N: 16 })).toBe("M");
});

test("what bounds a size already is asked once", () => {
  const body: Body = ({ x, y, z }) => {
    tl.store(y.at(narrow()), tl.load(x.at(narrow())));
    tl.store(z.at(narrow()), 1);
  };
  const { python } = compile(
    kernel(
      "asked",
      {
        params: { ...params, z: tensor.out(tl.float32, ["N"]) },
        grid: ({ N }: any) => [tl.cdiv(N, 1024)],
      } as never,
      body as never,
    ),
  );
  expect(python.match(/ >= 2\*\*31 - 2\*\*20/g)).toHaveLength(1);
});
