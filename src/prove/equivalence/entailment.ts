/** Questions to the prover of integer facts, each asked once. */
import { atLeast, below, conditionsOf, FALSE, not, number, type Term, TRUE } from "../../symbolic/term.js";
import type { Budget } from "../algebra/budget.js";
import type { FactSet } from "../algebra/facts.js";
import { assume, entails } from "../algebra/interpret.js";
import { canonical, integerMonomials } from "./integer-form.js";
import { noRule } from "./no-rule.js";

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
    const key = keyOf(given);
    let facts = this.#facts.get(key);
    if (!facts) {
      facts = this.#factsOf(given.slice(0, -1)).child();
      assume(facts, last);
      this.#facts.set(key, facts);
    }
    return facts;
  }
}

const questionOf = (given: readonly Term[], goal: Term): string => `${keyOf(given)} | ${goal.id}`;

const keyOf = (conditions: readonly Term[]): string =>
  conditions
    .map(({ id }) => id)
    .toSorted((x, y) => x - y)
    .join();
