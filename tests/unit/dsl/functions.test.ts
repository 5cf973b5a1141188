/** Helper functions, combine functions and escapes: what they become, and what is refused. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { printIR } from "../../../src/ir/print.js";
import { parameterNames } from "../../../src/ops/helper.js";
import { type Body, errorOf, statementsOf } from "./vector.js";

const anyFn = tl.fn as any;
const anyTl = tl as any;

describe("what is recorded", () => {
  test("one function for each signature, called where the author calls it", () => {
    expect(
      statementsOf(({ s, BLOCK }) => {
        const lanes = tl.arange(0, BLOCK);
        const scaled = anyFn("scaled", (x: any, factor: any) => x.mul(factor));
        scaled(scaled(lanes.to(tl.float32), s), s);
        scaled(lanes, BLOCK);
        scaled(lanes, 3);
      }),
    ).toMatchInlineSnapshot(`
      "function scaled#0(x: float32[BLOCK], factor: float32):
        %0: float32[BLOCK] = mul x, factor
        yield %0
      function scaled#1(x: int32[BLOCK], factor: constexpr int BLOCK):
        %1: int32[BLOCK] = mul x, factor
        yield %1
      function scaled#2(x: int32[BLOCK]):
        %2: int32[BLOCK] = mul x, 3
        yield %2
        %3: int32[BLOCK] = arange 0, BLOCK
        %4: float32[BLOCK] = to %3, float32
        %5: float32[BLOCK] = call scaled#0, [%4, s]
        %6: float32[BLOCK] = call scaled#0, [%5, s]
        %7: int32[BLOCK] = call scaled#1, [%3, BLOCK]
        %8: int32[BLOCK] = call scaled#2, [%3]
      "
    `);
  });

  test("lists in, lists out, and what a function of the host is", () => {
    expect(
      statementsOf(({ s, N }) => {
        const swapped = anyFn(([a, b]: any) => [b, a]);
        const [first] = swapped([s, N]);
        first.add(1);
      }),
    ).toMatchInlineSnapshot(`
      "function helper#0(a: float32, b: int32):
        yield b, a
        %0: int32, %1: float32 = call helper#0, [s, N]
        %2: int32 = add %0, 1
      "
    `);
  });

  test("a function chosen by name is a branch, inside a function too", () => {
    const kernelOf = (functions: any) =>
      kernel(
        "chosen",
        {
          params: { x: tensor.inout(tl.float32, ["N"]), ACT: constexpr.fn(functions) },
          grid: () => [1],
        },
        ({ x, ACT }: any) => tl.store(x.at(0), ACT(tl.load(x.at(0)))),
      );
    const textOf = (functions: any) => printIR(trace(definitionOf(kernelOf(functions)))).split("\ngrid:")[0];
    expect(textOf({ twice: (v: any) => v.mul(2), same: (v: any) => v })).toMatchInlineSnapshot(`
      "kernel chosen(x: tensor<float32[N]>, N: int32, ACT: constexpr string ACT):
        %0: view<float32> = at x, [0], claimed=[false]
        %1: view<float32> = at x, [0], claimed=[false]
        %2: float32 = load %1
        %3: constexpr bool ACT == twice = eq ACT, "twice"
        %4: float32 = if %3:
          %5: float32 = mul %2, 2
          yield %5
        else:
          yield %2
        store %0, %4"
    `);
    // One choice is no branch.
    expect(textOf({ twice: (v: any) => v.mul(2) })).toMatchInlineSnapshot(`
      "kernel chosen(x: tensor<float32[N]>, N: int32, ACT: constexpr string ACT):
        %0: view<float32> = at x, [0], claimed=[false]
        %1: view<float32> = at x, [0], claimed=[false]
        %2: float32 = load %1
        %3: float32 = mul %2, 2
        store %0, %3"
    `);
    expect(() => textOf({ half: (v: any) => v.to(tl.float16), same: (v: any) => v })).toThrow(
      "one arm returns float32, another float16",
    );
    expect(() => textOf({ twice: (v: any) => v.mul(2), nothing: () => undefined })).toThrow(
      "all arms return a value, or none does",
    );
    expect(() => constexpr.fn({} as any)).toThrow("give the functions by name");
    expect(() => constexpr.fn({ a: (v: any) => v }, { default: "b" as any })).toThrow('the default "b" is not one of');
  });

  test("folds with functions on scalars, along an axis that counts from the front", () => {
    expect(
      statementsOf(({ BLOCK }) => {
        const lanes = tl.arange(0, BLOCK);
        anyTl.reduce(lanes.row, -1, (a: any, b: any) => tl.maximum(a, b), { keepDims: true });
        anyTl.associativeScan([lanes, lanes], 0, ([a, i]: any, [b, j]: any) => [a.add(b), i.sub(j)]);
        tl.mapElementwise((a: any) => a.add(1), lanes);
      }),
    ).toMatchInlineSnapshot(`
      "function combine#0(a: int32, b: int32):
        %0: int32 = maximum a, b
        yield %0
      function combine#1(a: int32, i: int32, b: int32, j: int32):
        %1: int32 = add a, b
        %2: int32 = sub i, j
        yield %1, %2
      function element#2(a: int32):
        %3: int32 = add a, 1
        yield %3
        %4: int32[BLOCK] = arange 0, BLOCK
        %5: int32[1, BLOCK] = expandDims %4, 0
        %6: int32[1, 1] = reduce %5, 1, combine#0, keepDims=true
        %7: int32[BLOCK], %8: int32[BLOCK] = associativeScan [%4, %4], 0, combine#1
        %9: int32[BLOCK] = mapElementwise element#2, [%4]
      "
    `);
  });

  test("a helper function knows its kernel's arguments, and dimensions by the names of its parameters", () => {
    const text = statementsOf(({ x, BLOCK }) => {
      const f = anyFn("f", (offsets: any, _WIDTH: any) =>
        tl.load(x.at(offsets)).add(tl.zeros(offsets.shape, tl.float32)),
      );
      f(tl.arange(0, BLOCK), BLOCK);
    });
    expect(text).toContain("zeros [_WIDTH], float32");
    expect(text).toContain("at x, [offsets]");
  });

  test("an escape says what it gives", () => {
    expect(
      statementsOf(({ s, BLOCK }) => {
        tl.raw("f({0})", [s], { dtype: tl.float16, shape: [BLOCK], effect: "read" });
        tl.raw("g()");
        tl.inlineAsmElementwise("mov.b32 $0, $1;", "=r,r", [s], [tl.int32, tl.int32], { pack: 1 });
      }),
    ).toMatchInlineSnapshot(`
      "  %0: float16[BLOCK] = raw "f({0})", [s], dtype=float16, shape=[BLOCK]
        raw "g()", []
        %1: int32, %2: int32 = inlineAsmElementwise "mov.b32 $0, $1;", "=r,r", [s], [int32, int32], true, 1
      "
    `);
  });

  test("parameters have the author's names", () => {
    expect(parameterNames((a: any, [b, [c]]: any, { d }: any, e = 1, ...f: any[]) => [a, b, c, d, e, f])).toEqual([
      "a",
      ["b", ["c"]],
      undefined,
      "e",
      undefined,
    ]);
    expect(parameterNames((alone) => alone)).toEqual(["alone"]);
    expect(parameterNames(() => 1)).toEqual([]);
  });
});

describe("what is refused", () => {
  const lanes = ({ BLOCK }: any) => tl.arange(0, BLOCK);
  test.each<[string, string, Body]>([
    ["no function", "helper-function: fn: needs a function; write tl.fn((x) => x.mul(2))", () => anyFn(3)],
    [
      "no name",
      'helper-function: fn: "a b" cannot be a Python name; use letters, digits and _',
      () => anyFn("a b", () => {}),
    ],
    [
      "recursion",
      "recursion: fn: a helper function cannot call itself; Triton has no recursion, use a loop",
      ({ s }) => {
        const f: any = anyFn((a: any) => f(a.add(1)));
        f(s);
      },
    ],
    [
      "recursion over another function",
      "recursion: fn: a helper function cannot call itself; Triton has no recursion, use a loop",
      ({ s, N }) => {
        const f: any = anyFn((a: any) => g(a));
        const g: any = anyFn((a: any) => f(a, N));
        f(s);
      },
    ],
    [
      "a value from outside",
      "helper-capture: this value was made outside the helper function, which Triton compiles on its own; pass it as an argument",
      (args) => {
        const outside = lanes(args);
        anyFn((a: any) => a.add(outside))(args.s);
      },
    ],
    [
      "state from outside",
      "helper-capture: this tl.mut was made outside the helper function, which Triton compiles on its own; pass it as an argument",
      (args) => {
        const state = tl.mut(lanes(args));
        anyFn(() => void (state.value = 1))();
      },
    ],
    [
      "state as an argument",
      "helper-argument: fn: an argument is a tile, a pointer, a constexpr, a tensor or plain JavaScript; read state with .value",
      (args) => anyFn((a: any) => a.value)(tl.mut(lanes(args))),
    ],
    [
      "a view as an argument",
      "helper-argument: fn: a view cannot be passed; load it before the call, or give the tensor and the indices",
      (args) => anyFn((a: any) => tl.load(a))(args.x.at(lanes(args))),
    ],
    [
      "a number as result",
      "helper-result: fn: a number has no dtype; return tl.full([], x, dtype)",
      () => anyFn(() => 1)(),
    ],
    [
      "a constexpr as result",
      "helper-result: fn: a number has no dtype; return tl.full([], x, dtype)",
      ({ BLOCK }) => anyFn((B: any) => B)(BLOCK),
    ],
    [
      "a view as result",
      "helper-result: fn: a helper function cannot give a view; return the tile that you load from it",
      (args) => anyFn((a: any) => args.x.at(a))(lanes(args)),
    ],
    [
      "an object as result",
      "helper-result: fn: a helper function gives nothing, a tile, or a list of tiles; return one of these",
      ({ s }) => anyFn((a: any) => ({ a }))(s),
    ],
    [
      "a loop in it that is left early",
      "early-exit: a traced loop cannot be left early: its body runs once, while the kernel is traced; mask the work or put it in tl.when(…)",
      ({ N }) =>
        anyFn((n: any) => {
          for (const _ of tl.range(0, n)) return;
        })(N),
    ],
    [
      "an exit from it",
      "misplaced-exit: exit: a helper function cannot end the kernel; return a value and exit in the kernel",
      ({ N }) => anyFn((n: any) => void tl.when(n.gt(1), () => tl.exit()))(N),
    ],
    [
      "a tile to a function that is not inlined",
      "helper-argument: fn: a function that is not inlined takes and gives scalars, this is int32[BLOCK]; leave noinline out",
      (args) => anyFn((a: any) => tl.sum(a, 0), { noinline: true })(lanes(args)),
    ],
    [
      "a fold without an axis",
      "arguments: reduce: needs an axis; fold one axis at a time, tl.reduce(x, 0, …)",
      (args) => anyTl.reduce(lanes(args), undefined, (a: any) => a),
    ],
    [
      "an axis that is not there",
      "wrong-axis: reduce: axis 1 is out of range, the tile is [BLOCK]",
      (args) => anyTl.reduce(lanes(args), 1, (a: any) => a),
    ],
    [
      "a fold without a function",
      "helper-function: associativeScan: needs a function of scalars; write (a, b) => tl.maximum(a, b)",
      (args) => anyTl.associativeScan(lanes(args), 0, "add"),
    ],
    [
      "a fold of a number",
      "operand-kind: reduce: needs a tile, or a list of tiles",
      () => anyTl.reduce(1, 0, (a: any) => a),
    ],
    [
      "tiles of different shapes",
      "shape-mismatch: reduce: the tiles must have one shape, got [BLOCK] and [1, BLOCK]",
      (args) => anyTl.reduce([lanes(args), lanes(args).row], 0, (a: any) => a),
    ],
    [
      "a function that gives another dtype",
      "helper-result: reduce: the function must give int32, as it gets, but gives float32; cast with .to(…)",
      (args) => anyTl.reduce(lanes(args), 0, (a: any, b: any) => a.add(b).to(tl.float32)),
    ],
    [
      "a function that gives nothing",
      "helper-result: reduce: the function must give int32, as it gets, but gives nothing; cast with .to(…)",
      (args) => anyTl.reduce(lanes(args), 0, () => {}),
    ],
    [
      "a function that looks at the kernel's arguments",
      "helper-capture: reduce: Triton gives the function only elements; use its arguments and numbers only",
      (args) => anyTl.reduce(lanes(args), 0, (a: any, b: any) => a.add(b).add(args.N)),
    ],
    [
      "a function that stores",
      "helper-function: reduce: the function runs in an order of Triton's own; load and store outside it",
      (args) =>
        anyTl.reduce(lanes(args), 0, (a: any, b: any) => {
          tl.raw("effect()", [], { effect: "write" });
          return a.add(b);
        }),
    ],
    [
      "a map over a number",
      "helper-argument: mapElementwise: its arguments are tiles; read state with .value, and write numbers in the function",
      () => anyTl.mapElementwise((a: any) => a, 1),
    ],
    [
      "a map that gives nothing",
      "helper-result: mapElementwise: the function gives scalars, this is nothing; return its result",
      (args) => anyTl.mapElementwise(() => {}, lanes(args)),
    ],
    [
      "a field without an operand",
      "operand-kind: raw: {1} has no operand; give 2 operands, or write {{ for a brace",
      ({ s }) => tl.raw("f({0}, {1})", [s]),
    ],
    [
      "a shape without a dtype",
      "operand-kind: raw: a shape needs a dtype; add dtype: tl.float32",
      () => tl.raw("f()", [], { shape: [2] }),
    ],
    [
      "an unknown effect",
      "unknown-effect: raw: no effect all; it is pure, read or write",
      () => tl.raw("f()", [], { effect: "all" as never }),
    ],
    [
      "assembly of a number",
      "operand-kind: inlineAsmElementwise: needs a tile",
      () => tl.inlineAsmElementwise("", "", [1] as never, tl.int32),
    ],
  ])("%s", (_, message, body) => {
    expect(errorOf((args) => void body(args))).toBe(message);
  });

  test("a call outside a kernel", () => {
    expect(() => anyFn((a: any) => a)(1)).toThrow("a function of tl.fn was called outside a kernel");
  });
});
