/** Every op compiles with real Triton for sm_90, over its dtypes, and Triton infers the type that we declare. */
import { describe, expect, test } from "vitest";
import { requirePython } from "../runtime/helpers.js";
import { runPython } from "./python.js";
import { cases, DECLARED, type OpCase, pythonOf } from "./harness.js";

const POINTER: Readonly<Record<string, string>> = {
  int1: "*i1",
  int8: "*i8",
  int16: "*i16",
  int32: "*i32",
  int64: "*i64",
  uint8: "*u8",
  uint16: "*u16",
  uint32: "*u32",
  uint64: "*u64",
  float16: "*fp16",
  bfloat16: "*bf16",
  float32: "*fp32",
  float64: "*fp64",
};

/** The kernel alone, which needs no torch, after the helper that asserts. */
function kernelModule(testCase: OpCase): string {
  const text = pythonOf(testCase);
  const start = text.indexOf("@triton.jit");
  const rest = text.slice(start);
  const end = /\n\n\n(?=def )/.exec(rest)!.index;
  const imports =
    text
      .slice(0, start)
      .match(/^from triton.*$/gm)
      ?.join("\n") ?? "";
  return `import triton\nimport triton.language as tl\n${imports}\n${DECLARED}\n\n${rest.slice(0, end)}\n`;
}

// AMD has one function that CUDA lacks; the copy engine of sm_90 moves no rows by their numbers.
const elsewhere = ["libdeviceFastTanhf", "descriptorGather", "descriptorScatter"];
const all = cases({ checks: true }).filter(({ op }) => !elsewhere.includes(op));

async function wrongOn(python: string, of: readonly OpCase[]): Promise<Record<string, string>> {
  const lines = of.map((testCase) => ({
    id: testCase.id,
    module: kernelModule(testCase),
    params: [...testCase.operands, ...testCase.results].map(({ dtype }) => POINTER[dtype as string]),
  }));
  return JSON.parse(await runPython(python, "compile_cases.py", lines)) as Record<string, string>;
}

const python36 = process.env.TILESCRIPT_PYTHON36;

describe("declared types are Triton's", () => {
  test("installed Triton", { timeout: 600_000 }, async () => {
    expect(await wrongOn(await requirePython(), all)).toEqual({});
  });
  test.skipIf(!python36)("Triton 3.6", { timeout: 600_000 }, async () => {
    expect(
      await wrongOn(
        python36!,
        all.filter(({ since39 }) => !since39),
      ),
    ).toEqual({});
  });
});
