/** All examples as one Python package: built and installed by pip, its own tests run on Triton's interpreter. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { sampledCostlyTests, sampleCases } from "../../support/sampled-tests.js";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { examples } from "../../support/examples.js";
import { newFolder, packaged, python, runTests } from "./packaged.js";

sampledCostlyTests("packages", "src/runtime/package");

/** The examples whose own tests a full run makes: they take seconds each. */
const PER_RUN = 6;

let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the examples", () => {
  test(
    "are installed by pip, with signatures for type checkers, and pass their own tests",
    { timeout: 600_000 },
    async () => {
      const kernels: CompiledKernel[] = [];
      for (const example of examples) kernels.push(await build(example.kernel));
      const { code, err, files } = await packaged(join(folder, "examples"), kernels);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      const ruff = new Workspace({ "line-length": 88 }, PositionEncoding.Utf16);
      for (const file of files.filter((name) => name.endsWith(".py"))) {
        const text = await readFile(file, "utf8");
        expect(ruff.format(text), file).toBe(text);
      }
      const options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", join(folder, "site")];
      const pip = await python(["-m", "pip", "install", ...options, join(folder, "examples")], {});
      expect(pip.exitCode, pip.all).toBe(0);
      const names = kernels.map(({ signature }) => signature.name);
      const script = join(import.meta.dirname, "package.py");
      const { all } = await python([script, "examples", ...names], { PYTHONPATH: join(folder, "site") });
      expect(all).toBe("ok");
      // Values, gradients, opcheck, torch.compile.
      const env = { PYTHONPATH: join(folder, "site"), CUDA_VISIBLE_DEVICES: "" };
      const written = await readFile(join(folder, "examples/tests/test_kernels.py"), "utf8");
      const decorated = written.matchAll(/^    @unittest\.skip.*"(.*)"\)\n    def test_(\w+)/gm);
      const reasons = Object.fromEntries(Array.from(decorated, ([, reason, test]) => [test!, reason!]));
      const both = (name: string) => [name, `${name}_operator`];
      for (const kernel of kernels)
        for (const test of both(kernel.signature.name))
          expect({ test, reason: reasons[test] }).toSatisfy(isSkippedRightly(kernel));
      const skipped = Object.keys(reasons);
      expect(skipped.length).toBeLessThan(kernels.length / 2);
      const chosen = sampleCases("tests of examples in a package", names, {
        key: (name) => name,
        perRun: PER_RUN,
      }).flatMap(both);
      const tested = await runTests(join(folder, "examples"), env, chosen);
      const left = chosen.filter((test) => skipped.includes(test)).length;
      const verdict = left > 0 ? `OK \\(skipped=${left}\\)` : "OK";
      expect(tested.all).toMatch(new RegExp(`\nRan ${chosen.length} tests in [^]*\n\n${verdict}$`));
    },
  );
});

/** Whether a test of a kernel is skipped only for what holds of the kernel. */
function isSkippedRightly({ signature, python }: CompiledKernel) {
  const firsts = signature.tensors.map(({ dtype }) =>
    typeof dtype === "string" ? dtype : signature.dtypes[dtype.variable]![0]!,
  );
  const holds: Readonly<Record<string, (test: string) => boolean>> = {
    "Triton's interpreter has no libdevice": () => python.includes("libdevice."),
    "Triton's interpreter computes bfloat16 wrongly": () => firsts.includes("bfloat16"),
    "PyTorch's opcheck cannot multiply 8-bit floats": (test) =>
      test.endsWith("_operator") && firsts.some((dtype) => dtype.startsWith("float8")),
    "too many programs for Triton's interpreter": () => true,
  };
  return ({ test, reason }: { readonly test: string; readonly reason: string | undefined }): boolean =>
    reason === undefined || holds[reason]?.(test) === true;
}

/** y = 2 * x, called as its author likes. */
const named = (name: string) =>
  build(
    kernel(
      name,
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 64 },
        reference: ({ x }) => x.mul(2),
      },
      ({ x, y, BLOCK }) => {
        const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(at), tl.load(x.at(at)).mul(2));
      },
    ),
  );

test("a wrong kernel fails the tests of its package", { timeout: 60_000 }, async () => {
  const out = join(folder, "broken");
  await packaged(out, [await named("double")]);
  const file = join(out, "broken/kernels/double.py");
  const text = await readFile(file, "utf8");
  expect(text).toContain(" * 2.0");
  await writeFile(file, text.replace(" * 2.0", " * 3.0"));
  const { all } = await runTests(out, { PYTHONPATH: out, CUDA_VISIBLE_DEVICES: "" }, ["double"]);
  expect(all).toMatch(/Mismatched elements: [^]*\nFAILED \(failures=1\)$/);
});

describe("names", () => {
  test.each([
    [["double", "double"], "two kernels are called double; rename one"],
    [["kernels"], "the package clashing has a kernels of its own; rename the kernel kernels"],
    [["_runtime"], "the package clashing has a _runtime of its own; rename the kernel _runtime"],
  ])("%j are refused", async (names, message) => {
    const ran = await packaged(join(folder, "clashing"), await Promise.all(names.map(named)));
    expect(ran).toMatchObject({ code: 2, files: [] });
    expect(ran.err).toContain(message);
  });

  test("that an operator registers for its gradient are refused", async () => {
    const ran = await packaged(join(folder, "clashing"), [await build(layerNorm), await named("layer_norm_backward")]);
    expect(ran).toMatchObject({ code: 2, files: [] });
    expect(ran.err).toContain(
      "layer_norm registers clashing::layer_norm_backward as well; rename the kernel layer_norm_backward",
    );
  });

  test("may be those that the module and its tests use themselves", { timeout: 60_000 }, async () => {
    const names = ["kernel_fn", "get_inputs", "torch", "exact", "lambda", "unittest", "kernel_cases"];
    const out = join(folder, "odd");
    const { code, err } = await packaged(out, await Promise.all(names.map(named)));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const { all } = await runTests(out, { PYTHONPATH: out, CUDA_VISIBLE_DEVICES: "" });
    expect(all).toMatch(new RegExp(`\nRan ${2 * names.length} tests in [^]*\n\nOK$`));
  });
});
