/** The first sentence for mistakes of newcomers whose remedy used to mislead. Each mended file says nothing. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { build, kernel, main, tensor, tl } from "tilescript";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { refusedShapes } from "../../../src/runtime/cases/command-cases.js";
import { proofDiagnostics } from "../../../src/runtime/report/proof-text.js";

const folder = join(import.meta.dirname, `../../../node_modules/.cache/remedies-${process.pid}`);
mkdirSync(folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

interface Parts {
  /** Statements before the kernel. */
  readonly before?: string;
  readonly params?: string;
  readonly grid?: string;
  readonly reference?: string;
  readonly shapes?: string;
  readonly body?: string;
  /** The statement that computes the columns. */
  readonly columns?: string;
}

const COLUMNS = "const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));";

/** `y = 2 x`, with some parts written otherwise. */
const fileOf = ({
  before = "",
  params = "",
  grid,
  reference,
  shapes,
  body,
  columns = COLUMNS,
}: Parts): string => `// @ts-nocheck
import { constexpr, kernel, tensor, tl } from "tilescript";
${before}
export const double = kernel(
  "double",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), ${params} y: tensor.out(tl.float32, ["M", "N"]), BLOCK: constexpr() },
    grid: ${grid ?? "({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)]"},
    config: { BLOCK: 128 },
    reference: ${reference ?? "({ x }) => x.mul(2)"},
    shapes: ${shapes ?? "[{ M: 5, N: 300 }]"},
  },
  ({ x, y, M, N, BLOCK${params && ", bias"} }) => {
    const row = tl.inBounds(tl.programId(0));
    ${columns}
    ${body ?? "tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(2));"}
  },
);
`;

let count = 0;

/** All that `check` says of the file. */
async function said(parts: Parts): Promise<readonly string[]> {
  const file = join(folder, `${count++}.ts`);
  writeFileSync(file, fileOf(parts));
  const { double } = (await import(/* @vite-ignore */ file)) as { double: unknown };
  try {
    const compiled = await build(double);
    const found = [...compiled.warnings, ...refusedShapes(compiled), ...proofDiagnostics(compiled.proof())];
    return found.map(({ code, message }) => `${code}: ${message}`);
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return error.diagnostics.map(({ code, message }) => `${code}: ${message}`);
  }
}

const bias = { params: 'bias: tensor(tl.float32, ["N"]).optional(),' };
const biased = `const sum = tl.mut(tl.load(x.at(row, cols)));
    tl.when(bias.given, () => { sum.value = sum.value.add(tl.load(bias.at(cols))); });
    tl.store(y.at(row, cols), sum.value);`;
const optional =
  "reference-flag: reference: JavaScript takes the optional tensor bias for given in every call; write bias.otherwise(fallback), whose fallback replaces it where a call leaves it out";
const promise = "arguments: this is a promise, and a kernel does not wait; remove async and await";

/** The kernel with its own address arithmetic. */
const raw = (mask: string, strides: readonly [number, number] = [0, 1]): string => `const end = ${mask};
    const [first, second] = [x.stride(${strides[0]}), x.stride(${strides[1]})];
    const value = tl.load(x.ptr.add(row.mul(first).add(cols.mul(second))), { mask: end, other: 0 });
    tl.store(y.ptr.add(row.mul(y.stride(0)).add(cols.mul(y.stride(1)))), value.mul(2), { mask: end });`;

describe.each<{ readonly title: string; readonly wrong: Parts; readonly right: Parts; readonly says: string }>([
  {
    title: "a mask of another axis",
    wrong: { body: raw("cols.lt(M)") },
    right: { body: raw("cols.lt(N)") },
    says: "out-of-bounds: element 2 of x is read, but shape [2, 1] and strides [1, 1] have no such element; a case: M=2 N=1, config 0; compare the index with N in place of M in the mask, which mends it",
  },
  {
    title: "swapped strides",
    wrong: { body: raw("cols.lt(N)", [1, 0]) },
    right: { body: raw("cols.lt(N)") },
    says: "out-of-bounds: element 2 of x is read, but shape [1, 2] and strides [2, 1] have no such element; a case: M=1 N=2, config 0; swap x.stride(0) and x.stride(1), which mends it",
  },
  {
    title: "a grid that rounds down",
    wrong: { grid: "({ M, N, BLOCK }) => [M, N.floorDiv(BLOCK)]" },
    right: {},
    says: "never-written: 1 of 1 elements of y are never written, the first is y[0, 0] (the grid is [1, 0]); a case: M=1 N=1, config 0; write tl.cdiv in the grid in place of floorDiv, which mends it",
  },
  {
    title: "the arguments of tl.cdiv the other way round",
    wrong: { grid: "({ M, N, BLOCK }) => [M, tl.cdiv(BLOCK, N)]" },
    right: {},
    says: "never-written: 1 of 129 elements of y are never written, the first is y[0, 128] (the grid is [1, 1]); a case: M=1 N=129, config 0; swap the arguments of tl.cdiv in the grid, which mends it",
  },
  {
    title: "an axis of the grid that nothing reads",
    wrong: { columns: "const cols = tl.arange(0, BLOCK);" },
    right: {},
    says: "never-written: 1 of 129 elements of y are never written, the first is y[0, 128] (the grid is [1, 2]); a case: M=1 N=129, config 0; the grid has 2 axes, and nothing reads tl.programId(1): compute the indices of its axis from it",
  },
  {
    title: "a grid without a return",
    wrong: { grid: "({ M, N, BLOCK }) => { [M, tl.cdiv(N, BLOCK)]; }" },
    right: { grid: "({ M, N, BLOCK }) => { return [M, tl.cdiv(N, BLOCK)]; }" },
    says: "host-result: this callback returns nothing; write return before its result, or leave the braces out",
  },
  {
    title: "a reference of other shapes",
    wrong: { reference: "({ x }) => x.mul(x.sum(1))" },
    right: { reference: "({ x }) => x.mul(2)" },
    says: "torch-call: mul: shapes [5, 300] and [5] do not broadcast",
  },
  {
    title: "an async callback",
    wrong: { body: "[0].forEach(async () => { await null; tl.store(y.at(row, cols), tl.load(x.at(row, cols))); });" },
    right: { body: "[0].forEach(() => { tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(2)); });" },
    says: promise,
  },
  {
    title: "an async helper in a body",
    wrong: { body: "const put = async () => tl.store(y.at(row, cols), tl.load(x.at(row, cols))); put();" },
    right: { body: "const put = () => tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(2)); put();" },
    says: promise,
  },
  {
    title: "a reference without a return",
    wrong: { reference: "({ x }) => { x.mul(2); }" },
    right: { reference: "({ x }) => { return x.mul(2); }" },
    says: "reference-result: reference: returns nothing, so the result of mul is lost; write return before it, or leave the braces out",
  },
  {
    title: "swapped indices",
    wrong: { body: "tl.store(y.at(row, cols), tl.load(x.at(cols, row)).mul(2));" },
    right: {},
    says: "false-in-bounds: tl.inBounds is false: index 1 on axis 1 of x, whose size there is 1 (and 1 more like it); a case: M=2 N=1, config 0; swap the indices of x.at(…), which mends it",
  },
  {
    title: "a swapped grid",
    wrong: { grid: "({ M, N, BLOCK }) => [tl.cdiv(N, BLOCK), M]" },
    right: {},
    says: "false-in-bounds: tl.inBounds is false: index 1 on axis 0 of x, whose size there is 1 (and 127 more like it); a case: M=1 N=129, config 0; swap sizes 0 and 1 of the grid, which mends it",
  },
  {
    title: "a grid that is no list",
    wrong: { grid: "({ N, BLOCK }) => tl.cdiv(N, BLOCK)" },
    right: {},
    says: "false-in-bounds: tl.inBounds is false: index 1 on axis 0 of x, whose size there is 1 (and 127 more like it); a case: M=1 N=129, config 0; the grid has 1 axis, so tl.programId(1) is always 0: let grid return one size for each axis",
  },
  ...[
    "({ x, bias }) => (bias ? x.add(bias) : x)",
    "({ x, bias }) => (!bias ? x : x.add(bias))",
    "({ x, bias: b }) => (b !== undefined ? x.add(b) : x)",
    "({ x, bias }) => { if (bias) return x.add(bias); return x; }",
    "(inputs) => (inputs.bias ? inputs.x.add(inputs.bias) : inputs.x)",
    "({ x, bias }, torch) => x.add(bias ?? torch.zeros([1]))",
  ].map((reference) => ({
    title: `an optional tensor in ${reference}`,
    wrong: { ...bias, body: biased, reference },
    right: { ...bias, body: biased, reference: "({ x, bias }, torch) => x.add(bias.otherwise(torch.zeros([1])))" },
    says: optional,
  })),
])("$title", ({ wrong, right, says }) => {
  test("the first sentence names the mistake", async () => {
    expect(new Set(await said(wrong))).toEqual(new Set([says]));
  });

  test("the mended file says nothing", async () => {
    expect(await said(right)).toEqual([]);
  });
});

test("functions around a kernel may be async", async () => {
  const around = "const load = async () => { await null; return 128; };\nvoid load;";
  expect(await said({ before: around })).toEqual([]);
});

const one = kernel("one", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) =>
  tl.store(y.at(tl.arange(0, 16)), 0),
);

test("an output to which nothing is stored is named as such", async () => {
  const [first] = await said({ body: "tl.load(x.at(row, cols)).mul(2);" });
  expect(first).toBe(
    "unused-tensor: double: nothing is stored to the output y; write tl.store(y.at(…), …), or remove it from params",
  );
});

test("main without the file, or with a promise, says what to write", () => {
  expect(() => main(one as unknown as ImportMeta)).toThrow(
    "main: the kernel one stands where the file belongs; write main(import.meta, one)",
  );
  expect(() => main(import.meta, build(one) as never)).toThrow(
    "this is a promise and not a kernel; pass kernel(…) itself, without build(…)",
  );
});

test("configs may be computed", () => {
  const warps = [2, 4].flatMap((numWarps) => [64, 128].map((BLOCK) => ({ BLOCK, numWarps, numStages: numWarps })));
  expect(warps satisfies readonly import("tilescript").LaunchOptions[]).toHaveLength(4);
});
