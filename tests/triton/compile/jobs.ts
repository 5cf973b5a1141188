/** Compile jobs for `compile_kernels.py`: the specializations of a kernel that a launcher could ask for. */
import { execa } from "execa";
import { fileURLToPath } from "node:url";
import { members } from "../../../src/types/dtype.js";
import { kernelNames } from "../../../src/codegen/module/signature.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { OperatorDefinition, traceOperator } from "../../../src/dsl/operator.js";
import { trace } from "../../../src/dsl/trace.js";
import { lowerViews } from "../../../src/lower/views.js";
import type { MachineCode } from "../../../src/runtime/worker/protocol.js";
import { emit, jitFunctions } from "../../support/emit.js";
import { tritonCache } from "../../support/python.js";
import { argumentsOf, type Arguments, launchOptions, type Shape } from "./arguments.js";

export interface Job extends Arguments {
  readonly label: string;
  /** Which of the kernel's configs. */
  readonly config: number;
  /** What the kernel's dtype variable is, if it has one. */
  readonly dtype: string;
  /** File name of the function's module, the same for all jobs of one source. */
  readonly module: string;
  readonly function: string;
  readonly source: string;
  readonly options: Readonly<Record<string, number>>;
  readonly target: readonly [string, number | string, number];
  /** Also look for faults of ptxas. */
  readonly machineCode?: boolean;
  /** Also give the disassembly, Triton's IR before or after its GPU passes, or AMD's assembly. */
  readonly sass?: boolean;
  readonly ttir?: boolean;
  readonly ttgir?: boolean;
  readonly amdgcn?: boolean;
}

export interface Compiled {
  readonly label: string;
  readonly triton: string;
  readonly error?: string;
  readonly seconds: number;
  readonly shared?: number;
  readonly registers?: number;
  readonly spilled?: number;
  readonly sass?: string;
  readonly machineCode?: MachineCode;
  readonly ttir?: string;
  readonly ttgir?: string;
  readonly amdgcn?: string;
}

export const sm90 = ["cuda", 90, 32] as const;
export const gfx942 = ["hip", "gfx942", 64] as const;

/** The kernel, or the kernels of an operator. */
export function kernelsOf(kernel: unknown): readonly unknown[] {
  if (!(kernel instanceof OperatorDefinition)) return [kernel];
  const found: unknown[] = [];
  traceOperator(kernel, (part) => {
    found.push(part);
    return trace(part);
  });
  return found;
}

/** One job for each config and each member of the kernel's dtype variable. A caller may choose some constexprs. */
export function jobsOf(
  kernel: unknown,
  target: Job["target"],
  shape: Shape = "aligned",
  chosen: Arguments["constants"] = {},
): Job[] {
  const ir = lowerViews(trace(definitionOf(kernel)));
  // Who loads them decorates the first.
  const source = jitFunctions(emit(kernel).text).join("\n\n\n@triton.jit\n");
  const variable = ir.params.flatMap((param) =>
    param.kind === "tensor" && typeof param.dtype !== "string" ? [param.dtype] : [],
  )[0];
  return ir.tuning.configs.flatMap((config, i) =>
    members(variable ?? "float32").map((dtype) => ({
      label: [ir.name, ...(variable ? [dtype] : []), target[1], shape, ...(i > 0 ? [`config ${i}`] : [])].join(" "),
      config: i,
      dtype,
      module: ir.name,
      function: kernelNames(ir).jit,
      source,
      options: launchOptions(config, target[0]),
      target,
      ...argumentsOf(ir, config, dtype, shape, chosen),
    })),
  );
}

/** Of one kernel's jobs each config and each dtype at least once. `turn` shifts which meet: so many turns make all pairs. */
export function eachOnce(jobs: readonly Job[], turn: number): readonly Job[] {
  const dtypes = [...new Set(jobs.map(({ dtype }) => dtype))];
  const configs = new Set(jobs.map(({ config }) => config)).size;
  const shared = (job: Job, config: number) => dtypes.indexOf(job.dtype) === (config + turn) % dtypes.length;
  const isAlone = (job: Job) => !Array.from({ length: configs }, (_, config) => config).some((i) => shared(job, i));
  return jobs.filter((job) => shared(job, job.config) || (job.config === 0 && isAlone(job)));
}

/** Compiles with the Triton of this Python; no GPU is needed. */
export async function compileAll(python: string, jobs: readonly Job[]): Promise<Compiled[]> {
  const script = fileURLToPath(new URL("compile_kernels.py", import.meta.url));
  const env = { TRITON_CACHE_DIR: tritonCache };
  const { stdout } = await execa(python, [script], { input: JSON.stringify({ jobs }), stderr: "ignore", env });
  return stdout.split("\n").map((line) => JSON.parse(line) as Compiled);
}
