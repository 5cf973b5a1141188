/**
 * The inverse of an access: programs, iterations and lanes as terms of the element's index. They are read like digits:
 * for `p * BLOCK + lane` with `lane < BLOCK`, the program is the quotient by BLOCK and the lane is the remainder. The
 * result is a suggestion, which the caller must check.
 */
import {
  call,
  difference,
  maxTerm,
  minTerm,
  negative,
  number,
  product,
  quotient,
  remainder,
  sum,
  symbol,
  type Term,
} from "../../symbolic/term.js";
import { provesDigits } from "../algebra/division.js";
import { polynomialOf } from "../algebra/interpret.js";
import { isDefinedHere, type FactSet } from "../algebra/facts.js";
import type { SymbolicModel } from "./model.js";
import { rowFunction } from "./partitions.js";
import {
  asMonomial,
  isEqual,
  multiply,
  opposite,
  Polynomial,
  type PolynomialTerm,
  single,
  ZERO,
  type Integer,
  magnitude,
  asAtom,
  type Monomial,
  monomialOf,
  UNIT,
  divideMonomial,
} from "../algebra/polynomial.js";

/** An index, and its value for the element. */
export interface Equation {
  readonly index: Term;
  readonly target: Term;
}

/** The terms of the variables that the equations determine. */
export function invert(
  model: Pick<SymbolicModel, "ir">,
  facts: FactSet,
  variables: readonly string[],
  equations: readonly Equation[],
): ReadonlyMap<string, Term> {
  const inversion = new Inversion(model, facts, new Set(variables));
  return inversion.solve(equations.map(({ index, target }) => ({ p: polynomialOf(facts, index), target })));
}

/** The equation of a polynomial of atoms and a term. */
interface PolynomialEquation {
  readonly p: Polynomial;
  readonly target: Term;
}

/** A summand with one unsolved atom: that atom, times solved atoms, times a coefficient. */
interface Digit {
  readonly unsolved: string;
  readonly radix: Monomial;
  readonly coefficient: Integer;
  /** The radix times the magnitude of the coefficient. */
  readonly weight: Term;
}

const ROUNDS = 40;

class Inversion {
  readonly #solved = new Map<string, Term>();
  #pending: PolynomialEquation[] = [];
  #stuck: PolynomialEquation[] = [];
  readonly #combined = new Set<string>();

  constructor(
    readonly model: Pick<SymbolicModel, "ir">,
    readonly facts: FactSet,
    readonly variables: ReadonlySet<string>,
  ) {}

  solve(equations: readonly PolynomialEquation[]): ReadonlyMap<string, Term> {
    this.#pending = [...equations];
    for (let round = 0; round < ROUNDS; round++) {
      for (let equation = this.#pending.shift(); equation; equation = this.#pending.shift())
        if (!this.#step(equation)) this.#stuck.push(equation);
      if (!this.#combineDigits() && !this.#combineQuotients() && !this.#chooseDigit() && !this.#chooseFirst()) break;
    }
    return new Map([...this.#solved].filter(([name]) => this.variables.has(name)));
  }

  #assign(name: string, term: Term): void {
    if (this.#solved.has(name)) return;
    this.#solved.set(name, term);
    this.#pending.push(...this.#stuck);
    this.#stuck = [];
  }

  /** Solves an equation for an atom, or decomposes it into digits. Returns false if it must wait for others. */
  #step({ p, target }: PolynomialEquation): boolean {
    const [solved, unsolved] = this.#splitSolved(p);
    const remainingTarget = solved.length > 0 ? difference(target, sum(...solved)) : target;
    if (this.#stepRow(unsolved, remainingTarget)) return this.#step({ p, target });
    const digits = unsolved.terms.map((term) => this.#digitOf(term));
    if (!digits.every((digit) => digit !== undefined)) return false;
    const [first, ...more] = digits;
    if (!first) return true;
    const positiveTarget = first.coefficient < 0 ? negative(remainingTarget) : remainingTarget;
    if (more.length > 0 || first.radix !== UNIT || magnitude(first.coefficient) !== 1) {
      // The solved part may remain next to the digits. The whole index is nonnegative, but its unsolved part may be
      // negative.
      const candidates = [
        ...(solved.length > 0 ? [{ p, target }] : []),
        { p: unsolved, target: remainingTarget },
        { p: opposite(unsolved), target: negative(remainingTarget) },
      ];
      if (this.#splitDigits(candidates, digits)) return true;
      if (more.length > 0) return false;
    }
    this.#assign(first.unsolved, quotient(positiveTarget, first.weight));
    return true;
  }

  /** Solves `boundary(row) + offset = element` for a partition: the row is the element's row. */
  #stepRow(p: Polynomial, target: Term): boolean {
    for (const { monomial, coefficient } of p.terms) {
      const definition = this.facts.definitionOf(monomial);
      if (definition?.kind !== "call" || coefficient !== 1) continue;
      const rowOfElement = rowFunction(this.model, definition.name, definition.args[0] ?? ZERO);
      if (!rowOfElement) continue;
      const name = atomOf(rowOfElement.row);
      if (name === undefined || this.#termOfAtom(name)) continue;
      this.#assign(name, call(rowOfElement.name, target));
      return true;
    }
    return false;
  }

  /** Splits `R * high + low` with `0 <= low < R`: the quotient by R is `high`, the remainder is `low`. */
  #splitDigits(candidates: readonly PolynomialEquation[], digits: readonly Digit[]): boolean {
    const radixes = new Map(
      digits
        .filter(({ radix, coefficient: by }) => radix !== UNIT || magnitude(by) !== 1)
        .toSorted(
          (x, y) => x.radix.degree - y.radix.degree || (magnitude(x.coefficient) < magnitude(y.coefficient) ? -1 : 1),
        )
        .map((digit) => [`${magnitude(digit.coefficient)} ${digit.radix.id}`, digit]),
    );
    const efforts = ["sums", "products"] as const;
    for (const digit of radixes.values())
      for (const [{ p, target }, effort] of efforts.flatMap((level) =>
        candidates.map((candidate) => [candidate, level] as const),
      )) {
        const division = provesDigits(this.facts, p, single(digit.radix, magnitude(digit.coefficient)), effort);
        if (!division) continue;
        for (const digitEquation of [
          { p: division.rest, target: remainder(target, digit.weight, true) },
          { p: division.quotient, target: quotient(target, digit.weight, true) },
        ])
          if (!this.#step(digitEquation)) this.#stuck.push(digitEquation);
        return true;
      }
    return false;
  }

  #digitOf({ monomial, coefficient }: PolynomialTerm): Digit | undefined {
    const [unsolved, ...more] = monomial.atoms.filter((name) => !this.#termOfAtom(name));
    if (unsolved === undefined || more.length > 0) return undefined;
    const radix = divideMonomial(monomial, monomialOf([unsolved]));
    const weight = radix && this.#termOf(single(radix, magnitude(coefficient)));
    return weight && { unsolved, radix, coefficient, weight };
  }

  /** The solved part of a polynomial as terms, and the unsolved part. */
  #splitSolved(p: Polynomial): readonly [readonly Term[], Polynomial] {
    const [solved, unsolved]: [Term[], PolynomialTerm[]] = [[], []];
    for (const term of p.terms) {
      const solvedTerm = this.#termOfProduct(term);
      if (solvedTerm) solved.push(solvedTerm);
      else unsolved.push(term);
    }
    return [solved, new Polynomial(unsolved)];
  }

  // ---- atoms as terms -------------------------------------------------------------------------------------------------

  #termOf(p: Polynomial, visiting: ReadonlySet<string> = new Set()): Term | undefined {
    const terms: Term[] = [];
    for (const each of p.terms) {
      const term = this.#termOfProduct(each, visiting);
      if (!term) return undefined;
      terms.push(term);
    }
    return sum(...terms);
  }

  #termOfProduct({ monomial, coefficient }: PolynomialTerm, visiting?: ReadonlySet<string>): Term | undefined {
    const factors = monomial.atoms.map((name) => this.#termOfAtom(name, visiting));
    return factors.every((factor) => factor !== undefined) ? product(number(coefficient), ...factors) : undefined;
  }

  /** The term of a solved atom: a symbol of the launch, or a value that is computed from solved atoms. */
  #termOfAtom(name: string, visiting: ReadonlySet<string> = new Set()): Term | undefined {
    const solved = this.#solved.get(name);
    if (solved || this.variables.has(name) || visiting.has(name)) return solved;
    const definition = this.facts.definitions.get(name);
    if (!definition) return symbol(name);
    const nextVisiting = new Set(visiting).add(name);
    const termOf = (p: Polynomial) => this.#termOf(p, nextVisiting);
    switch (definition.kind) {
      case "division": {
        const [x, y] = [termOf(definition.dividend), termOf(definition.divisor)];
        if (!x || !y || !isDefinedHere(this.facts, definition)) return undefined;
        return name === definition.quotient ? quotient(x, y) : remainder(x, y);
      }
      case "extreme": {
        const [x, y] = [termOf(definition.x), termOf(definition.y)];
        return x && y && (definition.of === "least" ? minTerm(x, y) : maxTerm(x, y));
      }
      case "call": {
        const args = definition.args.map(termOf);
        return args.every((arg) => arg !== undefined) ? call(definition.name, ...args) : undefined;
      }
      case "choice":
        return undefined;
      default:
        return definition satisfies never;
    }
  }

  // ---- quotients and remainders ---------------------------------------------------------------------------------------

  /** Combines `q = x // b` and `r = x % b` into `x = b * q + r`. */
  #combineDigits(): boolean {
    for (const [name, definition] of this.facts.definitions) {
      if (definition.kind !== "division" || definition.quotient !== name || this.#combined.has(name)) continue;
      const [high, low] = [this.#solved.get(definition.quotient), this.#solved.get(definition.remainder)];
      if (!high || !low || !isDefinedHere(this.facts, definition)) continue;
      const divisor = this.#termOf(definition.divisor);
      if (!divisor) continue;
      this.#combined.add(name);
      this.#pending.push({ p: definition.dividend, target: sum(product(divisor, high), low) });
      return true;
    }
    return false;
  }

  /** Solves `(x // b) // c` by `x // (b * c)`. */
  #combineQuotients(): boolean {
    const quotients = [...this.facts.definitions].flatMap(([name, definition]) =>
      definition.kind === "division" && definition.quotient === name && isDefinedHere(this.facts, definition)
        ? [definition]
        : [],
    );
    for (const outer of quotients) {
      if (this.#solved.has(outer.quotient)) continue;
      const innerName = atomOf(outer.dividend);
      const inner = quotients.find(({ quotient: name }) => name === innerName);
      if (!inner) continue;
      const divisor = multiply(inner.divisor, outer.divisor);
      for (const same of quotients) {
        const solved = this.#solved.get(same.quotient);
        if (!solved || !isEqual(same.dividend, inner.dividend) || !isEqual(same.divisor, divisor)) continue;
        this.#assign(outer.quotient, solved);
        return true;
      }
    }
    return false;
  }

  /** If an index depends on only one half of a division, the other half is arbitrary, so 0 is chosen. */
  #chooseDigit(): boolean {
    for (const [name, definition] of this.facts.definitions) {
      if (definition.kind !== "division" || definition.quotient !== name || this.#combined.has(name)) continue;
      const [high, low] = [this.#solved.has(definition.quotient), this.#solved.has(definition.remainder)];
      if (
        high === low ||
        !isDefinedHere(this.facts, definition) ||
        this.#termOf(definition.dividend) ||
        !this.#termOf(definition.divisor)
      )
        continue;
      this.#assign(high ? definition.remainder : definition.quotient, number(0));
      return true;
    }
    return false;
  }

  /** If a sum has too many unknowns, the first program is chosen, which is as good as any other. */
  #chooseFirst(): boolean {
    const atoms = new Set(this.#stuck.flatMap(({ p }) => p.atoms));
    const [name] = [...this.variables].filter((candidate) => atoms.has(candidate) && !this.#solved.has(candidate));
    if (name === undefined) return false;
    this.#assign(name, number(0));
    return true;
  }
}

/** The atom that a polynomial consists of, or undefined. */
function atomOf(p: Polynomial): string | undefined {
  const monomial = asMonomial(p);
  return monomial && asAtom(monomial);
}
