/**
 * Trials of warp-specialized kernels: what the emulator makes of a module, beside what the evaluator makes of the
 * kernel.
 */
import { fileURLToPath } from "node:url";
import type { CompiledKernel, TensorData } from "../../../src/compiled/compiled-kernel.js";
import { allocate } from "../../../src/numerics/buffer-pool.js";
import { sizeOf } from "../../../src/numerics/array.js";
import { isFloat } from "../../../src/numerics/numeric-int.js";
import { uniform } from "../../../src/numerics/random.js";
import { dtypeTable, type DTypeName } from "../../../src/types/dtype.js";
import { runScript, requirePython } from "../../support/python.js";

/** How a kernel is launched. */
export interface Launch {
  /** Which of the configs that fit. */
  readonly config: number;
  readonly multiprocessors: number;
  /** `random 7`, `rank 7`, or the parts and engines, the first of which runs whenever it can: `2 engines 0 1`. */
  readonly order: string;
  readonly version: "3.6" | "3.9";
}

export interface Trial {
  readonly name: string;
  readonly form: "product" | "attention" | "streamed";
  readonly kernel: CompiledKernel;
  /** Its module, where that is known. */
  readonly python?: string;
  readonly dtype: "float16" | "bfloat16";
  readonly sizes: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean>>;
  readonly scalars?: Readonly<Record<string, number>>;
  readonly launches: readonly Launch[];
  /** Whether axes lie in memory in another order, the last one apart. */
  readonly isStrided?: boolean;
  /** Mistakes to put into the text, in the words of `mutants.py`. */
  readonly mistakes?: readonly string[];
  /** What an input holds in place of what its dtype suggests. */
  readonly inputs?: Readonly<Record<string, (place: number, random: () => number) => number>>;
}

export interface Outcome {
  readonly name: string;
  /** What is wrong with each launch, or what was found of each mistake; null for nothing. */
  readonly wrong: readonly (string | null)[];
}

export async function emulate(trials: readonly Trial[]): Promise<readonly Outcome[]> {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const script = new URL("emulate.py", import.meta.url);
  return runScript(await requirePython(), script, trials.map(jobOf), folder);
}

/** The mistakes that `mutants.py` makes in each kernel. */
export async function mistakesIn(kernels: readonly CompiledKernel[]): Promise<readonly (readonly string[])[]> {
  const texts = kernels.map((kernel) => ({ text: kernel.emit({ warpSpecialize: "always" }).python }));
  return runScript(await requirePython(), new URL("mutants.py", import.meta.url), texts);
}

function jobOf(trial: Trial, seed: number): object {
  const { kernel, name, form, dtype, sizes, constexprs = {}, scalars = {}, launches, isStrided = false } = trial;
  const { signature } = kernel;
  const dtypes = Object.fromEntries(Object.keys(signature.dtypes).map((variable) => [variable, dtype]));
  const at = { sizes, dtypes, constexprs, scalars, config: 0, seed: seed + 1 };
  const all = kernel.sizes(at);
  const inputs = Object.fromEntries(
    signature.tensors.flatMap(({ name, role, dtype: given, dims }, place) => {
      const type = (typeof given === "string" ? given : dtypes[given.variable]!) as DTypeName;
      const shape = dims.map((dim) => (typeof dim === "number" ? dim : all[dim]!));
      return role === "out"
        ? []
        : [
            [
              name,
              drawn(
                type,
                shape,
                trial.inputs?.[name] ?? (form === "attention" ? values(place) : undefined),
                1000 * seed + place,
              ),
            ] as const,
          ];
    }),
  );
  const { outputs, findings } = kernel.evaluate(at, { inputs });
  if (findings.length > 0) throw new Error(`${name}: ${findings[0]!.message}`);
  const given = Object.fromEntries([
    ...signature.tensors.flatMap(({ name, python }) => (inputs[name] ? [[python, packed(inputs[name])]] : [])),
    ...signature.scalars.map(({ name, python, default: or }) => [python, scalars[name] ?? or]),
    ...signature.constexprs.flatMap(({ name, python, from, kind, default: or }) =>
      from !== "argument" ? [] : [[python, kind === "dtype" ? torchName(dtype) : (constexprs[name] ?? or)]],
    ),
  ]);
  const rank = signature.tensors[0]!.dims.length;
  const due = signature.tensors.flatMap(({ name, dims }) => {
    const output = outputs[name];
    if (!output) return [];
    // A number of each row follows from no rounded weights.
    const rounds = form !== "product" && dims.length === rank ? dtype : output.dtype;
    return [{ ...packed(output), rounds }];
  });
  return {
    name,
    text: trial.python ?? kernel.emit({ warpSpecialize: "always" }).python,
    arguments: given,
    outputs: due,
    launches,
    isStrided,
    mistakes: trial.mistakes,
  };
}

/** All terms of the sums are positive, so that errors stay in proportion. */
export const few = (_: number, uniform: () => number) => Math.floor(uniform() * 3) / 8;
export const gradientInputs: NonNullable<Trial["inputs"]> = {
  q: few,
  k: few,
  v: few,
  dOut: few,
  lse: (_, uniform) => 4 + few(0, uniform),
  delta: (_, uniform) => -1 - few(0, uniform),
};

/** A word of eight weights or zero points. */
export const anyWord = (_: number, uniform: () => number) => Math.floor(uniform() * 2 ** 32) - 2 ** 31;

/** A weight of 8 bits, or two of 4. */
export const anyByte = (_: number, uniform: () => number) => Math.floor(uniform() * 2 ** 8) - 2 ** 7;

/** Values of attention are positive, so that no sum of them comes near 0 and errors stay in proportion. */
const values = (place: number) =>
  place === 2 ? (_: number, random: () => number) => (1 + Math.floor(random() * 16)) / 8 : undefined;

/**
 * Floats are eighths from -2 to 2, quarters where eighths do not fit. Their products add up exactly in any order. Integers
 * are from 0 to 3.
 */
function drawn(
  dtype: DTypeName,
  shape: readonly number[],
  value: ((place: number, random: () => number) => number) | undefined,
  seed: number,
): TensorData {
  const random = uniform(seed);
  const data = allocate(dtype, sizeOf(shape)) as Float32Array;
  const step = dtype === "float8e5" ? 4 : 8;
  const usual = isFloat(dtype)
    ? () => (Math.floor(random() * (4 * step + 1)) - 2 * step) / step
    : () => Math.floor(random() * 4);
  for (let i = 0; i < data.length; i++) data[i] = value ? value(i, random) : usual();
  return { dtype, shape, data };
}

const torchName = (dtype: string): string => dtypeTable[dtype as DTypeName].torch;

function packed({ dtype, shape, data }: TensorData): object {
  const holds = data.constructor.name.replace("Array", "").toLowerCase();
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { dtype: torchName(dtype), shape, holds, data: bytes.toString("base64") };
}
