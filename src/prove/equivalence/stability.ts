/**
 * Whether a kernel that equals its reference over the reals may overflow or cancel where the reference does not. The
 * kernel's own expressions decide, as its author wrote them:
 *
 * - A power of e overflows unless its exponent is bounded (`exponents.ts`), or the reference takes it too.
 * - A denominator of a positive number and an infinite power gives 0, as in `1 / (1 + exp(-x))`. Elsewhere the result is
 *   infinite or NaN.
 * - A sum cancels where it adds and subtracts one term, or multiples of it that are much larger than what is left.
 *
 * What is not shown to be stable is unstable, except for cancellation between different terms, such as `E[x²] - E[x]²`,
 * and for products that leave float32's range: these need values, so that running the kernel shows them.
 */
import type { Location } from "../../diagnostics/diagnostic.js";
import { conditionsOf, FALSE, not, type Term } from "../../symbolic/term.js";
import { type ExponentScope, isBoundedExponent } from "./exponents.js";
import { isInstance } from "./indices.js";
import { canonical } from "./integer-form.js";
import type { Normalizer } from "./normalizer.js";
import {
  leadingMonomial,
  negatePolynomial,
  numberOf,
  type Polynomial,
  polynomialKey,
  scalePolynomial,
  subtractPolynomials,
  type Case,
  valueKey,
} from "./polynomial.js";
import {
  inverse,
  isNegative,
  isPositive,
  isZero,
  ONE,
  plus,
  type Rational,
  times,
  toNumber,
  ZERO,
  NoRule,
} from "./rational.js";
import { partsOfReal, type Real } from "./real.js";

/** The author's line that may overflow or cancel. */
export interface Instability {
  readonly at: Location | undefined;
  readonly why: string;
}

/** An expression that a kernel computes, and the conditions under which it does. */
export interface Computed {
  readonly value: Real;
  readonly given: readonly Term[];
  /** The iterations of loops around it. */
  readonly iterations: readonly string[];
}

/** What else shows that exponents are bounded. */
export interface KnownExponents {
  /** The author of this expression takes the same powers. */
  readonly reference?: Real;
  /** True if an exponent is bounded under the conditions, by what is known of the inputs. */
  readonly isBounded?: (exponent: Polynomial, given: readonly Term[]) => boolean;
}

/** An exponent of the reference, for all values of the variables of folds around it. */
interface OwnExponent {
  readonly variables: readonly string[];
  readonly value: Polynomial;
}

/** The sum of absolute numbers that may cancel: they cost a rounding step of a number near 1. */
const HARMLESS_NUMBERS = 4;
/** The factor by which multiples of a term may exceed what is left of them. */
const MAX_GROWTH = 16;

/** The first instability of a kernel's expressions, if any. */
export function instabilityOf(
  computed: readonly Computed[],
  { reference, isBounded }: KnownExponents,
  normalizer: Normalizer,
): Instability | undefined {
  try {
    const own = reference ? exponentsOf(reference, normalizer) : [];
    for (const { value, given, iterations } of computed) {
      const walk = new Walk(normalizer, own, isBounded);
      const overflow = walk.overflow(value, { given, nonpositive: [], bound: new Set(iterations) });
      const [first = overflow] = walk.found;
      if (first) return first;
    }
    return undefined;
  } catch (error) {
    if (error instanceof NoRule) return { at: undefined, why: `nothing shows that it is stable: ${error.message}` };
    throw error;
  }
}

/** The exponents that the author of a reference writes. */
function exponentsOf(reference: Real, normalizer: Normalizer): readonly OwnExponent[] {
  const found: OwnExponent[] = [];
  const seen = new Set<Real>();
  const collect = (x: Real, variables: readonly string[], given: readonly Term[]): void => {
    if (seen.has(x)) return;
    seen.add(x);
    if (x.kind === "function" && x.origin === "reference")
      for (const operand of x.operands)
        for (const { value } of normalizer.cases(operand, given))
          if (typeof value === "object") found.push({ variables, value });
    const isFold = x.kind === "fold";
    const inner = isFold ? [...variables, x.variable] : variables;
    const conditions = isFold ? [...given, ...conditionsOf(normalizer.index(x.domain, given))] : given;
    for (const part of partsOfReal(x)) collect(part, inner, conditions);
  };
  collect(reference, [], []);
  return found;
}

interface Summand {
  readonly key: string;
  readonly coefficient: Rational;
  readonly isNumber: boolean;
}

type Scope = Omit<ExponentScope, "normalizer">;

class Walk {
  readonly found: Instability[] = [];
  #unnamed = 0;
  readonly #seen = new Map<Real, Map<string, Instability | undefined>>();

  constructor(
    readonly normalizer: Normalizer,
    readonly own: readonly OwnExponent[],
    readonly isBounded: KnownExponents["isBounded"],
  ) {}

  /** The power of e by which an expression may be infinite. What may be NaN is found already. */
  overflow(x: Real, scope: Scope): Instability | undefined {
    if (x.origin === "loop" || x.origin === "scale") return undefined;
    const key = [scope.given.map(({ id }) => id), scope.nonpositive.map(polynomialKey), [...scope.bound]].join(" | ");
    let results = this.#seen.get(x);
    if (!results) this.#seen.set(x, (results = new Map()));
    if (!results.has(key)) results.set(key, this.#overflow(x, scope));
    return results.get(key);
  }

  #overflow(x: Real, scope: Scope): Instability | undefined {
    switch (x.kind) {
      case "add": {
        this.#cancellation(x, scope);
        const [first, second] = this.#overflows(x.operands, scope);
        return second ? this.#find(second) : first;
      }
      case "multiply": {
        const [first, second] = this.#overflows(x.operands, scope);
        const others = x.operands.filter((operand) => !this.overflow(operand, scope));
        // Infinity times 0 is NaN.
        return first && (second ?? !others.every(isNonzero)) ? this.#find(first) : first;
      }
      case "power": {
        const overflow = this.overflow(x.base, scope);
        if (!overflow || !isNegative(x.exponent)) return overflow;
        // Without a number, the powers in the denominator may also all be 0.
        return hasPositiveNumber(x.base) ? undefined : this.#find(overflow);
      }
      case "function":
        return this.#function(x, scope);
      case "fold":
        return this.overflow(x.body, {
          ...scope,
          given: [...scope.given, ...conditionsOf(this.normalizer.index(x.domain, scope.given))],
          bound: x.fold === "sum" ? new Set([...scope.bound, x.variable]) : scope.bound,
        });
      case "choice":
        return this.#choice(x, scope);
      case "comparison":
        return this.#comparison(x, scope);
      case "number":
      case "constant":
      case "infinite":
      case "undefined":
      case "integer":
      case "input":
      case "state":
        return undefined;
      default:
        return x satisfies never;
    }
  }

  #find(instability: Instability): undefined {
    this.found.push(instability);
  }

  #overflows(operands: readonly Real[], scope: Scope): readonly Instability[] {
    return operands.flatMap((operand) => this.overflow(operand, scope) ?? []);
  }

  #function(x: Extract<Real, { kind: "function" }>, scope: Scope): Instability | undefined {
    const [overflow] = this.#overflows(x.operands, scope);
    switch (x.name) {
      case "exp":
        return overflow ? this.#find(overflow) : this.#power(x, scope);
      case "sigmoid":
      case "tanh":
      case "erf":
        return undefined;
      case "sin":
      case "cos":
      case "asin":
        return overflow && this.#find(overflow);
      case "log":
      case "maximum":
      case "minimum":
      case "abs":
      case "floor":
      case "ceil":
        return overflow;
      default:
        return x.name satisfies never;
    }
  }

  #power({ operands: [exponent], at }: Extract<Real, { kind: "function" }>, scope: Scope): Instability | undefined {
    if (!exponent) return undefined;
    const isBounded = (value: Case["value"], given: readonly Term[]): boolean =>
      typeof value === "string" ||
      this.own.some((own) => isInstance(own.variables, own.value, value, this.normalizer, given)) ||
      isBoundedExponent(value, { ...scope, given, normalizer: this.normalizer }) ||
      this.isBounded?.(value, given) === true;
    const isCaseBounded = ({ conditions, value }: Case): boolean => {
      const given = [...scope.given, ...conditions];
      if (isBounded(value, given)) return true;
      // An operand may be simpler under the conditions that another one brings.
      const again = conditions.length > 0 ? this.normalizer.cases(exponent, given) : [];
      return again.length > 0 && again.every((each) => isBounded(each.value, [...given, ...each.conditions]));
    };
    if (this.normalizer.cases(exponent, scope.given).every(isCaseBounded)) return undefined;
    return { at, why: "nothing shows that this exponent is bounded, so that the power may overflow" };
  }

  #choice(x: Extract<Real, { kind: "choice" }>, scope: Scope): Instability | undefined {
    const open = this.normalizer.indices.condition(x.condition, scope.given);
    const arms = [
      { holds: open, value: x.then },
      { holds: canonical(not(open)), value: x.otherwise },
    ];
    const [first] = arms.flatMap(({ holds, value }) => {
      const given = [...scope.given, ...conditionsOf(holds)];
      if (holds === FALSE || this.normalizer.entailment.isImpossible(given)) return [];
      return this.overflow(value, { ...scope, given }) ?? [];
    });
    return first;
  }

  #comparison(x: Extract<Real, { kind: "comparison" }>, scope: Scope): Instability | undefined {
    const [compared] = this.#overflows([x.x, x.y], scope);
    const [left, right] = [x.x, x.y].map((each) => this.normalizer.cases(each, scope.given));
    const [first, second] = [left?.[0]?.value, right?.[0]?.value];
    const isPlain = left?.length === 1 && right?.length === 1 && x.operator === "greater";
    const gap =
      isPlain && typeof first === "object" && typeof second === "object"
        ? subtractPolynomials(first, second)
        : undefined;
    const where = (fact: Polynomial | undefined): Scope =>
      fact ? { ...scope, nonpositive: [...scope.nonpositive, fact] } : scope;
    const then = this.overflow(x.then, where(gap && negatePolynomial(gap)));
    return compared ?? then ?? this.overflow(x.otherwise, where(gap));
  }

  // ---- cancellation ---------------------------------------------------------------------------------------------------

  #cancellation(x: Real, { given }: Scope): void {
    const summands = new Map<string, { all: number; left: Rational; isNumber: boolean }>();
    const collect = (part: Real, factor: Rational): void => {
      if (part.origin !== "loop" && part.kind === "add") {
        for (const operand of part.operands) collect(operand, factor);
        return;
      }
      const scaled = part.kind === "multiply" ? scaledOperand(part.operands) : undefined;
      if (scaled) {
        collect(scaled.operand, times(factor, scaled.by));
        return;
      }
      const { key, coefficient, isNumber } = this.#summand(part, given);
      const sofar = summands.get(key) ?? { all: 0, left: ZERO, isNumber };
      const own = times(factor, coefficient);
      summands.set(key, {
        all: sofar.all + Math.abs(toNumber(own)),
        left: plus(sofar.left, own),
        isNumber,
      });
    };
    collect(x, ONE);
    const cancels = [...summands.values()].some(
      ({ all, left, isNumber }) =>
        all > MAX_GROWTH * Math.abs(toNumber(left)) && !(isNumber && all <= HARMLESS_NUMBERS) && all > 0,
    );
    if (cancels) this.#find({ at: x.at, why: "this sum cancels what the author adds before, with its digits" });
  }

  /** A summand as a number times a term. One without a normal form is a term of its own. */
  #summand(x: Real, given: readonly Term[]): Summand {
    const cases = this.#casesOrNone(x, given);
    const [only, ...more] = cases;
    const value = more.length === 0 ? only?.value : undefined;
    if (typeof value === "object") {
      const coefficient = leadingMonomial(value)?.coefficient;
      if (!coefficient) return { key: "0", coefficient: ZERO, isNumber: true };
      const key = polynomialKey(scalePolynomial(value, inverse(coefficient)));
      return { key, coefficient, isNumber: numberOf(value) !== undefined };
    }
    const key = cases.map((each) => `${each.conditions.map(({ id }) => id).join()}:${valueKey(each.value)}`).join(" ");
    return { key: key || `term ${this.#unnamed++}`, coefficient: ONE, isNumber: false };
  }

  #casesOrNone(x: Real, given: readonly Term[]): readonly Case[] {
    try {
      return this.normalizer.cases(x, given);
    } catch (error) {
      if (error instanceof NoRule) return [];
      throw error;
    }
  }
}

const hasPositiveNumber = (x: Real): boolean =>
  x.kind === "add" && x.operands.some((each) => each.kind === "number" && isPositive(each.value));

const isNonzero = (x: Real): boolean => x.kind === "constant" || (x.kind === "number" && !isZero(x.value));

/** The only operand of a product that is no number, and the product of the numbers. */
function scaledOperand(operands: readonly Real[]): { readonly operand: Real; readonly by: Rational } | undefined {
  const [operand, ...more] = operands.filter(({ kind }) => kind !== "number");
  if (!operand || more.length > 0) return undefined;
  return { operand, by: operands.reduce((by, x) => (x.kind === "number" ? times(by, x.value) : by), ONE) };
}
