/**
 * The normal form of a real expression: cases, which exclude each other and leave nothing out, each with a sum of
 * products. Every step is an identity of real arithmetic or a question to the prover of integer facts.
 */
import { atLeast, conditionsOf, number, type Term, TRUE, FALSE, not, substitute } from "../../symbolic/term.js";
import { type Case, merged, type Need, needOf, outerConditions, type Value } from "./cases.js";
import type { Entailment } from "./entailment.js";
import { FoldNormalizer } from "./folds.js";
import {
  absOf,
  comparisonOf,
  cosOf,
  expOf,
  functionAtom,
  isPositiveSum,
  logOf,
  maximumOf,
  minimumOf,
  oddFunction,
  type Positivity,
  powerOf,
  sigmoidOf,
  tanhOf,
} from "./functions.js";
import { conditionUnder, Indices } from "./indices.js";
import { canonical } from "./integer-form.js";
import { integerPolynomial } from "./integer-values.js";
import {
  addPolynomials,
  type Atom,
  atomOf,
  atomPolynomial,
  constantPolynomial,
  factorsOf,
  multiplyPolynomials,
  NOTHING,
  type Polynomial,
  UNIT,
} from "./polynomial.js";
import { noRule } from "./no-rule.js";
import { choose, type FoldKind, type FunctionName, integer, type Real } from "./real.js";
import { isInteger, isNegative, MINUS_ONE, type Rational, rational } from "./rational.js";

type Choice = Extract<Real, { kind: "choice" }>;
type FoldExpression = Extract<Real, { kind: "fold" }>;
type Comparison = Extract<Real, { kind: "comparison" }>;

const MAX_STEPS = 20_000;
const MAX_CASES = 48;
/** The limit on conditions that a fold splits into cases. */
const MAX_SPLITS = 4;

export class Normalizer {
  readonly indices: Indices;
  /** What the values seen so far rest on. */
  readonly needs: Need[] = [];
  readonly #folds: FoldNormalizer;
  readonly #cache = new Map<Real, Map<string, readonly Case[]>>();
  #steps = 0;

  constructor(readonly entailment: Entailment) {
    this.indices = new Indices(entailment);
    this.#folds = new FoldNormalizer(this);
  }

  spend(steps = 1): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) noRule("too many steps");
  }

  index(term: Term, given: readonly Term[]): Term {
    return this.indices.index(term, given);
  }

  cases(x: Real, given: readonly Term[]): readonly Case[] {
    const key = given.map(({ id }) => id).join();
    let byConditions = this.#cache.get(x);
    if (!byConditions) this.#cache.set(x, (byConditions = new Map()));
    let cases = byConditions.get(key);
    if (!cases) {
      this.spend();
      byConditions.set(key, (cases = this.#cases(x, given)));
    }
    return cases;
  }

  #cases(x: Real, given: readonly Term[]): readonly Case[] {
    switch (x.kind) {
      case "number":
        return [{ conditions: [], value: constantPolynomial(x.value) }];
      case "constant":
        return [{ conditions: [], value: atomPolynomial(atomOf({ kind: "constant", name: x.name })) }];
      case "infinite":
      case "undefined":
        return [{ conditions: [], value: x.kind }];
      case "integer":
        return this.#integer(this.index(x.term, given), given);
      case "input":
      case "state": {
        const index = x.index.map((term) => this.index(term, given));
        return [{ conditions: [], value: atomPolynomial(atomOf({ kind: x.kind, name: x.name, index })) }];
      }
      case "add":
        // What is added to -inf is finite, so that the sum is -inf.
        return this.#combine(x.operands, given, (values, at) => {
          const finiteValues = values.filter((value) => value !== "infinite");
          const finiteSum = this.#finite(finiteValues, at, (...operands) =>
            this.#joined(addPolynomials(...operands), at),
          );
          return values.includes("infinite") && finiteSum !== "undefined" ? "infinite" : finiteSum;
        });
      case "multiply":
        return this.#combine(x.operands, given, (values, at) => this.#product(values, at));
      case "power":
        return this.#combine([x.base], given, ([base = NOTHING], at) =>
          this.#finite([base], at, (p) => this.power(this.#joined(p, at), x.exponent, at)),
        );
      case "function":
        return this.#combine(x.operands, given, (values, at) => this.#function(x.name, values, at));
      case "fold":
        return this.#fold(x, given);
      case "choice":
        return this.#choice(x, given);
      case "comparison":
        return this.#comparison(x, given);
      default:
        return x satisfies never;
    }
  }

  // ---- numbers --------------------------------------------------------------------------------------------------------

  #integer(term: Term, given: readonly Term[]): readonly Case[] {
    if (term.kind === "choice") {
      const [condition, x, y] = term.operands;
      return this.cases(choose(condition, integer(x), integer(y)), given);
    }
    return [{ conditions: [], value: integerPolynomial(term) }];
  }

  /** True if an atom is certainly positive under the conditions. */
  positivity(given: readonly Term[]): Positivity {
    const isPositiveAtom = (atom: Atom): boolean => {
      switch (atom.kind) {
        case "exp":
        case "constant":
        case "base":
          return true;
        case "integer":
          return this.entailment.proves(given, canonical(atLeast(atom.term, number(1))));
        case "sum":
          return isPositiveSum(atom.of, isPositiveAtom);
        case "fold":
          return atom.fold.kind === "sum" && this.#isPositiveFold(atom, given);
        case "input":
        case "state":
        case "function":
          return false;
        default:
          return atom satisfies never;
      }
    };
    return isPositiveAtom;
  }

  #isPositiveFold({ fold }: Extract<Atom, { kind: "fold" }>, given: readonly Term[]): boolean {
    const inside = this.positivity([...given, ...fold.domain]);
    return isPositiveSum(fold.body, inside) && this.#folds.isInhabited(fold.variables, fold.domain, given);
  }

  /** A power, with what it needs to be a real number. */
  power(base: Polynomial, exponent: Rational, given: readonly Term[]): Polynomial {
    const result = powerOf(base, exponent, this.positivity(given));
    if (!isInteger(exponent) || isNegative(exponent)) this.#need(base, exponent, given);
    return result;
  }

  #need(base: Polynomial, exponent: Rational, given: readonly Term[]): void {
    const isPositiveAtom = this.positivity(given);
    if (isPositiveSum(base, isPositiveAtom)) return;
    // A root of the base shows which atoms a fractional power rests on, and an inverse which ones a division.
    const shown = powerOf(base, isInteger(exponent) ? MINUS_ONE : exponent, isPositiveAtom);
    for (const { factors } of shown.values())
      for (const factor of factors.values()) {
        if (isPositiveAtom(factor.atom)) continue;
        const kind = needOf(factor);
        if (kind) this.needs.push({ atom: factor.atom, kind, given });
      }
  }

  #logarithm(p: Polynomial, given: readonly Term[]): Polynomial {
    this.#need(this.#joined(p, given), rational(-1n, 2n), given);
    return logOf(this.#joined(p, given), this.positivity(given));
  }

  #joined(p: Polynomial, given: readonly Term[]): Polynomial {
    return this.#folds.joinDomains(p, given);
  }

  #product(values: readonly Value[], given: readonly Term[]): Value {
    if (!values.includes("infinite") || values.includes("undefined"))
      return this.#finite(values, given, (...factors) => factors.reduce(multiplyPolynomials, UNIT));
    const isPositiveAtom = this.positivity(given);
    return values.every(
      (value) => value === "infinite" || (typeof value !== "string" && isPositiveSum(value, isPositiveAtom)),
    )
      ? "infinite"
      : noRule("a product with -inf");
  }

  #function(name: FunctionName, values: readonly Value[], given: readonly Term[]): Value {
    if (values.includes("undefined")) return "undefined";
    const [x = NOTHING] = values;
    if (name === "maximum") {
      const finiteValues = values.filter((value) => typeof value !== "string");
      return finiteValues.length === 0 ? "infinite" : maximumOf(...finiteValues);
    }
    if (name === "minimum" && values.includes("infinite")) return "infinite";
    if (name === "exp" && x === "infinite") return NOTHING;
    return this.#finite(values, given, (...operands) => this.functionOf(name, operands, given));
  }

  /** A function of finite values. */
  functionOf(name: FunctionName, operands: readonly Polynomial[], given: readonly Term[]): Polynomial {
    const [x = NOTHING] = operands;
    const isPositiveAtom = this.positivity(given);
    switch (name) {
      case "exp":
        return expOf(x, isPositiveAtom);
      case "log":
        return this.#logarithm(x, given);
      case "maximum":
        return maximumOf(...operands);
      case "minimum":
        return minimumOf(...operands);
      case "abs":
        return absOf(x);
      case "erf":
      case "sin":
      case "asin":
        return oddFunction(name, x);
      case "cos":
        return cosOf(x);
      case "sigmoid":
        return sigmoidOf(x, isPositiveAtom);
      case "tanh":
        return tanhOf(x, isPositiveAtom);
      case "floor":
      case "ceil":
        return functionAtom(name, x);
      default:
        return name satisfies never;
    }
  }

  /** A function of values that are all finite. */
  #finite(
    values: readonly Value[],
    given: readonly Term[],
    compute: (...operands: readonly Polynomial[]) => Value,
  ): Value {
    if (values.includes("undefined")) return "undefined";
    const operands = values.filter((value) => typeof value !== "string");
    if (operands.length < values.length) noRule("arithmetic with -inf");
    if (!operands.every((p) => this.isSurelyFinite(p, given))) noRule("a maximum that may be over nothing");
    return compute(...operands);
  }

  /** True if no maximum in a sum may be over nothing. */
  isSurelyFinite(p: Polynomial, given: readonly Term[]): boolean {
    return factorsOf(p).every(({ atom }) => {
      if (atom.kind === "function" && atom.name === "maximum")
        return atom.operands.some((operand) => this.isSurelyFinite(operand, given));
      if (atom.kind !== "fold" || atom.fold.kind !== "maximum") return true;
      return this.#folds.isInhabited(atom.fold.variables, atom.fold.domain, given);
    });
  }

  // ---- cases ----------------------------------------------------------------------------------------------------------

  #choice({ condition, then, otherwise }: Choice, given: readonly Term[]): readonly Case[] {
    const open = this.indices.condition(condition, given);
    if (open === TRUE) return this.cases(then, given);
    if (open === FALSE) return this.cases(otherwise, given);
    const closed = canonical(not(open));
    const arm = (holds: Term, x: Real) =>
      this.cases(x, [...given, ...conditionsOf(holds)]).map(({ conditions, value }) => ({
        conditions: [...conditionsOf(holds), ...conditions],
        value,
      }));
    return merged([...arm(open, then), ...arm(closed, otherwise)]);
  }

  #comparison({ operator, x, y, then, otherwise }: Comparison, given: readonly Term[]): readonly Case[] {
    return this.#combine([x, y, then, otherwise], given, (values, at) => {
      const [left, right, ...arms] = values;
      if (left === "undefined" || right === "undefined") return "undefined";
      if (right === "infinite" && typeof left === "object" && this.isSurelyFinite(left, at))
        return (operator === "greater" ? arms[0] : arms[1]) ?? "undefined";
      return this.#finite(values, at, (a, b, first, second) =>
        comparisonOf(operator, addPolynomials(a, ...negated(b)), first ?? NOTHING, second ?? NOTHING),
      );
    });
  }

  /** The function of each combination of the operands' cases. */
  #combine(
    operands: readonly Real[],
    given: readonly Term[],
    compute: (values: readonly Value[], given: readonly Term[]) => Value,
  ): readonly Case[] {
    let combined: readonly { readonly conditions: readonly Term[]; readonly values: readonly Value[] }[] = [
      { conditions: [], values: [] },
    ];
    for (const operand of operands) {
      combined = combined.flatMap(({ conditions, values }) =>
        this.cases(operand, [...given, ...conditions]).flatMap((each) => {
          const both = [...conditions, ...each.conditions.filter((other) => !conditions.includes(other))];
          const isNew = conditions.length > 0 && each.conditions.length > 0;
          if (isNew && this.entailment.isImpossible([...given, ...both])) return [];
          return [{ conditions: both, values: [...values, each.value] }];
        }),
      );
      if (combined.length > MAX_CASES) noRule("too many cases");
    }
    return merged(
      combined.map(({ conditions, values }) => ({ conditions, value: compute(values, [...given, ...conditions]) })),
    );
  }

  // ---- folds ----------------------------------------------------------------------------------------------------------

  #fold({ fold: kind, variable, domain, body }: FoldExpression, given: readonly Term[]): readonly Case[] {
    const conditions = conditionsOf(this.indices.rewrite(domain));
    if (this.entailment.isImpossible([...given, ...conditions]))
      return [{ conditions: [], value: kind === "sum" ? NOTHING : "infinite" }];
    const inner = this.cases(body, [...given, ...conditions]);
    const splits = outerConditions(inner, variable);
    if (splits.length > MAX_SPLITS) noRule("too many cases around a sum");
    const result: Case[] = [];
    const split = (depth: number, chosen: readonly Term[]): void => {
      const condition = splits[depth];
      if (condition) {
        split(depth + 1, [...chosen, condition]);
        split(depth + 1, [...chosen, canonical(not(condition))]);
        return;
      }
      if (chosen.length > 0 && this.entailment.isImpossible([...given, ...chosen])) return;
      const parts = inner.flatMap((part) => {
        const own = part.conditions.map((each) => conditionUnder(each, chosen)).filter((each) => each !== TRUE);
        return own.includes(FALSE) ? [] : [{ domain: [...conditions, ...own], value: part.value }];
      });
      result.push({ conditions: chosen, value: this.#folded(kind, variable, parts, [...given, ...chosen]) });
    };
    split(0, []);
    return merged(result);
  }

  #folded(
    kind: FoldKind,
    variable: string,
    parts: readonly { readonly domain: readonly Term[]; readonly value: Value }[],
    given: readonly Term[],
  ): Value {
    const possible = parts.filter(({ domain }) => !this.entailment.isImpossible([...given, ...domain]));
    if (possible.some(({ value }) => value === "undefined")) return "undefined";
    const values = possible.flatMap(({ domain, value }) => (typeof value === "string" ? [] : [{ domain, value }]));
    if (kind === "maximum") {
      if (values.length === 0) return "infinite";
      return maximumOf(...values.map(({ domain, value }) => this.#folds.maximum([variable], domain, value, given)));
    }
    if (values.length < possible.length) noRule("a sum with -inf");
    const sums = values.flatMap(({ domain, value }) => {
      if (!this.isSurelyFinite(value, [...given, ...domain])) noRule("a sum of what may be -inf");
      return [...value.values()].map((each) => this.#folds.sum([variable], domain, each, given));
    });
    return this.#joined(addPolynomials(...sums), given);
  }

  /** A polynomial with symbols replaced, in normal form under the conditions. */
  substitute(p: Polynomial, replacements: ReadonlyMap<string, Term>, given: readonly Term[]): Polynomial {
    this.spend();
    const monomials = [...p.values()].map(({ coefficient, factors }) =>
      [...factors.values()].reduce((result, { atom, exponent }) => {
        const isUnchanged = ![...atom.symbols].some((name) => replacements.has(name));
        const changed = isUnchanged
          ? atomPolynomial(atom, exponent)
          : powerOf(this.#substituteAtom(atom, replacements, given), exponent, this.positivity(given));
        return multiplyPolynomials(result, changed);
      }, constantPolynomial(coefficient)),
    );
    return addPolynomials(...monomials);
  }

  #substituteAtom(atom: Atom, replacements: ReadonlyMap<string, Term>, given: readonly Term[]): Polynomial {
    const inner = (p: Polynomial) => this.substitute(p, replacements, given);
    const term = (x: Term) => this.index(substitute(x, replacements), given);
    switch (atom.kind) {
      case "input":
      case "state":
        return atomPolynomial(atomOf({ kind: atom.kind, name: atom.name, index: atom.index.map(term) }));
      case "integer":
        return integerPolynomial(term(atom.term));
      case "constant":
      case "base":
        return atomPolynomial(atom);
      case "exp":
        return expOf(inner(atom.of), this.positivity(given));
      case "sum":
        return inner(atom.of);
      case "function": {
        const operands = atom.operands.map(inner);
        if (atom.name !== "greater" && atom.name !== "equal") {
          const isLog = atom.name === "log";
          return isLog
            ? logOf(operands[0] ?? NOTHING, this.positivity(given))
            : this.functionOf(atom.name, operands, given);
        }
        const [apart = NOTHING, then = NOTHING, otherwise = NOTHING] = operands;
        return comparisonOf(atom.name, apart, then, otherwise);
      }
      case "fold":
        return this.#folds.substitute(atom.fold, replacements, given);
      default:
        return atom satisfies never;
    }
  }
}

function negated(p: Polynomial | undefined): readonly Polynomial[] {
  return p ? [multiplyPolynomials(p, constantPolynomial(MINUS_ONE))] : [];
}
