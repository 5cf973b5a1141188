/**
 * Evaluates terms for given values of their symbols. The value is undefined if it depends on an uninterpreted function.
 */
import { NEXT_POWER, type Term } from "../symbolic/term.js";

export type Values = ReadonlyMap<string, number>;
type Value = number | boolean | undefined;

/** Evaluates terms that share operands, each term once. Division by zero has no value. */
export class Valuation {
  readonly #cache = new Map<Term, Value>();
  /** The number of terms that were evaluated. */
  steps = 0;

  constructor(readonly values: Values) {}

  integer(term: Term): number | undefined {
    const value = this.#value(term);
    return typeof value === "number" ? value : undefined;
  }

  truth(term: Term): boolean | undefined {
    const value = this.#value(term);
    return typeof value === "boolean" ? value : undefined;
  }

  #value(term: Term): Value {
    if (this.#cache.has(term)) return this.#cache.get(term);
    this.steps++;
    const value = this.#compute(term);
    this.#cache.set(term, value);
    return value;
  }

  #compute(term: Term): Value {
    const { kind, operands: parts } = term;
    if (kind === "number") return Number(term.value);
    if (kind === "symbol") return this.values.get(term.name);
    if (kind === "true" || kind === "false") return kind === "true";
    if (kind === "choice") {
      const condition = this.#value(parts[0]!);
      return condition === undefined ? undefined : this.#value(parts[condition ? 1 : 2]!);
    }
    const operands = parts.map((part) => this.#value(part));
    if (kind === "all" && operands.includes(false)) return false;
    if (kind === "some" && operands.includes(true)) return true;
    if (operands.includes(undefined)) return undefined;
    const [x, y] = operands as number[];
    switch (kind) {
      case "sum":
        return (operands as number[]).reduce((total, operand) => total + operand, 0);
      case "product":
        return (operands as number[]).reduce((total, each) => total * each, 1);
      case "quotient":
        return y === 0 ? undefined : Math.trunc(x! / y!);
      case "floorQuotient":
        return y === 0 ? undefined : Math.floor(x! / y!);
      case "remainder":
        return y === 0 ? undefined : x! % y!;
      case "floorRemainder":
        return y === 0 ? undefined : x! - y! * Math.floor(x! / y!);
      case "least":
        return Math.min(x!, y!);
      case "greatest":
        return Math.max(x!, y!);
      case "call":
        return term.name === NEXT_POWER ? (x! <= 0 ? 0 : 2 ** Math.ceil(Math.log2(x!))) : undefined;
      case "atMost":
        return x! <= y!;
      case "equal":
        return x! === y!;
      case "all":
        return true;
      case "some":
        return false;
      case "not":
        return !operands[0];
      default:
        return kind satisfies never;
    }
  }
}
