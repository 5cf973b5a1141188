/** What the arguments of one kernel are called in Python: in the `@triton.jit` function, and in its wrapper. */
import { isLiteral, isValue, type KernelIR, type TensorParam, type Value } from "../ir/nodes.js";
import { Names, snakeCase } from "./names.js";

export interface KernelNames {
  /** The wrapper's name. */
  readonly wrapper: string;
  /** The `@triton.jit` function's name. */
  readonly jit: string;
  /** Parameters of the jit function, by value: `a_ptr`, `M`, `stride_am`, `BLOCK_M`. */
  readonly parameters: ReadonlyMap<Value, string>;
  /** Tensors in the wrapper, by the author's name. */
  readonly tensors: ReadonlyMap<string, string>;
  /** Names of each tensor's strides, an axis each; undefined where the stride is fixed. */
  readonly strides: ReadonlyMap<string, readonly (string | undefined)[]>;
  /** For names in the jit function's body. */
  readonly locals: Names;
}

export function kernelNames(ir: KernelIR): KernelNames {
  const wrapper = snakeCase(ir.name);
  const locals = new Names();
  const wrapperNames = new Names();
  for (const word of ["grid", "meta", "out"]) wrapperNames.take(word);
  const parameters = new Map<Value, string>();
  const tensors = new Map<string, string>();
  const strides = new Map<string, readonly (string | undefined)[]>();
  for (const param of ir.params) {
    if (param.kind === "tensor" || param.kind === "pointer") {
      parameters.set(param.kind === "tensor" ? param.pointer : param.value, locals.take(`${param.name}_ptr`));
      tensors.set(param.name, param.name === "out" ? "out" : wrapperNames.take(param.name));
    } else parameters.set(param.value, locals.take(param.name));
  }
  for (const param of ir.params) {
    if (param.kind !== "tensor") continue;
    const names = param.strides.map((stride, axis) => {
      if (!isValue(stride) || parameters.has(stride)) return undefined;
      const name = locals.take(strideName(param, axis));
      parameters.set(stride, name);
      return name;
    });
    strides.set(param.name, names);
  }
  return { wrapper, jit: `${wrapper}_kernel`, parameters, tensors, strides, locals };
}

/** `stride_am` for the M axis of `a`, as Triton's tutorials write it; `stride_x_row` for longer names. */
function strideName(param: TensorParam, axis: number): string {
  const dim = param.dimNames[axis];
  const label = typeof dim === "string" && isUnique(param, dim) ? dim.toLowerCase() : String(axis);
  return param.name.length === 1 && label.length === 1 ? `stride_${param.name}${label}` : `stride_${param.name}_${label}`;
}

function isUnique(param: TensorParam, dim: string): boolean {
  return param.dimNames.filter((name) => name === dim).length === 1;
}

/** The number of a literal argument, such as a fixed dimension. */
export function literalNumber(argument: unknown): number | undefined {
  return isLiteral(argument as never) ? Number((argument as { value: unknown }).value) : undefined;
}
