/**
 * The normal form of a real expression: cases, which exclude each other and leave nothing out, each with a sum of
 * products. Every step is an identity of real arithmetic or a question to the prover of integer facts.
 */
import {
  andTerm,
  atLeast,
  conditionsOf,
  FALSE,
  iteTerm,
  not,
  number,
  orTerm,
  substitute,
  symbolsIn,
  type Term,
  TRUE,
} from "../../symbolic/term.js";
import { GIVEN } from "../model/launch.js";
import { FoldNormalizer, integerPolynomial } from "./folds.js";
import {
  absOf,
  comparisonOf,
  cosOf,
  expOf,
  functionAtom,
  isPositiveSum,
  logOf,
  oddFunction,
  type Positivity,
  powerOf,
  sigmoidOf,
  tanhOf,
} from "./functions.js";
import { conditionUnder, Indices } from "./indices.js";
import { canonical, type Entailment } from "./integer-form.js";
import {
  addPolynomials,
  type Atom,
  atomOf,
  atomPolynomial,
  constantPolynomial,
  factorsOf,
  hasAtom,
  multiplyPolynomials,
  negatePolynomial,
  NOTHING,
  type Polynomial,
  subtractPolynomials,
  UNIT,
  type Case,
  merged,
  type Need,
  needOf,
  outerConditions,
  type Value,
} from "./polynomial.js";
import { choose, type FoldKind, type FunctionName, INFINITE, integer, type Real } from "./real.js";
import { isInteger, isNegative, MINUS_ONE, type Rational, rational, NoRule, noRule } from "./rational.js";

type Choice = Extract<Real, { kind: "choice" }>;
type FoldExpression = Extract<Real, { kind: "fold" }>;
type Comparison = Extract<Real, { kind: "comparison" }>;
type FunctionExpression = Extract<Real, { kind: "function" }>;

const MAX_STEPS = 20_000;
const MAX_CASES = 48;
/** The limit on conditions that a fold splits into cases. */
const MAX_SPLITS = 4;

export class Normalizer {
  readonly indices: Indices;
  /** What the values seen so far rest on. */
  readonly needs: Need[] = [];
  readonly #folds: FoldNormalizer;
  readonly #cache = new Map<Real, Map<string, readonly Case[] | NoRule>>();
  #steps = 0;

  constructor(readonly entailment: Entailment) {
    this.indices = new Indices(entailment);
    this.#folds = new FoldNormalizer(this);
  }

  /** Starts the limits anew. */
  restart(): void {
    this.#steps = 0;
    this.entailment.restart();
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
      byConditions.set(key, (cases = casesOrNoRule(() => this.#cases(x, given))));
    }
    if (cases instanceof NoRule) throw cases;
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
        // What is added to -inf is finite or -inf, so that the sum is -inf: no factor of a maximum over nothing is
        // negative.
        return this.#combine(x.operands, given, (values, at) => {
          const finiteValues = values.filter((value) => value !== "infinite");
          const finiteSum = finiteValues.includes("undefined")
            ? "undefined"
            : this.#joined(addPolynomials(...finiteValues.filter((value) => typeof value === "object")), at);
          return values.includes("infinite") && finiteSum !== "undefined" ? "infinite" : finiteSum;
        });
      case "multiply":
        return this.#combine(x.operands, given, (values, at) => this.#product(values, at));
      case "power":
        return this.#combine([x.base], given, ([base = NOTHING], at) =>
          this.#finite([base], at, (p) => this.power(this.#joined(p, at), x.exponent, at)),
        );
      case "function":
        return this.#combine(this.#split(x, given), given, (values, at) => this.#function(x.name, values, at));
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
        case "integer": {
          const isPositive = canonical(atLeast(atom.term, number(1)));
          // Most sizes need no conditions, among which the budget may end.
          return this.entailment.proves([], isPositive) || this.entailment.proves(given, isPositive);
        }
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

  /** A factor may be -inf, or a maximum that may be over nothing, where the others are positive. */
  #product(values: readonly Value[], given: readonly Term[]): Value {
    const isFinite = (value: Value) => typeof value === "object" && this.isSurelyFinite(value, given);
    const others = values.filter((value) => value !== "infinite" && isFinite(value));
    const isPositiveAtom = this.positivity(given);
    const keepsInfinity =
      !values.includes("undefined") &&
      others.length < values.length &&
      others.every((value) => typeof value === "object" && isPositiveSum(value, isPositiveAtom));
    if (keepsInfinity && values.includes("infinite") && others.length === values.length - 1) return "infinite";
    const factors = values.filter((value) => typeof value === "object");
    const multiplied = (...operands: readonly Polynomial[]) => operands.reduce(multiplyPolynomials, UNIT);
    if (keepsInfinity && others.length === values.length - 1) return multiplied(...factors);
    return values.includes("infinite") ? noRule("a product with -inf") : this.#finite(values, given, multiplied);
  }

  #function(name: FunctionName, values: readonly Value[], given: readonly Term[]): Value {
    if (values.includes("undefined")) return "undefined";
    const [x = NOTHING] = values;
    if (name === "maximum") {
      const finiteValues = values.filter((value) => typeof value !== "string");
      return finiteValues.length === 0 ? "infinite" : this.#folds.maximumOf(finiteValues, given);
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
        return this.#folds.maximumOf(operands, given);
      case "minimum":
        return negatePolynomial(this.#folds.maximumOf(operands.map(negatePolynomial), given));
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
      if (atom.kind === "function" && atom.name === "maximum") {
        let known = given;
        return atom.operands.some((operand) => {
          if (this.isSurelyFinite(operand, known)) return true;
          // The next operand only has to be finite where this one is over nothing.
          known = [...known, ...this.#whereEmpty(operand)];
          return false;
        });
      }
      if (atom.kind !== "fold" || atom.fold.kind !== "maximum") return true;
      return this.#folds.isInhabited(atom.fold.variables, atom.fold.domain, given);
    });
  }

  /** The conditions under which a maximum is over nothing. */
  #whereEmpty(p: Polynomial): readonly Term[] {
    const maxima = factorsOf(p).flatMap(({ atom }) =>
      atom.kind === "fold" && atom.fold.kind === "maximum" ? [atom.fold] : [],
    );
    const [only, ...more] = maxima;
    if (!only || more.length > 0) return [];
    return this.#folds.points(only.variables, only.domain).map((conditions) => canonical(not(andTerm(...conditions))));
  }

  // ---- cases ----------------------------------------------------------------------------------------------------------

  #choice({ condition, then, otherwise }: Choice, given: readonly Term[]): readonly Case[] {
    const open = this.indices.condition(condition, given);
    if (open === TRUE) return this.cases(then, given);
    if (open === FALSE) return this.cases(otherwise, given);
    const closed = canonical(not(open));
    const flagged =
      (isFlag(open) && this.#flagged(open, then, otherwise, given)) ||
      (isFlag(closed) && this.#flagged(closed, otherwise, then, given));
    if (flagged) return [{ conditions: [], value: flagged }];
    const arm = (holds: Term, x: Real) =>
      this.cases(x, [...given, ...conditionsOf(holds)]).map(({ conditions, value }) => ({
        conditions: [...conditionsOf(holds), ...conditions],
        value,
      }));
    return merged([...arm(open, then), ...arm(closed, otherwise)]);
  }

  /** A choice by a flag as `otherwise + (then - otherwise)·[flag]`, so that many flags do not multiply the cases. */
  #flagged(flag: Term, then: Real, otherwise: Real, given: readonly Term[]): Polynomial | undefined {
    const arms = [
      { holds: flag, x: then },
      { holds: canonical(not(flag)), x: otherwise },
    ].flatMap(({ holds, x }) => {
      const at = [...given, holds];
      const [only, ...more] = this.cases(x, at);
      const isPlain =
        only && more.length === 0 && typeof only.value === "object" && this.isSurelyFinite(only.value, at);
      return isPlain ? [only.value] : [];
    });
    const [first, second] = arms;
    if (!first || !second) return undefined;
    const indicator = atomPolynomial(atomOf({ kind: "integer", term: iteTerm(flag, number(1), number(0)) }));
    return addPolynomials(second, multiplyPolynomials(subtractPolynomials(first, second), indicator));
  }

  #comparison({ operator, x, y, then, otherwise }: Comparison, given: readonly Term[]): readonly Case[] {
    if (operator === "equal" && y.kind === "infinite") return this.#whereInfinite(x, then, otherwise, given);
    return this.#combine([x, y, then, otherwise], given, (values, at) => {
      const [left, right, ...arms] = values;
      if (left === "undefined" || right === "undefined") return "undefined";
      const holds = this.#comparesInfinite(operator, left, right, at);
      if (holds !== undefined) return (holds ? arms[0] : arms[1]) ?? "undefined";
      return this.#finite(values, at, (a, b, first, second) =>
        comparisonOf(operator, addPolynomials(a, ...negated(b)), first ?? NOTHING, second ?? NOTHING),
      );
    });
  }

  /** A comparison with -inf, which is neither greater than anything nor equal to a number. State may be -inf too. */
  #comparesInfinite(
    operator: Comparison["operator"],
    left: Value | undefined,
    right: Value | undefined,
    at: readonly Term[],
  ): boolean | undefined {
    if (left === "infinite" && right === "infinite") return operator === "equal";
    const [value, isLess] = left === "infinite" ? [right, true] : [left, false];
    if ((left !== "infinite" && right !== "infinite") || typeof value !== "object") return undefined;
    if (operator === "greater" && isLess) return this.isSurelyFinite(value, at) ? false : undefined;
    if (hasAtom(value, "state")) return noRule("a comparison of state with -inf");
    return this.isSurelyFinite(value, at) ? operator === "greater" : undefined;
  }

  /** The operands of a function. That of `exp` is a choice by whether a maximum in it is over nothing. */
  #split({ name, operands }: FunctionExpression, given: readonly Term[]): readonly Real[] {
    const [x] = operands;
    if (name !== "exp" || !x) return operands;
    const open = this.cases(x, given).some(
      ({ conditions, value }) => typeof value === "object" && !this.isSurelyFinite(value, [...given, ...conditions]),
    );
    return open ? [{ kind: "comparison", operator: "equal", x, y: INFINITE, then: INFINITE, otherwise: x }] : operands;
  }

  /** One of two values, by whether a maximum is over nothing. */
  #whereInfinite(x: Real, then: Real, otherwise: Real, given: readonly Term[]): readonly Case[] {
    const cases = this.cases(x, given).flatMap(({ conditions, value }): readonly Case[] => {
      if (value === "undefined") return [{ conditions, value }];
      const at = [...given, ...conditions];
      const finite = value === "infinite" ? FALSE : canonical(this.#finiteWhere(value, at));
      return this.cases(choose(finite, otherwise, then), at).map((each) => ({
        ...each,
        conditions: [...conditions, ...each.conditions],
      }));
    });
    return merged(cases);
  }

  /** The condition under which a sum is finite: that no maximum in it is over nothing. */
  #finiteWhere(p: Polynomial, given: readonly Term[]): Term {
    if (this.isSurelyFinite(p, given)) return TRUE;
    return andTerm(
      ...factorsOf(p).map(({ atom }) => {
        if (atom.kind === "fold" && atom.fold.kind === "maximum") return this.#folds.inhabitedWhere(atom.fold, given);
        if (atom.kind !== "function" || atom.name !== "maximum") return TRUE;
        return this.#weakest(
          atom.operands.map((operand) => this.#finiteWhere(operand, given)),
          given,
        );
      }),
    );
  }

  /** One of several conditions, without those that imply another one. */
  #weakest(conditions: readonly Term[], given: readonly Term[]): Term {
    const distinct = [...new Set(conditions.map(canonical))];
    return orTerm(
      ...distinct.filter(
        (each, i) =>
          !distinct.some(
            (other, j) =>
              i !== j &&
              this.entailment.proves([...given, ...conditionsOf(each)], other) &&
              (j < i || !this.entailment.proves([...given, ...conditionsOf(other)], each)),
          ),
      ),
    );
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
    const conditions = conditionsOf(this.index(domain, given));
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
      const maxima = values.map(({ domain, value }) => this.#folds.maximum([variable], domain, value, given));
      const finite = maxima.filter((each) => each !== "infinite");
      return finite.length === 0 ? "infinite" : this.#folds.maximumOf(finite, given);
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

function casesOrNoRule(cases: () => readonly Case[]): readonly Case[] | NoRule {
  try {
    return cases();
  } catch (error) {
    if (error instanceof NoRule) return error;
    throw error;
  }
}

/** True if the condition is that an optional input is given. */
const isFlag = (condition: Term): boolean =>
  condition.kind === "equal" && [...symbolsIn(condition)].every((name) => name.endsWith(GIVEN));

function negated(p: Polynomial | undefined): readonly Polynomial[] {
  return p ? [multiplyPolynomials(p, constantPolynomial(MINUS_ONE))] : [];
}
