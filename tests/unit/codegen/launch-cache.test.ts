/** The block of an emitted module that takes repeated calls straight to their launch. */
import { describe, expect, test } from "vitest";
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { build, kernel, scalar, tensor, tl } from "tilescript";
import { dropout } from "../../../examples/dropout.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { vectorAdd } from "../../../examples/vector-add.js";
import { lint } from "../../support/emit.js";
import { examples } from "../../support/examples.js";
import { sampledTests } from "../../support/sampled-tests.js";

sampledTests("modules with a launch cache", "src/codegen/wrapper");

const ruff = new Workspace({ "line-length": 88 }, PositionEncoding.Utf16);

const fast = async (of: unknown) => (await build(of)).emit({ launch: "fast" }).python;
const plain = async (of: unknown) => (await build(of)).emit({ launch: "plain" }).python;

/** The function that takes a call, or undefined where there is none. */
const cached = (python: string) => /^def _cached[^]*?(?=\n\n\n)/m.exec(python)?.[0];

test.each(examples)("the block of $name should leave ruff nothing to format and nothing to say", async ({ kernel }) => {
  const python = await fast(kernel);
  expect(ruff.format(python)).toBe(python);
  expect(lint(python)).toEqual([]);
});

test("the rest of the module should be as it is without the block, but for imports and the launch", async () => {
  const [long, short] = [await fast(vectorAdd), await plain(vectorAdd)];
  const imports = "import functools\nimport threading\nimport warnings\n\n";
  const block = /\n\n# Launch cache: [^]*(?=kernel_fn = )/.exec(long)![0];
  const launch = / {8}_launch\([^]*?\n {8}\)\n/.exec(long)![0];
  expect(long).toContain(imports);
  expect(long.replace(imports, "").replace(block, "\n\n").replace(launch, "")).toBe(
    short.replace(/ {8}vector_add_kernel\[.*\n/, ""),
  );
});

const copy = (spec: object) =>
  kernel(
    "copy",
    { params: { x: tensor(tl.float32, [16]), y: tensor.out(tl.float32, [16]) }, grid: () => [1], ...spec },
    ({ x, y }) => tl.store(y.at(tl.arange(0, 16)), tl.load(x.at(tl.arange(0, 16)))),
  );

test('launch: "fast" in the spec should be the default of the module', async () => {
  const [declared, other] = await Promise.all([build(copy({ launch: "fast" })), build(copy({}))]);
  expect(cached(declared.python)).toBeDefined();
  expect(declared.python).toBe(other.emit({ launch: "fast" }).python);
  expect(declared.emit({ launch: "plain" }).python).toBe(other.python);
  expect(declared.warnings).toEqual([]);
});

test("a module without a launch cache that was asked for should say why", async () => {
  const of = await build(gemmTma);
  expect(of.emit({ launch: "fast" }).warnings).toMatchObject([{ code: "no-launch-cache" }]);
  const traced = { launch: "fast", op: { namespace: "n", form: "triton_op" } } as const;
  expect((await build(vectorAdd)).emit(traced).warnings?.[0]?.message).toMatch(/PyTorch traces the launch/);
  expect((await build(layerNorm)).emit({ launch: "fast" }).warnings?.[0]?.message).toMatch(/calls of an operator/);
  expect(of.emitForPackage("p.kernels.gemm_tma", { launch: "fast" }).warnings).toHaveLength(1);
});

test("a module of a package should import the library, and its key should tell it from others", async () => {
  const of = await build(vectorAdd);
  const { python, runtimeNames, tests } = of.emitForPackage("p.kernels.vector_add", { launch: "fast" });
  expect(ruff.format(python)).toBe(python);
  expect(lint(python)).toEqual([]);
  expect(/^from \._runtime import \(([^)]*)/m.exec(python)![1]!.match(/\w+/g)!.toSorted()).toEqual(
    runtimeNames.toSorted(),
  );
  expect(python).toMatch(/ key = \([^]*?"vector_add",?\s*\)/);
  const own = Array.from(python.matchAll(/^(?:def )?(\w+)(?= =|\()/gm), ([, name]) => name);
  expect(own).toEqual(["vector_add_kernel", "vector_add", "_checked", "_cached"]);
  const runtime = of.runtimeModule(new Set(runtimeNames), "1.2.3");
  expect(ruff.format(runtime)).toBe(runtime);
  expect(lint(runtime)).toEqual([]);
  expect(runtime).toContain('\n__version__ = "1.2.3"\n');
  for (const name of runtimeNames) expect(runtime).toMatch(new RegExp(`^(?:def ${name}\\(|${name} = )`, "m"));
  expect(ruff.format(tests)).toBe(tests);
  // Without the package's folder, ruff takes it for one of someone else.
  expect(lint(tests).filter((each) => !each.includes("I001"))).toEqual([]);
});

test.each(examples)("$name should have nothing for tests if it is bare", async ({ kernel }) => {
  const python = (await build(kernel)).emit({ bare: true }).python;
  expect(python).not.toMatch(/^(?:def |)(?:kernel_fn|reference_fn|provider_\w+|draw_inputs|get_inputs|SHAPES)\b/m);
  expect(ruff.format(python)).toBe(python);
  expect(lint(python)).toEqual([]);
});

test("a call should be taken by its signature, and its key should hold shapes and exact numbers", async () => {
  const python = await fast(dropout);
  expect(/^def _cached\(.*\):$/m.exec(python)![0]).toBe("def _cached(x, p=0.5, seed=0, *, out=None):");
  expect(/ key = \(([^]*?)\n {8}\)\n/.exec(python)![1]!.trim().split(/\s+/)).toEqual(
    `x.shape, p.__class__, f"{p!r}", seed.__class__, seed, None if out is None else out.is_nested,`.split(" "),
  );
});

test("a written tensor should be held against every tensor that the checks hold it against", async () => {
  const params = {
    a: tensor(tl.float32, ["N"]),
    b: tensor.inout(tl.float32, ["N"]),
    c: tensor.out(tl.float32, ["N"]),
    d: tensor.out(tl.float32, ["N"]),
  };
  const written = kernel("written", { params, grid: ({ N }) => [N] }, ({ a, b, c, d }) => {
    const x = tl.load(a.at(tl.programId(0)));
    tl.store(b.at(tl.programId(0)), x);
    tl.store(c.at(tl.programId(0)), x);
    tl.store(d.at(tl.programId(0)), x);
  });
  const compared = (await fast(written)).matchAll(/not -sizes\[(\d)\] < (\w)_at - (\w)_at < sizes\[(\d)\]/g);
  const pairs = [...compared].map(([, size, of, other, otherSize]) => {
    expect(["abcd"[Number(size)], "abcd"[Number(otherSize)]]).toEqual([of, other]);
    return `${of}${other}`;
  });
  expect(pairs).toEqual(["ba", "ca", "cb", "da", "db", "dc"]);
});

describe("a kernel should have no such block", () => {
  const at = () => tl.programId(0);
  test("where its tensors are described anew for each launch", async () => {
    expect(cached(await fast(gemmTma))).toBeUndefined();
  });

  test("where a tensor may be left out", async () => {
    const params = {
      x: tensor(tl.float32, ["N"]).optional(),
      z: tensor.out(tl.float32, ["N"]),
      y: tensor(tl.float32, ["N"]),
    };
    const left = kernel("left", { params, grid: ({ N }) => [N] }, ({ x, y, z }) => {
      const value = tl.mut(tl.load(y.at(at())));
      tl.when(x.given, () => {
        value.value = tl.load(x.at(at()));
      });
      tl.store(z.at(at()), value.value);
    });
    expect(cached(await fast(left))).toBeUndefined();
  });

  test("without a tensor that says which GPU", async () => {
    const params = { z: tensor.out(tl.float32, [64]), value: scalar(tl.float32) };
    const filled = kernel("filled", { params, grid: () => [1] }, ({ z, value }) => {
      tl.store(z.at(tl.arange(0, 64)), tl.full([64], value, tl.float32));
    });
    expect(cached(await fast(filled))).toBeUndefined();
  });

  test("where PyTorch looks into the operator", async () => {
    const of = await build(vectorAdd);
    const form = (name: "custom_op" | "triton_op") =>
      of.emit({ launch: "fast", op: { namespace: "n", form: name } }).python;
    expect(cached(form("triton_op"))).toBeUndefined();
    expect(cached(form("custom_op"))).toBeDefined();
  });
});
