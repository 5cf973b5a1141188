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
} from "../../symbolic/term.js";
import { gcd } from "../algebra/exact-integer.js";
import type { Entailment } from "./entailment.js";
import { canonical, exactQuotient, integerMonomials, splitByDivisor } from "./integer-form.js";

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
