/**
 * Writes a claim as an SMT-LIB script of bit-vectors, for a solver that shares no code with the proofs. The script
 * asserts the facts and the opposite of the goal, so that `unsat` means that the claim holds. Sizes, strides and numbers
 * range over int32, and the vectors are wide enough that nothing in the script wraps.
 */
import { NEXT_POWER, symbolsIn, type Term, termsIn } from "../symbolic/term.js";
import { LIMIT } from "./algebra/non-negativity.js";

/** What a claim says: the goal holds wherever the facts do. */
export interface Claim {
  readonly facts: readonly Term[];
  readonly goal: Term;
}

/** The expected answer of a solver. */
export type SmtStatus = "sat" | "unsat" | "unknown";

export interface SmtOptions {
  readonly status: SmtStatus;
  /** Comments at the start. */
  readonly comments: readonly string[];
  readonly int32Bits: number;
}

/** The widest vectors that are worth a solver's time. */
const MAX_WIDTH = 192;

/** The reason why a claim is no script. */
export interface NotExported {
  readonly reason: string;
}

export function smtScript(claim: Claim, options: SmtOptions): { readonly script: string } | NotExported {
  const { goal, facts } = { ...claim, facts: relevantFacts(claim) };
  const terms = termsIn(goal, ...facts);
  for (const { kind, name } of terms)
    if (kind === "call" && name !== NEXT_POWER) return { reason: "it depends on values that memory or a loop holds" };
  const intervals = new Intervals(options.int32Bits);
  const largest = [...terms].reduce((most, term) => {
    const { low, high } = intervals.of(term);
    return [most, high, -low].reduce((x, y) => (x > y ? x : y));
  }, 1n);
  const width = largest.toString(2).length + 2;
  if (width > MAX_WIDTH) return { reason: `its numbers need ${width} bits` };
  const writer = new Writer(width, options.int32Bits);
  const assertions = [...facts.map((fact) => writer.reference(fact)), `(not ${writer.reference(goal)})`];
  const lines = [
    ...options.comments.map((comment) => `; ${comment}`),
    "(set-logic QF_BV)",
    `(set-info :status ${options.status})`,
    ...writer.lines,
    ...assertions.map((each) => `(assert ${each})`),
    "(check-sat)",
  ];
  return { script: `${lines.join("\n")}\n` };
}

/**
 * The facts that share symbols with the goal, directly or through others. The others hold in some launch; a script
 * without them claims more.
 */
function relevantFacts({ facts, goal }: Claim): readonly Term[] {
  const symbols = new Set(symbolsIn(goal));
  const remaining = new Set(facts);
  const relevant: Term[] = [];
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false;
    for (const fact of remaining) {
      const names = symbolsIn(fact);
      if (names.size > 0 && [...names].every((name) => name === LIMIT || !symbols.has(name))) continue;
      for (const name of names) symbols.add(name);
      remaining.delete(fact);
      relevant.push(fact);
      isGrowing = true;
    }
  }
  return relevant;
}

interface Interval {
  readonly low: bigint;
  readonly high: bigint;
}

/** Intervals of terms if symbols are any int32. A truth value has none. */
class Intervals {
  readonly #known = new Map<Term, Interval>();

  constructor(readonly int32Bits: number) {}

  of(term: Term): Interval {
    let interval = this.#known.get(term);
    if (!interval) this.#known.set(term, (interval = this.#compute(term)));
    return interval;
  }

  #compute(term: Term): Interval {
    const operands = term.operands.map((operand) => this.of(operand));
    switch (term.kind) {
      case "number":
        return { low: term.value, high: term.value };
      case "symbol":
        return symbolInterval(term.name, this.int32Bits);
      case "sum":
        return operands.reduce((x, y) => ({ low: x.low + y.low, high: x.high + y.high }));
      case "product":
        return operands.reduce((x, y) => hull(x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high));
      case "choice":
      case "least":
      case "greatest":
        return hull(...operands.slice(-2).flatMap(({ low, high }) => [low, high]));
      // A solver's quotient by 0 is 1 or -1, and its remainder the dividend.
      case "quotient":
      case "floorQuotient":
      case "remainder":
      case "floorRemainder":
      case "call": {
        const most = operands.flatMap(({ low, high }) => [-low, high]).reduce((x, y) => (x > y ? x : y), 1n);
        return { low: -2n * most, high: 2n * most };
      }
      case "true":
      case "false":
      case "not":
      case "all":
      case "some":
      case "atMost":
      case "equal":
        return { low: 0n, high: 0n };
      default:
        return term satisfies never;
    }
  }
}

function hull(...values: readonly bigint[]): Interval {
  return {
    low: values.reduce((x, y) => (x < y ? x : y)),
    high: values.reduce((x, y) => (x > y ? x : y)),
  };
}

function symbolInterval(name: string, int32Bits: number): Interval {
  const end = 2n ** BigInt(int32Bits - 1);
  return name === LIMIT ? { low: end, high: end } : { low: -end, high: end - 1n };
}

/** Declares symbols and defines each term once. */
class Writer {
  readonly lines: string[] = [];
  readonly #references = new Map<Term, string>();

  constructor(
    readonly width: number,
    readonly int32Bits: number,
  ) {}

  reference(term: Term): string {
    let reference = this.#references.get(term);
    if (reference === undefined) this.#references.set(term, (reference = this.#define(term)));
    return reference;
  }

  #number(value: bigint): string {
    return `(_ bv${BigInt.asUintN(this.width, value)} ${this.width})`;
  }

  #define(term: Term): string {
    const operands = term.operands.map((operand) => this.reference(operand));
    const [x = "", y = ""] = operands;
    switch (term.kind) {
      case "number":
        return this.#number(term.value);
      case "symbol":
        return this.#symbol(term.name);
      case "true":
      case "false":
        return term.kind;
      case "not":
        return this.#name("Bool", `(not ${x})`);
      case "all":
        return this.#name("Bool", `(and ${operands.join(" ")})`);
      case "some":
        return this.#name("Bool", `(or ${operands.join(" ")})`);
      case "atMost":
        return this.#name("Bool", `(bvsle ${x} ${y})`);
      case "equal":
        return this.#name("Bool", `(= ${x} ${y})`);
      case "choice":
        return this.#vector(`(ite ${operands.join(" ")})`);
      case "sum":
        return this.#vector(operands.reduce((total, each) => `(bvadd ${total} ${each})`));
      case "product":
        return this.#vector(operands.reduce((total, each) => `(bvmul ${total} ${each})`));
      case "least":
        return this.#vector(`(ite (bvsle ${x} ${y}) ${x} ${y})`);
      case "greatest":
        return this.#vector(`(ite (bvsle ${x} ${y}) ${y} ${x})`);
      case "quotient":
        return this.#vector(`(bvsdiv ${x} ${y})`);
      case "remainder":
        return this.#vector(`(bvsrem ${x} ${y})`);
      case "floorQuotient": {
        const quotient = this.#vector(`(bvsdiv ${x} ${y})`);
        // The remainder has the sign of the divisor unless the quotient was rounded up.
        const isRoundedUp = `(not (= (bvsmod ${x} ${y}) (bvsrem ${x} ${y})))`;
        return this.#vector(`(ite ${isRoundedUp} (bvsub ${quotient} ${this.#number(1n)}) ${quotient})`);
      }
      case "floorRemainder":
        return this.#vector(`(bvsmod ${x} ${y})`);
      case "call":
        return this.#nextPower(x);
      default:
        return term satisfies never;
    }
  }

  #symbol(name: string): string {
    const { low, high } = symbolInterval(name, this.int32Bits);
    if (low === high) return this.#number(low);
    const reference = `|${name}|`;
    this.lines.push(
      `(declare-const ${reference} (_ BitVec ${this.width}))`,
      `(assert (and (bvsle ${this.#number(low)} ${reference}) (bvsle ${reference} ${this.#number(high)})))`,
    );
    return reference;
  }

  /** The power of two from `x` to below twice as much, or 0. */
  #nextPower(x: string): string {
    const zero = this.#number(0n);
    const power = `power${this.lines.length}`;
    this.lines.push(
      `(declare-const ${power} (_ BitVec ${this.width}))`,
      `(assert (= (bvand ${power} (bvsub ${power} ${this.#number(1n)})) ${zero}))`,
      `(assert (ite (bvsle ${x} ${zero}) (= ${power} ${zero}) (and (bvsle ${x} ${power}) (bvslt ${power} (bvadd ${x} ${x})))))`,
    );
    return power;
  }

  #vector(text: string): string {
    return this.#name(`(_ BitVec ${this.width})`, text);
  }

  #name(sort: string, text: string): string {
    const name = `t${this.lines.length}`;
    this.lines.push(`(define-fun ${name} () ${sort} ${text})`);
    return name;
  }
}
