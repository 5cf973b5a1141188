/** Index terms without what facts decide: quotients, remainders, minima and conditionals. */
import {
  andTerm,
  atLeast,
  atMost,
  conditionsOf,
  difference,
  equal,
  FALSE,
  mapOperands,
  number,
  orTerm,
  not,
  product,
  quotient,
  remainder,
  sum,
  type Term,
  termsIn,
  TRUE,
  substitute,
} from "../../symbolic/term.js";
import { gcd } from "../algebra/polynomial.js";
import {
  canonical,
  exactQuotient,
  integerMonomials,
  splitByDivisor,
  linearIn,
  mentions,
  type Entailment,
} from "./integer-form.js";
import { type Atom, factorsOf, type Fold, partsOf, type Polynomial, samePolynomial } from "./polynomial.js";

/** An equation of a store: its element's index in place of a lane or a program. */
export interface Equation {
  readonly atom: Term;
  readonly value: Term;
}

export class Indices {
  #equations: readonly Equation[] = [];
  readonly #simplified = new Map<string, Term>();

  constructor(readonly entailment: Entailment) {}

  /** Adds an equation for all terms from now on. */
  solve(equation: Equation): void {
    this.#equations = [...this.#equations, equation];
    this.#simplified.clear();
  }

  /** The canonical form of a term after the equations. */
  rewrite(term: Term): Term {
    return this.#equations.reduce((x, { atom, value }) => canonical(replaceAtom(x, atom, value)), canonical(term));
  }

  /** An index without quotients and remainders that the conditions decide. */
  index(term: Term, given: readonly Term[]): Term {
    const start = canonical(term);
    const key = `${start.id} ${given.map(({ id }) => id).join()}`;
    let result = this.#simplified.get(key);
    if (result === undefined) {
      // Lanes have ranges, which the equations would hide.
      const simplified = this.rewrite(this.#simplify(start, given, new Map()));
      result = canonical(this.#simplify(simplified, given, new Map()));
      this.#simplified.set(key, result);
    }
    return result;
  }

  /** A condition without the conjuncts that others decide. */
  condition(term: Term, given: readonly Term[]): Term {
    const open: Term[] = [];
    for (const each of conditionsOf(this.index(term, given))) {
      if (each === FALSE || this.entailment.isImpossible([...given, each])) return FALSE;
      if (!this.entailment.proves(given, each)) open.push(each);
    }
    return canonical(andTerm(...open));
  }

  #simplify(term: Term, given: readonly Term[], cache: Map<Term, Term>): Term {
    if (term.operands.length === 0) return term;
    let result = cache.get(term);
    if (result === undefined) {
      result = this.#decide(
        mapOperands(term, (operand) => this.#simplify(operand, given, cache)),
        given,
      );
      cache.set(term, result);
    }
    return result;
  }

  #decide(term: Term, given: readonly Term[]): Term {
    switch (term.kind) {
      case "quotient":
      case "floorQuotient":
      case "remainder":
      case "floorRemainder":
        return this.#division(term, term.operands, given);
      case "least":
      case "greatest": {
        const [x, y] = term.operands;
        const isLeast = term.kind === "least";
        if (this.entailment.proves(given, canonical(atMost(x, y)))) return isLeast ? x : y;
        if (!this.entailment.proves(given, canonical(atMost(y, x)))) return term;
        return isLeast ? y : x;
      }
      case "choice": {
        const [condition, x, y] = term.operands;
        const decided = this.condition(condition, given);
        if (decided === TRUE) return x;
        return decided === FALSE ? y : term;
      }
      case "number":
      case "symbol":
      case "true":
      case "false":
      case "sum":
      case "product":
      case "atMost":
      case "equal":
      case "not":
      case "all":
      case "some":
      case "call":
        return term;
      default:
        return term satisfies never;
    }
  }

  /** A condition in which `d · (x // d)` is x if d divides x, unless d divides another summand: that may be a block. */
  withoutMultiples(condition: Term, given: readonly Term[]): Term {
    const { kind, operands } = condition;
    if (kind !== "atMost" || operands[0] !== number(0)) return condition;
    const isExact = (quotient: Term, dividend: Term, divisor: Term): boolean => {
      const goal = canonical(equal(dividend, product(divisor, quotient)));
      const known = given.filter((each) => termsIn(each).has(quotient));
      return this.entailment.proves([], goal) || (known.length > 0 && this.entailment.proves(known, goal));
    };
    const monomials = integerMonomials(operands[1]);
    const divides = (divisor: Term, except: Monomial): boolean =>
      monomials.some(
        (each) => each !== except && each.atoms.length > 0 && exactQuotient(monomialTerm(each), divisor) !== undefined,
      );
    const parts = monomials.map((each) => {
      for (const [i, quotient] of each.atoms.entries()) {
        if (quotient.kind !== "quotient" && quotient.kind !== "floorQuotient") continue;
        const [dividend, divisor] = quotient.operands;
        const rest = exactQuotient(monomialTerm({ ...each, atoms: each.atoms.toSpliced(i, 1) }), divisor);
        if (rest && !divides(divisor, each) && isExact(quotient, dividend, divisor)) return product(rest, dividend);
      }
      return monomialTerm(each);
    });
    return canonical(atMost(number(0), sum(...parts)));
  }

  /**
   * `(q · d + r) / d` is q and `(q · d + r) % d` is r if `0 <= r < d`; else they are `q + r / d` and `r % d`. Truncation
   * also asks that q, and r, is not negative.
   */
  #division(term: Term, [dividend, divisor]: readonly [Term, Term], given: readonly Term[]): Term {
    const { multiple, rest } = splitByDivisor(dividend, canonical(divisor));
    const floors = term.kind === "floorQuotient" || term.kind === "floorRemainder";
    const isQuotient = term.kind === "quotient" || term.kind === "floorQuotient";
    const isExact =
      this.entailment.isWithin(given, rest, divisor) &&
      (floors || this.entailment.proves(given, canonical(atLeast(multiple, number(0)))));
    if (isExact) return isQuotient ? multiple : rest;
    const isPart =
      multiple !== number(0) &&
      (floors || [multiple, rest].every((each) => this.entailment.proves(given, canonical(atLeast(each, number(0))))));
    if (!isPart) return isQuotient ? (this.#blockQuotient(term, [dividend, divisor], given) ?? term) : term;
    const part = canonical(isQuotient ? quotient(rest, divisor, floors) : remainder(rest, divisor, floors));
    return isQuotient ? canonical(sum(multiple, part)) : part;
  }

  /** `(s · q + r) / d` is `s · q / d` if s divides d and `0 <= r < s`: an element's lane does not change the block. */
  #blockQuotient(
    { kind }: Term,
    [dividend, divisor]: readonly [Term, Term],
    conditions: readonly Term[],
  ): Term | undefined {
    if (divisor.kind !== "number" || divisor.value < 1n) return undefined;
    for (const { value: lane } of this.#equations) {
      const block = canonical(difference(dividend, lane));
      const size = integerMonomials(block).reduce((size, { factor }) => BigInt(gcd(size, factor)), divisor.value);
      const floors = kind === "floorQuotient";
      const isBlock =
        size > 1n &&
        this.entailment.isWithin(conditions, lane, number(size)) &&
        (floors || this.entailment.proves(conditions, canonical(atLeast(block, number(0)))));
      if (isBlock) return canonical(quotient(block, divisor, floors));
    }
    return undefined;
  }
}

type Monomial = ReturnType<typeof integerMonomials>[number];

const monomialTerm = ({ factor, atoms }: Monomial): Term => product(number(factor), ...atoms);

function replaceAtom(term: Term, atom: Term, value: Term): Term {
  return term === atom ? value : mapOperands(term, (operand) => replaceAtom(operand, atom, value));
}

/** A condition where others are known to hold. */
export function conditionUnder(condition: Term, known: readonly Term[]): Term {
  if (known.includes(condition)) return TRUE;
  if (known.includes(canonical(not(condition)))) return FALSE;
  if (condition.kind !== "some") return condition;
  return canonical(orTerm(...condition.operands.map((each) => conditionUnder(each, known))));
}

// Elements of maxima: sums that equal the body of a fold for some values of its variables.

const MAX_CANDIDATES = 6;

interface InstanceContext {
  readonly entailment: Entailment;
  readonly indices: Indices;
  substitute(p: Polynomial, replacements: ReadonlyMap<string, Term>, given: readonly Term[]): Polynomial;
}

/** True if a sum is the body of a fold for values of its variables in the domain. */
export const isElementOf = (p: Polynomial, fold: Fold, context: InstanceContext, given: readonly Term[]): boolean =>
  assignments(fold.variables, fold.body, p).some(
    (by) =>
      fold.domain.every((each) =>
        context.entailment.proves(given, canonical(substitute(context.indices.rewrite(each), by))),
      ) && samePolynomial(context.substitute(fold.body, by, given), p),
  );

/** True if values of the variables make two sums equal. */
export function isInstance(
  variables: readonly string[],
  pattern: Polynomial,
  target: Polynomial,
  context: InstanceContext,
  given: readonly Term[],
): boolean {
  return assignments(variables, pattern, target).some((by) =>
    samePolynomial(context.substitute(pattern, by, given), target),
  );
}

/** Candidates for the values of variables: what stands in their places in the indices of another sum. */
export function assignments(
  variables: readonly string[],
  pattern: Polynomial,
  target: Polynomial,
): readonly ReadonlyMap<string, Term>[] {
  const [patternElements, targetElements] = [elementsIn(pattern), elementsIn(target)];
  const digits = patternElements.flatMap((x) =>
    targetElements.flatMap((y) => (x.name === y.name ? (digitsOf(variables, x.index, y.index) ?? []) : [])),
  );
  const values = variables.reduce<readonly ReadonlyMap<string, Term>[]>(
    (sofar, variable) => {
      const values = candidatesOf(variable, variables, patternElements, targetElements);
      if (!patternElements.some(({ index }) => index.some((term) => mentions(term, variable)))) return sofar;
      return sofar.flatMap((by) => values.map((value) => new Map([...by, [variable, value] as const])));
    },
    [new Map()],
  );
  return [...digits.slice(0, MAX_CANDIDATES), ...values];
}

/** The values of variables for which one index is another one: the summands of which each variable's factor is one. */
function digitsOf(
  variables: readonly string[],
  pattern: readonly Term[],
  target: readonly Term[],
): ReadonlyMap<string, Term> | undefined {
  const by = new Map<string, Term>();
  const none = new Map(variables.map((variable) => [variable, number(0)] as const));
  for (const [axis, term] of pattern.entries()) {
    let rest = canonical(difference(target[axis] ?? number(0), substitute(term, none)));
    const digits = variables
      .flatMap((variable) => {
        const factor = linearIn(term, variable)?.factor;
        return factor && factor !== number(0) && !by.has(variable) ? [{ variable, factor }] : [];
      })
      .toSorted((x, y) => y.factor.nodes - x.factor.nodes);
    for (const { variable, factor } of digits) {
      const split = splitByDivisor(rest, factor);
      by.set(variable, split.multiple);
      ({ rest } = split);
    }
    if (rest !== number(0) && digits.length > 0) return undefined;
  }
  return by;
}

type Element = Extract<Atom, { kind: "input" | "state" }>;

const elementsIn = (p: Polynomial): readonly Element[] =>
  factorsOf(p).flatMap(({ atom }) =>
    atom.kind === "input" || atom.kind === "state" ? [atom] : partsOf(atom).flatMap(elementsIn),
  );

function candidatesOf(
  variable: string,
  variables: readonly string[],
  pattern: readonly Element[],
  target: readonly Element[],
): readonly Term[] {
  const found = pattern.flatMap(({ name, index }) =>
    index.flatMap((term, axis) => {
      const form = linearIn(term, variable);
      if (!form || form.factor.kind !== "number" || form.factor.value !== 1n) return [];
      if (variables.some((other) => mentions(form.rest, other))) return [];
      return target.flatMap((other) => {
        const place = other.name === name ? other.index[axis] : undefined;
        return place ? [canonical(difference(place, form.rest))] : [];
      });
    }),
  );
  return [...new Set(found)].slice(0, MAX_CANDIDATES);
}
