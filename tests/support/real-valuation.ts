/** Real expressions in float64 at sizes and inputs of a test case. */
import type { TensorData } from "../../src/compiled/compiled-kernel.js";
import { toNumber } from "../../src/prove/equivalence/rational.js";
import type { Real } from "../../src/prove/equivalence/real.js";
import { ELEMENT_PREFIX } from "../../src/prove/model/input-elements.js";
import { Valuation } from "../../src/prove/launch-search.js";
import { mapOperands, number, type Term } from "../../src/symbolic/term.js";
import { erf } from "../../src/numerics/special.js";

const functions: Readonly<Record<string, (...operands: readonly number[]) => number>> = {
  exp: (x = 0) => Math.exp(x),
  log: (x = 0) => Math.log(x),
  maximum: (...operands) => Math.max(...operands),
  minimum: (...operands) => Math.min(...operands),
  abs: (x = 0) => Math.abs(x),
  erf: (x = 0) => erf(x),
  sin: (x = 0) => Math.sin(x),
  cos: (x = 0) => Math.cos(x),
  asin: (x = 0) => Math.asin(x),
  sigmoid: (x = 0) => 1 / (1 + Math.exp(-x)),
  tanh: (x = 0) => Math.tanh(x),
  floor: (x = 0) => Math.floor(x),
  ceil: (x = 0) => Math.ceil(x),
};
const constants = { "ln 2": Math.LN2, "ln 10": Math.LN10, π: Math.PI } as const;
/** The values of a fold's variable that are tried. */
const RANGE = 200;

const MAX_STEPS = 100_000;

class Unknown extends Error {}

export class RealValuation {
  constructor(
    readonly sizes: ReadonlyMap<string, number>,
    readonly inputs: Readonly<Record<string, TensorData>>,
  ) {}

  #steps = 0;

  /** Undefined if the expression is too large, or depends on what the test case does not say, such as a program. */
  value(x: Real): number | undefined {
    try {
      return this.#value(x, this.sizes);
    } catch (error) {
      if (error instanceof Unknown) return undefined;
      throw error;
    }
  }

  #element(name: string, index: readonly number[]): number {
    const tensor = this.inputs[name];
    if (!tensor) {
      const scalar = this.sizes.get(name);
      if (scalar === undefined) throw new Unknown(name);
      return scalar;
    }
    if (index.some((each, axis) => each < 0 || each >= tensor.shape[axis]!)) throw new RangeError(`${name}[${index}]`);
    return Number(tensor.data[index.reduce((sofar, each, axis) => sofar * tensor.shape[axis]! + each, 0)]);
  }

  #term(term: Term, sizes: ReadonlyMap<string, number>): Term {
    if (term.kind === "choice") {
      const [condition, x, y] = term.operands;
      return this.#term(this.#truth(condition, sizes) ? x : y, sizes);
    }
    const changed = mapOperands(term, (operand) => this.#term(operand, sizes));
    if (changed.kind !== "call" || !changed.name.startsWith(ELEMENT_PREFIX)) return changed;
    const index = changed.operands.map((operand) => this.#integer(operand, sizes));
    return number(this.#element(changed.name.slice(ELEMENT_PREFIX.length), index));
  }

  #integer(term: Term, sizes: ReadonlyMap<string, number>): number {
    const value = new Valuation(sizes).integer(this.#term(term, sizes));
    if (value === undefined) throw new Unknown("an integer");
    return value;
  }

  #truth(term: Term, sizes: ReadonlyMap<string, number>): boolean {
    if (term.kind === "all") return term.operands.every((each) => this.#truth(each, sizes));
    if (term.kind === "some") return term.operands.some((each) => this.#truth(each, sizes));
    const value = new Valuation(sizes).truth(this.#term(term, sizes));
    if (value === undefined) throw new Unknown("a condition");
    return value;
  }

  #value(x: Real, sizes: ReadonlyMap<string, number>): number {
    if (this.#steps++ > MAX_STEPS) throw new Unknown("a large expression");
    const inner = (part: Real) => this.#value(part, sizes);
    switch (x.kind) {
      case "number":
        return toNumber(x.value);
      case "constant":
        return constants[x.name];
      case "infinite":
        return -Infinity;
      case "integer":
        return this.#integer(x.term, sizes);
      case "input":
        return this.#element(
          x.name,
          x.index.map((term) => this.#integer(term, sizes)),
        );
      case "add":
        return x.operands.reduce((total, each) => total + inner(each), 0);
      case "multiply":
        return x.operands.reduce((total, each) => total * inner(each), 1);
      case "power":
        return inner(x.base) ** toNumber(x.exponent);
      case "function":
        return functions[x.name]!(...x.operands.map(inner));
      case "fold": {
        let total = x.fold === "sum" ? 0 : -Infinity;
        for (let k = 0; k < RANGE; k++) {
          const at = new Map([...sizes, [x.variable, k] as const]);
          if (!this.#truth(x.domain, at)) continue;
          const part = this.#value(x.body, at);
          total = x.fold === "sum" ? total + part : Math.max(total, part);
        }
        return total;
      }
      case "choice":
        return this.#truth(x.condition, sizes) ? inner(x.then) : inner(x.otherwise);
      case "comparison": {
        const [a, b] = [inner(x.x), inner(x.y)];
        return (x.operator === "greater" ? a > b : a === b) ? inner(x.then) : inner(x.otherwise);
      }
      case "undefined":
      case "state":
        throw new Unknown(x.kind);
      default:
        return x satisfies never;
    }
  }
}
