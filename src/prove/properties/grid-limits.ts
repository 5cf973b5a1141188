/** The bounds on sizes that follow from the grid: the wrapper refuses a launch with more programs than GPUs take. */
import { MAX_GRID } from "../../types/limits.js";
import { NEXT_POWER, product, sum, type Term } from "../../symbolic/term.js";
import type { SymbolicModel } from "../model/model.js";

/** `H <= 65535`, of each axis that may have more. Of the first axis only products of sizes reach its limit. */
export function gridLimits({ launch: { grid } }: SymbolicModel): readonly string[] {
  return grid.flatMap((size, axis) => {
    const most = MAX_GRID[axis]!;
    const isSmall = size.kind === "number" || (axis === 0 && size.kind !== "product");
    return isSmall ? [] : [`${textOf(size) ?? `programs along axis ${axis}`} <= ${most}`];
  });
}

/** A term as the author writes it on the host, as far as that is short. */
function textOf(term: Term): string | undefined {
  const { kind, parts, name, value } = term;
  const texts = parts.map(textOf);
  const [x, y] = texts;
  switch (kind) {
    case "number":
      return String(value);
    case "symbol":
      return name;
    case "sum":
      return joined(texts, " + ", true);
    case "product":
      return joined(texts, " * ", false);
    case "least":
      return joined(texts, ", ", false) && `min(${x}, ${y})`;
    case "greatest":
      return joined(texts, ", ", false) && `max(${x}, ${y})`;
    case "floorQuotient": {
      const covered = coveredBy(term);
      if (covered) return joined([textOf(covered), y], ", ", false) && `cdiv(${textOf(covered)}, ${y})`;
      return joined(texts, " // ", true);
    }
    case "call":
      return name === NEXT_POWER && x !== undefined ? `next_power_of_2(${x})` : undefined;
    default:
      return undefined;
  }
}

function joined(texts: readonly (string | undefined)[], by: string, inside: boolean): string | undefined {
  if (texts.includes(undefined)) return undefined;
  const text = texts.join(by);
  return inside ? `(${text})` : text;
}

/** The `x` of `(x + y - 1) // y`. */
function coveredBy({ parts: [dividend, divisor] }: Term): Term | undefined {
  const parts = dividend?.kind === "sum" ? [...dividend.parts] : [];
  const isMinusOne = ({ kind, value }: Term) => kind === "number" && value === -1n;
  const [one, by] = [parts.findIndex(isMinusOne), parts.indexOf(divisor!)];
  if (one < 0 || by < 0) return undefined;
  const rest = parts.filter((_, i) => i !== one && i !== by);
  return rest.length > 0 ? sum(...rest) : product();
}
