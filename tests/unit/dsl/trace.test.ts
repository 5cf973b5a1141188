/** Tracing: what a kernel's function becomes, and what it may not do. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { constexpr, kernel, pointer, scalar, tensor, tl, TileScriptError } from "tilescript";
import type { Diagnostic } from "../../../src/diagnostics/diagnostic.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { printIR } from "../../../src/ir/print.js";

type Body = Parameters<typeof vector>[0];

/** A kernel over one vector, so that each test is only its body. */
function vector(body: (args: any) => void) {
  return kernel(
    "vector",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        p: pointer(tl.float16),
        s: scalar(tl.float32),
        BLOCK: constexpr(),
        FLAG: constexpr.bool({ default: true }),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
    },
    body,
  );
}

const irOf = (body: Body) => printIR(trace(definitionOf(vector(body))));

/** The error of a body: its code, its message, and the line of this file that it points at. */
function errorOf(body: Body): { code: string; message: string; file: string | undefined; related: number } {
  const { code, message, at, related } = problemOf(vector(body));
  return { code, message, file: at?.file.split("/").at(-1), related: related?.length ?? 0 };
}

function problemOf(described: unknown): Diagnostic {
  try {
    trace(definitionOf(described));
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return error.diagnostics[0]!;
  }
  throw new Error("the kernel was accepted");
}

describe("what is recorded", () => {
  test("a kernel is a list of typed statements in program order", () => {
    expect(
      irOf(({ x, y, BLOCK }) => {
        const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(offsets), tl.load(x.at(offsets)));
      }),
    ).toMatchInlineSnapshot(`
      "kernel vector(x: tensor<float32[N]>, y: tensor<float32[N]>, p: *float16, s: float32, N: int32, BLOCK: constexpr int BLOCK, FLAG: constexpr bool FLAG):
        %0: int32 = programId 0
        %1: int32 = mul %0, BLOCK
        %2: int32[BLOCK] = arange 0, BLOCK
        %3: int32[BLOCK] = add %1, %2
        %4: view<float32[BLOCK]> = at y, [%3], claimed=[false]
        %5: view<float32[BLOCK]> = at x, [%3], claimed=[false]
        %6: float32[BLOCK] = load %5
        store %4, %6
      grid:
        %7: int32 = cdiv N, BLOCK
        yield %7
      "
    `);
  });

  test("state, loops and branches nest", () => {
    expect(
      irOf(({ y, N, BLOCK, FLAG }) => {
        const acc = tl.mut(tl.zeros([BLOCK], tl.float32));
        for (const k of tl.range(0, N, BLOCK)) {
          tl.when(FLAG, () => {
            acc.value = acc.value.add(k.to(tl.float32));
          }).otherwise(() => {
            acc.value = 0;
          });
        }
        tl.store(y.at(tl.arange(0, BLOCK)), acc.value);
      }),
    ).toMatchInlineSnapshot(`
      "kernel vector(x: tensor<float32[N]>, y: tensor<float32[N]>, p: *float16, s: float32, N: int32, BLOCK: constexpr int BLOCK, FLAG: constexpr bool FLAG):
        %0: float32[BLOCK] = zeros [BLOCK], float32
        let @1 = %0
        for %2 in 0, N, BLOCK:
          if FLAG:
            %3: float32[BLOCK] = @1
            %4: float32 = to %2, float32
            %5: float32[BLOCK] = add %3, %4
            @1 = %5
          else:
            %6: float32[BLOCK] = full [BLOCK], 0, float32
            @1 = %6
        %7: int32[BLOCK] = arange 0, BLOCK
        %8: view<float32[BLOCK]> = at y, [%7], claimed=[false]
        %9: float32[BLOCK] = @1
        store %8, %9
      grid:
        %10: int32 = cdiv N, BLOCK
        yield %10
      "
    `);
  });

  test("a read of state is a snapshot", () => {
    const text = irOf(({ y, BLOCK }) => {
      const state = tl.mut(tl.zeros([BLOCK], tl.float32));
      const before = state.value;
      state.value = before.add(1);
      tl.store(y.at(tl.arange(0, BLOCK)), before.add(state.value));
    });
    expect(text).toContain("%2: float32[BLOCK] = @1");
    expect(text).toContain("add %2, 1");
  });

  test("a branch gives values", () => {
    const text = irOf(({ y, N, BLOCK }) => {
      const zero = tl.zeros([BLOCK], tl.float32);
      const chosen = tl.when(N.gt(3), () => zero.add(1)).otherwise(() => zero);
      tl.store(y.at(tl.arange(0, BLOCK)), chosen);
    });
    expect(text).toMatch(/%\d+: float32\[BLOCK\] = if %\d+:/);
  });

  test("JavaScript's own loops and branches run while the kernel is traced", () => {
    const text = irOf(({ y, BLOCK }) => {
      let total = tl.zeros([BLOCK], tl.float32);
      for (let i = 0; i < 3; i++) if (i !== 1) total = total.add(i);
      tl.store(y.at(tl.arange(0, BLOCK)), total);
    });
    expect(text.match(/= add/g)).toHaveLength(2);
  });
});

describe("what is refused", () => {
  test("a value of a loop outside it", () => {
    const error = errorOf(({ y, N, BLOCK }) => {
      let inner: any;
      for (const k of tl.range(0, N, BLOCK)) inner = k.add(tl.arange(0, BLOCK));
      tl.store(y.at(inner), 0);
    });
    expect(error).toEqual({
      code: "scope-escape",
      message:
        "this value was made inside the loop and does not exist outside it; hold it in tl.mut(…) made before the loop and write its .value inside",
      file: "trace.test.ts",
      related: 2,
    });
  });

  test("a value of a branch outside it", () => {
    const error = errorOf(({ y, N, BLOCK }) => {
      let inner: any;
      tl.when(N.gt(1), () => void (inner = tl.arange(0, BLOCK)));
      tl.store(y.at(inner), 0);
    });
    expect(error.code).toBe("scope-escape");
    expect(error.message).toContain("made inside this branch");
  });

  test.each<[string, string, Body]>([
    [
      "a loop that is left early",
      "early-exit",
      ({ N }) => {
        for (const _ of tl.range(0, N)) break;
      },
    ],
    ["arithmetic by JavaScript", "coercion", ({ N }) => void (N + 1)],
    ["a template", "coercion", ({ N }) => void `${N}`],
    ["the text of an object", "coercion", ({ N }) => void N.toString()],
    ["the text of an object in a language", "coercion", ({ N }) => void N.toLocaleString()],
    ["the value of an object", "coercion", ({ N }) => void N.valueOf()],
    ["an index", "coercion", ({ N }) => void [1, 2][N]],
    ["a comparison by JavaScript", "coercion", ({ N }) => void (N < 3)],
    ["a result", "kernel-result", (() => 1) as unknown as Body],
    [
      "an unknown option",
      "unknown-option",
      ({ x, BLOCK }) => void tl.load(x.at(tl.arange(0, BLOCK)), { maks: true } as any),
    ],
    ["a missing operand", "arguments", () => void (tl.minimum as any)(1)],
    ["an operand that is none", "arguments", ({ N }) => N.add({})],
    ["a function of the host in a kernel", "host-only", ({ N }) => void tl.nextPowerOf2(N)],
    ["a text as state", "state-type", () => void tl.mut("1" as never)],
    ["a store to an input", "read-only", ({ x, BLOCK }) => void tl.store(x.at(tl.arange(0, BLOCK)), 0 as never)],
    [
      "state that changes its dtype",
      "state-type",
      ({ BLOCK }) => {
        const acc = tl.mut(tl.zeros([BLOCK], tl.float32));
        acc.value = tl.zeros([BLOCK], tl.float16) as never;
      },
    ],
    [
      "arms that return different types",
      "branch-values",
      ({ N, BLOCK }) => {
        tl.when(N.gt(0), () => tl.zeros([BLOCK], tl.float32)).otherwise(() => tl.zeros([BLOCK], tl.float16) as never);
      },
    ],
    [
      "an arm that follows something else",
      "branch-order",
      ({ N, y, BLOCK }) => {
        const chain = tl.when(N.gt(0), () => {});
        tl.store(y.at(tl.arange(0, BLOCK)), 0);
        chain.otherwise(() => {});
      },
    ],
  ])("%s", (_, code, body) => {
    const error = errorOf(body);
    expect(error.code).toBe(code);
    expect(error.file).toBe("trace.test.ts");
    expect(error.message).toMatch(/; |use |takes|is missing/);
  });

  test("an op outside a kernel", () => {
    expect(() => tl.programId(0)).toThrow(
      /tl\.programId was called outside a kernel; call it in the function given to kernel/,
    );
  });

  test("names that Python cannot have, and specs without what a launch needs", () => {
    const spec = { params: {}, grid: () => [1] as [number] };
    expect(() => kernel("a b" as string, spec, () => {})).toThrow(/"a b" cannot be a Python name/);
    expect(() => kernel('"; import os', spec, () => {})).toThrow(/cannot be a Python name/);
    expect(() => kernel("k", { params: {} } as never, () => {})).toThrow(/grid is missing/);
    expect(() => tensor(tl.float32, ["a-b"] as string[])).toThrow(/"a-b" is not a dim/);
    expect(() => tensor("float32" as never, ["N"])).toThrow(/a dtype is not text; write tl\.float32/);
    expect(() => tensor(32 as never, ["N"])).toThrow(/the first argument is a dtype/);
  });

  test("a range that ends at no size of a tensor", () => {
    const picked = kernel(
      "picked",
      {
        params: {
          x: tensor(tl.float32, ["N"]),
          index: tensor(tl.int32, ["M"], { range: [0, "ROWS"] }),
        },
        grid: ({ M }) => [M],
      },
      () => {},
    );
    const { message, at } = problemOf(picked);
    expect(message).toBe("picked: the range of index names ROWS, which is not a size of a tensor; those are N, M");
    const lines = readFileSync(at!.file, "utf8").split("\n");
    expect(lines[at!.line - 1]).toContain('range: [0, "ROWS"]');
  });
});
