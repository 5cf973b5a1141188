/** The kernels of an emitted module as `tilescript import` reads them, with the types of a call. */
import type { CompiledKernel } from "tilescript";
import type { LaunchArgument, LaunchSignature, GlobalBinding } from "../../../src/import/tree.js";
import { tritonName } from "../../../src/import/given-types.js";
import { compileCases } from "../../../src/runtime/cases/command-cases.js";
import { snakeCase } from "../../../src/codegen/names/names.js";

/** What a call of the kernel passes with its first config, and the first of each dtype variable's dtypes. */
export function typesOf(kernel: CompiledKernel): LaunchSignature {
  const { tensors, pointers, scalars, constexprs, dtypes, jit } = kernel.signature;
  const dtypeOf = (dtype: string): string => tritonName(dtypes[dtype]?.[0] ?? dtype);
  const known = new Map<string, LaunchArgument>();
  for (const { name, dtype } of [...tensors, ...pointers])
    known.set(snakeCase(`${name}_ptr`), {
      kind: "pointer",
      dtype: dtypeOf(typeof dtype === "string" ? dtype : dtype.variable),
    });
  for (const { python, dtype } of scalars) known.set(python, { kind: "scalar", dtype: tritonName(dtype) });
  const [at] = compileCases(kernel, { seed: 0 }).cases;
  const values = at ? kernel.constexprs(at) : {};
  for (const { name, python, kind, choices, default: initial } of constexprs) {
    const value = values[name] ?? initial ?? choices?.[0] ?? { bool: true, float: 1, int: 16 }[kind as "int"];
    known.set(python, { kind: "constant", value: constant(kind, value) });
  }
  for (const { name, dtype } of tensors) {
    const python = snakeCase(`${name}_desc`);
    const block = blockOf(kernel.python, python);
    if (block)
      known.set(python, {
        kind: "descriptor",
        dtype: dtypeOf(typeof dtype === "string" ? dtype : dtype.variable),
        block,
      });
  }
  return Object.fromEntries(
    parametersOf(kernel.python, jit).map((name) => [
      name,
      known.get(name) ?? ({ kind: "scalar", dtype: "i32" } as const),
    ]),
  );
}

function constant(kind: string, value: unknown): GlobalBinding {
  if (kind === "dtype") return { what: "dtype", dtype: tritonName(String(value)) };
  const of = { bool: "bool", int: "int", float: "float", string: "str" }[kind] ?? "str";
  return { what: "constant", of, value: value as number };
}

/** The block of a descriptor, from the hook that sets it. */
function blockOf(python: string, name: string): readonly (number | string)[] | undefined {
  const [, list] = new RegExp(`args\\["${name}"\\]\\.block_shape = \\[([^\\n]*)\\]\\n`).exec(python) ?? [];
  return list?.split(", ").map((each) => /\["(\w+)"\]/.exec(each)?.[1] ?? Number(each));
}

/** The parameters of a function, from the text of its module. */
function parametersOf(python: string, name: string): readonly string[] {
  const [, list = ""] = new RegExp(`^def ${name}\\(([^)]*)\\)`, "m").exec(python) ?? [];
  return list.split(",").flatMap((each) => /^\s*(\w+)/.exec(each)?.[1] ?? []);
}
