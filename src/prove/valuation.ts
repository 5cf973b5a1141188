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
    switch (term.kind) {
      case "number":
        return Number(term.value);
      case "symbol":
        return this.values.get(term.name);
      case "true":
        return true;
      case "false":
        return false;
      case "not": {
        const holds = this.truth(term.operands[0]);
        return holds === undefined ? undefined : !holds;
      }
      case "all":
        return this.#connect(term.operands, false);
      case "some":
        return this.#connect(term.operands, true);
      case "choice": {
        const [condition, x, y] = term.operands;
        const holds = this.truth(condition);
        return holds === undefined ? undefined : this.#value(holds ? x : y);
      }
      case "sum":
        return this.#reduce(term.operands, 0, (total, each) => total + each);
      case "product":
        return this.#reduce(term.operands, 1, (total, each) => total * each);
      case "call": {
        const [x] = term.operands.map((operand) => this.integer(operand));
        return term.name === NEXT_POWER && x !== undefined ? nextPower(x) : undefined;
      }
      case "quotient":
      case "floorQuotient":
      case "remainder":
      case "floorRemainder":
      case "least":
      case "greatest":
      case "atMost":
      case "equal": {
        const [x, y] = [this.integer(term.operands[0]), this.integer(term.operands[1])];
        return x === undefined || y === undefined ? undefined : BINARY[term.kind](x, y);
      }
      default:
        return term satisfies never;
    }
  }

  /** A conjunction, which `decisive` false decides, or a disjunction, which `decisive` true decides. */
  #connect(operands: readonly Term[], decisive: boolean): boolean | undefined {
    const truths = operands.map((operand) => this.truth(operand));
    if (truths.includes(decisive)) return decisive;
    return truths.includes(undefined) ? undefined : !decisive;
  }

  #reduce(
    operands: readonly Term[],
    initial: number,
    combine: (total: number, each: number) => number,
  ): number | undefined {
    // Every operand is evaluated, so that the number of steps does not depend on values.
    let total: number | undefined = initial;
    for (const operand of operands) {
      const value = this.integer(operand);
      total = total === undefined || value === undefined ? undefined : combine(total, value);
    }
    return total;
  }
}

const BINARY = {
  quotient: (x: number, y: number) => (y === 0 ? undefined : Math.trunc(x / y)),
  floorQuotient: (x: number, y: number) => (y === 0 ? undefined : Math.floor(x / y)),
  remainder: (x: number, y: number) => (y === 0 ? undefined : x % y),
  floorRemainder: (x: number, y: number) => (y === 0 ? undefined : x - y * Math.floor(x / y)),
  least: Math.min,
  greatest: Math.max,
  atMost: (x: number, y: number) => x <= y,
  equal: (x: number, y: number) => x === y,
} as const;

const nextPower = (x: number): number => (x <= 0 ? 0 : 2 ** Math.ceil(Math.log2(x)));
