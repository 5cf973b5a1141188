/** Compile jobs for `compile_kernels.py`: the specialisations of a kernel that a launcher could ask for. */
import { execa } from "execa";
import { fileURLToPath } from "node:url";
import type { Config } from "../../src/compiled.js";
import { members, type DTypeName, type Elem } from "../../src/ir/dtype.js";
import { isValue, type KernelIR } from "../../src/ir/nodes.js";
import { kernelNames } from "../../src/codegen/kernel-names.js";
import { definitionOf } from "../../src/dsl/kernel.js";
import { trace } from "../../src/dsl/trace.js";
import { lowerViews } from "../../src/ops/lower-views.js";
import { emit } from "../codegen/emit.js";

export interface Job {
  readonly label: string;
  /** File name of the function's module, the same for all jobs of one source. */
  readonly module: string;
  readonly function: string;
  readonly source: string;
  readonly types: Readonly<Record<string, string>>;
  readonly constants: Readonly<Record<string, number | boolean | string>>;
  /** Arguments that are multiples of 16. */
  readonly aligned: readonly string[];
  readonly options: Readonly<Record<string, number>>;
  readonly target: readonly [string, number | string, number];
  /** Also give the disassembly, Triton's own IR, or AMD's assembly. */
  readonly sass?: boolean;
  readonly ttir?: boolean;
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
  readonly ttir?: string;
  readonly amdgcn?: string;
}

export const sm90 = ["cuda", 90, 32] as const;
export const gfx942 = ["hip", "gfx942", 64] as const;

/**
 * What Triton knows of sizes and strides: multiples of 16 with a last stride of 1, as for most tensors; that stride
 * only, as for odd sizes; nothing, as for every second column of a tensor; or that all are 1, which makes them constants.
 */
export type Shape = "aligned" | "odd" | "strided" | "ones";

/** The kernel and its helper functions; the first is to be decorated by who loads them. */
function jitFunctions(text: string): string {
  const found = text.matchAll(/^@triton\.jit(?:\(.*\))?\n(def [^]*?)\n\n\n/gm);
  return [...found].map(([, definition]) => definition).join("\n\n\n@triton.jit\n");
}

/** One job for each config and each member of the kernel's dtype variable. */
export function jobsOf(kernel: unknown, target: Job["target"], shape: Shape = "aligned"): Job[] {
  const ir = lowerViews(trace(definitionOf(kernel)));
  const source = jitFunctions(emit(kernel).text);
  const variable = ir.params.flatMap((param) =>
    param.kind === "tensor" && typeof param.dtype !== "string" ? [param.dtype] : [],
  )[0];
  return ir.tuning.configs.flatMap((config, i) =>
    members(variable ?? "float32").map((dtype) => ({
      label: [ir.name, ...(variable ? [dtype] : []), target[1], shape, ...(i > 0 ? [`config ${i}`] : [])].join(" "),
      module: ir.name,
      function: kernelNames(ir).jit,
      source,
      options: launchOptions(config),
      target,
      ...argumentsOf(ir, config, dtype, shape),
    })),
  );
}

function argumentsOf(
  ir: KernelIR,
  config: Config,
  dtype: DTypeName,
  shape: Shape,
): Pick<Job, "types" | "constants" | "aligned"> {
  const names = kernelNames(ir);
  const types: Record<string, string> = {};
  const constants: Record<string, number | boolean | string> = {};
  const aligned: string[] = [];
  const triton = (elem: Elem) => signatureName(typeof elem === "string" ? elem : dtype);
  const integer = (name: string, isUnit: boolean) => {
    types[name] = shape === "ones" || isUnit ? "constexpr" : "i32";
    if (types[name] === "constexpr") constants[name] = 1;
    else if (shape === "aligned") aligned.push(name);
  };
  for (const param of ir.params) {
    const name = names.parameters.get(param.kind === "tensor" ? param.pointer : param.value)!;
    if (param.kind === "tensor" || param.kind === "pointer") {
      types[name] = `*${triton(param.dtype)}`;
      aligned.push(name);
    } else if (param.kind === "scalar") types[name] = triton(param.dtype);
    else if (param.kind === "size") integer(name, false);
    else {
      types[name] = "constexpr";
      constants[name] =
        config.values[param.name] ?? param.default ?? param.choices?.[0] ?? (param.of === "int" ? 64 : 0);
    }
    if (param.kind !== "tensor") continue;
    const last = param.strides.length - 1;
    for (const [axis, stride] of param.strides.entries())
      if (isValue(stride) && names.strides.get(param.name)![axis] !== undefined)
        integer(names.parameters.get(stride)!, shape !== "strided" && axis === last);
  }
  return { types, constants, aligned };
}

/** `fp16`, `bf16`, `i32`, `u8`, as Triton's launcher abbreviates them. */
function signatureName(dtype: DTypeName): string {
  return dtype.replace("bfloat", "bf").replace("float", "fp").replace("uint", "u").replace("int", "i");
}

function launchOptions({ numWarps, numStages }: Config): Record<string, number> {
  return { ...(numWarps && { num_warps: numWarps }), ...(numStages && { num_stages: numStages }) };
}

/** Compiles with the Triton of this Python; no GPU is needed. */
export async function compileAll(python: string, jobs: readonly Job[]): Promise<Compiled[]> {
  const script = fileURLToPath(new URL("compile_kernels.py", import.meta.url));
  const { stdout } = await execa(python, [script], { input: JSON.stringify({ jobs }), stderr: "ignore" });
  return stdout.split("\n").map((line) => JSON.parse(line) as Compiled);
}
