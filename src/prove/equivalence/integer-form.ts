/** Integer terms in a canonical form: sums of products of atoms, so that equal polynomials are one object. */
import {
  andTerm,
  atMost,
  difference,
  equal,
  mapOperands,
  negative,
  not,
  number,
  orTerm,
  product,
  sum,
  symbol,
  symbolsIn,
  type Term,
  atLeast,
  below,
  conditionsOf,
  FALSE,
  TRUE,
} from "../../symbolic/term.js";
import type { Budget } from "../algebra/budget.js";
import type { FactSet } from "../algebra/facts.js";
import { assume, entails } from "../algebra/interpret.js";
import { noRule } from "./rational.js";

interface IntegerMonomial {
  readonly factor: bigint;
  /** Sorted by id. */
  readonly atoms: readonly Term[];
}

type IntegerPolynomial = Map<string, IntegerMonomial>;

const keyOf = (atoms: readonly Term[]): string => atoms.map(({ id }) => id).join(".");

function addTo(sumSoFar: IntegerPolynomial, { factor, atoms }: IntegerMonomial): void {
  const key = keyOf(atoms);
  const total = (sumSoFar.get(key)?.factor ?? 0n) + factor;
  if (total === 0n) sumSoFar.delete(key);
  else sumSoFar.set(key, { factor: total, atoms });
}

function monomialsOfTerm(term: Term): readonly IntegerMonomial[] {
  if (term.kind === "number") return term.value === 0n ? [] : [{ factor: term.value, atoms: [] }];
  if (term.kind === "sum") return collect(term.operands.flatMap(monomialsOfTerm));
  if (term.kind === "product") {
    let products: readonly IntegerMonomial[] = [{ factor: 1n, atoms: [] }];
    for (const operand of term.operands) {
      const monomials = monomialsOfTerm(operand);
      products = products.flatMap((x) =>
        monomials.map((y) => ({
          factor: x.factor * y.factor,
          atoms: [...x.atoms, ...y.atoms].sort((a, b) => a.id - b.id),
        })),
      );
    }
    return collect(products);
  }
  const atom = mapOperands(term, canonical);
  if (atom.kind === "number" || atom.kind === "sum" || atom.kind === "product") return monomialsOfTerm(atom);
  return [{ factor: 1n, atoms: [atom] }];
}

function collect(monomials: readonly IntegerMonomial[]): readonly IntegerMonomial[] {
  const collected: IntegerPolynomial = new Map();
  for (const monomial of monomials) addTo(collected, monomial);
  return [...collected.values()];
}

const termOf = (monomials: readonly IntegerMonomial[]): Term =>
  sum(
    ...monomials
      .map((monomial) => ({ monomial, key: keyOf(monomial.atoms) }))
      .toSorted((x, y) => (x.key < y.key ? -1 : 1))
      .map(({ monomial: { factor, atoms } }) => product(number(factor), ...atoms)),
  );

const canonicalTerms = new WeakMap<Term, Term>();

/** The monomials of an integer term: its summands as products of a number and atoms. */
export const integerMonomials = (term: Term): readonly IntegerMonomial[] => monomialsOfTerm(canonical(term));

/** The canonical form of a term. Terms that differ as polynomials alone have one. */
export function canonical(term: Term): Term {
  let result = canonicalTerms.get(term);
  if (result === undefined) canonicalTerms.set(term, (result = computeCanonical(term)));
  return result;
}

function computeCanonical(term: Term): Term {
  const sorted = (operands: readonly Term[]) => operands.map(canonical).toSorted((x, y) => x.id - y.id);
  switch (term.kind) {
    case "true":
    case "false":
      return term;
    case "atMost":
      return atMost(number(0), canonical(difference(term.operands[1], term.operands[0])));
    case "equal": {
      const apart = canonical(difference(term.operands[1], term.operands[0]));
      const opposite = canonical(negative(apart));
      return equal(apart.id < opposite.id ? apart : opposite, number(0));
    }
    case "all":
      return andTerm(...sorted(term.operands));
    case "some":
      return orTerm(...sorted(term.operands));
    case "not":
      return not(canonical(term.operands[0]));
    case "number":
    case "symbol":
    case "sum":
    case "product":
    case "quotient":
    case "remainder":
    case "floorQuotient":
    case "floorRemainder":
    case "least":
    case "greatest":
    case "choice":
    case "call":
      return termOf(monomialsOfTerm(term));
    default:
      return term satisfies never;
  }
}

export const mentions = (term: Term, name: string): boolean => symbolsIn(term).has(name);

/** A term as `factor · symbol + rest`. Undefined if it is not linear in the symbol. */
export interface LinearForm {
  readonly factor: Term;
  readonly rest: Term;
}

export function linearIn(term: Term, name: string): LinearForm | undefined {
  const factor: IntegerPolynomial = new Map();
  const rest: IntegerPolynomial = new Map();
  const variable = symbol(name);
  for (const monomial of integerMonomials(term)) {
    const others = monomial.atoms.filter((atom) => atom !== variable);
    if (monomial.atoms.length - others.length > 1 || others.some((atom) => mentions(atom, name))) return undefined;
    addTo(others.length < monomial.atoms.length ? factor : rest, { factor: monomial.factor, atoms: others });
  }
  return { factor: termOf([...factor.values()]), rest: termOf([...rest.values()]) };
}

/** The exact quotient of a term by a product of atoms. Undefined if a monomial is no multiple of it. */
export function exactQuotient(dividend: Term, divisor: Term): Term | undefined {
  const parts = integerMonomials(dividend).map((monomial) => monomialQuotient(monomial, divisor));
  return parts.every((part) => part !== undefined) ? canonical(sum(...parts)) : undefined;
}

function monomialQuotient({ factor, atoms }: IntegerMonomial, divisor: Term): Term | undefined {
  const [only, ...more] = integerMonomials(divisor);
  if (!only || more.length > 0 || factor % only.factor !== 0n) return undefined;
  const remaining = [...atoms];
  for (const atom of only.atoms) {
    const place = remaining.indexOf(atom);
    if (place < 0) return undefined;
    remaining.splice(place, 1);
  }
  return product(number(factor / only.factor), ...remaining);
}

/**
 * A dividend as `multiple · divisor + rest`, with the summands that the divisor divides in `multiple`. Of a divisor of
 * several summands, the first that is no number decides.
 */
export function splitByDivisor(dividend: Term, divisor: Term): { readonly multiple: Term; readonly rest: Term } {
  const parts = integerMonomials(divisor);
  const lead = parts.length > 1 ? parts.find(({ atoms }) => atoms.length > 0) : parts[0];
  if (!lead) return { multiple: number(0), rest: canonical(dividend) };
  const by = product(number(lead.factor), ...lead.atoms);
  const multiples = integerMonomials(dividend).flatMap((monomial) => monomialQuotient(monomial, by) ?? []);
  const multiple = canonical(sum(...multiples));
  return { multiple, rest: canonical(difference(dividend, product(multiple, divisor))) };
}

// Questions to the prover of integer facts, each asked once.

/** The budget of the questions about one output or one kernel. */
export const STEPS = [2_000, 500] as const;

/** The number of questions about one output. */
const MAX_QUESTIONS = 2_500;

export class Entailment {
  readonly #facts = new Map<string, FactSet>();
  readonly #answers = new Map<string, boolean>();
  #questions = 0;

  constructor(
    readonly base: FactSet,
    readonly budget: Budget,
  ) {}

  /** Starts the limit on questions anew. */
  restart(): void {
    this.#questions = 0;
  }

  /** True if the conditions imply the goal. */
  proves(conditions: readonly Term[], goal: Term): boolean {
    if (goal === TRUE) return true;
    const given = [...new Set(conditions.flatMap(conditionsOf))];
    // What holds without the conditions holds with them, among which the budget may end.
    if (given.includes(goal) || this.#answers.get(questionOf([], goal)) === true) return true;
    const question = questionOf(given, goal);
    let answer = this.#answers.get(question);
    if (answer === undefined) this.#answers.set(question, (answer = this.#ask(given, goal)));
    return answer;
  }

  /** True if the conditions contradict one another, in each case of the first disjunction. */
  isImpossible(conditions: readonly Term[]): boolean {
    if (this.#isImpossible(conditions)) return true;
    const disjunction = conditions.find(({ kind }) => kind === "some");
    const others = conditions.filter((each) => each !== disjunction);
    return (
      disjunction !== undefined &&
      disjunction.operands.every((each) => this.#isImpossible([...others, ...conditionsOf(each)]))
    );
  }

  #isImpossible(conditions: readonly Term[]): boolean {
    return (
      conditions.some(
        (each) => each === FALSE || conditions.includes(not(each)) || this.#isNegative(each, conditions),
      ) || this.proves(conditions, FALSE)
    );
  }

  /** True if a condition asks that a sum without a positive summand is not negative. */
  #isNegative(condition: Term, conditions: readonly Term[]): boolean {
    if (condition.kind !== "atMost") return false;
    const monomials = integerMonomials(condition.operands[1]);
    const hasConstant = monomials.some(({ atoms }) => atoms.length === 0);
    if (condition.operands[0] !== number(0) || !hasConstant || monomials.some(({ factor }) => factor > 0n))
      return false;
    const others = conditions.filter((each) => each !== condition);
    return monomials.every(({ atoms }) =>
      atoms.every((each) => this.proves(others, canonical(atLeast(each, number(0))))),
    );
  }

  /** True if `0 <= term < end`. */
  isWithin(conditions: readonly Term[], term: Term, end: Term): boolean {
    return (
      this.proves(conditions, canonical(atLeast(term, number(0)))) &&
      this.proves(conditions, canonical(below(term, end)))
    );
  }

  #ask(given: readonly Term[], goal: Term): boolean {
    if (++this.#questions > MAX_QUESTIONS) noRule("too many questions about indices");
    this.budget.refill();
    return entails(this.#factsOf(given).child(), goal);
  }

  /** Facts with the conditions. Outer conditions come first, so that inner ones share what is found about them. */
  #factsOf(given: readonly Term[]): FactSet {
    const [last] = given.slice(-1);
    if (!last) return this.base;
    const key = conditionsKey(given);
    let facts = this.#facts.get(key);
    if (!facts) {
      facts = this.#factsOf(given.slice(0, -1)).child();
      assume(facts, last);
      this.#facts.set(key, facts);
    }
    return facts;
  }
}

const questionOf = (given: readonly Term[], goal: Term): string => `${conditionsKey(given)} | ${goal.id}`;

const conditionsKey = (conditions: readonly Term[]): string =>
  conditions
    .map(({ id }) => id)
    .toSorted((x, y) => x - y)
    .join();
