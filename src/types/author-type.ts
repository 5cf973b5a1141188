/** The types of traced values as an author annotates a function's parameters with them. */
import { dtypeSourceText } from "./dtype.js";
import { type Dim, isUnrolled } from "./shape.js";
import type { Type } from "./types.js";

/** Undefined for what has no annotation: a choice of strings, a dtype, a size that depends on an unrolled loop. */
export function authorType(type: Type): string | undefined {
  switch (type.kind) {
    case "tile":
      return type.shape.length === 0
        ? `ScalarOf<typeof ${dtypeSourceText(type.dtype)}>`
        : shaped("TileOf", dtypeSourceText(type.dtype), type.shape);
    case "pointer":
    case "view":
    case "descriptor":
      return shaped(NAMES[type.kind], dtypeSourceText(type.to), type.shape, type.access);
    case "tensor":
      return shaped("TensorOf", dtypeSourceText(type.to), type.dims, type.access);
    case "constexpr": {
      const name = CONSTANTS[type.of];
      return name === undefined || isUnrolled(type.text) ? undefined : `${name}<${JSON.stringify(type.text)}>`;
    }
    case "none":
      return undefined;
    default:
      return type satisfies never;
  }
}

const NAMES = { pointer: "PointerOf", view: "ViewOf", descriptor: "DescriptorOf" } as const;
const CONSTANTS: Readonly<Record<string, string | undefined>> = {
  int: "Constexpr",
  float: "ConstFloat",
  bool: "ConstBool",
};

function shaped(name: string, dtype: string, shape: readonly Dim[], access?: string): string | undefined {
  if (shape.some(isUnrolled)) return undefined;
  const dims = `[${shape.map((dim) => JSON.stringify(dim)).join(", ")}]`;
  if (name === "PointerOf" && shape.length === 0 && access === "inout") return `PointerOf<typeof ${dtype}>`;
  const usual = name === "PointerOf" ? "inout" : "in";
  return `${name}<typeof ${dtype}, ${dims}${access === undefined || access === usual ? "" : `, ${JSON.stringify(access)}`}>`;
}
