/** Collects the output of `tl.devicePrint` during evaluation: one line per element, as on a GPU. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { ValueRuntime } from "../values/runtime-values.js";
import { isTile } from "../values/operands.js";
import { coordinates } from "./findings.js";

/** Maximum number of lines of one evaluation. */
const MAX_LINES = 1000;

export class Prints {
  readonly #lines: string[] = [];
  #omittedLines = 0;

  /** The lines, with a final note on omitted lines. */
  get lines(): readonly string[] {
    return this.#omittedLines > 0 ? [...this.#lines, `${this.#omittedLines} more lines were printed`] : this.#lines;
  }

  print(
    prefix: string,
    values: readonly ValueRuntime[],
    hex: boolean,
    { program, at: location }: { readonly program: readonly number[]; readonly at: Location | undefined },
  ): void {
    const prefixText = `${location ? `${location.file.split("/").at(-1)}:${location.line} ` : ""}program (${program.join(", ")})`;
    if (values.length === 0) return this.#add(() => `${prefixText} ${prefix}`);
    values.forEach((value, operand) => {
      const name = values.length > 1 ? `${prefix}(operand ${operand})` : prefix;
      if (!isTile(value)) return this.#add(() => `${prefixText} ${name}: ${formatValue(value, hex)}`);
      for (let i = 0; i < value.data.length; i++) {
        const lane = value.shape.length > 0 ? ` lane [${coordinates(value.shape, i).join(", ")}]` : "";
        const valueText = value.poison?.[i] ? "no value" : formatValue(value.data[i], hex);
        this.#add(() => `${prefixText}${lane} ${name}: ${valueText}`);
      }
    });
  }

  #add(line: () => string): void {
    if (this.#lines.length < MAX_LINES) this.#lines.push(line());
    else this.#omittedLines++;
  }
}

function formatValue(value: unknown, hex: boolean): string {
  if (hex && (typeof value === "bigint" || Number.isInteger(value))) return `0x${(value as number).toString(16)}`;
  return typeof value === "object" ? "an address" : String(value);
}
