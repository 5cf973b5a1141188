/** Atomics: what they refuse, how they are written, what they compute, and that Triton takes every dtype of each. */
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { build, compile, constexpr, kernel, tensor, tl, type TestCase } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import { atomicKinds, type AtomicKind } from "../../../src/rules/atomic-rules.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { evaluate, lineOf, onlyFinding } from "../../support/evaluate.js";
import { interpreter } from "../../support/cli.js";
import { compileAll } from "../../support/aot.js";
import { tritonPythons } from "../../support/python.js";

sampledTests("kernels in memory", "src/lower");

const line = (mark: string) => lineOf(import.meta.url, mark);

/** Counts how often each value occurs: programs meet at the counts. */
export const histogram = kernel(
  "histogram",
  {
    params: {
      x: tensor(tl.int32, ["N"], { range: [0, "BINS"] }),
      counts: tensor.inout(tl.int32, ["BINS"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: {
      source: "return counts + torch.bincount(x, minlength=counts.numel()).to(torch.int32)",
    },
  },
  ({ x, counts, N, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(offsets));
    tl.atomicAdd(counts.at(values), 1, { mask: offsets.lt(N), sem: "relaxed" });
  },
);

const ints = (...values: number[]): TensorData => ({
  dtype: "int32",
  shape: [values.length],
  data: Int32Array.from(values),
});

describe("emission", () => {
  test("an atomic is written once, where it stands, under the view's mask and its own", async () => {
    const { python } = await build(histogram);
    expect(python.match(/atomic_add/g)).toHaveLength(1);
    const body = python.slice(python.indexOf("offsets ="), python.indexOf("def histogram("));
    expect(body.trimEnd()).toMatchInlineSnapshot(`
      "offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
          mask = offsets < N
          values = tl.load(x_ptr + offsets * stride_xn, mask=mask, other=0)
          tl.atomic_add(
              counts_ptr + values * stride_counts_bins,
              1,
              mask=(values < BINS) & mask,
              sem="relaxed",
          )"
    `);
  });

  test("what was there before keeps its place, also where it is used once and later", async () => {
    const ticket = kernel(
      "ticket",
      {
        params: { counter: tensor.inout(tl.int32, [1]), out: tensor.out(tl.int32, ["N"]) },
        grid: ({ N }) => [N],
      },
      ({ counter, out }) => {
        const mine = tl.atomicAdd(counter.ptr, 1);
        tl.atomicXchg(counter.ptr, tl.atomicMax(counter.ptr, 3));
        tl.store(out.at(tl.programId(0)), mine);
      },
    );
    const { python } = await build(ticket);
    const order = ["mine = tl.atomic_add(", "= tl.atomic_max(", "tl.atomic_xchg(", "tl.store("];
    expect(order.map((text) => python.indexOf(text)).every((at, i, all) => at > (all[i - 1] ?? 0))).toBe(true);
    expect(python.match(/tl\.atomic_max/g)).toHaveLength(1);
  });

  test("a module that calls what only 3.9 has says so when it is imported", async () => {
    const flag = kernel(
      "flag",
      { params: { flags: tensor.inout(tl.int32, ["N"]) }, grid: ({ N }) => [N] },
      ({ flags }) => {
        tl.atomicStore(flags.ptr.add(tl.programId(0)), 1);
      },
    );
    const { python } = await build(flag);
    expect(python).toMatch(/^Made for torch [\d.]+ to [\d.]+ and Triton 3\.9\.$/m);
    const [check] = /^if tuple\(.*\n(?:    .*\n)+/m.exec(python)!;
    expect(check).toMatchInlineSnapshot(`
      "if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9):
          raise ImportError(
              f"Triton 3.9 or later is needed for tl.atomic_store, got {triton.__version__}"
          )
      "
    `);
    for (const { name, python: program } of await tritonPythons()) {
      const { stderr } = await execa(program, ["-c", `import triton\n${check}`], { reject: false });
      const error = `ImportError: Triton 3.9 or later is needed for tl.atomic_store, got ${name}.0`;
      expect(stderr.split("\n").at(-1)).toBe(name === "3.9" ? "" : error);
    }
  });
});

describe("refusals of the build", () => {
  const one = (body: (args: any) => void, dtype: unknown = tl.int32) =>
    kernel(
      "one",
      {
        params: { x: tensor.inout(dtype as typeof tl.int32, ["N"]), BLOCK: constexpr() },
        grid: () => [1],
        config: { BLOCK: 16 },
      },
      body,
    );
  const said = (body: (args: any) => void, dtype?: unknown) => {
    try {
      compile(one(body, dtype));
    } catch (error) {
      return (error as Error).message;
    }
    return "nothing";
  };

  test.each([
    ["atomicAdd", tl.int16, "atomicAdd: does not work on int16; it takes 32-bit and 64-bit integers, float16"],
    ["atomicMax", tl.float16, "atomicMax: does not work on float16; it takes 32-bit and 64-bit integers, float32"],
    ["atomicOr", tl.float32, "atomicOr: does not work on float32; it takes 32-bit and 64-bit integers"],
    ["atomicXchg", tl.bfloat16, "atomicXchg: does not work on bfloat16"],
    ["atomicCas", tl.int8, "atomicCas: does not work on int8; it takes dtypes of 16, 32 and 64 bits"],
  ] as const)("%s of a dtype that it does not take", (name, dtype, sentence) => {
    const f = tl[name] as any;
    expect(said(({ x }) => f(x.ptr, 0, ...(name === "atomicCas" ? [1] : [])), dtype)).toContain(sentence);
  });

  test("a member of a dtype variable counts", () => {
    expect(said(({ x }) => tl.atomicMax(x.ptr, 1), tl.dtype("T", [tl.float32, tl.float16]))).toContain(
      "atomicMax: does not work on T",
    );
  });

  test("compare-and-swap casts and spreads nothing, and takes no mask", () => {
    expect(said(({ x }) => tl.atomicCas(x.ptr, 0, 1), tl.int64)).toContain("write tl.full([], …, tl.int64)");
    expect(said(({ x, BLOCK }) => tl.atomicCas(x.ptr.add(tl.arange(0, BLOCK)), 0 as any, 1 as any))).toContain(
      "write tl.full([BLOCK], …, tl.int32)",
    );
    const swap = ({ x, BLOCK }: any) => {
      const zeros = tl.zeros([BLOCK], tl.int32);
      tl.atomicCas(x.at(tl.arange(0, BLOCK)), zeros as any, zeros as any);
    };
    expect(said(swap)).toContain("atomicCas: takes no mask, so each index of a view must be in bounds");
  });

  test("a mask and an ordering that Triton does not know", () => {
    expect(said(({ x }) => tl.atomicAdd(x.ptr, 1, { mask: true as any }))).toContain("a mask is a tile of int1");
    expect(said(({ x }) => tl.atomicAdd(x.ptr, 1, { sem: "seq_cst" as any }))).toContain("sem is one of acquire");
    expect(said(({ x }) => tl.atomicLoad(x.ptr, { sem: "release" as any }))).toContain("acquire, relaxed");
    expect(said(({ x }) => tl.atomicAdd(x.ptr, 1, { scope: "system" as any }))).toContain("scope is gpu, cta or sys");
  });
});

describe("evaluation", () => {
  const apply = (
    name: "atomicAdd" | "atomicMax" | "atomicMin" | "atomicXor",
    dtype: any,
    was: number[],
    by: number[],
  ) => {
    const k = kernel(
      "k",
      {
        params: {
          x: tensor.inout(dtype, ["N"]),
          y: tensor(dtype, ["N"]),
          old: tensor.out(dtype, ["N"]),
          BLOCK: constexpr(),
        },
        grid: () => [1],
        config: { BLOCK: 8 },
      },
      ({ x, y, old, BLOCK }: any) => {
        const lanes = tl.arange(0, BLOCK);
        tl.store(old.at(lanes), (tl[name] as any)(x.at(lanes), tl.load(y.at(lanes)), { mask: lanes.lt(8) }));
      },
    );
    const data = (values: number[]): TensorData => {
      const name = String(dtype.name);
      const isFloat = name.startsWith("float") || name.startsWith("bfloat");
      return { dtype: name, shape: [values.length], data: (isFloat ? Float32Array : Int32Array).from(values) };
    };
    const { outputs, findings } = evaluate(k, { sizes: { N: was.length } }, { x: data(was), y: data(by) });
    expect(findings).toEqual([]);
    expect([...outputs["old"]!.data]).toEqual(was);
    return [...outputs["x"]!.data];
  };

  test("adds in the dtype of memory", () => {
    expect(apply("atomicAdd", tl.float16, [2048, 1], [1, 0.5])).toEqual([2048, 1.5]);
    expect(apply("atomicAdd", tl.int32, [2 ** 31 - 1], [1])).toEqual([-(2 ** 31)]);
  });

  test("orders floats by their bits", () => {
    const [inf, nan] = [Infinity, Number.NaN];
    expect(apply("atomicMax", tl.float32, [1, -1, nan, 1, -2, -0], [2, -2, 5, nan, -1, 0])).toEqual([
      2,
      -1,
      nan,
      nan,
      -1,
      0,
    ]);
    expect(apply("atomicMin", tl.float32, [1, -1, nan, 1, inf, 0], [2, -2, 5, nan, -inf, -0])).toEqual([
      1,
      -2,
      5,
      1,
      -inf,
      -0,
    ]);
  });

  test("works on bits", () => {
    expect(apply("atomicXor", tl.int32, [5, -1], [3, 1])).toEqual([6, -2]);
  });

  test("lanes of one tile that meet add up", () => {
    const { outputs, findings } = evaluate(
      histogram,
      { sizes: { N: 200, BINS: 3 } },
      { x: ints(...Array.from({ length: 200 }, (_, i) => i % 3)), counts: ints(0, 0, 100) },
    );
    expect([findings, [...outputs["counts"]!.data]]).toEqual([[], [67, 67, 166]]);
  });

  const pair = (first: (args: any) => void, second: (args: any) => void) =>
    kernel(
      "pair",
      { params: { x: tensor.inout(tl.int32, [1]), y: tensor.inout(tl.int32, [1]) }, grid: () => [2] },
      (args) => {
        tl.when(tl.programId(0).eq(0), () => void first(args)).otherwise(() => void second(args));
      },
    );

  test("a plain access of another program is a race with an atomic", () => {
    const write = pair(
      ({ x }) => tl.atomicAdd(x.ptr, 1),
      ({ x }) => tl.store(x.ptr, 7), // plain write
    );
    const finding = onlyFinding(evaluate(write, { sizes: {} }));
    expect(finding).toMatchObject({ code: "race", program: [1] });
    expect(finding.at?.line).toBe(line("plain write"));
    expect(finding.message).toContain("x[0] is written here and changed by an atomic by program (0)");
    const first = pair(
      ({ x }) => tl.store(x.ptr, 7),
      ({ x }) => tl.atomicAdd(x.ptr, 1),
    );
    expect(onlyFinding(evaluate(first, { sizes: {} })).message).toContain(
      "is changed by an atomic here and written by",
    );
  });

  test("an atomic that releases orders what stands before it with an acquire elsewhere", () => {
    const told = pair(
      ({ x, y }) => {
        tl.store(y.ptr, 5);
        tl.atomicAdd(x.ptr, 1);
      },
      ({ x, y }) => {
        tl.atomicAdd(x.ptr, 1);
        tl.store(y.ptr, tl.load(y.ptr).add(1));
      },
    );
    expect(evaluate(told, { sizes: {} }).findings).toEqual([]);
    const late = pair(
      ({ x, y }) => {
        tl.atomicAdd(x.ptr, 1);
        tl.store(y.ptr, 5);
      },
      ({ x, y }) => {
        tl.atomicAdd(x.ptr, 1);
        tl.store(y.ptr, 6);
      },
    );
    expect(onlyFinding(evaluate(late, { sizes: {} })).code).toBe("race");
    const relaxed = pair(
      ({ x, y }) => {
        tl.store(y.ptr, 5);
        tl.atomicAdd(x.ptr, 1, { sem: "relaxed" });
      },
      ({ x, y }) => {
        tl.atomicAdd(x.ptr, 1);
        tl.store(y.ptr, 6);
      },
    );
    expect(onlyFinding(evaluate(relaxed, { sizes: {} })).code).toBe("race");
  });

  test("adding to memory that holds nothing, and waiting for what nobody writes", () => {
    const empty = kernel("empty", { params: { x: tensor.out(tl.int32, ["N"]) }, grid: ({ N }) => [N] }, ({ x }) => {
      tl.atomicAdd(x.at(tl.programId(0)), 1);
    });
    expect(onlyFinding(evaluate(empty, { sizes: { N: 1 } })).message).toContain("declare it tensor.inout(…)");
    const waits = pair(
      () => undefined,
      ({ x }) => tl.atomicPoll(x.ptr, 9),
    );
    expect(onlyFinding(evaluate(waits, { sizes: {} }, { x: ints(0), y: ints(0) })).code).toBe("waits-forever");
  });

  test("a lock is taken and given back", () => {
    const lock = kernel(
      "lock",
      { params: { x: tensor.inout(tl.int32, [1]), y: tensor.inout(tl.int32, [1]) }, grid: () => [5] },
      ({ x, y }) => {
        tl.atomicCas(x.ptr, 0, 1, { sem: "acquire" });
        tl.store(y.ptr, tl.load(y.ptr).add(1));
        tl.atomicXchg(x.ptr, 0, { sem: "release" });
      },
    );
    const { outputs, findings } = evaluate(lock, { sizes: {} }, { x: ints(0), y: ints(0) });
    expect([findings, outputs["y"]!.data[0]]).toEqual([[], 5]);
  });
});

// ---- Triton ---------------------------------------------------------------------------------------------------------

const simple: Readonly<Record<string, AtomicKind>> = {
  atomicAdd: "add",
  atomicMax: "extreme",
  atomicMin: "extreme",
  atomicAnd: "bits",
  atomicOr: "bits",
  atomicXor: "bits",
  atomicXchg: "exchange",
};

/** Each dtype of each atomic, on a view and on one element. */
function everyAtomic(newest: boolean) {
  const one = (name: string, dtype: string, body: (args: any) => void) =>
    compile(
      kernel(
        `${name}_${dtype}`,
        {
          params: {
            x: tensor.inout((tl as any)[dtype], ["M", "N"]),
            y: tensor((tl as any)[dtype], ["M", "N"]),
            seen: tensor.out(tl.int1, ["N"]),
            BLOCK: constexpr(),
          },
          grid: () => [1],
          config: { BLOCK: 16 },
        },
        (args: any) => body(args),
      ),
    );
  const kernels = Object.entries(simple).flatMap(([name, kind]) =>
    atomicKinds[kind].dtypes.map((dtype) =>
      one(name, dtype, ({ x, y, BLOCK }) => {
        const lanes = tl.arange(0, BLOCK);
        const old = (tl as any)[name](x.at(lanes, lanes), tl.load(y.at(lanes, lanes)), { scope: "sys" });
        (tl as any)[name](x.ptr.add(lanes.col, lanes.row), old, { mask: lanes.lt(3).row });
        (tl as any)[name](x.ptr, 1);
      }),
    ),
  );
  const swaps = atomicKinds.compare.dtypes.map((dtype) =>
    one("atomicCas", dtype, ({ x, y, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const tile = tl.load(y.ptr.add(lanes));
      tl.atomicCas(x.ptr.add(lanes) as any, tile as any, tile as any, { sem: "acquire" });
      if (["int32", "uint32", "float32"].includes(dtype)) tl.atomicCas(x.ptr, 0, 1);
    }),
  );
  const newer = atomicKinds.any.dtypes.map((dtype) =>
    one("atomicLoad", dtype, ({ x, y, seen, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      tl.atomicStore(x.ptr.add(lanes) as any, tl.atomicLoad(y.ptr.add(lanes)), { mask: lanes.lt(5) });
      if ((atomicKinds.poll.dtypes as readonly string[]).includes(dtype))
        tl.store(seen.at(lanes), tl.atomicPoll(x.ptr.add(lanes) as any, 1, { timeoutNs: 1000 }));
    }),
  );
  return [...kernels, ...swaps, ...(newest ? newer : [])];
}

describe("Triton", { timeout: 300_000 }, () => {
  test("compiles every dtype of every atomic for sm_90", async () => {
    for (const { name, python } of await tritonPythons()) {
      const kernels = everyAtomic(name === "3.9");
      const answers = await compileAll(
        python,
        kernels.map((each) => ({ kernel: each })),
      );
      const refused = answers.flatMap((answer, i) => (answer.ok ? [] : [`${kernels[i]!.file}: ${answer.error}`]));
      expect(refused, name).toEqual([]);
    }
  });

  const device = interpreter();

  test("counts right on the interpreter", async () => {
    const at: TestCase = { sizes: { N: 300, BINS: 37 }, dtypes: {}, config: 0, seed: 5 };
    const outcome = await verifyCase(await build(histogram), device(), at);
    expect([outcome.status, outcome.by, outcome.problems, outcome.failure]).toEqual([
      "passed",
      "python",
      [],
      undefined,
    ]);
  });
});
