/**
 * Integers and truth values as expressions over symbols: sizes, constexprs, program ids, turns of loops, lanes. They are
 * mathematical integers, which never wrap. Equal expressions are one object.
 */

export type TermKind = IntegerKind | TruthKind;
/**
 * `number`, `symbol`, `sum`, `product`; `quotient` and `remainder` truncate as kernels do, `floorQuotient` and
 * `floorRemainder` floor as Python does; `least` and `greatest` of two; `choice` of a condition and two values; `call`
 * is an unknown function, such as what a tensor holds at an index.
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
  readonly parts: readonly Term[];
  /** Of a symbol or a call. */
  readonly name: string;
  /** Of a number. */
  readonly value: bigint;
  readonly id: number;
  /** Nodes, those that are shared counted each time: what follows every way through the term takes as many steps. */
  readonly nodes: number;
  /** Monomials, if it is multiplied out. */
  readonly monomials: number;
  /** How far terms lie inside one another. */
  readonly depth: number;
}

/** A larger term is an unknown function of the symbols and calls in it: of values that are used twice each, terms double. */
const MOST_NODES = 20_000;
const MOST_MONOMIALS = { sum: 200, product: 24 };
const MOST_DEPTH = 300;
const LARGE = "large ";

const made = new Map<string, Term>();
let nextId = 0;

/** Runs something that makes terms, and forgets them: a process that stays builds many kernels. */
export function withTermTable<T>(run: () => T): T {
  try {
    return run();
  } finally {
    made.clear();
  }
}

function make(kind: TermKind, parts: readonly Term[], name = "", value = 0n): Term {
  const key = `${kind} ${name} ${value} ${parts.map(({ id }) => id).join()}`;
  let term = made.get(key);
  if (term === undefined)
    made.set(key, (term = limited({ kind, parts, name, value, id: nextId++, ...sizeOf(kind, parts) })));
  return term;
}

function sizeOf(kind: TermKind, parts: readonly Term[]): Pick<Term, "nodes" | "monomials" | "depth"> {
  const monomials = parts.map((part) => part.monomials);
  return {
    nodes: parts.reduce((total, part) => total + part.nodes, 1),
    monomials:
      kind === "sum"
        ? monomials.reduce((total, each) => total + each, 0)
        : kind === "product"
          ? monomials.reduce((total, each) => total * each, 1)
          : 1,
    depth: 1 + Math.max(0, ...parts.map((part) => part.depth)),
  };
}

/** The term, or what stands for one that is too large. */
function limited(term: Term): Term {
  const most = term.kind === "product" ? MOST_MONOMIALS.product : MOST_MONOMIALS.sum;
  const isLarge = term.nodes > MOST_NODES || term.monomials > most || term.depth > MOST_DEPTH;
  if (!isLarge || (term.kind === "call" && term.name.startsWith(LARGE))) return term;
  // A symbol with its name stands for a call, so that the term still shows what it hangs on.
  const names = [...termsIn(...term.parts)].flatMap(({ kind, name }) =>
    kind === "symbol" || (kind === "call" && !name.startsWith(LARGE)) ? [name] : [],
  );
  const unknown = call(`${LARGE}${term.id}`, ...[...new Set(names)].map(symbol));
  return TRUTHS.has(term.kind) ? equal(unknown, number(1)) : unknown;
}

const LEAF = { nodes: 1, monomials: 1, depth: 1 };
export const TRUE: Term = { kind: "true", parts: [], name: "", value: 0n, id: nextId++, ...LEAF };
export const FALSE: Term = { kind: "false", parts: [], name: "", value: 0n, id: nextId++, ...LEAF };
const TRUTHS: ReadonlySet<TermKind> = new Set<TermKind>(["true", "false", "atMost", "equal", "all", "some", "not"]);

export const isTruth = ({ kind }: Term): boolean => TRUTHS.has(kind);
export const isNumber = ({ kind }: Term): boolean => kind === "number";

export const number = (value: bigint | number): Term => make("number", [], "", BigInt(value));
export const symbol = (name: string): Term => make("symbol", [], name);
export const call = (name: string, ...parts: readonly Term[]): Term => make("call", parts, name);
/** The name of the function to the smallest power of two that is at least its argument, or 0. */
export const NEXT_POWER = "next power of 2";
export const truth = (value: boolean): Term => (value ? TRUE : FALSE);

export function sum(...terms: readonly Term[]): Term {
  let constant = 0n;
  const rest: Term[] = [];
  for (const term of terms.flatMap((each) => (each.kind === "sum" ? each.parts : [each])))
    if (isNumber(term)) constant += term.value;
    else rest.push(term);
  if (constant !== 0n || rest.length === 0) rest.push(number(constant));
  return rest.length === 1 ? rest[0]! : make("sum", rest);
}

export function product(...terms: readonly Term[]): Term {
  let constant = 1n;
  const rest: Term[] = [];
  for (const term of terms.flatMap((each) => (each.kind === "product" ? each.parts : [each])))
    if (isNumber(term)) constant *= term.value;
    else rest.push(term);
  if (constant === 0n) return number(0);
  if (constant !== 1n || rest.length === 0) rest.unshift(number(constant));
  return rest.length === 1 ? rest[0]! : make("product", rest);
}

export const negative = (x: Term): Term => product(number(-1), x);
export const difference = (x: Term, y: Term): Term => sum(x, negative(y));

const isOne = (x: Term) => isNumber(x) && x.value === 1n;
const bothNumbers = (x: Term, y: Term) => isNumber(x) && isNumber(y);

/** `x // y`, which truncates toward zero, or floors. */
export function quotient(x: Term, y: Term, floors = false): Term {
  if (isOne(y)) return x;
  if (bothNumbers(x, y) && y.value !== 0n) return number(floors ? floorOf(x.value, y.value) : x.value / y.value);
  return make(floors ? "floorQuotient" : "quotient", [x, y]);
}

/** `x % y`, with the sign of the dividend, or of the divisor where the quotient floors. */
export function remainder(x: Term, y: Term, floors = false): Term {
  if (isOne(y)) return number(0);
  if (bothNumbers(x, y) && y.value !== 0n)
    return number(floors ? x.value - y.value * floorOf(x.value, y.value) : x.value % y.value);
  return make(floors ? "floorRemainder" : "remainder", [x, y]);
}

function floorOf(x: bigint, y: bigint): bigint {
  const truncated = x / y;
  return truncated * y !== x && x < 0n !== y < 0n ? truncated - 1n : truncated;
}

/** The number of blocks of `y` that cover `x`: `(x + y - 1) // y`. */
export const cdiv = (x: Term, y: Term, floors = false): Term => quotient(sum(x, y, number(-1)), y, floors);

export function minTerm(x: Term, y: Term): Term {
  if (x === y) return x;
  if (bothNumbers(x, y)) return x.value < y.value ? x : y;
  return make("least", [x, y]);
}

export function maxTerm(x: Term, y: Term): Term {
  if (x === y) return x;
  if (bothNumbers(x, y)) return x.value > y.value ? x : y;
  return make("greatest", [x, y]);
}

/** `x` where the condition holds, else `y`; of two truth values a truth value. */
export function iteTerm(condition: Term, x: Term, y: Term): Term {
  if (condition === TRUE || x === y) return x;
  if (condition === FALSE) return y;
  if (isTruth(x) || isTruth(y)) return orTerm(andTerm(condition, asTruth(x)), andTerm(not(condition), asTruth(y)));
  return make("choice", [condition, x, y]);
}

export function atMost(x: Term, y: Term): Term {
  if (x === y) return TRUE;
  return bothNumbers(x, y) ? truth(x.value <= y.value) : make("atMost", [x, y]);
}

export const atLeast = (x: Term, y: Term): Term => atMost(y, x);
export const below = (x: Term, y: Term): Term => atMost(sum(x, number(1)), y);
export const above = (x: Term, y: Term): Term => below(y, x);

export function equal(x: Term, y: Term): Term {
  if (x === y) return TRUE;
  return bothNumbers(x, y) ? FALSE : make("equal", [x, y]);
}

export function andTerm(...terms: readonly Term[]): Term {
  const parts = new Set(terms.flatMap((each) => conditionsOf(each)));
  if (parts.has(FALSE)) return FALSE;
  const [first = TRUE, ...more] = parts;
  return more.length === 0 ? first : make("all", [first, ...more]);
}

/** The conditions that hold together where a term is true. */
export function conditionsOf(term: Term): readonly Term[] {
  return term.kind === "all" ? term.parts : term === TRUE ? [] : [term];
}

export function orTerm(...terms: readonly Term[]): Term {
  const parts = new Set(terms.flatMap((each) => (each.kind === "some" ? each.parts : each === FALSE ? [] : [each])));
  if (parts.has(TRUE)) return TRUE;
  const [first = FALSE, ...more] = parts;
  return more.length === 0 ? first : make("some", [first, ...more]);
}

export function not(x: Term): Term {
  switch (x.kind) {
    case "true":
      return FALSE;
    case "false":
      return TRUE;
    case "not":
      return x.parts[0]!;
    case "atMost":
      return below(x.parts[1]!, x.parts[0]!);
    case "all":
      return orTerm(...x.parts.map(not));
    case "some":
      return andTerm(...x.parts.map(not));
    default:
      return make("not", [x]);
  }
}

/** A truth value as 0 or 1; an integer stays. */
export const asInteger = (x: Term): Term => (isTruth(x) ? iteTerm(x, number(1), number(0)) : x);
/** Whether an integer is not 0; a truth value stays. */
export const asTruth = (x: Term): Term => (isTruth(x) ? x : not(equal(x, number(0))));

const rebuilders: Readonly<Record<TermKind, ((parts: readonly Term[], of: Term) => Term) | undefined>> = {
  number: undefined,
  symbol: undefined,
  true: undefined,
  false: undefined,
  sum: (parts) => sum(...parts),
  product: (parts) => product(...parts),
  quotient: ([x, y]) => quotient(x!, y!),
  remainder: ([x, y]) => remainder(x!, y!),
  floorQuotient: ([x, y]) => quotient(x!, y!, true),
  floorRemainder: ([x, y]) => remainder(x!, y!, true),
  least: ([x, y]) => minTerm(x!, y!),
  greatest: ([x, y]) => maxTerm(x!, y!),
  choice: ([condition, x, y]) => iteTerm(condition!, x!, y!),
  call: (parts, { name }) => call(name, ...parts),
  atMost: ([x, y]) => atMost(x!, y!),
  equal: ([x, y]) => equal(x!, y!),
  all: (parts) => andTerm(...parts),
  some: (parts) => orTerm(...parts),
  not: ([x]) => not(x!),
};

/** The term with other parts. */
export function withOperands(term: Term, parts: readonly Term[]): Term {
  if (parts.every((part, i) => part === term.parts[i])) return term;
  return rebuilders[term.kind]?.(parts, term) ?? term;
}

/** The term with symbols replaced, by their names. */
export function substitute(term: Term, by: ReadonlyMap<string, Term>, known = new Map<Term, Term>()): Term {
  let result = known.get(term);
  if (result !== undefined) return result;
  result =
    term.kind === "symbol"
      ? (by.get(term.name) ?? term)
      : withOperands(
          term,
          term.parts.map((part) => substitute(part, by, known)),
        );
  known.set(term, result);
  return result;
}

/** Every term inside, each once, parts before wholes. */
export function termsIn(...terms: readonly Term[]): ReadonlySet<Term> {
  const found = new Set<Term>();
  const visit = (term: Term): void => {
    if (found.has(term)) return;
    term.parts.forEach(visit);
    found.add(term);
  };
  terms.forEach(visit);
  return found;
}

/** The names of the symbols inside. */
export function symbolsIn(...terms: readonly Term[]): ReadonlySet<string> {
  return new Set([...termsIn(...terms)].flatMap(({ kind, name }) => (kind === "symbol" ? [name] : [])));
}
