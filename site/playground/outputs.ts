/** What a kernel wrote, as text: small outputs as a whole, larger ones up to a limit. */
import type { TensorData } from "../../src/compiled/compiled-kernel.js";

const MAX_ELEMENTS = 64;

const format = (value: number | bigint): string =>
  typeof value === "bigint" || Number.isInteger(value) ? String(value) : Number(value.toPrecision(4)).toString();

/** `out: float32[2, 2]`, and a line for each row. */
export function outputsText(outputs: Readonly<Record<string, TensorData>>): string {
  return Object.entries(outputs)
    .map(([name, { dtype, shape, data }]) => {
      const shown = Array.from(data.slice(0, MAX_ELEMENTS) as Float64Array, format);
      const length = shape.at(-1) || 1;
      const lines = shown.flatMap((_, i) => (i % length === 0 ? [shown.slice(i, i + length).join(", ")] : []));
      const rest = data.length > MAX_ELEMENTS ? ["…"] : [];
      return [`${name}: ${dtype}[${shape.join(", ")}]`, ...lines, ...rest].join("\n  ");
    })
    .join("\n");
}
