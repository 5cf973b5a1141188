/**
 * Where an element is reached from: programs, turns and lanes as terms of the element's index. They are read off an
 * access's index as digits are: of `p * BLOCK + lane` with `lane < BLOCK` the program is the quotient by BLOCK, the lane the
 * remainder. What is found is a suggestion. Whoever uses it has to check it.
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
import { type ProofEffort, provesNonNegative } from "../algebra/non-negativity.js";
import { polynomialOf } from "../algebra/interpret.js";
import { type Definition, isDefinedHere, type FactSet } from "../algebra/facts.js";
import type { SymbolicModel } from "./model.js";
import { rowFunction } from "./partitions.js";
import { type Integer, magnitude } from "../algebra/exact-integer.js";
import { type Monomial, monomialOf, UNIT, without } from "../algebra/monomial.js";
import {
  add,
  constantOf,
  type Division,
  divisions,
  isEqual,
  multiply,
  ONE,
  opposite,
  partOf,
  type Polynomial,
  single,
  subtract,
  ZERO,
} from "../algebra/polynomial.js";

/** An index, and what it is for the element in question. */
export interface Equation {
  readonly index: Term;
  readonly is: Term;
}

/** The terms of those variables that the equations determine. */
export function invert(
  model: Pick<SymbolicModel, "ir">,
  known: FactSet,
  variables: readonly string[],
  equations: readonly Equation[],
): ReadonlyMap<string, Term> {
  const inversion = new Inversion(model, known, new Set(variables));
  return inversion.solve(equations.map(({ index, is }) => ({ p: polynomialOf(known, index), is })));
}

/** A polynomial of atoms, and a term that it equals. */
interface Open {
  readonly p: Polynomial;
  readonly is: Term;
}

/** A term of a sum with one unsolved atom, as that atom times what is known. */
interface Digit {
  readonly unsolved: string;
  readonly radix: Monomial;
  readonly by: Integer;
}

type Quotient = Extract<Definition, { readonly kind: "division" }>;

const ROUNDS = 40;

class Inversion {
  readonly #solved = new Map<string, Term>();
  #open: Open[] = [];
  #stuck: Open[] = [];
  readonly #joined = new Set<string>();

  constructor(
    readonly model: Pick<SymbolicModel, "ir">,
    readonly known: FactSet,
    readonly variables: ReadonlySet<string>,
  ) {}

  solve(equations: readonly Open[]): ReadonlyMap<string, Term> {
    this.#open = [...equations];
    for (let round = 0; round < ROUNDS; round++) {
      for (let each = this.#open.shift(); each; each = this.#open.shift())
        if (!this.#step(each)) this.#stuck.push(each);
      if (!this.#joinDigits() && !this.#joinQuotients() && !this.#chooseDigit() && !this.#chooseFirst()) break;
    }
    return new Map([...this.#solved].filter(([name]) => this.variables.has(name)));
  }

  #assign(name: string, term: Term): void {
    if (this.#solved.has(name)) return;
    this.#solved.set(name, term);
    this.#open.push(...this.#stuck);
    this.#stuck = [];
  }

  /** Solves an equation for an atom, or takes it apart into digits; false if it has to wait for others. */
  #step({ p, is }: Open): boolean {
    const [given, rest] = this.#parted(p);
    if (rest.size === 0) return true;
    const left = given.size > 0 ? difference(is, this.#termOf(given)!) : is;
    if (this.#stepRow(rest, left)) return this.#step({ p, is });
    const digits = [...rest].map(([monomial, by]) => this.#digitOf(monomial, by));
    if (digits.includes(undefined)) return false;
    const [first, ...more] = digits as Digit[];
    const positive = first!.by < 0 ? negative(left) : left;
    if (more.length > 0 || first!.radix !== UNIT || magnitude(first!.by) !== 1) {
      // What is known stays beside the digits where it can: the element is not negative, what is left of it may be.
      const ways = [
        ...(given.size > 0 ? [{ p, is }] : []),
        { p: rest, is: left },
        { p: opposite(rest), is: negative(left) },
      ];
      if (this.#splitDigits(ways, digits as Digit[])) return true;
      if (more.length > 0) return false;
    }
    this.#assign(first!.unsolved, quotient(positive, this.#radixTerm(first!)));
    return true;
  }

  /** Of where a row starts plus what comes behind, with offsets or ends that partition the elements: the row is the element's. */
  #stepRow(p: Polynomial, is: Term): boolean {
    for (const [monomial, by] of p) {
      const definition = this.known.definitionOf(monomial);
      if (definition?.kind !== "call" || by !== 1) continue;
      const found = rowFunction(this.model, definition.name, definition.given[0] ?? ZERO);
      const name = found && atomOf(found.row);
      if (name === undefined || this.#termOfAtom(name)) continue;
      this.#assign(name, call(found!.name, is));
      return true;
    }
    return false;
  }

  /** `R * high + low` with `0 <= low < R`: what is above is the quotient by R, what is below the remainder. */
  #splitDigits(ways: readonly Open[], digits: readonly Digit[]): boolean {
    const radixes = new Map(
      digits
        .filter(({ radix, by }) => radix !== UNIT || magnitude(by) !== 1)
        .toSorted((x, y) => x.radix.degree - y.radix.degree || (magnitude(x.by) < magnitude(y.by) ? -1 : 1))
        .map((digit) => [`${magnitude(digit.by)} ${digit.radix.id}`, digit]),
    );
    const efforts = ["sums", "products"] as const;
    for (const digit of radixes.values())
      for (const [{ p, is }, effort] of efforts.flatMap((each) => ways.map((way) => [way, each] as const))) {
        const found = this.#digitsOf(p, single(digit.radix, magnitude(digit.by)), effort);
        if (!found) continue;
        const by = this.#radixTerm(digit);
        for (const part of [
          { p: found.rest, is: remainder(is, by, true) },
          { p: found.quotient, is: quotient(is, by, true) },
        ])
          if (!this.#step(part)) this.#stuck.push(part);
        return true;
      }
    return false;
  }

  /** `p = radix * quotient + rest` with a rest from 0 to below the radix. */
  #digitsOf(p: Polynomial, radix: Polynomial, effort: ProofEffort): Division | undefined {
    const [divided] = divisions(p, radix);
    if (!divided || divided.quotient.size === 0) return undefined;
    const { quotient: high, rest: low } = divided;
    const isDigit = (each: Polynomial): boolean =>
      provesNonNegative(this.known, each, effort) &&
      provesNonNegative(this.known, subtract(subtract(radix, ONE), each), effort);
    if (isDigit(low)) return divided;
    // Lanes that count down from the end of a block: `-1 - lane`.
    const lifted = add(low, radix);
    return constantOf(low) < 0 && isDigit(lifted) ? { quotient: subtract(high, ONE), rest: lifted } : undefined;
  }

  #digitOf(monomial: Monomial, by: Integer): Digit | undefined {
    const [unsolved, ...more] = monomial.atoms.filter((name) => !this.#termOfAtom(name));
    if (unsolved === undefined || more.length > 0) return undefined;
    return { unsolved, radix: without(monomial, monomialOf([unsolved]))!, by };
  }

  #radixTerm({ radix, by }: Digit): Term {
    return this.#termOf(single(radix, magnitude(by)))!;
  }

  /** The part of a polynomial that is solved, and the rest. */
  #parted(p: Polynomial): readonly [Polynomial, Polynomial] {
    const isSolved = ({ atoms }: Monomial): boolean => atoms.every((name) => this.#termOfAtom(name));
    return [partOf(p, isSolved), partOf(p, (monomial) => !isSolved(monomial))];
  }

  // ---- atoms as terms -------------------------------------------------------------------------------------------------

  #termOf(p: Polynomial, inside: ReadonlySet<string> = new Set()): Term | undefined {
    const terms: Term[] = [];
    for (const [monomial, by] of p) {
      const factors = monomial.atoms.map((name) => this.#termOfAtom(name, inside));
      if (factors.includes(undefined)) return undefined;
      terms.push(product(number(by), ...(factors as Term[])));
    }
    return sum(...terms);
  }

  /** An atom of what is solved: a symbol of the launch, or what is computed from such. */
  #termOfAtom(name: string, inside: ReadonlySet<string> = new Set()): Term | undefined {
    const solved = this.#solved.get(name);
    if (solved || this.variables.has(name) || inside.has(name)) return solved;
    const definition = this.known.definitions.get(name);
    if (!definition) return symbol(name);
    const within = new Set(inside).add(name);
    const of = (p: Polynomial) => this.#termOf(p, within);
    switch (definition.kind) {
      case "division": {
        const [x, y] = [of(definition.dividend), of(definition.divisor)];
        if (!x || !y || !isDefinedHere(this.known, definition)) return undefined;
        return name === definition.quotient ? quotient(x, y) : remainder(x, y);
      }
      case "extreme": {
        const [x, y] = [of(definition.x), of(definition.y)];
        return x && y && (definition.of === "least" ? minTerm(x, y) : maxTerm(x, y));
      }
      case "call": {
        const given = definition.given.map(of);
        return given.includes(undefined) ? undefined : call(definition.name, ...(given as Term[]));
      }
      default:
        return undefined;
    }
  }

  // ---- quotients and remainders ---------------------------------------------------------------------------------------

  /** Of `q = x // b` and `r = x % b` follows `x = b * q + r`. */
  #joinDigits(): boolean {
    for (const [name, each] of this.known.definitions) {
      if (each.kind !== "division" || each.quotient !== name || this.#joined.has(name)) continue;
      const [high, low] = [this.#solved.get(each.quotient), this.#solved.get(each.remainder)];
      if (!high || !low || !isDefinedHere(this.known, each)) continue;
      const by = this.#termOf(each.divisor);
      if (!by) continue;
      this.#joined.add(name);
      this.#open.push({ p: each.dividend, is: sum(product(by, high), low) });
      return true;
    }
    return false;
  }

  /** `(x // b) // c` is `x // (b * c)`. */
  #joinQuotients(): boolean {
    const divisions = [...this.known.definitions].filter(
      (entry): entry is [string, Quotient] => entry[1].kind === "division" && entry[1].quotient === entry[0],
    );
    for (const [name, outer] of divisions) {
      if (this.#solved.has(name) || !isDefinedHere(this.known, outer)) continue;
      const inner = divisions.find(
        ([each, of]) =>
          outer.dividend.size === 1 && outer.dividend.of(monomialOf([each])) === 1 && isDefinedHere(this.known, of),
      );
      if (!inner) continue;
      const { dividend } = inner[1];
      const divisor = multiply(inner[1].divisor, outer.divisor);
      const same = divisions.find(
        ([each, of]) =>
          this.#solved.has(each) &&
          isDefinedHere(this.known, of) &&
          isEqual(of.dividend, dividend) &&
          isEqual(of.divisor, divisor),
      );
      if (!same) continue;
      this.#assign(name, this.#solved.get(same[0])!);
      return true;
    }
    return false;
  }

  /** Where an index has only one half of a division, any other half will do: 0 is as good as any. */
  #chooseDigit(): boolean {
    for (const [name, each] of this.known.definitions) {
      if (each.kind !== "division" || each.quotient !== name || this.#joined.has(name)) continue;
      const [high, low] = [this.#solved.has(each.quotient), this.#solved.has(each.remainder)];
      if (
        high === low ||
        !isDefinedHere(this.known, each) ||
        this.#termOf(each.dividend) ||
        !this.#termOf(each.divisor)
      )
        continue;
      this.#assign(high ? each.remainder : each.quotient, number(0));
      return true;
    }
    return false;
  }

  /** Where a sum has too many unknowns, the first program will do as well as others. */
  #chooseFirst(): boolean {
    const atoms = new Set(this.#stuck.flatMap(({ p }) => p.atoms));
    const [name] = [...this.variables].filter((each) => atoms.has(each) && !this.#solved.has(each));
    if (name === undefined) return false;
    this.#assign(name, number(0));
    return true;
  }
}

/** The atom that a polynomial is, if it is one. */
function atomOf({ size, monomials, coefficients }: Polynomial): string | undefined {
  const isAtom = size === 1 && coefficients[0] === 1 && monomials[0]!.degree === 1;
  return isAtom ? monomials[0]!.atoms[0] : undefined;
}
