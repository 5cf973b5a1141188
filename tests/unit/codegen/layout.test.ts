import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { describe, expect, it } from "vitest";
import { printModule } from "../../../src/codegen/syntax/layout.js";
import * as b from "../../../src/codegen/syntax/py-build.js";
import type * as Py from "../../../src/codegen/syntax/py.js";

const ruff = new Workspace({ "line-length": 88, lint: { select: ["E", "F", "I"] } }, PositionEncoding.Utf16);

/** The text, after ruff agreed that it has nothing to change. */
function formatted(...statements: Py.Statement[]): string {
  const { text } = printModule(statements);
  expect(ruff.format(text)).toBe(text);
  return text;
}

const x = b.name("x");
const row = b.compare(b.subscript(b.name("offs_m"), b.slice(), b.none), ["<", b.name("M")]);
const column = b.compare(b.subscript(b.name("offs_k"), b.none, b.slice()), ["<", b.name("K")]);

describe("printModule", () => {
  it("should break a call as ruff does", () => {
    const pointer = b.binary(b.name("a_ptr"), "+", b.binary(b.name("offsets"), "*", b.name("stride_ak")));
    const load = b.call(
      "tl.load",
      pointer,
      b.keyword("mask", b.binary(row, "&", column)),
      b.keyword("other", b.number("0.0")),
    );
    expect(formatted(b.assign(x, load))).toMatchInlineSnapshot(`
      "x = tl.load(
          a_ptr + offsets * stride_ak,
          mask=(offs_m[:, None] < M) & (offs_k[None, :] < K),
          other=0.0,
      )
      "
    `);
  });

  it("should break the bracket at the end of an operation", () => {
    const product = b.call("tl.dot", b.name("activations"), b.name("weights_of_this_block"), b.name("accumulator"));
    expect(formatted(b.assign(x, b.binary(b.name("x"), "+", product)))).toMatchInlineSnapshot(`
      "x = x + tl.dot(activations, weights_of_this_block, accumulator)
      "
    `);
  });

  it("should put parentheses around a long chain of operators", () => {
    const terms = ["first_long_term", "second_long_term", "third_long_term", "fourth_long_term", "fifth_long_term"];
    const sum = terms.map(b.name).reduce<Py.Expression>((left, right) => b.binary(left, "+", right), b.number("1"));
    expect(formatted(b.assign(x, sum, b.dotted("tl.constexpr")))).toMatchInlineSnapshot(`
      "x: tl.constexpr = (
          1
          + first_long_term
          + second_long_term
          + third_long_term
          + fourth_long_term
          + fifth_long_term
      )
      "
    `);
  });

  it("should lay out a module with imports, a kernel and its wrapper", () => {
    const kernel: Py.FunctionDef = {
      kind: "function",
      name: "kernel",
      decorators: [
        b.call(
          "triton.autotune",
          b.keyword(
            "configs",
            b.list(
              ...[64, 128].map((size) =>
                b.call(
                  "triton.Config",
                  b.dict({ key: b.string("BLOCK"), value: b.numberLiteral(size, "int") }),
                  b.keyword("num_warps", b.number("4")),
                ),
              ),
            ),
          ),
          b.keyword("key", b.list(b.string("N"))),
        ),
        b.dotted("triton.jit"),
      ],
      params: [
        { name: "x_ptr" },
        { name: "N" },
        { name: "BLOCK", annotation: b.dotted("tl.constexpr"), default: b.number("64") },
      ],
      docstring: "Adds one.",
      body: [
        b.comment("The tail is masked."),
        b.assign(x, b.call("tl.program_id", b.number("0"))),
        b.blank,
        b.expression(b.call("tl.store", b.name("x_ptr"), x)),
      ],
    };
    const launch = b.call(
      b.subscript(
        b.name("kernel"),
        b.lambda(["meta"], b.tuple(b.call("triton.cdiv", b.name("N"), b.subscript(b.name("meta"), b.string("BLOCK"))))),
      ),
      x,
      b.name("N"),
    );
    const wrapper: Py.FunctionDef = {
      kind: "function",
      name: "run",
      decorators: [],
      params: [
        { name: "x", annotation: b.dotted("torch.Tensor") },
        { name: "*" },
        { name: "N", annotation: b.name("int") },
      ],
      returns: b.dotted("torch.Tensor"),
      body: [
        {
          kind: "if",
          branches: [
            {
              test: b.compare(b.name("N"), ["<", b.number("0")]),
              body: [b.raise(b.call("ValueError", b.fString("N is ", { value: b.name("N") })))],
            },
          ],
        },
        b.expression(launch),
        b.returns(x),
      ],
    };
    const imports: Py.Statement[] = [
      { kind: "import", module: "torch" },
      { kind: "import", module: "triton" },
      { kind: "import", module: "triton.language", as: "tl" },
    ];
    const text = formatted(b.expression(b.string("A module.")), ...imports, kernel, wrapper);
    expect(ruff.check(text)).toEqual([]);
    expect(text).toMatchInlineSnapshot(`
      """"A module."""

      import torch
      import triton
      import triton.language as tl


      @triton.autotune(
          configs=[
              triton.Config({"BLOCK": 64}, num_warps=4),
              triton.Config({"BLOCK": 128}, num_warps=4),
          ],
          key=["N"],
      )
      @triton.jit
      def kernel(x_ptr, N, BLOCK: tl.constexpr = 64):
          """Adds one."""
          # The tail is masked.
          x = tl.program_id(0)

          tl.store(x_ptr, x)


      def run(x: torch.Tensor, *, N: int) -> torch.Tensor:
          if N < 0:
              raise ValueError(f"N is {N}")
          kernel[lambda meta: (triton.cdiv(N, meta["BLOCK"]),)](x, N)
          return x
      "
    `);
  });

  it("should cover the rarer statements", () => {
    const body = [b.pass];
    expect(
      formatted(
        { kind: "fromImport", module: "a.b", names: [{ name: "c" }, { name: "d", as: "e" }] },
        {
          kind: "class",
          name: "A",
          decorators: [],
          bases: [b.name("B")],
          docstring: "Doc.",
          body: [b.assign(x, b.number("1"), b.name("int"))],
        },
        { kind: "with", items: [{ value: b.call("f", x), as: b.name("y") }, { value: x }], body },
        {
          kind: "try",
          body,
          handlers: [{ type: b.name("E"), as: "error", body: [b.comment("Nothing.")] }],
          finally: body,
        },
        { kind: "while", test: b.boolOp("or", x, b.boolOp("and", x, b.unary("not", x))), body },
        { kind: "assign", targets: [x, b.tuple(x, x)], value: b.conditional(x, x, x) },
        { kind: "assign", targets: [x], annotation: b.name("int") },
        { kind: "assert", test: x, message: b.string("no") },
      ),
    ).toMatchInlineSnapshot(`
      "from a.b import c, d as e


      class A(B):
          """Doc."""

          x: int = 1


      with f(x) as y, x:
          pass
      try:
          pass
      except E as error:
          # Nothing.
          pass
      finally:
          pass
      while x or x and not x:
          pass
      x = x, x = x if x else x
      x: int
      assert x, "no"
      "
    `);
  });

  it("should cut a text that is too long for a line", () => {
    const message = b.fString(
      "x must be a contiguous tensor on the GPU, with at least one element and no stride of zero, but got ",
      { value: x },
      ".",
    );
    const { text } = printModule([b.raise(b.call("ValueError", message))]);
    expect(ruff.format(text)).toBe(text);
    expect(text).toMatchInlineSnapshot(`
      "raise ValueError(
          "x must be a contiguous tensor on the GPU, with at least one element "
          f"and no stride of zero, but got {x}."
      )
      "
    `);
  });

  it("should keep letters and signs, and escape what is wide or invisible", () => {
    const text = "Σ x² ≤ θ · é, 字 한 ⚡ \u200b\u202e\u0301";
    expect(formatted(b.assign(x, b.string(text)))).toMatchInlineSnapshot(`
      "x = "Σ x² ≤ θ · é, \\u5b57 \\ud55c \\u26a1 \\u200b\\u202e\\u0301"
      "
    `);
  });

  it("should go on in the next line of a comment that is too long, but not in an item of a list", () => {
    const long = "a comment of the author's whose first line has more words than Python's lines have columns for,";
    const lines = (text: string) => formatted(b.comment(text)).trimEnd().split("\n");
    expect(lines(`${long}\nand a second line.\nA third.`)).toEqual([
      "# a comment of the author's whose first line has more words than Python's lines have",
      "# columns for, and a second line.",
      "# A third.",
    ]);
    expect(lines(`${long}\n- an item`).slice(1)).toEqual(["# columns for,", "# - an item"]);
    expect(lines("short\nlines stay")).toEqual(["# short", "# lines stay"]);
  });

  it("should keep hostile text inside its literal or comment", () => {
    const hostile = '"; import os\n\\\u2028';
    expect(formatted(b.assign(x, b.string(hostile)), b.comment(hostile))).toMatchInlineSnapshot(`
      "x = '"; import os\\n\\\\\\u2028'
      # "; import os
      # \\
      "
    `);
  });

  it("should write parentheses around what few readers know to bind tighter: bit operators", () => {
    const y = b.name("y");
    const shifted = b.binary(x, ">>", b.binary(y, "*", b.number("4")));
    expect(formatted(b.expression(b.binary(shifted, "&", b.number("15"))))).toBe("(x >> (y * 4)) & 15\n");
    expect(formatted(b.expression(b.compare(b.binary(x, "&", y), ["==", y])))).toBe("(x & y) == y\n");
    expect(formatted(b.expression(b.binary(b.binary(x, "|", y), "|", x)))).toBe("x | y | x\n");
  });

  it("should write parentheses where the tree needs them only", () => {
    const y = b.name("y");
    const product = b.binary(x, "*", y);
    expect(formatted(b.expression(b.binary(product, "%", y)))).toBe("x * y % y\n");
    expect(formatted(b.expression(b.binary(x, "*", b.binary(x, "%", y))))).toBe("x * (x % y)\n");
    expect(formatted(b.expression(b.binary(x, "&", b.compare(x, ["<", y]))))).toBe("x & (x < y)\n");
    expect(formatted(b.expression(b.unary("-", b.binary(x, "**", y))))).toBe("-(x**y)\n");
  });

  it("should know where each line comes from", () => {
    const at = (line: number) => ({ file: "a.ts", line, column: 1 });
    const sum = b.withOrigin(b.binary(x, "+", b.withOrigin(b.name("y"), at(2))), at(1));
    const { text, lines } = printModule([
      { kind: "if", branches: [{ test: x, body: [b.withOrigin(b.returns(sum), at(3))] }] },
    ]);
    expect(text).toBe("if x:\n    return x + y\n");
    expect(lines).toEqual([
      { line: 2, column: 4, origin: at(3) },
      { line: 2, column: 11, origin: at(1) },
      { line: 2, column: 15, origin: at(2) },
    ]);
  });
});

describe("numberLiteral", () => {
  it.each<[number | bigint, "int" | "float", string]>([
    [1, "int", "1"],
    [1, "float", "1.0"],
    [0.5, "float", "0.5"],
    [1e-7, "float", "1e-7"],
    [1e21, "float", "1e21"],
    [-0, "float", "-0.0"],
    [-0, "int", "0"],
    [-3, "int", "-3"],
    [2n ** 64n, "int", "18446744073709551616"],
    [Infinity, "float", 'float("inf")'],
    [-Infinity, "float", 'float("-inf")'],
    [NaN, "float", 'float("nan")'],
  ])("should write %s as %s", (value, as, text) => {
    expect(formatted(b.expression(b.numberLiteral(value, as)))).toBe(`${text}\n`);
  });
});
