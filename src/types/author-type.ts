/** The type annotation that an author writes for a parameter with the type of a traced value. */
import { dtypeSourceText } from "./dtype.js";
import { type Dim, isUnrolled } from "./shape.js";
import type { Type } from "./types.js";

/** Undefined if there is no annotation: for a string, a dtype, or a size that depends on an unrolled loop. */
export function authorType(type: Type): string | undefined {
  switch (type.kind) {
    case "tile":
      return type.shape.length === 0
        ? `ScalarOf<typeof ${dtypeSourceText(type.dtype)}>`
        : shapedAnnotation("TileOf", dtypeSourceText(type.dtype), type.shape);
    case "pointer":
    case "view":
    case "descriptor":
      return shapedAnnotation(NAMES[type.kind], dtypeSourceText(type.to), type.shape, type.access);
    case "tensor":
      return shapedAnnotation("TensorOf", dtypeSourceText(type.to), type.dims, type.access);
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

function shapedAnnotation(name: string, dtype: string, shape: readonly Dim[], access?: string): string | undefined {
  if (shape.some(isUnrolled)) return undefined;
  const dims = `[${shape.map((dim) => JSON.stringify(dim)).join(", ")}]`;
  if (name === "PointerOf" && shape.length === 0 && access === "inout") return `PointerOf<typeof ${dtype}>`;
  const defaultAccess = name === "PointerOf" ? "inout" : "in";
  return `${name}<typeof ${dtype}, ${dims}${access === undefined || access === defaultAccess ? "" : `, ${JSON.stringify(access)}`}>`;
}
