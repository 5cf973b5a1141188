/** Questions to the prover of integer facts, each asked once. */
import { atLeast, below, conditionsOf, FALSE, not, number, type Term, TRUE } from "../../symbolic/term.js";
import type { Budget } from "../algebra/budget.js";
import type { FactSet } from "../algebra/facts.js";
import { assume, entails } from "../algebra/interpret.js";
import { canonical } from "./integer-form.js";
import { noRule } from "./no-rule.js";

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

  /** True if the conditions imply the goal. */
  proves(conditions: readonly Term[], goal: Term): boolean {
    if (goal === TRUE) return true;
    const given = [...new Set(conditions.flatMap(conditionsOf))].toSorted((x, y) => x.id - y.id);
    if (given.includes(goal)) return true;
    const key = given.map(({ id }) => id).join();
    const question = `${key} | ${goal.id}`;
    let answer = this.#answers.get(question);
    if (answer === undefined) this.#answers.set(question, (answer = this.#ask(key, given, goal)));
    return answer;
  }

  /** True if the conditions contradict one another. */
  isImpossible(conditions: readonly Term[]): boolean {
    return (
      conditions.some((each) => each === FALSE || conditions.includes(not(each))) || this.proves(conditions, FALSE)
    );
  }

  /** True if `0 <= term < end`. */
  isWithin(conditions: readonly Term[], term: Term, end: Term): boolean {
    return (
      this.proves(conditions, canonical(atLeast(term, number(0)))) &&
      this.proves(conditions, canonical(below(term, end)))
    );
  }

  #ask(key: string, given: readonly Term[], goal: Term): boolean {
    if (++this.#questions > MAX_QUESTIONS) noRule("too many questions about indices");
    this.budget.refill();
    let facts = this.#facts.get(key);
    if (!facts) {
      facts = this.base.child();
      for (const condition of given) assume(facts, condition);
      this.#facts.set(key, facts);
    }
    return entails(facts.child(), goal);
  }
}
