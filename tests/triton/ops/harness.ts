/** Makes a kernel of each sample: loads the operands, calls the op, stores what it gives. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { kernel, tensor, tl, TileScriptError } from "tilescript";
import { checkLimits } from "../../../src/check/limits.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { evaluateKernel, type RunResult } from "../../../src/eval/evaluate-kernel.js";
import { type DTypeName, dtypeTargets, type Backend, type Targets } from "../../../src/types/dtype.js";
import { isBig, isFloat } from "../../../src/numerics/numeric-int.js";
import { round } from "../../../src/numerics/numeric-float.js";
import { isHandle, valueOf } from "../../../src/ir/handle.js";
import type { TileType } from "../../../src/types/types.js";
import { walkAll, typedArguments } from "../../../src/ir/walk.js";
import { defineOp } from "../../../src/ops/define.js";
import { type Operand, operandsOf, type Sample, samples } from "./samples.js";

/** Compares, while Triton compiles, what it infers with what we declare; the module's helper has this name. */
const declared = defineOp<(x: unknown, dtype: unknown, shape: readonly number[]) => void>()({
  name: "declared",
  operands: { x: "value", dtype: "dtype", shape: "constant" },
  effect: "write",
  spelling: { form: "call", name: "declared" },
  infer: () => ({ kind: "none" }),
  evaluate: () => [],
});
const DECLARED = `

@triton.jit
def declared(x, dtype: tl.constexpr, shape: tl.constexpr):
    tl.static_assert(x.dtype == dtype, "dtype")
    tl.static_assert(len(x.shape) == len(shape), "rank")
    for i in tl.static_range(len(shape)):
        tl.static_assert(x.shape[i] == shape[i], "shape")
`;

export interface OpCase {
  readonly id: string;
  readonly op: string;
  readonly operands: readonly Operand[];
  readonly results: readonly TileType[];
  /** What the kernel gives back: tensors that it may write, then the results. */
  readonly outputs: readonly TileType[];
  readonly since39: boolean;
  readonly kernel: unknown;
}

const OPS = join(import.meta.dirname, "../../../src/ops");
const opFiles = readdirSync(OPS, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({ file: `src/ops/${name}`, text: readFileSync(join(OPS, name), "utf8") }));

/** The files, from the root of the repository, that define an op. */
export function sourcesOfOp(op: string): readonly string[] {
  if (op.startsWith("libdevice")) return ["src/ops/libdevice.ts", "src/rules/libdevice-table.ts"];
  return opFiles.filter(({ text }) => new RegExp(`export const ${op}\\b`).test(text)).map(({ file }) => file);
}

const dimsOf = (shape: readonly number[]) => (shape.length === 0 ? [1] : [...shape]);
const place = (view: any, shape: readonly number[]) =>
  view.at(...(shape.length === 0 ? [0] : shape.map((size) => tl.arange(0, size))));

/** The kernel of a sample. Results are only looked at where their types are not known yet. */
function kernelOf(
  sample: Sample,
  operands: readonly Operand[],
  results: readonly TileType[] | undefined,
  see?: (types: TileType[]) => void,
  checks = false,
) {
  const inputs = operands.map(
    ({ dtype, shape }, i) =>
      [`x${i}`, (sample.whole ? tensor.inout : tensor)(tl[dtype], dimsOf(shape) as [number])] as const,
  );
  const outputs = (results ?? []).map(
    ({ dtype, shape }, i) =>
      [`y${i}`, tensor.out(tl[dtype as DTypeName], dimsOf(shape as number[]) as [number])] as const,
  );
  return kernel(
    "sample",
    { params: Object.fromEntries([...inputs, ...outputs]) as any, grid: () => [1], config: {} } as any,
    ((args: any) => {
      const given = sample.apply(
        ...operands.map(({ shape }, i) => (sample.whole ? args[`x${i}`] : tl.load(place(args[`x${i}`], shape)))),
      );
      const values = Array.isArray(given) ? given : given === undefined ? [] : [given];
      see?.(
        values.map((value) =>
          isHandle(value) ? (valueOf(value).type as TileType) : { kind: "tile", dtype: "int32", shape: [] },
        ),
      );
      if (!results) return;
      values.forEach((value, i) => {
        const { dtype, shape } = results[i]!;
        if (checks)
          (declared as unknown as (...args: unknown[]) => void)(value, tl[dtype as "int8"], shape as number[]);
        tl.store(place(args[`y${i}`], shape as number[]), value);
      });
    }) as any,
  );
}

/** A call whose operands are zeros, made in the kernel: for type rules, which values do not matter to. */
export interface TypeCase {
  readonly id: string;
  readonly operands: readonly Operand[];
  readonly backend: Backend;
  readonly since39: boolean;
  /** Makes the call in an open kernel. */
  readonly call: () => readonly unknown[];
  readonly results: readonly TileType[];
}

function zeros({ dtype, shape }: Operand): any {
  const size = shape as readonly [number];
  // Triton 3.6 has no constants of 8-bit floats.
  return dtype.startsWith("float8")
    ? tl.zeros(size, tl.int8).to(tl[dtype as "int8"], { bitcast: true })
    : tl.zeros(size, tl[dtype as "int8"]);
}

const typeKernel = (body: () => void) =>
  kernel("sample", { params: { out: tensor.out(tl.int32, [1]) }, grid: () => [1], config: {} } as any, body as any);

/** The call typed by our rules, or undefined where they refuse it or no backend has its dtypes together. */
export function typeCase(sample: Sample, operands: readonly Operand[]): TypeCase | undefined {
  const call = () => {
    const given = sample.apply(...operands.map(zeros));
    return Array.isArray(given) ? given : [given];
  };
  let results: TileType[] = [];
  let ir;
  try {
    const see = () => void (results = call().flatMap((x) => (isHandle(x) ? [valueOf(x).type as TileType] : [])));
    ir = trace(definitionOf(typeKernel(see)));
  } catch (error) {
    if (error instanceof TileScriptError) return undefined;
    throw error;
  }
  if (checkLimits(ir).length > 0) return undefined;
  let since39 = sample.since39 ?? false;
  const asked: (Targets | undefined)[] = [...operands, ...results].map(({ dtype }) => dtypeTargets[dtype as DTypeName]);
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") return;
    asked.push(statement.op.needs.targets);
    since39 ||= statement.op.needs.needsTriton39?.(typedArguments(statement)) ?? false;
  });
  const backend = (["cuda", "hip"] as const).find((name) => asked.every((targets) => !targets || targets[name]));
  const words = operands.map(({ dtype, shape }) => `${dtype}[${shape.join(", ")}]`).join(", ");
  return backend && { id: `${sample.op} ${words}`, operands, backend, since39, call, results };
}

/** One kernel that makes all of these calls and asserts the type of each result. */
export function typesModule(these: readonly TypeCase[]): string {
  return tritonModule({
    kernel: typeKernel(() => {
      for (const { call, results } of these)
        call().forEach((value, i) => {
          const { dtype, shape } = results[i]!;
          (declared as unknown as (...args: unknown[]) => void)(value, tl[dtype as "int8"], shape as number[]);
        });
    }),
  });
}

/** Every sample over its alternatives. `checks` adds the assertions about what Triton infers. */
export function cases({ checks = false } = {}): OpCase[] {
  return samples.flatMap((sample, i) =>
    sample.operands.split(" | ").map((text) => {
      const operands = operandsOf(text);
      let results: TileType[] = [];
      trace(definitionOf(kernelOf(sample, operands, undefined, (types) => (results = types))));
      const written = sample.whole
        ? operands.map(({ dtype, shape }): TileType => ({ kind: "tile", dtype, shape }))
        : [];
      return {
        id: `${i} ${sample.op} ${text}`,
        op: sample.op,
        operands,
        results,
        outputs: [...written, ...results],
        since39: sample.since39 ?? false,
        kernel: kernelOf(sample, operands, results, undefined, checks),
      };
    }),
  );
}

/** The kernel alone, which needs no torch, after the helper that asserts. */
export function tritonModule({ kernel }: Pick<OpCase, "kernel">): string {
  const text = compile(kernel).python;
  const start = text.indexOf("@triton.jit");
  const rest = text.slice(start);
  const end = /\n\n\n(?=def )/.exec(rest)!.index;
  const imports = (text.slice(0, start).match(/^from triton.*$/gm) ?? []).join("\n");
  return `import triton\nimport triton.language as tl\n${imports}\n${DECLARED}\n\n${rest.slice(0, end)}\n`;
}

/** `*fp16`, as Triton's signatures name the kernel's pointers. */
export const pointerTypes = ({ operands, results }: Pick<OpCase, "operands" | "results">): string[] =>
  [...operands, ...results].map(
    ({ dtype }) =>
      `*${String(dtype).replace("bfloat", "bf").replace("float", "fp").replace("uint", "u").replace("int", "i")}`,
  );

export const pythonOf = ({ kernel }: OpCase): string => compile(kernel).python;

const STEPS = [0.25, -1, 1.5, 3, -0.5, 2, -2.25, 1, 7, -4];
/** Values of an operand, the same in every run. */
export function valuesOf({ dtype, shape, range }: Operand, seed: number): number[] {
  const size = shape.reduce((product, dim) => product * dim, 1);
  return Array.from({ length: size }, (_, i) => {
    const at = i * 7 + seed * 3;
    if (dtype === "int1") return (at >> 1) & 1;
    if (range) {
      const [low, high] = range;
      const part = (at % 11) / 10;
      return isFloat(dtype) ? low + (high - low) * part : low + (at % (high - low + 1));
    }
    if (isFloat(dtype)) return STEPS[at % STEPS.length]!;
    return dtype.startsWith("u") ? at % 13 : (at % 13) - 6;
  });
}

export function inputsOf(testCase: OpCase): Record<string, TensorData> {
  return Object.fromEntries(
    testCase.operands.map((operand, i) => {
      const { dtype, shape } = operand;
      const numbers = isFloat(dtype) ? valuesOf(operand, i).map(round(dtype)) : valuesOf(operand, i);
      const data = isBig(dtype)
        ? (dtype === "int64" ? BigInt64Array : BigUint64Array).from(numbers.map((x) => BigInt(x)))
        : isFloat(dtype)
          ? Float64Array.from(numbers)
          : dtype === "uint32"
            ? Uint32Array.from(numbers)
            : dtype === "int1"
              ? Uint8Array.from(numbers)
              : Int32Array.from(numbers);
      return [`x${i}`, { dtype, shape: dimsOf(shape), data } as TensorData];
    }),
  );
}

export function evaluated(testCase: OpCase): RunResult {
  const inputs = inputsOf(testCase);
  return evaluateKernel(trace(definitionOf(testCase.kernel)), { sizes: {}, dtypes: {}, constexprs: {}, inputs });
}
