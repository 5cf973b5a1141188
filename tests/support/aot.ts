/** Compiles emitted kernels with Triton ahead of time, without a GPU. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { snakeCase } from "../../src/codegen/names/names.js";
import type { CompiledKernel, SignatureDType } from "../../src/compiled/compiled-kernel.js";
import { inTemporaryFolder, tritonCache } from "./python.js";

const script = fileURLToPath(new URL("aot.py", import.meta.url));

export interface AotJob {
  readonly kernel: CompiledKernel;
  readonly dtypes?: Readonly<Record<string, string>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string | null>>;
  /** Omitted optional tensors. */
  readonly absent?: readonly string[];
  /** Triton's types of non-tensor parameters, by Python name. */
  readonly types?: Readonly<Record<string, string>>;
  readonly arch?: number;
}
export type Compiled =
  { readonly ok: true; readonly ttir: string; readonly ptx: string } | { readonly ok: false; readonly error: string };

const tritonDTypes: Readonly<Record<string, string>> = {
  int1: "i1",
  int8: "i8",
  int16: "i16",
  int32: "i32",
  int64: "i64",
  uint8: "u8",
  uint16: "u16",
  uint32: "u32",
  uint64: "u64",
  float16: "fp16",
  bfloat16: "bf16",
  float32: "fp32",
  float64: "fp64",
  float8e5: "fp8e5",
  float8e4nv: "fp8e4nv",
};

/** Compiles the first config of each kernel, all in one process. */
export async function compileAll(python: string, jobs: readonly AotJob[]): Promise<readonly Compiled[]> {
  return inTemporaryFolder(async (folder) => {
    const requests = await Promise.all(
      jobs.map(async (job, i) => {
        const file = join(folder, `emitted_${i}.py`);
        await writeFile(file, job.kernel.python);
        return { file, jit: job.kernel.signature.jit, ...argumentsOf(job), arch: job.arch ?? 90 };
      }),
    );
    const env = { TRITON_CACHE_DIR: tritonCache, PYTHONDONTWRITEBYTECODE: "1" };
    const { stdout } = await execa(python, [script], { input: JSON.stringify(requests), env });
    return (JSON.parse(stdout.slice(stdout.indexOf('{"version"'))) as { readonly answers: readonly Compiled[] })
      .answers;
  });
}

/** The pointer parameter of a tensor: `from_ptr` for `from`, although the tensor is `from_` in Python. */
const pointerOf = ({ name }: { readonly name: string }): string => `${snakeCase(name)}_ptr`;

function argumentsOf({ kernel, dtypes = {}, constexprs = {}, absent = [], types = {} }: AotJob) {
  const { signature, configs } = kernel;
  const nameOf = (dtype: SignatureDType) => tritonDTypes[typeof dtype === "string" ? dtype : dtypes[dtype.variable]!]!;
  const [config] = configs;
  const python = new Map(signature.constexprs.map((each) => [each.name, each.python]));
  const values = Object.entries({ ...config?.values, ...constexprs }).map(([name, value]) => [
    python.get(name) ?? name,
    value,
  ]);
  const [absentTensors, presentTensors] = [true, false].map((isAbsent) =>
    signature.tensors.filter((t) => absent.includes(t.name) === isAbsent),
  );
  const pointers = presentTensors!.map((tensor) => [pointerOf(tensor), `*${nameOf(tensor.dtype)}`]);
  return {
    constexprs: Object.fromEntries([...values, ...absentTensors!.map((tensor) => [pointerOf(tensor), null])]) as Record<
      string,
      unknown
    >,
    types: { ...(Object.fromEntries(pointers) as Record<string, string>), ...types },
    options: config?.numWarps ? { num_warps: config.numWarps } : {},
  };
}
