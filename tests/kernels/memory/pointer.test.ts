/** Raw pointers: tables of addresses, casts, bumped pointers, and the options of loads and stores. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { build, compile, constexpr, kernel, pointer, scalar, tensor, tl } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { evaluate, float32s } from "../../support/evaluate.js";
import { requirePython, tritonPythons } from "../../support/python.js";
import { compileAll } from "../../support/aot.js";

sampledTests("kernels in memory", "src/lower");

/** Copies several tensors of different lengths in one launch; where they lie is in tables. */
const groupedCopy = kernel(
  "grouped_copy",
  {
    params: {
      from: tensor(tl.int64, ["G"]),
      to: tensor(tl.int64, ["G"]),
      lengths: tensor(tl.int64, ["G"]),
      BLOCK: constexpr(),
    },
    grid: ({ G }) => [G],
    config: { BLOCK: 16 },
  },
  ({ from, to, lengths, BLOCK }) => {
    const g = tl.programId(0);
    const source = tl.load(from.at(g)).toPointer(tl.float32);
    const target = tl.load(to.at(g)).toPointer(tl.float32);
    const length = tl.load(lengths.at(g));
    for (const start of tl.range(0, length, BLOCK)) {
      const lanes = start.add(tl.arange(0, BLOCK));
      const mask = lanes.lt(length);
      tl.store(target.add(lanes), tl.load(source.add(lanes), { mask, other: 0 }), { mask });
    }
  },
);

/** A pointer that each iteration of a loop moves on. */
const bumped = kernel(
  "bumped",
  {
    params: { x: tensor(tl.float32, ["N"]), out: tensor.out(tl.float32, [16]), BLOCK: constexpr() },
    grid: () => [1],
    config: { BLOCK: 16 },
  },
  ({ x, out, N, BLOCK }) => {
    const lanes = tl.arange(0, BLOCK);
    const ptrs = tl.mut(x.ptr.add(lanes.mul(x.stride(0).to(tl.int32))));
    const acc = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const start of tl.range(0, N, BLOCK)) {
      const mask = lanes.lt(N.sub(start));
      acc.value = acc.value.add(tl.load(ptrs.value, { mask, other: 0 }));
      ptrs.value = ptrs.value.add(BLOCK.mul(x.stride(0)));
    }
    tl.store(out.at(lanes), acc.value);
  },
);

/** There and back, and as bytes. */
const casts = kernel(
  "casts",
  {
    params: { p: pointer(tl.float32), out: tensor.inout(tl.float32, ["N"]), bytes: tensor.inout(tl.uint8, ["N"]) },
    grid: ({ N }) => [N],
  },
  ({ p, out, bytes }) => {
    const i = tl.programId(0);
    const address = p.add(i).to(tl.int64);
    tl.store(out.at(i), tl.load(address.toPointer(tl.float32)));
    tl.store(bytes.at(i), tl.load(p.toPointer(tl.uint8).add(i.mul(4))));
  },
);

/** Counts in memory that each launch, and each trial of the autotuner, sets to zero. */
const counted = kernel(
  "counted",
  {
    params: { x: tensor(tl.int32, ["N"]), total: pointer(tl.int32, { zeroed: true }), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: { key: ["N"], configs: [{ BLOCK: 16 }, { BLOCK: 32 }] },
  },
  ({ x, total, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.atomicAdd(total, tl.sum(tl.load(x.at(i)), 0));
  },
);

/** Has no tensor, so that a launch is on the device that the caller names. */
const idle = kernel("idle", { params: { n: scalar(tl.int32) }, grid: ({ n }) => [n] }, () => tl.debugBarrier());

/** Every option of loads and stores. */
const options = kernel(
  "options",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      out: tensor.out(tl.float32, ["M", "N"]),
      FLAG: constexpr.bool(),
      BLOCK: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK: 16 },
  },
  ({ x, out, N, FLAG, BLOCK }) => {
    const m = tl.programId(0);
    const rn = tl.arange(0, BLOCK);
    const a = tl.load(x.at(m, rn), { cacheModifier: ".cg" });
    const b = tl.load(x.at(m, rn), { mask: true, other: 3, evictionPolicy: "evict_last" });
    const c = tl.load(x.at(m, rn), { mask: FLAG, other: 5, volatile: true });
    const d = tl.load(x.ptr, { mask: m.lt(1), other: 7 });
    const e = tl.load(x.ptr.add(rn.row, tl.arange(0, 2).col.mul(0)), { mask: rn.lt(N), other: 0 });
    const sum = a.add(b, c, d).add(tl.sum(e, 0));
    tl.store(out.at(m, rn), sum, { mask: true, cacheModifier: ".wt" });
    tl.store(out.at(m, rn), sum, { evictionPolicy: "evict_first" });
  },
);

test("tables are emitted as they are written", async () => {
  const { python } = await build(groupedCopy);
  expect(python).toMatch(/source = tl\.load\([^)]*\)\.to\(\s*tl\.pointer_type\(tl\.float32\)\s*\)/);
  expect(python).toMatch(/def grouped_copy\([^)]*\) -> None:/);
  const { python: module } = await build(casts);
  expect(module).toContain("p_ptr.to(tl.int64).to(tl.pointer_type(tl.uint8))");
  expect(module).toContain("(p_ptr + i).to(tl.int64)");
});

describe("the build refuses", () => {
  const of = (body: (args: any) => void) => () =>
    compile(
      kernel(
        "of",
        { params: { x: tensor(tl.int32, ["N"]), p: pointer(tl.int8) }, grid: () => [1] },
        (args: any) => void body(args),
      ),
    );
  test.each<readonly [string, (args: any) => void]>([
    ["toPointer: an address is int64, this is int32", ({ x }) => tl.load(x.ptr).toPointer(tl.int8)],
    ["toPointer: this is a view; take x.ptr", ({ x }) => tl.toPointer(x.at(0), tl.int8)],
    ["to: a pointer casts to tl.int64 only", ({ p }) => p.to(tl.int32)],
    [
      "load: cacheModifier and volatile exclude each other; give one of them",
      ({ p }) => tl.load(p, { cacheModifier: ".cg", volatile: true }),
    ],
    ["load: other needs a mask", ({ p }) => tl.load(p, { other: 0 } as any)],
  ])("%s", (sentence, body) => expect(of(body)).toThrow(sentence));
});

describe("evaluation", () => {
  test("follows an address back to its tensor", () => {
    const { outputs, findings, unchecked } = evaluate(
      kernel(
        "back",
        { params: { p: pointer(tl.float32), out: tensor.out(tl.float32, ["N"]) }, grid: ({ N }) => [N] },
        ({ p, out }) => {
          const i = tl.programId(0);
          tl.store(out.at(i), tl.load(p.add(1).to(tl.int64).add(i.mul(4)).toPointer(tl.float32)));
        },
      ),
      { sizes: { N: 2 } },
      { p: float32s(1, 2, 3) },
    );
    expect([[...outputs["out"]!.data], findings, unchecked]).toEqual([[2, 3], [], []]);
  });

  test("starts from zero where a launch does", () => {
    const int32s = (...data: number[]) =>
      ({ dtype: "int32", shape: [data.length], data: Int32Array.from(data) }) as const;
    const constexprs = { BLOCK: 16 };
    const { outputs } = evaluate(counted, { sizes: { N: 3 }, constexprs }, { x: int32s(1, 2, 3), total: int32s(7) });
    expect([...outputs["total"]!.data]).toEqual([6]);
  });

  test("says what it cannot know", () => {
    const { unchecked } = evaluate(groupedCopy, { sizes: { G: 1 } });
    expect(unchecked).toEqual(["an address from memory points to no known tensor, so the kernel was not evaluated"]);
  });

  test("moves pointers on", () => {
    const { outputs, findings } = evaluate(
      bumped,
      { sizes: { N: 20 }, layouts: { x: "sliced" } },
      {
        x: float32s(...Array.from({ length: 20 }, (_, i) => i)),
      },
    );
    expect([[...outputs["out"]!.data].slice(0, 5), findings]).toEqual([[16, 18, 20, 22, 4], []]);
  });

  test("knows the options of loads", () => {
    const x = { dtype: "float32", shape: [2, 3], data: Float32Array.from([1, 2, 3, 4, 5, 6]) };
    const run = (FLAG: boolean) => evaluate(options, { sizes: { M: 2, N: 3 }, constexprs: { FLAG } }, { x });
    expect([...run(true).outputs["out"]!.data]).toEqual([6, 11, 16, 21, 26, 31]);
    expect([...run(false).outputs["out"]!.data]).toEqual([10, 14, 18, 22, 26, 30]);
    expect(run(true).findings).toEqual([]);
  });
});

describe("Triton", { timeout: 120_000 }, () => {
  test("compiles them for sm_90", async () => {
    const kernels = await Promise.all([groupedCopy, bumped, casts, options].map((each) => build(each)));
    for (const { name, python } of await tritonPythons()) {
      const answers = await compileAll(
        python,
        kernels.map((each) => ({
          kernel: each,
          types: { p_ptr: "*fp32" },
          constexprs: each === kernels[3] ? { FLAG: true } : {},
        })),
      );
      expect(
        answers.map((answer) => answer.ok || answer.error),
        name,
      ).toEqual([true, true, true, true]);
    }
  });

  test("copies what tables point to, on the interpreter", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tilescript-tables-"));
    try {
      await writeFile(join(folder, "grouped_copy.py"), (await build(groupedCopy)).python);
      await writeFile(join(folder, "casts.py"), (await build(casts)).python);
      await writeFile(join(folder, "idle.py"), (await build(idle)).python);
      await writeFile(join(folder, "counted.py"), (await build(counted)).python);
      const script = `
import torch
from grouped_copy import grouped_copy
from casts import casts
from counted import counted
from idle import idle
xs = [torch.randn(n) for n in (1, 16, 37)]
ys = [torch.zeros(x.numel()) for x in xs]
table = lambda ts: torch.tensor([t.data_ptr() for t in ts])
lengths = torch.tensor([x.numel() for x in xs])
assert grouped_copy(table(xs), table(ys), lengths) is None
assert all(torch.equal(x, y) for x, y in zip(xs, ys))
out, bytes = torch.zeros(5), torch.zeros(5, dtype=torch.uint8)
casts(out, bytes, xs[1])
assert torch.equal(out, xs[1][:5])
assert torch.equal(bytes, xs[1].view(torch.uint8)[:20:4])
total = torch.full((1,), 7, dtype=torch.int32)
version = total._version
for _ in range(2):
    counted(torch.arange(40, dtype=torch.int32), total)
    assert total.item() == 780 and total._version > version
try:
    idle(3)
    casts(out, bytes, xs[1].double())
except TypeError as error:
    print(error)
`;
      const env = { TRITON_INTERPRET: "1", PYTHONDONTWRITEBYTECODE: "1" };
      const { stdout } = await execa(await requirePython(), ["-c", script], { cwd: folder, env });
      expect(stdout).toContain(
        "casts: needs one dtype of (torch.float32,), got {'out_1': torch.float32, 'p': torch.float64}",
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
