/**
 * The operands that calls name. A name says its type: `float32_M_8` is a tile, `p_in_int8_` a pointer, `v_out_T_M` a
 * view, `t_in_…` a tensor, `d_inout_…` a descriptor; `Mx2` is the dimension M * 2. The editor gets a declaration of
 * each, the build a value.
 */
import { Builder, withBuilder } from "../../src/ir/builder.js";
import { Handle } from "../../src/ir/handle.js";
import { dtype, dtypeNames, dtypes, elemOf, type DTypeName, type Elem } from "../../src/types/dtype.js";
import type { Dim } from "../../src/types/shape.js";
import { constexprType, tileType, type Access, type Type } from "../../src/types/types.js";
import { typeText } from "./type-oracle.js";

/** Dtype variables: of floats, of dtypes that have little in common, of integers. */
export const variables = {
  T: dtype("T", [dtypes.float16, dtypes.bfloat16]),
  U: dtype("U", [dtypes.float16, dtypes.int8]),
  I: dtype("I", [dtypes.int32, dtypes.int64]),
};
const elemNamed = (name: string): Elem => (name in variables ? elemOf(variables[name as "T"]) : (name as DTypeName));
export const elemNames: readonly string[] = [...dtypeNames, ...Object.keys(variables)];

/** Names without a type in them. */
const plain: Readonly<Record<string, Type>> = {
  ...Object.fromEntries(["M", "N", "K"].map((name) => [name, constexprType("int", name)])),
  EPS: constexprType("float", "EPS"),
  FLAG: constexprType("bool", "FLAG"),
};

const dimNamed = (name: string): Dim =>
  /^\d+$/.test(name) ? Number(name) : name.replace("x", " * ").replace("by", " // ");
const named = new RegExp(
  `\\b(?:([pvtd])_(in|out|inout)_)?(${elemNames.join("|")})_((?:[A-Z0-9]+(?:x2|by2)?_?)*)\\b`,
  "g",
);

function typeNamed(kind: string | undefined, access: string, elem: string, dims: string): Type {
  const to = elemNamed(elem);
  const shape = dims === "" ? [] : dims.split("_").map(dimNamed);
  const place = { to, shape, access: access as Access };
  if (kind === "p") return { kind: "pointer", ...place };
  if (kind === "v") return { kind: "view", ...place };
  if (kind === "d") return { kind: "descriptor", ...place };
  if (kind === "t") return { kind: "tensor", to, dims: shape, access: place.access };
  return tileType(to, shape);
}

/** The operands that these calls name. */
export function operandsOf(calls: readonly string[]): Map<string, Type> {
  const found = new Map(Object.entries(plain));
  for (const call of calls)
    for (const [name, kind, access, elem, dims] of call.matchAll(named))
      if (!found.has(name)) found.set(name, typeNamed(kind, access!, elem!, dims!));
  return found;
}

/** The operands as the editor sees them. */
export function declarations(operands: ReadonlyMap<string, Type>): string[] {
  return [
    `import { libdevice, tl, type ConstBool, type ConstFloat, type Constexpr, type Pointer, type Tensor, type Tile } from "tilescript";`,
    `import type { Descriptor, View } from "../../../../src/rules/tensor-types.js";`,
    `import type { OneOf } from "../../../../src/types/dtype.js";`,
    `import type { Same } from "../../../../src/types/rule-error.js";`,
    ...Object.entries(variables).map(
      ([name, { members }]) =>
        `const ${name} = tl.dtype("${name}", [${members!.map((member) => `tl.${member}`).join(", ")}]);`,
    ),
    ...[...operands].map(([name, type]) => `declare const ${name}: ${typeText(type)};`),
  ];
}

/** Runs `ask` in an open kernel, where the operands are values of the program. */
export function inKernel<R>(
  operands: ReadonlyMap<string, Type>,
  ask: (values: Readonly<Record<string, unknown>>, recorder: Builder) => R,
): R {
  const recorder = new Builder();
  return withBuilder(recorder, () => {
    recorder.open("the kernel", undefined);
    const values = [...operands].map(
      ([name, type]) => [name, new Handle(recorder.value(type, undefined, name))] as const,
    );
    return ask({ ...variables, ...Object.fromEntries(values) }, recorder);
  });
}
