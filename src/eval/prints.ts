/** What `tl.devicePrint` prints while a kernel is evaluated: one line for each element, as on a GPU. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { ValueRuntime } from "../values/runtime-values.js";
import { isTile } from "../values/operands.js";

/** Lines of one evaluation. */
const MOST = 1000;

export class Prints {
  readonly #lines: string[] = [];
  #left = 0;

  /** The lines, and how many more there were. */
  get lines(): readonly string[] {
    return this.#left > 0 ? [...this.#lines, `${this.#left} more lines were printed`] : this.#lines;
  }

  /** Prints each element of each value. */
  print(
    prefix: string,
    values: readonly ValueRuntime[],
    hex: boolean,
    { program, at }: { readonly program: readonly number[]; readonly at: Location | undefined },
  ): void {
    const where = `${at ? `${at.file.split("/").at(-1)}:${at.line} ` : ""}program (${program.join(", ")})`;
    if (values.length === 0) return this.#add(() => `${where} ${prefix}`);
    values.forEach((value, operand) => {
      const name = values.length > 1 ? `${prefix}(operand ${operand})` : prefix;
      if (!isTile(value)) return this.#add(() => `${where} ${name}: ${text(value, hex)}`);
      for (let i = 0; i < value.data.length; i++) {
        const lane = value.shape.length > 0 ? ` lane [${indicesOf(i, value.shape).join(", ")}]` : "";
        const shown = value.poison?.[i] ? "no value" : text(value.data[i]!, hex);
        this.#add(() => `${where}${lane} ${name}: ${shown}`);
      }
    });
  }

  #add(line: () => string): void {
    if (this.#lines.length < MOST) this.#lines.push(line());
    else this.#left++;
  }
}

function text(value: unknown, hex: boolean): string {
  if (hex && (typeof value === "bigint" || Number.isInteger(value))) return `0x${(value as number).toString(16)}`;
  return typeof value === "object" ? "an address" : String(value);
}

/** The indices of an element in row-major order. */
function indicesOf(element: number, shape: readonly number[]): readonly number[] {
  let rest = element;
  return shape
    .toReversed()
    .map((dim) => {
      const index = rest % dim;
      rest = Math.floor(rest / dim);
      return index;
    })
    .toReversed();
}
