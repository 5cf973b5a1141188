/** What is emitted, called from TypeScript on Triton's interpreter. */
import { execa } from "execa";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kernel, constexpr, NDArray, scalar, tensor, tl } from "tilescript";
import { sampledTests } from "../support/sampled-tests.js";
import { gemm } from "../../examples/gemm.js";
import { requirePython } from "../support/python.js";
import { copied, counting, filled, ramp, scaled } from "../unit/host-call/kernels.js";

sampledTests("runs from TypeScript", "src/host-call");

const device = "interpreter";

const adding = (by: number) =>
  kernel(
    "adding",
    { params: { x: tensor(tl.float32, [4]), y: tensor.out(tl.float32, [4]) }, grid: () => [1] },
    ({ x, y }) => {
      const i = tl.arange(0, 4);
      tl.store(y.at(i), tl.load(x.at(i)).add(by));
    },
  );

/** What Python got: numbers as they came. */
const told = kernel(
  "told",
  {
    params: {
      y: tensor.out(tl.float32, [3]),
      z: tensor.out(tl.int64, [1]),
      x: tensor(tl.float32, [1]),
      s: scalar(tl.float32),
      n: scalar(tl.int64),
      E: constexpr.float(),
    },
    grid: () => [1],
  },
  ({ x, y, z, s, n, E }) => {
    const one = tl.load(x.at(0));
    tl.store(y.at(0), one.mul(s));
    tl.store(y.at(1), one.div(s));
    tl.store(y.at(2), one.mul(E));
    tl.store(z.at(0), n);
  },
);
const python = await requirePython();

describe("run", { timeout: 180_000 }, () => {
  test("should give what the evaluator gives, for views and every kind of argument", async () => {
    const x = NDArray.randint(-9, 9, [70, 5], tl.float16, 1).t().slice(1, 3, undefined, 2);
    const bias = NDArray.randint(-9, 9, [34], tl.float32, 2);
    const inputs = { x, bias, alpha: 0.5 };
    const ran = await scaled.run(inputs, { device, python, NEGATE: true, BLOCK: 16 });
    const { outputs } = await scaled.check(inputs, { NEGATE: true, BLOCK: 16 });
    expect(ran.device).toBe("interpreter");
    expect(ran.outputs.y.dtype).toBe("float16");
    expect(ran.outputs.y.shape).toEqual([5, 34]);
    expect(ran.outputs.y.toArray()).toEqual(outputs.y.toArray());
    expect((await scaled.run({ x, alpha: 1 }, { device, python })).outputs.y.toArray()).toEqual(x.toArray());
  });

  test.each([tl.float16, tl.bfloat16] as const)("should multiply matrices of %s", async (dtype) => {
    const a = NDArray.randint(-4, 5, [33, 20], dtype, 3);
    const b = NDArray.randint(-4, 5, [17, 20], dtype, 4).t();
    const blocks = { BLOCK_M: 16, BLOCK_N: 16, BLOCK_K: 16 };
    const { outputs } = await gemm.run({ a, b }, { device, python, ...blocks });
    const due = await gemm.check({ a, b }, blocks);
    expect(outputs.c.toArray()).toEqual(due.outputs.c.toArray());
  });

  test("should return what is updated in place, in 64 bits", async () => {
    const n = BigInt64Array.of(2n ** 60n + 1n, -1n);
    const { outputs } = await counting.run({ n, by: 5 }, { device, python });
    expect(outputs.n.data).toEqual(BigInt64Array.of(2n ** 60n + 6n, 4n));
    expect(n[1]).toBe(-1n);
  });

  test("should bring back what lies behind a raw pointer, and sizes and dtypes that the caller gives", async () => {
    const { outputs } = await filled.run({ p: NDArray.zeros([4]), value: 7, N: 3 }, { device, python });
    expect(outputs.p.toArray()).toEqual([7, 7, 7, 0]);
    const ran = await ramp.run({ N: 3, step: 0.5 }, { device, python, DTYPE: tl.float16 });
    expect([ran.outputs.y.dtype, ran.outputs.y.toArray()]).toEqual(["float16", [0, 0.5, 1]]);
  });

  test.each([
    { s: -0, E: 1, n: 2 ** 60 },
    { s: Infinity, E: -Infinity, n: 2 ** 62 + 2 ** 20 },
    { s: NaN, E: NaN, n: -(2 ** 63) },
    { s: -Infinity, E: Infinity, n: 2 ** 53 - 1 },
  ])("should take numbers as they are: $s, $E, $n", async ({ s, E, n }) => {
    const { outputs } = await told.run({ x: NDArray.of([1]), s, n }, { device, python, E });
    expect(outputs.y.toArray()).toEqual([s, 1 / s, E]);
    expect(outputs.z.data).toEqual(BigInt64Array.of(BigInt(n)));
  });

  test("should try again after a module could not be written, and listen for the end only once", async () => {
    const { TMPDIR } = process.env;
    const copies = [1, 2].map((by) => adding(by));
    const x = NDArray.of([1, 2, 3, 4]);
    try {
      process.env["TMPDIR"] = "/nonexistent/place";
      await expect(copies[0]!.run({ x }, { device, python })).rejects.toThrow("set TMPDIR to a writable folder");
    } finally {
      if (TMPDIR === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = TMPDIR;
    }
    expect((await copies[0]!.run({ x }, { device, python })).outputs.y.toArray()).toEqual([2, 3, 4, 5]);
    const listeners = process.listenerCount("exit");
    expect((await copies[1]!.run({ x }, { device, python })).outputs.y.toArray()).toEqual([3, 4, 5, 6]);
    expect(process.listenerCount("exit")).toBe(listeners);
  });

  test("should pass descriptors", async () => {
    const x = NDArray.randn([20, 24], tl.float16, 5);
    expect((await copied.run({ x }, { device, python })).outputs.y.data).toEqual(x.data);
  });

  test("should let the evaluator run what the interpreter computes wrongly, and say so", async () => {
    const x = NDArray.of([1, 2], [1, 2], tl.float8e5);
    const { device: kind, unchecked, outputs } = await scaled.run({ x }, { device, python });
    expect([kind, outputs.y.toArray()]).toEqual(["eval", [[2, 4]]]);
    expect(unchecked[0]).toMatch(/float8.*the evaluator ran instead/);
  });

  test("should run on the evaluator when asked to", async () => {
    const { device: kind, outputs } = await scaled.run({ x: NDArray.of([1], [1, 1]) }, { device: "eval" });
    expect([kind, outputs.y.toArray()]).toEqual(["eval", [[2]]]);
  });

  test("should say where the kernel fails", async () => {
    const failing = kernel(
      "failing",
      {
        params: { x: tensor(tl.int32, ["N"]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
      },
      ({ x, y, BLOCK }) => {
        const at = tl.arange(0, BLOCK);
        const value = tl.load(x.at(at));
        tl.deviceAssert(value.gt(0), "positive");
        tl.store(y.at(at), value);
      },
    );
    await expect(failing.run({ x: Int32Array.of(1, -1) }, { device, python })).rejects.toThrow(
      /run\.test\.ts:\d+:\d+ - error device-run: failing: .*positive/s,
    );
  });

  test("should refuse a device that is not there", async () => {
    const x = NDArray.zeros([1, 1]);
    await expect(scaled.run({ x }, { device: "hip", python })).rejects.toThrow("sees no hip device");
    await expect(scaled.run({ x }, { device, python: "/no/python" })).rejects.toThrow("there is no such file");
  });

  test("should let the program end, and leave nothing behind", async () => {
    const program = `
      import { NDArray } from "tilescript";
      import { scaled } from "${join(import.meta.dirname, "../unit/host-call/kernels.ts")}";
      const { outputs } = await scaled.run({ x: NDArray.of([1, 2], [1, 2]) }, { device: "interpreter" });
      console.log(JSON.stringify(outputs.y.toArray()));
    `;
    const folder = await mkdtemp(join(tmpdir(), "run-"));
    const root = join(import.meta.dirname, "../..");
    const ran = await execa("npx", ["tsx", "--input-type=module", "--eval", program], {
      cwd: root,
      env: { TILESCRIPT_PYTHON: python, TMPDIR: folder },
      timeout: 120_000,
    });
    expect(ran.stdout).toBe("[[2,4]]");
    expect((await readdir(folder)).filter((name) => name.startsWith("tilescript-"))).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
