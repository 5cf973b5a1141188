/**
 * Upper limits on sizes that follow from the grid: the wrapper rejects a launch with more programs than CUDA allows.
 */
import type { Precondition } from "../../analysis/preconditions.js";
import { atAxis } from "../../types/axis.js";
import { NEXT_POWER, product, sum, type Term } from "../../symbolic/term.js";
import type { SymbolicModel } from "../model/model.js";

/** Limits such as `H <= 65535`, for each axis that the wrapper checks. */
export function gridLimits({ launch: { grid } }: SymbolicModel, checked: readonly Precondition[]): readonly string[] {
  return checked.flatMap((each) => {
    if (each.kind !== "grid") return [];
    const { axis, most } = each;
    return [`${textOf(atAxis(grid, axis)) ?? `programs along axis ${axis}`} <= ${most}`];
  });
}

/** A short term as the author writes it on the host. Undefined for other terms. */
function textOf(term: Term): string | undefined {
  const { kind, operands, name, value } = term;
  const texts = operands.map(textOf);
  const [x, y] = texts;
  switch (kind) {
    case "number":
      return String(value);
    case "symbol":
      return name;
    case "sum":
      return joinTexts(texts, " + ", true);
    case "product":
      return joinTexts(texts, " * ", false);
    case "least":
      return joinTexts(texts, ", ", false) && `min(${x}, ${y})`;
    case "greatest":
      return joinTexts(texts, ", ", false) && `max(${x}, ${y})`;
    case "floorQuotient": {
      const covered = coveredBy(term);
      if (covered) return joinTexts([textOf(covered), y], ", ", false) && `cdiv(${textOf(covered)}, ${y})`;
      return joinTexts(texts, " // ", true);
    }
    case "call":
      return name === NEXT_POWER && x !== undefined ? `next_power_of_2(${x})` : undefined;
    case "all":
    case "atMost":
    case "choice":
    case "equal":
    case "false":
    case "floorRemainder":
    case "not":
    case "quotient":
    case "remainder":
    case "some":
    case "true":
      return undefined;
    default:
      return kind satisfies never;
  }
}

function joinTexts(
  texts: readonly (string | undefined)[],
  separator: string,
  isParenthesized: boolean,
): string | undefined {
  if (texts.includes(undefined)) return undefined;
  const text = texts.join(separator);
  return isParenthesized ? `(${text})` : text;
}

/** The `x` of `(x + y - 1) // y`. */
function coveredBy({ operands: [dividend, divisor] }: Term): Term | undefined {
  if (dividend?.kind !== "sum" || !divisor) return undefined;
  const { operands } = dividend;
  const isMinusOne = ({ kind, value }: Term) => kind === "number" && value === -1n;
  const [oneIndex, divisorIndex] = [operands.findIndex(isMinusOne), operands.indexOf(divisor)];
  if (oneIndex < 0 || divisorIndex < 0) return undefined;
  const remaining = operands.filter((_, i) => i !== oneIndex && i !== divisorIndex);
  return remaining.length > 0 ? sum(...remaining) : product();
}
