/** Sums of products of atoms with rational exponents. Equal atoms are one object, so that equal sums have one key. */
import { number, symbolsIn, type Term, not } from "../../symbolic/term.js";
import type { ConstantName, FoldKind } from "./real.js";
import {
  floorOf,
  integerPower,
  isInteger,
  isOne,
  isPositive,
  isZero,
  ONE,
  plus,
  type Rational,
  rational,
  textOf,
  times,
  noRule,
  isNegative,
} from "./rational.js";
import { canonical, mentions } from "./integer-form.js";

/** A sum or a maximum over integer variables in a domain. */
export interface Fold {
  readonly kind: FoldKind;
  readonly variables: readonly string[];
  /** Conditions that hold of the variables, sorted. */
  readonly domain: readonly Term[];
  readonly body: Polynomial;
}

export type AtomFunction =
  "maximum" | "log" | "abs" | "erf" | "sin" | "cos" | "asin" | "floor" | "ceil" | "greater" | "equal";

export type AtomShape =
  | { readonly kind: "input" | "state"; readonly name: string; readonly index: readonly Term[] }
  | { readonly kind: "integer"; readonly term: Term }
  | { readonly kind: "constant"; readonly name: ConstantName }
  /** A number whose root is irrational. */
  | { readonly kind: "base"; readonly value: Rational }
  /** `exp` of one monomial with the coefficient 1. */
  | { readonly kind: "exp"; readonly of: Polynomial }
  /** A sum that is raised to a power. */
  | { readonly kind: "sum"; readonly of: Polynomial }
  | { readonly kind: "function"; readonly name: AtomFunction; readonly operands: readonly Polynomial[] }
  | { readonly kind: "fold"; readonly fold: Fold };

interface AtomProperties {
  readonly id: number;
  /** The symbols that it depends on. */
  readonly symbols: ReadonlySet<string>;
  /** The nesting depth of folds. */
  readonly height: number;
}

export type Atom = AtomShape & AtomProperties;

export interface Factor {
  readonly atom: Atom;
  readonly exponent: Rational;
}

export interface Monomial {
  readonly coefficient: Rational;
  /** By the atom's id. */
  readonly factors: ReadonlyMap<number, Factor>;
  readonly key: string;
}

/** Monomials by their keys. */
export type Polynomial = ReadonlyMap<string, Monomial>;

/** The limit on the number of monomials. */
const MAX_MONOMIALS = 400;

const atoms = new Map<string, Atom>();
const polynomialIds = new Map<string, number>();

/** Runs a function that creates atoms, and clears the table afterwards. */
export function withAtoms<T>(run: () => T): T {
  try {
    return run();
  } finally {
    atoms.clear();
    polynomialIds.clear();
  }
}

// ---- atoms ------------------------------------------------------------------------------------------------------------

const idsOf = (terms: readonly Term[]): string => terms.map(({ id }) => id).join();

function keyOfShape(shape: AtomShape): string {
  switch (shape.kind) {
    case "input":
    case "state":
      return `${shape.kind} ${shape.name} ${idsOf(shape.index)}`;
    case "integer":
      return `integer ${shape.term.id}`;
    case "constant":
      return `constant ${shape.name}`;
    case "base":
      return `base ${textOf(shape.value)}`;
    case "exp":
    case "sum":
      return `${shape.kind} ${polynomialKey(shape.of)}`;
    case "function":
      return `function ${shape.name} ${shape.operands.map(polynomialKey).join(" , ")}`;
    case "fold":
      return foldKey(shape.fold);
    default:
      return shape satisfies never;
  }
}

export const foldKey = ({ kind, variables, domain, body }: Fold): string =>
  `fold ${kind} ${variables.join()} ${idsOf(domain)} ${polynomialKey(body)}`;

/** The polynomials that an atom consists of. */
export function partsOf(shape: AtomShape): readonly Polynomial[] {
  switch (shape.kind) {
    case "input":
    case "state":
    case "integer":
    case "constant":
    case "base":
      return [];
    case "exp":
    case "sum":
      return [shape.of];
    case "function":
      return shape.operands;
    case "fold":
      return [shape.fold.body];
    default:
      return shape satisfies never;
  }
}

/** The integer terms of an atom itself, without those of its parts. */
export function termsOfAtom(shape: AtomShape): readonly Term[] {
  if (shape.kind === "input" || shape.kind === "state") return shape.index;
  if (shape.kind === "integer") return [shape.term];
  return shape.kind === "fold" ? shape.fold.domain : [];
}

export function atomOf(shape: AtomShape): Atom {
  const key = keyOfShape(shape);
  let atom = atoms.get(key);
  if (atom === undefined) atoms.set(key, (atom = { ...shape, ...propertiesOf(shape, atoms.size) }));
  return atom;
}

function propertiesOf(shape: AtomShape, id: number): AtomProperties {
  const parts = partsOf(shape);
  const symbols = new Set([...symbolsIn(...termsOfAtom(shape)), ...parts.flatMap((part) => [...symbolsOf(part)])]);
  if (shape.kind === "fold") for (const variable of shape.fold.variables) symbols.delete(variable);
  const height = Math.max(0, ...parts.map(heightOf)) + (shape.kind === "fold" ? 1 : 0);
  return { id, symbols, height };
}

/** The symbols that a polynomial depends on. */
export const symbolsOf = (p: Polynomial): ReadonlySet<string> =>
  new Set(factorsOf(p).flatMap(({ atom }) => [...atom.symbols]));

export const heightOf = (p: Polynomial): number => Math.max(0, ...factorsOf(p).map(({ atom }) => atom.height));

export const factorsOf = (p: Polynomial): readonly Factor[] =>
  [...p.values()].flatMap(({ factors }) => [...factors.values()]);

/** True if an atom of this kind is in a polynomial, or in a part of one. */
export const hasAtom = (p: Polynomial, kind: Atom["kind"]): boolean =>
  factorsOf(p).some(({ atom }) => atom.kind === kind || partsOf(atom).some((part) => hasAtom(part, kind)));

// ---- monomials --------------------------------------------------------------------------------------------------------

const monomialKey = (factors: readonly Factor[]): string =>
  factors.map(({ atom, exponent }) => `${atom.id}^${textOf(exponent)}`).join("*");

/** True if an atom is 1 or 0, by a condition. */
const isIndicator = (atom: Atom): boolean =>
  atom.kind === "integer" &&
  atom.term.kind === "choice" &&
  atom.term.operands[1] === number(1) &&
  atom.term.operands[2] === number(0);

/** A monomial. Integer powers of rational bases become part of the coefficient. */
export function monomial(coefficient: Rational, factors: Iterable<Factor>): Monomial {
  let factor = coefficient;
  const kept: Factor[] = [];
  for (const { atom, exponent } of factors) {
    if (isZero(exponent)) continue;
    if (atom.kind !== "base") {
      kept.push({ atom, exponent: isIndicator(atom) && isPositive(exponent) ? ONE : exponent });
      continue;
    }
    const whole = floorOf(exponent);
    factor = times(factor, integerPower(atom.value, whole));
    const rest = plus(exponent, rational(-whole));
    if (!isZero(rest)) kept.push({ atom, exponent: rest });
  }
  kept.sort((x, y) => x.atom.id - y.atom.id);
  return { coefficient: factor, factors: new Map(kept.map((each) => [each.atom.id, each])), key: monomialKey(kept) };
}

export function multiplyMonomials(x: Monomial, y: Monomial): Monomial {
  const factors = new Map(x.factors);
  for (const [id, { atom, exponent }] of y.factors) {
    const other = factors.get(id);
    factors.set(id, { atom, exponent: other ? plus(other.exponent, exponent) : exponent });
  }
  return monomial(times(x.coefficient, y.coefficient), factors.values());
}

export const withoutFactor = ({ coefficient, factors }: Monomial, id: number): Monomial =>
  monomial(
    coefficient,
    [...factors.values()].filter(({ atom }) => atom.id !== id),
  );

export const withCoefficient = ({ factors, key }: Monomial, coefficient: Rational): Monomial => ({
  coefficient,
  factors,
  key,
});

/** The only factor of a monomial. */
export function onlyFactor({ factors }: Monomial): Factor | undefined {
  const [factor, ...more] = factors.values();
  return more.length === 0 ? factor : undefined;
}

// ---- polynomials ------------------------------------------------------------------------------------------------------

function sumOfMonomials(monomials: Iterable<Monomial>): Polynomial {
  const total = new Map<string, Monomial>();
  for (const each of monomials) {
    const previous = total.get(each.key);
    const coefficient = previous ? plus(previous.coefficient, each.coefficient) : each.coefficient;
    if (isZero(coefficient)) total.delete(each.key);
    else total.set(each.key, withCoefficient(each, coefficient));
  }
  if (total.size > MAX_MONOMIALS) noRule("too many summands");
  return total;
}

export const polynomialOf = (...monomials: readonly Monomial[]): Polynomial => sumOfMonomials(monomials);
export const NOTHING: Polynomial = new Map();
export const constantPolynomial = (value: Rational): Polynomial => polynomialOf(monomial(value, []));
export const UNIT: Polynomial = constantPolynomial(ONE);
export const atomPolynomial = (atom: Atom, exponent: Rational = ONE): Polynomial =>
  polynomialOf(monomial(ONE, [{ atom, exponent }]));

export const addPolynomials = (...operands: readonly Polynomial[]): Polynomial =>
  sumOfMonomials(operands.flatMap((p) => [...p.values()]));
export const scalePolynomial = (p: Polynomial, factor: Rational): Polynomial =>
  isOne(factor)
    ? p
    : sumOfMonomials([...p.values()].map((each) => withCoefficient(each, times(each.coefficient, factor))));
export const negatePolynomial = (p: Polynomial): Polynomial => scalePolynomial(p, rational(-1n));
export const subtractPolynomials = (x: Polynomial, y: Polynomial): Polynomial => addPolynomials(x, negatePolynomial(y));

export function multiplyPolynomials(x: Polynomial, y: Polynomial): Polynomial {
  if (x.size * y.size > MAX_MONOMIALS) noRule("too many summands");
  const products = [...x.values()].flatMap((a) => [...y.values()].map((b) => multiplyMonomials(a, b)));
  return expandSums(sumOfMonomials(products));
}

/** A sum with a positive integer exponent is multiplied out. */
export function expandSums(p: Polynomial): Polynomial {
  for (const each of p.values())
    for (const { atom, exponent } of each.factors.values()) {
      if (atom.kind !== "sum" || !isInteger(exponent) || !isPositive(exponent)) continue;
      let expanded = polynomialOf(withoutFactor(each, atom.id));
      for (let i = 0n; i < exponent.numerator; i++) expanded = multiplyPolynomials(expanded, atom.of);
      const others = polynomialOf(...[...p.values()].filter((other) => other !== each));
      return expandSums(addPolynomials(others, expanded));
    }
  return p;
}

/** A short key: equal polynomials have one, others do not. */
export function polynomialKey(p: Polynomial): string {
  if (p.size === 0) return "0";
  const text = [...p.values()]
    .map(({ key, coefficient }) => `${textOf(coefficient)} ${key}`)
    .toSorted()
    .join(" + ");
  let id = polynomialIds.get(text);
  if (id === undefined) polynomialIds.set(text, (id = polynomialIds.size + 1));
  return `p${id}`;
}

export const samePolynomial = (x: Polynomial, y: Polynomial): boolean =>
  x === y || (x.size === y.size && polynomialKey(x) === polynomialKey(y));

/** The number that a polynomial is, if it is one. */
export function numberOf(p: Polynomial): Rational | undefined {
  if (p.size === 0) return rational(0n);
  const [only, ...more] = p.values();
  return only && more.length === 0 && only.factors.size === 0 ? only.coefficient : undefined;
}

/** The only monomial of a polynomial. */
export function onlyMonomial(p: Polynomial): Monomial | undefined {
  const [only, ...more] = p.values();
  return more.length === 0 ? only : undefined;
}

/** The atom that a polynomial is, if it is one. */
export function onlyAtom(p: Polynomial): Atom | undefined {
  const only = onlyMonomial(p);
  const factor = only && isOne(only.coefficient) ? onlyFactor(only) : undefined;
  return factor && isOne(factor.exponent) ? factor.atom : undefined;
}

/** The monomial that determines a polynomial's sign. */
export function leadingMonomial(p: Polynomial): Monomial | undefined {
  return [...p.values()].toSorted((x, y) => (x.key < y.key ? -1 : 1))[0];
}

// The cases of a real expression, and what its values rest on.

/** `infinite` is minus infinity. Nothing is known of what is `undefined`. */
export type Value = Polynomial | "infinite" | "undefined";

export interface Case {
  readonly conditions: readonly Term[];
  readonly value: Value;
}

/** What must hold of an atom so that a value is a real number. */
export interface Need {
  readonly atom: Atom;
  readonly kind: "nonzero" | "nonnegative" | "positive";
  /** The conditions under which it is needed. */
  readonly given: readonly Term[];
}

export const valueKey = (value: Value): string => (typeof value === "string" ? value : polynomialKey(value));

/** One case if all have the same value. */
export function merged(cases: readonly Case[]): readonly Case[] {
  const [first, ...more] = cases;
  if (!first || more.length === 0) return cases;
  const key = valueKey(first.value);
  return more.every(({ value }) => valueKey(value) === key) ? [{ conditions: [], value: first.value }] : cases;
}

/** The conditions of cases that do not mention the variable, without their negations. */
export function outerConditions(cases: readonly Case[], variable: string): readonly Term[] {
  const free: Term[] = [];
  for (const each of cases.flatMap(({ conditions }) => conditions))
    if (!mentions(each, variable) && !free.includes(each) && !free.includes(canonical(not(each)))) free.push(each);
  return free;
}

/** What a factor of a power needs to be a real number. */
export function needOf({ exponent }: Factor): Need["kind"] | undefined {
  if (!isInteger(exponent)) return isPositive(exponent) ? "nonnegative" : "positive";
  return isNegative(exponent) ? "nonzero" : undefined;
}
