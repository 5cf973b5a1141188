/**
 * Terms: integer and boolean expressions over symbols for sizes, constexprs, program ids, loop iterations and lanes.
 * Integers are mathematical and never wrap. Terms are interned, so equal terms are one object.
 */

export type TermKind = Term["kind"];
/**
 * `quotient` and `remainder` truncate as kernels do. `floorQuotient` and `floorRemainder` floor as Python does. `least`
 * and `greatest` are the minimum and the maximum of two, `choice` is if-then-else, and `call` is an uninterpreted
 * function, such as a tensor's element at an index. `atMost` is `x <= y`.
 */
type Shape =
  | { readonly kind: "number" | "symbol" | "true" | "false"; readonly operands: readonly [] }
  | { readonly kind: "not"; readonly operands: readonly [Term] }
  | { readonly kind: BinaryKind; readonly operands: readonly [Term, Term] }
  | { readonly kind: "choice"; readonly operands: readonly [condition: Term, x: Term, y: Term] }
  | { readonly kind: "sum" | "product" | "all" | "some"; readonly operands: readonly [Term, ...Term[]] }
  | { readonly kind: "call"; readonly operands: readonly Term[] };
type BinaryKind =
  "quotient" | "remainder" | "floorQuotient" | "floorRemainder" | "least" | "greatest" | "atMost" | "equal";

interface Properties {
  /** The name of a symbol or a call. */
  readonly name: string;
  /** The value of a number. */
  readonly value: bigint;
  readonly id: number;
  /**
   * The number of nodes of the term as a tree, in which shared terms count each time. A traversal without memoization
   * takes as many steps.
   */
  readonly nodes: number;
  /** The number of monomials of the expanded term. */
  readonly monomials: number;
  /** The height of the term as a tree. */
  readonly depth: number;
}

export type Term = Shape & Properties;

/**
 * The limits of a term. A larger term becomes an uninterpreted function of its symbols and calls, because terms grow
 * exponentially if values are used twice each.
 */
const MAX_NODES = 20_000;
const MAX_MONOMIALS = { sum: 200, product: 24 };
const MAX_DEPTH = 300;
const LARGE = "large ";

const interned = new Map<string, Term>();
let nextId = 0;

/**
 * Runs a function that creates terms and clears the table afterwards, because a long-running process compiles many
 * kernels.
 */
export function withTermTable<T>(run: () => T): T {
  try {
    return run();
  } finally {
    interned.clear();
  }
}

function intern(shape: Shape, name = "", value = 0n): Term {
  const { kind, operands } = shape;
  const key = `${kind} ${name} ${value} ${operands.map(({ id }) => id).join()}`;
  let term = interned.get(key);
  if (term === undefined)
    // Listed fields make a fast object. A spread of the shape does not.
    interned.set(key, (term = limitSize({ kind, operands, name, value, id: nextId++, ...sizeOf(shape) } as Term)));
  return term;
}

function sizeOf({ kind, operands }: Shape): Pick<Term, "nodes" | "monomials" | "depth"> {
  return {
    nodes: operands.reduce((total, operand) => total + operand.nodes, 1),
    monomials: monomialCount(kind, operands),
    depth: 1 + Math.max(0, ...operands.map((operand) => operand.depth)),
  };
}

function monomialCount(kind: TermKind, operands: readonly Term[]): number {
  if (kind === "sum") return operands.reduce((total, operand) => total + operand.monomials, 0);
  return kind === "product" ? operands.reduce((total, operand) => total * operand.monomials, 1) : 1;
}

/** The term, or an uninterpreted function in place of a term that exceeds the limits. */
function limitSize(term: Term): Term {
  const maxMonomials = term.kind === "product" ? MAX_MONOMIALS.product : MAX_MONOMIALS.sum;
  const isLarge = term.nodes > MAX_NODES || term.monomials > maxMonomials || term.depth > MAX_DEPTH;
  if (!isLarge || (term.kind === "call" && term.name.startsWith(LARGE))) return term;
  // A symbol with its name represents a call, so that the term still shows what it depends on.
  const names = [...termsIn(...term.operands)].flatMap(({ kind, name }) =>
    kind === "symbol" || (kind === "call" && !name.startsWith(LARGE)) ? [name] : [],
  );
  const unknown = call(`${LARGE}${term.id}`, ...[...new Set(names)].map(symbol));
  return TRUTHS.has(term.kind) ? equal(unknown, number(1)) : unknown;
}

const LEAF = { nodes: 1, monomials: 1, depth: 1 };
export const TRUE: Term = { kind: "true", operands: [], name: "", value: 0n, id: nextId++, ...LEAF };
export const FALSE: Term = { kind: "false", operands: [], name: "", value: 0n, id: nextId++, ...LEAF };
const TRUTHS: ReadonlySet<TermKind> = new Set<TermKind>(["true", "false", "atMost", "equal", "all", "some", "not"]);

export const isTruth = ({ kind }: Term): boolean => TRUTHS.has(kind);
export const isNumber = ({ kind }: Term): boolean => kind === "number";

export const number = (value: bigint | number): Term => intern({ kind: "number", operands: [] }, "", BigInt(value));
export const symbol = (name: string): Term => intern({ kind: "symbol", operands: [] }, name);
export const call = (name: string, ...operands: readonly Term[]): Term => intern({ kind: "call", operands }, name);
/**
 * The name of the function that returns the smallest power of two not below its argument, or 0 for a nonpositive
 * argument.
 */
export const NEXT_POWER = "next power of 2";
export const truth = (value: boolean): Term => (value ? TRUE : FALSE);

export function sum(...terms: readonly Term[]): Term {
  let constant = 0n;
  const symbolicTerms: Term[] = [];
  for (const term of terms.flatMap((each): readonly Term[] => (each.kind === "sum" ? each.operands : [each])))
    if (isNumber(term)) constant += term.value;
    else symbolicTerms.push(term);
  if (constant !== 0n) symbolicTerms.push(number(constant));
  const [first = number(constant), ...more] = symbolicTerms;
  return more.length === 0 ? first : intern({ kind: "sum", operands: [first, ...more] });
}

export function product(...terms: readonly Term[]): Term {
  let constant = 1n;
  const factors: Term[] = [];
  for (const term of terms.flatMap((each): readonly Term[] => (each.kind === "product" ? each.operands : [each])))
    if (isNumber(term)) constant *= term.value;
    else factors.push(term);
  if (constant === 0n) return number(0);
  if (constant !== 1n) factors.unshift(number(constant));
  const [first = number(constant), ...more] = factors;
  return more.length === 0 ? first : intern({ kind: "product", operands: [first, ...more] });
}

export const negative = (x: Term): Term => product(number(-1), x);
export const difference = (x: Term, y: Term): Term => sum(x, negative(y));

const isOne = (x: Term) => isNumber(x) && x.value === 1n;
const areNumbers = (x: Term, y: Term) => isNumber(x) && isNumber(y);

/** `x // y`, which truncates toward zero, or rounds down if `floors`. */
export function quotient(x: Term, y: Term, floors = false): Term {
  if (isOne(y)) return x;
  if (areNumbers(x, y) && y.value !== 0n) return number(floors ? floorOf(x.value, y.value) : x.value / y.value);
  return intern({ kind: floors ? "floorQuotient" : "quotient", operands: [x, y] });
}

/** `x % y`, with the sign of the dividend, or of the divisor if `floors`. */
export function remainder(x: Term, y: Term, floors = false): Term {
  if (isOne(y)) return number(0);
  if (areNumbers(x, y) && y.value !== 0n)
    return number(floors ? x.value - y.value * floorOf(x.value, y.value) : x.value % y.value);
  return intern({ kind: floors ? "floorRemainder" : "remainder", operands: [x, y] });
}

function floorOf(x: bigint, y: bigint): bigint {
  const truncated = x / y;
  return truncated * y !== x && x < 0n !== y < 0n ? truncated - 1n : truncated;
}

/** The number of blocks of `y` that cover `x`: `(x + y - 1) // y`. */
export const cdiv = (x: Term, y: Term, floors = false): Term => quotient(sum(x, y, number(-1)), y, floors);

export function minTerm(x: Term, y: Term): Term {
  if (x === y) return x;
  if (areNumbers(x, y)) return x.value < y.value ? x : y;
  return intern({ kind: "least", operands: [x, y] });
}

export function maxTerm(x: Term, y: Term): Term {
  if (x === y) return x;
  if (areNumbers(x, y)) return x.value > y.value ? x : y;
  return intern({ kind: "greatest", operands: [x, y] });
}

/** `x` if the condition is true, else `y`. Two truth values give a truth value. */
export function iteTerm(condition: Term, x: Term, y: Term): Term {
  if (condition === TRUE || x === y) return x;
  if (condition === FALSE) return y;
  if (isTruth(x) || isTruth(y)) return orTerm(andTerm(condition, asTruth(x)), andTerm(not(condition), asTruth(y)));
  return intern({ kind: "choice", operands: [condition, x, y] });
}

export function atMost(x: Term, y: Term): Term {
  if (x === y) return TRUE;
  return areNumbers(x, y) ? truth(x.value <= y.value) : intern({ kind: "atMost", operands: [x, y] });
}

export const atLeast = (x: Term, y: Term): Term => atMost(y, x);
export const below = (x: Term, y: Term): Term => atMost(sum(x, number(1)), y);
export const above = (x: Term, y: Term): Term => below(y, x);

export function equal(x: Term, y: Term): Term {
  if (x === y) return TRUE;
  return areNumbers(x, y) ? FALSE : intern({ kind: "equal", operands: [x, y] });
}

export function andTerm(...terms: readonly Term[]): Term {
  const conjuncts = new Set(terms.flatMap((each) => conditionsOf(each)));
  if (conjuncts.has(FALSE)) return FALSE;
  const [first = TRUE, ...more] = conjuncts;
  return more.length === 0 ? first : intern({ kind: "all", operands: [first, ...more] });
}

/** The conjuncts of a term. */
export function conditionsOf(term: Term): readonly Term[] {
  if (term === TRUE) return [];
  return term.kind === "all" ? term.operands : [term];
}

export function orTerm(...terms: readonly Term[]): Term {
  const disjuncts = new Set(terms.flatMap((each): readonly Term[] => (each.kind === "some" ? each.operands : [each])));
  disjuncts.delete(FALSE);
  if (disjuncts.has(TRUE)) return TRUE;
  const [first = FALSE, ...more] = disjuncts;
  return more.length === 0 ? first : intern({ kind: "some", operands: [first, ...more] });
}

export function not(x: Term): Term {
  if (x.kind === "true") return FALSE;
  if (x.kind === "false") return TRUE;
  if (x.kind === "not") return x.operands[0];
  if (x.kind === "atMost") return below(x.operands[1], x.operands[0]);
  if (x.kind === "all") return orTerm(...x.operands.map(not));
  if (x.kind === "some") return andTerm(...x.operands.map(not));
  return intern({ kind: "not", operands: [x] });
}

/** A truth value as 0 or 1. Integers are unchanged. */
export const asInteger = (x: Term): Term => (isTruth(x) ? iteTerm(x, number(1), number(0)) : x);
/** An integer as its test for nonzero. Truth values are unchanged. */
export const asTruth = (x: Term): Term => (isTruth(x) ? x : not(equal(x, number(0))));

const binaryTerms: Readonly<Record<BinaryKind, (x: Term, y: Term) => Term>> = {
  quotient: (x, y) => quotient(x, y),
  remainder: (x, y) => remainder(x, y),
  floorQuotient: (x, y) => quotient(x, y, true),
  floorRemainder: (x, y) => remainder(x, y, true),
  least: minTerm,
  greatest: maxTerm,
  atMost,
  equal,
};
const naryTerms = { sum, product, all: andTerm, some: orTerm } as const;

/** The term with changed operands. */
export function mapOperands(term: Term, change: (operand: Term) => Term): Term {
  switch (term.kind) {
    case "number":
    case "symbol":
    case "true":
    case "false":
      return term;
    case "not": {
      const [x] = term.operands;
      const changed = change(x);
      return changed === x ? term : not(changed);
    }
    case "choice": {
      const [condition, x, y] = term.operands;
      const [newCondition, newX, newY] = [change(condition), change(x), change(y)];
      return newCondition === condition && newX === x && newY === y ? term : iteTerm(newCondition, newX, newY);
    }
    case "sum":
    case "product":
    case "all":
    case "some":
    case "call": {
      const operands = term.operands.map(change);
      if (operands.every((operand, i) => operand === term.operands[i])) return term;
      return term.kind === "call" ? call(term.name, ...operands) : naryTerms[term.kind](...operands);
    }
    case "quotient":
    case "remainder":
    case "floorQuotient":
    case "floorRemainder":
    case "least":
    case "greatest":
    case "atMost":
    case "equal": {
      const [x, y] = term.operands;
      const [newX, newY] = [change(x), change(y)];
      return newX === x && newY === y ? term : binaryTerms[term.kind](newX, newY);
    }
    default:
      return term satisfies never;
  }
}

/** The term with symbols replaced by name. */
export function substitute(term: Term, replacements: ReadonlyMap<string, Term>, cache = new Map<Term, Term>()): Term {
  let result = cache.get(term);
  if (result !== undefined) return result;
  result =
    term.kind === "symbol"
      ? (replacements.get(term.name) ?? term)
      : mapOperands(term, (operand) => substitute(operand, replacements, cache));
  cache.set(term, result);
  return result;
}

/** All subterms, each once, operands first. */
export function termsIn(...terms: readonly Term[]): ReadonlySet<Term> {
  const subterms = new Set<Term>();
  const visit = (term: Term): void => {
    if (subterms.has(term)) return;
    term.operands.forEach(visit);
    subterms.add(term);
  };
  terms.forEach(visit);
  return subterms;
}

/** The names of the symbols in terms. */
export function symbolsIn(...terms: readonly Term[]): ReadonlySet<string> {
  return new Set([...termsIn(...terms)].flatMap(({ kind, name }) => (kind === "symbol" ? [name] : [])));
}

// The integer semantics of ops, and their terms.

/**
 * The integer semantics of an op, for index bounds and proofs. `blocks` is `cdiv`, `least` is the minimum, and `both`
 * is a conjunction.
 */
export type IntegerSemantics =
  | "sum"
  | "difference"
  | "product"
  | "quotient"
  | "remainder"
  | "blocks"
  | "least"
  | "equal"
  | "below"
  | "at most"
  | "above"
  | "at least"
  | "both";

/**
 * `floors` selects Python's rounding of quotients and remainders. `both` has no term, because on integers it operates
 * on bits.
 */
const TERMS: Readonly<Record<Exclude<IntegerSemantics, "both">, (x: Term, y: Term, floors: boolean) => Term>> = {
  sum: (x, y) => sum(x, y),
  difference,
  product: (x, y) => product(x, y),
  quotient,
  remainder,
  blocks: cdiv,
  least: minTerm,
  equal,
  below,
  "at most": atMost,
  above,
  "at least": atLeast,
};

/** The term of a result's lane. Truth values added up give a truth value, which wraps, so they have no term. */
export function termOfMeaning(semantics: Exclude<IntegerSemantics, "both">) {
  const combine = TERMS[semantics];
  return (
    { x, y }: { readonly x: Term; readonly y: Term },
    { isTruth: truth, isFolded }: { readonly isTruth: boolean; readonly isFolded: boolean },
  ): Term | undefined => {
    const result = combine(asInteger(x), asInteger(y), isFolded);
    return truth && !isTruth(result) ? undefined : result;
  };
}
