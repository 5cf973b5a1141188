/** Every record: documented, spelled as Triton has it, and computing what Triton's interpreter computes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import type { Op } from "../../../src/ir/op.js";
import { libdevice } from "../../../src/ops/libdevice.js";
import { opOf } from "../../../src/ops/define.js";
import * as ops from "../../../src/ops/index.js";
import * as views from "../../../src/ops/view.js";
import { table } from "../../../src/ops/table.js";
import { isFloat } from "../../../src/numerics/numeric-int.js";
import type { DTypeName } from "../../../src/types/dtype.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { requirePython, type CaseError, runScript } from "../../support/python.js";
import { cases, evaluated, inputsOf, type OpCase, pythonOf } from "./harness.js";
import { unlike } from "./interpreter-unlike.js";
import { isSampledElsewhere } from "./samples.js";

const SRC = join(import.meta.dirname, "../../../src");
const sources = readdirSync(join(SRC, "ops")).map((name) => readFileSync(join(SRC, "ops", name), "utf8"));

test("every op says in JSDoc what it does", () => {
  const documented = (name: string) =>
    sources.some((text) => new RegExp(`\\*/\\nexport const ${name} =|\\*/ ${name}: "`).test(text));
  const table = readFileSync(join(SRC, "rules/libdevice-table.ts"), "utf8");
  const isOp = ([, value]: [string, unknown]) => opOf(value) !== undefined;
  const names = [...Object.entries<unknown>(ops), ...Object.entries<unknown>(views)].filter(isOp).map(([name]) => name);
  expect(names.filter((name) => !documented(name))).toEqual([]);
  expect(Object.keys(libdevice).filter((name) => !table.includes(`*/ ${name}: "`))).toEqual([]);
});

test("every op is exported under its own name", () => {
  const wrong = Object.entries<unknown>(ops).filter(([name, value]) => (opOf(value)?.name ?? name) !== name);
  expect(wrong.map(([name]) => name)).toEqual([]);
});

test("every call that ops are written as exists in Triton", { timeout: 120_000 }, async () => {
  const called = (op: Op) => (op.spelling.form === "call" ? [op.spelling] : []);
  const names = [...new Set(table.flatMap(called).map(({ name, from }) => (from ? `${from}.${name}` : name)))];
  const methods = table.flatMap(({ spelling, needs }) =>
    spelling.form === "method" && !needs.hostOnly ? [spelling.name] : [],
  );
  const script = [
    "import importlib, json, sys, triton, triton.language as tl",
    "from triton.language.extra import libdevice",
    "def has(path):",
    "    at = {'tl': tl, 'triton': triton, 'libdevice': libdevice}",
    "    parts = path.replace('triton.language.extra.', '').split('.')",
    "    value = at[parts[0]]",
    "    for part in parts[1:]:",
    "        value = getattr(value, part, None)",
    "    return value is not None",
    "names, methods = json.loads(sys.argv[1])",
    "print(json.dumps([n for n in names if not has(n)] + [m for m in methods if not hasattr(tl.tensor, m) and not hasattr(tl.tensor_descriptor, m)]))",
  ].join("\n");
  const { stdout } = await execa(await requirePython(), ["-c", script, JSON.stringify([names, methods])]);
  expect(JSON.parse(stdout)).toEqual([]);
});

const all = cases();

test("every op has a sample", () => {
  const sampled = new Set(all.map(({ op }) => op));
  expect(table.filter((op) => !sampled.has(op.name) && !isSampledElsewhere(op)).map(({ name }) => name)).toEqual([]);
});

describe("the evaluator", () => {
  const isModeled = ({ op }: OpCase) => table.some(({ name, evaluate, parts }) => name === op && (evaluate ?? parts));
  const runs = all.filter((testCase) => isModeled(testCase) && !testCase.op.startsWith("libdevice"));

  test("agrees with Triton's interpreter", { timeout: 600_000 }, async () => {
    const tested = sampleCases("ops on Triton's interpreter", runs, { key: ({ id }) => id, perRun: 100 });
    const lines = tested
      .filter((testCase) => !unlike(testCase))
      .map((testCase) => ({
        id: testCase.id,
        module: pythonOf(testCase),
        inputs: Object.values(inputsOf(testCase)).map(({ dtype, shape, data }) => ({
          dtype,
          shape,
          data: Array.from(data as ArrayLike<number | bigint>, String),
        })),
      }));
    type Answer = Partial<CaseError> & { readonly outputs?: string[][] };
    const answers = await runScript<Record<string, Answer>>(
      await requirePython(),
      new URL("interpret_cases.py", import.meta.url),
      lines,
    );
    const byId = new Map(runs.map((testCase) => [testCase.id, testCase]));
    const wrong = lines.flatMap(({ id }) => {
      const { error, outputs } = answers[id]!;
      const problem = error ?? difference(byId.get(id)!, outputs!);
      return problem ? [`${id}: ${problem}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test("finds nothing wrong with the samples", () => {
    const found = runs.flatMap((testCase) =>
      evaluated(testCase).findings.map(({ message }) => `${testCase.id}: ${message}`),
    );
    expect(found).toEqual([]);
  });
});

const TOLERANCE: Partial<Record<DTypeName, number>> = { float16: 2e-3, bfloat16: 2e-2, float32: 4e-6, float64: 1e-12 };

/** What differs first, in words. */
function difference(testCase: OpCase, theirs: readonly (readonly string[])[]): string | undefined {
  const outputs = Object.values(evaluated(testCase).outputs) as TensorData[];
  for (const [k, ours] of outputs.entries()) {
    const { dtype } = testCase.outputs[k]!;
    const rtol = TOLERANCE[dtype as DTypeName] ?? 0;
    const values = ours.data as ArrayLike<number | bigint>;
    for (let i = 0; i < values.length; i++) {
      const [a, b] = [values[i]!, theirs[k]![i]!];
      const isSame = isFloat(dtype as DTypeName)
        ? Object.is(Number(a), parsed(b)) || Math.abs(Number(a) - parsed(b)) <= rtol * Math.max(1, Math.abs(parsed(b)))
        : String(BigInt(a)) === String(BigInt(typeof a === "bigint" ? b : Math.trunc(parsed(b))));
      if (!isSame) return `output ${k}[${i}] is ${a}, theirs is ${b}`;
    }
  }
  return undefined;
}

const parsed = (text: string) => Number(text.replace("inf", "Infinity").replace("nan", "NaN"));
