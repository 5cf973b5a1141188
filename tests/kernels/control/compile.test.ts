/** Every construct as real Triton takes it: compiled for sm_90 without a GPU, and run on Triton's interpreter. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { build, type TestCase, type CompiledKernel } from "tilescript";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import { sampledTests } from "../../support/sampled-tests.js";
import { requirePython } from "../../support/python.js";
import * as control from "./kernels.js";

sampledTests("constructs on Triton", "tests/kernels/control", "src/codegen/body");

const kernels = Object.entries({ ...control });

/** The jit functions of an emitted module: its wrapper needs torch, which compiling does not. */
function jitText({ python, signature, configs }: CompiledKernel): string[] {
  const end = python.indexOf(`\ndef ${signature.name}(`);
  const text = python.slice(python.indexOf("_INTERPRETED"), end);
  const arch = signature.tensors.map(({ python: name, dtype }) => {
    const held = typeof dtype === "string" ? dtype : signature.dtypes[dtype.variable]![0]!;
    return [`${name}_ptr`, held] as const;
  });
  return configs.map(({ values }) =>
    JSON.stringify({ text, jit: signature.jit, pointers: Object.fromEntries(arch), constexprs: values }),
  );
}

interface Verdict {
  readonly bytes?: number;
  readonly outputs?: readonly (readonly number[])[];
  readonly error?: string;
}

/** One process answers all requests, a line each. */
async function ask(python: string, script: string, requests: readonly string[]): Promise<readonly Verdict[]> {
  const path = new URL(script, import.meta.url).pathname;
  const worker = new URL("../../../python", import.meta.url).pathname;
  const child = spawn(python, ["-W", "ignore", path], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, PYTHONPATH: worker },
  });
  child.stdin.end(`${requests.join("\n")}\n`);
  const lines = (await text(child.stdout)).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Verdict);
}

async function expectCompiled(python: string): Promise<void> {
  const requests: { name: string; request: string }[] = [];
  for (const [name, kernel] of kernels)
    for (const request of jitText(await build(kernel))) requests.push({ name, request });
  const verdicts = await ask(
    python,
    "./compile.py",
    requests.map(({ request }) => request),
  );
  const failed = requests.flatMap(({ name }, i) => (verdicts[i]?.bytes ? [] : [`${name}: ${verdicts[i]?.error}`]));
  expect(failed).toEqual([]);
}

describe("Triton's compiler", { timeout: 120_000 }, () => {
  test("takes every construct for sm_90", async () => {
    await expectCompiled(await requirePython());
  });

  const older = process.env["TILESCRIPT_PYTHON36"];
  test.runIf(older)("takes every construct in Triton 3.6", async () => {
    await expectCompiled(older!);
  });
});

/** Small multiples of 1/4: sums and products of a few are exact. */
function inputsOf(
  { signature }: CompiledKernel,
  N: number,
  dtypes: Record<string, string>,
): Record<string, TensorData> {
  const read = signature.tensors.filter(({ role }) => role !== "out");
  return Object.fromEntries(
    read.map(({ name, dims, dtype }, which) => {
      const shape = dims.map((dim) => (typeof dim === "number" ? dim : N));
      const size = shape.reduce((a, b) => a * b, 1);
      const values = Array.from({ length: size }, (_, i) => ((i * 7 + which * 3) % 11) / 4 - 1);
      return [
        name,
        { dtype: typeof dtype === "string" ? dtype : dtypes[dtype.variable]!, shape, data: Float32Array.from(values) },
      ];
    }),
  );
}

/** What the interpreter cannot run, and why. */
const notInterpreted: Readonly<Record<string, string>> = {
  mapped: "it has no map_elementwise",
  asking: "it has no GPU to ask",
  dependent: "it has no dependent launches",
  escaped: "it has no inline assembly, and raw Python is not evaluated",
};

describe("Triton's interpreter", { timeout: 120_000 }, () => {
  test("agrees with the evaluator on every construct that it can run", async () => {
    const N = 40;
    const cases: { name: string; request: string; expected: readonly (readonly number[])[] }[] = [];
    for (const [name, kernel] of kernels) {
      if (name in notInterpreted) continue;
      const compiled = await build(kernel);
      for (const config of compiled.configs.keys()) {
        const dtypes = Object.fromEntries(Object.entries(compiled.signature.dtypes).map(([T, [first]]) => [T, first!]));
        const at: TestCase = { sizes: { N }, dtypes, config, seed: 1 };
        const inputs = inputsOf(compiled, N, dtypes);
        const { outputs, findings, unchecked } = compiled.evaluate(at, { inputs });
        expect({ name, findings, unchecked }).toEqual({
          name,
          findings: [],
          unchecked: [],
        });
        const given = Object.entries(inputs).map(([key, { dtype, shape, data }]) => {
          const values = [...data].map(Number);
          const rows =
            shape.length < 2
              ? values
              : Array.from({ length: shape[0]! }, (_, i) => values.slice(i * shape[1]!, (i + 1) * shape[1]!));
          return [key, [dtype, rows]] as const;
        });
        const request = {
          python: compiled.python,
          jit: compiled.signature.jit,
          config,
          inputs: Object.fromEntries(given),
        };
        const expected = Object.values(outputs).map(({ data }) => [...data].map(Number));
        cases.push({ name: `${name} ${config}`, request: JSON.stringify(request), expected });
      }
    }
    const requests = cases.map(({ request }) => request);
    const verdicts = await ask(await requirePython(), "./interpret.py", requests);
    cases.forEach(({ name, expected }, i) => {
      expect([name, verdicts[i]!.error]).toEqual([name, undefined]);
      expect([name, verdicts[i]!.outputs]).toEqual([name, expected]);
    });
  });
});
