/**
 * Terms: integer and boolean expressions over symbols for sizes, constexprs, program ids, loop iterations and lanes.
 * Integers are mathematical and never wrap. Terms are interned, so equal terms are one object.
 */

export type TermKind = IntegerKind | TruthKind;
/**
 * `quotient` and `remainder` truncate as kernels do. `floorQuotient` and `floorRemainder` floor as Python does. `least`
 * and `greatest` are the minimum and the maximum of two, `choice` is if-then-else, and `call` is an uninterpreted
 * function, such as a tensor's element at an index.
 */
export type IntegerKind =
  | "number"
  | "symbol"
  | "sum"
  | "product"
  | "quotient"
  | "remainder"
  | "floorQuotient"
  | "floorRemainder"
  | "least"
  | "greatest"
  | "choice"
  | "call";
/** `atMost` is `x <= y`. */
export type TruthKind = "true" | "false" | "atMost" | "equal" | "all" | "some" | "not";

export interface Term {
  readonly kind: TermKind;
  readonly operands: readonly Term[];
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

function intern(kind: TermKind, operands: readonly Term[], name = "", value = 0n): Term {
  const key = `${kind} ${name} ${value} ${operands.map(({ id }) => id).join()}`;
  let term = interned.get(key);
  if (term === undefined)
    interned.set(key, (term = limitSize({ kind, operands, name, value, id: nextId++, ...sizeOf(kind, operands) })));
  return term;
}

function sizeOf(kind: TermKind, operands: readonly Term[]): Pick<Term, "nodes" | "monomials" | "depth"> {
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

export const number = (value: bigint | number): Term => intern("number", [], "", BigInt(value));
export const symbol = (name: string): Term => intern("symbol", [], name);
export const call = (name: string, ...operands: readonly Term[]): Term => intern("call", operands, name);
/**
 * The name of the function that returns the smallest power of two not below its argument, or 0 for a nonpositive
 * argument.
 */
export const NEXT_POWER = "next power of 2";
export const truth = (value: boolean): Term => (value ? TRUE : FALSE);

export function sum(...terms: readonly Term[]): Term {
  let constant = 0n;
  const symbolicTerms: Term[] = [];
  for (const term of terms.flatMap((each) => (each.kind === "sum" ? each.operands : [each])))
    if (isNumber(term)) constant += term.value;
    else symbolicTerms.push(term);
  if (constant !== 0n || symbolicTerms.length === 0) symbolicTerms.push(number(constant));
  return symbolicTerms.length === 1 ? symbolicTerms[0]! : intern("sum", symbolicTerms);
}

export function product(...terms: readonly Term[]): Term {
  let constant = 1n;
  const factors: Term[] = [];
  for (const term of terms.flatMap((each) => (each.kind === "product" ? each.operands : [each])))
    if (isNumber(term)) constant *= term.value;
    else factors.push(term);
  if (constant === 0n) return number(0);
  if (constant !== 1n || factors.length === 0) factors.unshift(number(constant));
  return factors.length === 1 ? factors[0]! : intern("product", factors);
}

export const negative = (x: Term): Term => product(number(-1), x);
export const difference = (x: Term, y: Term): Term => sum(x, negative(y));

const isOne = (x: Term) => isNumber(x) && x.value === 1n;
const areNumbers = (x: Term, y: Term) => isNumber(x) && isNumber(y);

/** `x // y`, which truncates toward zero, or rounds down if `floors`. */
export function quotient(x: Term, y: Term, floors = false): Term {
  if (isOne(y)) return x;
  if (areNumbers(x, y) && y.value !== 0n) return number(floors ? floorOf(x.value, y.value) : x.value / y.value);
  return intern(floors ? "floorQuotient" : "quotient", [x, y]);
}

/** `x % y`, with the sign of the dividend, or of the divisor if `floors`. */
export function remainder(x: Term, y: Term, floors = false): Term {
  if (isOne(y)) return number(0);
  if (areNumbers(x, y) && y.value !== 0n)
    return number(floors ? x.value - y.value * floorOf(x.value, y.value) : x.value % y.value);
  return intern(floors ? "floorRemainder" : "remainder", [x, y]);
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
  return intern("least", [x, y]);
}

export function maxTerm(x: Term, y: Term): Term {
  if (x === y) return x;
  if (areNumbers(x, y)) return x.value > y.value ? x : y;
  return intern("greatest", [x, y]);
}

/** `x` if the condition is true, else `y`. Two truth values give a truth value. */
export function iteTerm(condition: Term, x: Term, y: Term): Term {
  if (condition === TRUE || x === y) return x;
  if (condition === FALSE) return y;
  if (isTruth(x) || isTruth(y)) return orTerm(andTerm(condition, asTruth(x)), andTerm(not(condition), asTruth(y)));
  return intern("choice", [condition, x, y]);
}

export function atMost(x: Term, y: Term): Term {
  if (x === y) return TRUE;
  return areNumbers(x, y) ? truth(x.value <= y.value) : intern("atMost", [x, y]);
}

export const atLeast = (x: Term, y: Term): Term => atMost(y, x);
export const below = (x: Term, y: Term): Term => atMost(sum(x, number(1)), y);
export const above = (x: Term, y: Term): Term => below(y, x);

export function equal(x: Term, y: Term): Term {
  if (x === y) return TRUE;
  return areNumbers(x, y) ? FALSE : intern("equal", [x, y]);
}

export function andTerm(...terms: readonly Term[]): Term {
  const conjuncts = new Set(terms.flatMap((each) => conditionsOf(each)));
  if (conjuncts.has(FALSE)) return FALSE;
  const [first = TRUE, ...more] = conjuncts;
  return more.length === 0 ? first : intern("all", [first, ...more]);
}

/** The conjuncts of a term. */
export function conditionsOf(term: Term): readonly Term[] {
  if (term === TRUE) return [];
  return term.kind === "all" ? term.operands : [term];
}

export function orTerm(...terms: readonly Term[]): Term {
  const disjuncts = new Set(terms.flatMap((each) => (each.kind === "some" ? each.operands : [each])));
  disjuncts.delete(FALSE);
  if (disjuncts.has(TRUE)) return TRUE;
  const [first = FALSE, ...more] = disjuncts;
  return more.length === 0 ? first : intern("some", [first, ...more]);
}

export function not(x: Term): Term {
  if (x.kind === "true") return FALSE;
  if (x.kind === "false") return TRUE;
  if (x.kind === "not") return x.operands[0]!;
  if (x.kind === "atMost") return below(x.operands[1]!, x.operands[0]!);
  if (x.kind === "all") return orTerm(...x.operands.map(not));
  if (x.kind === "some") return andTerm(...x.operands.map(not));
  return intern("not", [x]);
}

/** A truth value as 0 or 1. Integers are unchanged. */
export const asInteger = (x: Term): Term => (isTruth(x) ? iteTerm(x, number(1), number(0)) : x);
/** An integer as its test for nonzero. Truth values are unchanged. */
export const asTruth = (x: Term): Term => (isTruth(x) ? x : not(equal(x, number(0))));

const rebuilders: Readonly<Record<TermKind, ((operands: readonly Term[], original: Term) => Term) | undefined>> = {
  number: undefined,
  symbol: undefined,
  true: undefined,
  false: undefined,
  sum: (operands) => sum(...operands),
  product: (operands) => product(...operands),
  quotient: ([x, y]) => quotient(x!, y!),
  remainder: ([x, y]) => remainder(x!, y!),
  floorQuotient: ([x, y]) => quotient(x!, y!, true),
  floorRemainder: ([x, y]) => remainder(x!, y!, true),
  least: ([x, y]) => minTerm(x!, y!),
  greatest: ([x, y]) => maxTerm(x!, y!),
  choice: ([condition, x, y]) => iteTerm(condition!, x!, y!),
  call: (operands, { name }) => call(name, ...operands),
  atMost: ([x, y]) => atMost(x!, y!),
  equal: ([x, y]) => equal(x!, y!),
  all: (operands) => andTerm(...operands),
  some: (operands) => orTerm(...operands),
  not: ([x]) => not(x!),
};

/** The term with other operands. */
export function withOperands(term: Term, parts: readonly Term[]): Term {
  if (parts.every((operand, i) => operand === term.operands[i])) return term;
  return rebuilders[term.kind]?.(parts, term) ?? term;
}

/** The term with symbols replaced by name. */
export function substitute(term: Term, replacements: ReadonlyMap<string, Term>, cache = new Map<Term, Term>()): Term {
  let result = cache.get(term);
  if (result !== undefined) return result;
  result =
    term.kind === "symbol"
      ? (replacements.get(term.name) ?? term)
      : withOperands(
          term,
          term.operands.map((operand) => substitute(operand, replacements, cache)),
        );
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
