/** Functions of Python files in emitted modules: what is copied, what it is called, and what is refused. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, expect, test } from "vitest";
import { constexpr, kernel, type Shape, tensor, type Tile, tl, TileScriptError } from "tilescript";
import { build } from "../../../src/pipeline/build.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { emit, lint } from "../../support/emit.js";

const OPS = "../../kernels/control/ops.py";
const same = <S extends Shape>(x: Tile<"float32", S>) => x;
const folder = mkdtempSync(join(tmpdir(), "tilescript-extern-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A kernel that passes its elements through a function. */
function through(f: (x: any) => any, name = "through") {
  return kernel(
    name,
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
    },
    ({ x, y, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(offsets), f(tl.load(x.at(offsets))));
    },
  );
}

/** The functions and constants of a module in front of its kernel. */
function embedded(text: string): string {
  return text.slice(text.indexOf("runtime.interpret\n") + 18, text.indexOf("\n\n\n@triton.jit\ndef through_kernel"));
}

test("a name that the module has gets another, wherever it means that", () => {
  const kernelNamed = through(tl.extern(OPS, "_bounded", { result: same }), "_bounded");
  expect(emit(kernelNamed).text).toContain("@triton.jit\ndef _bounded_1(values, limit):\n");
  writeFileSync(
    join(folder, "clash.py"),
    `import triton
import triton.language as tl

out = tl.constexpr(2)


@triton.jit
def meta(values, out):
    return values * out


@triton.jit
def grid(values):
    other = meta(values, out=out)  # out
    return other + values.grid


@triton.jit
def unused(values):
    return values
`,
  );
  const path = relative(import.meta.dirname, join(folder, "clash.py"));
  expect(embedded(emit(through(tl.extern(path, "grid", { result: same }))).text)).toMatchInlineSnapshot(`
    "
    out_1 = tl.constexpr(2)


    @triton.jit
    def meta_1(values, out):
        return values * out


    @triton.jit
    def grid_1(values):
        other = meta_1(values, out=out_1)  # out
        return other + values.grid"
  `);
});

test("a name of triton is imported once", () => {
  const { text } = emit(through(tl.extern(OPS, "tangent", { result: same })));
  expect(text.match(/^import triton\.language as tl$/gm)).toHaveLength(1);
  expect(text.match(/^from triton\.language\.extra import libdevice$/gm)).toHaveLength(1);
  expect(lint(text)).toEqual([]);
});

test("lines of a copied function lead to the Python file", async () => {
  const { map, python } = await build(through(tl.extern(OPS, "_bounded", { result: same })));
  expect(python).toContain("def _bounded(");
  expect(
    (JSON.parse(map) as { sources: string[] }).sources.some((file) => file.endsWith("tests/kernels/control/ops.py")),
  ).toBe(true);
});

test("what is not modeled is not evaluated", async () => {
  const compiled = await build(through(tl.extern(OPS, "tangent", { result: same })));
  const { unchecked } = compiled.evaluate({ sizes: { N: 8 }, dtypes: {}, config: 0, seed: 1 });
  expect(unchecked.join()).toMatch(/tl\.extern at .*extern\.test\.ts:\d+:\d+: not modeled/);
});

test.each([
  ["./none.py", "f", "the file ./none.py beside this one cannot be read"],
  [OPS, "absent", "has no function absent at its top level"],
  [OPS, "plain", "plain is an ordinary Python function; put @triton.jit above it"],
  [OPS, "tuned", "tuned has the decorators @triton.autotune(configs=[],key=[])@triton.jit; only @triton.jit can be"],
  [OPS, "Wrapper", "Wrapper is a class; a kernel cannot hold one"],
  [OPS, "LIMIT", "LIMIT is no function; name a @triton.jit function"],
  [OPS, "counted", "counted uses COUNT, which is a global that Triton cannot read; write COUNT = tl.constexpr(…)"],
  [OPS, "deep", "deep uses DEPTH, which is a global that Triton cannot read; write DEPTH = tl.constexpr(…)"],
  [OPS, "rooted", "rooted uses math, imported from math; an emitted module imports torch, triton,"],
])("%s, %s is refused where the author names it", async (file, name, sentence) => {
  const f = tl.extern(file, name, { result: same });
  const error: unknown = await build(through(f)).catch((thrown: unknown) => thrown);
  if (!(error instanceof TileScriptError)) throw error;
  expect(error.diagnostics.map(({ message }) => message).join()).toContain(sentence);
  expect(error.diagnostics[0]!.at?.file).toBe(import.meta.filename);
});

test("what it is called with and what it says are checked", async () => {
  const any = tl.extern as any;
  expect(() => any("./ops.ts", "f", { result: same })).toThrow("the first argument is a Python file");
  expect(() => any(OPS, "no name", { result: same })).toThrow('"no name" is not the name of a Python function');
  expect(() => any(OPS, "f", {})).toThrow("no result is described");
  expect(() => any(OPS, "f", { result: same, effect: "none" })).toThrow("no effect none");
  const scaled = kernel("scaled", { params: { x: tensor.inout(tl.float32, ["N"]) }, grid: () => [1] }, ({ x, N }) => {
    const f = any(OPS, "_bounded", { evaluate: (values: any) => values.mul(N) });
    tl.store(x.at(0), f(tl.load(x.at(0))));
  });
  await expect(build(scaled)).rejects.toThrow("evaluate looks at N of the kernel; make it a parameter");
  const handed = kernel("handed", { params: { x: tensor.inout(tl.float32, ["N"]) }, grid: () => [1] }, ({ x }) => {
    any(OPS, "_bounded", { result: () => undefined })(x);
  });
  await expect(build(handed)).rejects.toThrow("a tensor cannot be passed; load it before the call, or give its ptr");
  expect(() => compile(through(tl.extern(OPS, "tangent", { result: same })))).toThrow("files cannot be read here");
});
