/** What a launcher would tell Triton of a kernel's arguments. */
import { kernelNames } from "../../../src/codegen/module/signature.js";
import type { Config } from "../../../src/compiled/compiled-kernel.js";
import type { DTypeName, Elem } from "../../../src/types/dtype.js";
import { Bindings } from "../../../src/eval/bindings.js";
import { type Argument, isLiteral, isValue, type KernelIR } from "../../../src/ir/nodes.js";

export interface Arguments {
  readonly types: Readonly<Record<string, string>>;
  /** A dtype of Triton is told from a string by its key. */
  readonly constants: Readonly<Record<string, number | boolean | string | { readonly dtype: string }>>;
  /** Arguments that are multiples of 16. */
  readonly aligned: readonly string[];
}

/**
 * What Triton knows of sizes and strides: multiples of 16 with a last stride of 1, as for most tensors; that stride
 * only, as for odd sizes; nothing, as for every second column of a tensor; or that all are 1, which makes them constants.
 */
export type Shape = "aligned" | "odd" | "strided" | "ones";

/** The arguments of a kernel for one config, with its dtype variable bound. A caller may choose some constexprs. */
export function argumentsOf(
  ir: KernelIR,
  config: Config,
  dtype: DTypeName,
  shape: Shape,
  chosen: Arguments["constants"] = {},
): Arguments {
  const names = kernelNames(ir);
  const types: Record<string, string> = {};
  const constants: Record<string, number | boolean | string | { readonly dtype: string }> = {};
  const aligned: string[] = [];
  const triton = (elem: Elem) => signatureName(typeof elem === "string" ? elem : dtype);
  const integer = (name: string, isUnit: boolean) => {
    types[name] = shape === "ones" || isUnit ? "constexpr" : "i32";
    if (types[name] === "constexpr") constants[name] = 1;
    else if (shape === "aligned") aligned.push(name);
  };
  const constexprs = { ...constexprsOf(ir, config, dtype), ...chosen };
  for (const param of ir.params) {
    const name = names.parameters.get(param.kind === "tensor" ? param.pointer : param.value)!;
    if (param.kind === "tensor" || param.kind === "pointer") {
      const elements = triton(param.dtype);
      const block = param.kind === "tensor" ? param.block?.map((dim) => sizeOf(dim, constexprs)) : undefined;
      types[name] = block ? `tensordesc<${elements}[${block.join(",")}]>` : `*${elements}`;
      if (!block) aligned.push(name);
    } else if (param.kind === "scalar") types[name] = triton(param.dtype);
    else if (param.kind === "size") integer(name, false);
    else if (param.kind === "constexpr") {
      types[name] = "constexpr";
      constants[name] = param.of === "dtype" ? { dtype: String(constexprs[param.name]) } : constexprs[param.name]!;
    }
    if (param.kind !== "tensor") continue;
    const last = param.strides.length - 1;
    for (const [axis, stride] of param.strides.entries())
      if (isValue(stride) && names.strides.get(param.name)![axis] !== undefined)
        integer(names.parameters.get(stride)!, shape !== "strided" && axis === last);
  }
  return { types, constants, aligned };
}

/** The config's constexprs, those of a caller that says little, and what the host computes where sizes are 64. */
function constexprsOf(ir: KernelIR, config: Config, dtype: DTypeName): Arguments["constants"] {
  const given = ir.params.flatMap((param) =>
    param.kind === "constexpr" && !param.compute
      ? [[param.name, param.default ?? param.choices?.[0] ?? (param.of === "int" ? 64 : 0)] as const]
      : [],
  );
  const variables = ir.params.flatMap((param) => ("variable" in param && param.variable ? [param.variable.name] : []));
  const { constexprs } = new Bindings(ir, {
    sizes: Object.fromEntries(ir.params.map(({ name }) => [name, 64])),
    scalars: Object.fromEntries(ir.params.map(({ name }) => [name, 1])),
    dtypes: Object.fromEntries(variables.map((name) => [name, dtype])),
    constexprs: { ...Object.fromEntries(given), ...config.values },
  });
  return constexprs as Arguments["constants"];
}

/** A dimension of a block. */
function sizeOf(dim: Argument, constexprs: Arguments["constants"]): number {
  return Number(isValue(dim) ? constexprs[dim.parameter!] : isLiteral(dim) && dim.value);
}

/** `fp16`, `bf16`, `i32`, `u8`, as Triton's launcher abbreviates them. */
function signatureName(dtype: DTypeName): string {
  return dtype.replace("bfloat", "bf").replace("float", "fp").replace("uint", "u").replace("int", "i");
}

export function launchOptions({ numWarps, numStages, maxnreg }: Config, backend: string): Record<string, number> {
  return {
    ...(numWarps && { num_warps: numWarps }),
    ...(numStages && { num_stages: numStages }),
    ...(maxnreg && backend === "cuda" && { maxnreg }),
  };
}
