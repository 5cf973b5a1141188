/**
 * Real-valued expressions over the integer terms of sizes, programs and lanes: what a kernel stores, and what its
 * reference gives.
 */
import type { Location } from "../../diagnostics/diagnostic.js";
import { andTerm, atLeast, below, FALSE, number, substitute, symbol, type Term, TRUE } from "../../symbolic/term.js";
import { isOne as isUnitDim, broadcastLane, broadcastShape } from "../model/symbolic-environment.js";
import {
  HALF,
  inverse,
  MINUS_ONE,
  ONE,
  opposite,
  type Rational,
  rational,
  rationalOf,
  NoRule,
  noRule,
} from "./rational.js";
import { isInt, members } from "../../types/dtype.js";
import type { Type } from "../../types/types.js";
import type { OpStatement } from "../../ir/nodes.js";

/** Functions without a rule that expands them. */
export type FunctionName =
  | "exp"
  | "log"
  | "maximum"
  | "minimum"
  | "abs"
  | "erf"
  | "sin"
  | "cos"
  | "asin"
  | "sigmoid"
  | "tanh"
  | "floor"
  | "ceil";

export type FoldKind = "sum" | "maximum";

type Shape =
  /** A number with the constant factor that it stands for. */
  | { readonly kind: "number"; readonly value: Rational }
  | { readonly kind: "constant"; readonly name: ConstantName }
  | { readonly kind: "infinite" }
  /** Nothing is known of the value, not even that it is finite. */
  | { readonly kind: "undefined"; readonly why: string }
  | { readonly kind: "integer"; readonly term: Term }
  | { readonly kind: "input"; readonly name: string; readonly index: readonly Term[] }
  /** The value of a loop's variable at the start of an iteration. */
  | { readonly kind: "state"; readonly name: string; readonly index: readonly Term[] }
  | { readonly kind: "add" | "multiply"; readonly operands: readonly Real[] }
  | { readonly kind: "power"; readonly base: Real; readonly exponent: Rational }
  | { readonly kind: "function"; readonly name: FunctionName; readonly operands: readonly Real[] }
  | {
      readonly kind: "fold";
      readonly fold: FoldKind;
      readonly variable: string;
      readonly domain: Term;
      readonly body: Real;
    }
  | { readonly kind: "choice"; readonly condition: Term; readonly then: Real; readonly otherwise: Real }
  /** `x > y`, or `x = y`, decides. */
  | {
      readonly kind: "comparison";
      readonly operator: "greater" | "equal";
      readonly x: Real;
      readonly y: Real;
      readonly then: Real;
      readonly otherwise: Real;
    };

export type ConstantName = "ln 2" | "ln 10" | "π";

interface Origin {
  /** The author's line that computes it. */
  readonly at?: Location | undefined;
  /**
   * `loop`: the result of a loop in closed form. `reference`: a power of e that the reference's author writes. `scale`:
   * a power of two that an op takes by its exponent.
   */
  readonly origin?: "loop" | "reference" | "scale";
}

export type Real = Shape & Origin;

export const real = (value: Rational): Real => ({ kind: "number", value });
export const zero = real(rational(0n));
export const one = real(ONE);
/** Minus infinity, the maximum of nothing. */
export const INFINITE: Real = { kind: "infinite" };
export const undefinedReal = (why: string): Real => ({ kind: "undefined", why });
export const integer = (term: Term): Real =>
  term.kind === "number" ? real(rational(term.value)) : { kind: "integer", term };
export const input = (name: string, index: readonly Term[]): Real => ({ kind: "input", name, index });
export const add = (...operands: readonly Real[]): Real => ({ kind: "add", operands });
export const multiply = (...operands: readonly Real[]): Real => ({ kind: "multiply", operands });

/** The operands of infinity, of which only the negation has a rule. */
const OF_INFINITY = [real(MINUS_ONE), INFINITE];
const isInfinity = (x: Real): boolean => x.kind === "multiply" && x.operands === OF_INFINITY;

export function negate(x: Real): Real {
  if (isInfinity(x)) return INFINITE;
  if (x.kind === "choice" && (isInfinity(x.then) || isInfinity(x.otherwise)))
    return choose(x.condition, negate(x.then), negate(x.otherwise));
  return multiply(real(MINUS_ONE), x);
}

export const subtract = (x: Real, y: Real): Real => add(x, negate(y));
export const power = (base: Real, exponent: Rational): Real => ({ kind: "power", base, exponent });
export const squareRoot = (x: Real): Real => power(x, HALF);
export const inverseRoot = (x: Real): Real => power(x, opposite(HALF));
export const square = (x: Real): Real => power(x, rational(2n));
export const divide = (x: Real, y: Real): Real => multiply(x, power(y, MINUS_ONE));
export const reciprocal = (x: Real): Real => power(x, MINUS_ONE);
export const apply = (name: FunctionName, ...operands: readonly Real[]): Real => ({ kind: "function", name, operands });
export const constant = (name: ConstantName): Real => ({ kind: "constant", name });

export function choose(condition: Term, then: Real, otherwise: Real): Real {
  if (condition === TRUE || then === otherwise) return then;
  return condition === FALSE ? otherwise : { kind: "choice", condition, then, otherwise };
}

let variableCount = 0;

/** A name for a variable that no other term has. */
export const freshName = (prefix: string): string => `${prefix}~${variableCount++}`;

/** A fold over all lanes of these dimensions. */
export function fold(kind: FoldKind, dims: readonly Term[], body: (lane: readonly Term[]) => Real): Real {
  const lane = dims.map((dim) => (isUnitDim(dim) ? number(0) : symbol(freshName("k"))));
  return dims.reduceRight<Real>((inner, dim, axis) => {
    const variable = lane[axis];
    if (variable?.kind !== "symbol") return inner;
    const domain = andTerm(atLeast(variable, number(0)), below(variable, dim));
    return { kind: "fold", fold: kind, variable: variable.name, domain, body: inner };
  }, body(lane));
}

const scaled = (factor: Rational, x: Real): Real => multiply(real(factor), x);
const SQRT_2 = squareRoot(real(rational(2n)));
const ROOT_OF_PI = squareRoot(constant("π"));

/** Irrational numbers that authors write as literals, each with its exact value. */
export const KNOWN_CONSTANTS: readonly { readonly value: number; readonly exact: Real }[] = [
  { value: Math.LN2, exact: constant("ln 2") },
  { value: Math.LOG2E, exact: reciprocal(constant("ln 2")) },
  { value: Math.LN10, exact: constant("ln 10") },
  { value: Math.LOG10E, exact: reciprocal(constant("ln 10")) },
  { value: Math.PI, exact: constant("π") },
  { value: 1 / Math.PI, exact: reciprocal(constant("π")) },
  { value: Math.SQRT2, exact: SQRT_2 },
  { value: Math.SQRT1_2, exact: reciprocal(SQRT_2) },
  { value: Math.sqrt(2 / Math.PI), exact: divide(SQRT_2, ROOT_OF_PI) },
  { value: 2 / Math.sqrt(Math.PI), exact: divide(real(rational(2n)), ROOT_OF_PI) },
  { value: 1 / Math.sqrt(2 * Math.PI), exact: reciprocal(multiply(SQRT_2, ROOT_OF_PI)) },
];

const SCALES = [1n, -1n, 2n, -2n, 4n, -4n].flatMap((scale) => [rational(scale), inverse(rational(scale))]);

/**
 * The number that a literal stands for. A literal that rounds to the same float32 as a known irrational number is that
 * number: kernels compute with the float32.
 */
function literalReal(value: number, toRational: (value: number) => Rational): Real {
  if (value === -Infinity) return INFINITE;
  if (value === Infinity) return { kind: "multiply", operands: OF_INFINITY };
  if (!Number.isFinite(value)) return undefinedReal("a literal that is not finite");
  if (!Number.isInteger(value))
    for (const known of KNOWN_CONSTANTS)
      for (const scale of SCALES) {
        const scaledValue = (known.value * Number(scale.numerator)) / Number(scale.denominator);
        if (Math.fround(scaledValue) === Math.fround(value)) return scaled(scale, known.exact);
      }
  return real(toRational(value));
}

/** The expression with each part changed by one of these functions, operands first. */
export interface RealChange {
  readonly term: (term: Term) => Term;
  readonly input?: (name: string, index: readonly Term[]) => Real | undefined;
  readonly state?: (name: string, index: readonly Term[]) => Real | undefined;
}

export function changeReal(x: Real, change: RealChange, cache = new Map<Real, Real>()): Real {
  const cached = cache.get(x);
  if (cached) return cached;
  const result = changeParts(x, change, (part) => changeReal(part, change, cache));
  cache.set(x, result);
  return result;
}

function changeParts(x: Real, { term, input: inputOf, state: stateOf }: RealChange, inner: (part: Real) => Real): Real {
  switch (x.kind) {
    case "number":
    case "constant":
    case "infinite":
    case "undefined":
      return x;
    case "integer":
      return integer(term(x.term));
    case "input": {
      const index = x.index.map(term);
      return inputOf?.(x.name, index) ?? { ...x, index };
    }
    case "state":
      return stateOf?.(x.name, x.index) ?? { ...x, index: x.index.map(term) };
    case "add":
    case "multiply":
    case "function":
      return { ...x, operands: x.operands.map(inner) };
    case "power":
      return { ...x, base: inner(x.base) };
    case "fold":
      return { ...x, domain: term(x.domain), body: inner(x.body) };
    case "choice":
      return choose(term(x.condition), inner(x.then), inner(x.otherwise));
    case "comparison":
      return { ...x, x: inner(x.x), y: inner(x.y), then: inner(x.then), otherwise: inner(x.otherwise) };
    default:
      return x satisfies never;
  }
}

/** The expression with symbols of its integer terms replaced. */
export function substituteReal(x: Real, replacements: ReadonlyMap<string, Term>): Real {
  const cache = new Map<Term, Term>();
  return changeReal(x, { term: (term) => substitute(term, replacements, cache) });
}

/** The expressions that an expression consists of. */
export function partsOfReal(x: Real): readonly Real[] {
  switch (x.kind) {
    case "add":
    case "multiply":
    case "function":
      return x.operands;
    case "power":
      return [x.base];
    case "fold":
      return [x.body];
    case "choice":
      return [x.then, x.otherwise];
    case "comparison":
      return [x.x, x.y, x.then, x.otherwise];
    case "number":
    case "constant":
    case "infinite":
    case "undefined":
    case "integer":
    case "input":
    case "state":
      return [];
    default:
      return x satisfies never;
  }
}

// Tiles of real values: an expression for each lane.

/** A tile of real values, or a scalar. */
export interface RealTile {
  readonly shape: readonly Term[];
  at(lane: readonly Term[]): Real;
  /** The largest absolute value of integers that are shown not to wrap. */
  readonly largest?: Term | undefined;
}

/** One of two values in each lane, by a condition. */
export interface TruthTile {
  readonly shape: readonly Term[];
  pick(lane: readonly Term[], then: Real, otherwise: Real): Real;
}

export const at = (tile: RealTile, lane: readonly Term[]): Real => tile.at(broadcastLane(tile.shape, lane));

/** A tile that computes each lane once. */
export function tileOf(shape: readonly Term[], laneAt: (lane: readonly Term[]) => Real): RealTile {
  const lanes = new Map<string, Real>();
  return {
    shape,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let value = lanes.get(key);
      if (value === undefined) lanes.set(key, (value = laneAt(lane)));
      return value;
    },
  };
}

export const lanewise = (tiles: readonly RealTile[], compute: (...values: readonly Real[]) => Real): RealTile =>
  tileOf(broadcastShape(...tiles.map(({ shape }) => shape)), (lane) => compute(...tiles.map((tile) => at(tile, lane))));

export const scalarTile = (value: Real): RealTile => ({ shape: [], at: () => value });
/** A tile whose use has no rule. */
export const unknownTile = (why: string): RealTile => ({ shape: [], at: () => noRule(why) });

export const isIntegerType = (type: Type): boolean => type.kind === "tile" && members(type.dtype).every(isInt);

export function literalOf(value: number | bigint | boolean | string): Real {
  if (typeof value === "number") return literalReal(value, rationalOf);
  if (typeof value === "bigint") return real(rational(value));
  return typeof value === "boolean" ? real(rational(Number(value))) : noRule("a text");
}

/** The tile of a rule, or a tile whose use is unknown. */
export function attempt(compute: () => RealTile): RealTile {
  try {
    return compute();
  } catch (error) {
    if (error instanceof NoRule) return unknownTile(error.message);
    throw error;
  }
}

/** A tile whose values know the author's line. */
export function located({ location }: OpStatement, tile: RealTile): RealTile {
  if (!location) return tile;
  const { at } = tileOf(tile.shape, (lane) => {
    const value = tile.at(lane);
    return value.at ? value : { ...value, at: location };
  });
  return { ...tile, at };
}
