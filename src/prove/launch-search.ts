/** Searches for the sizes, numbers and flags of small launches. */
import { type TestCase, boundarySizes } from "../compiled/compiled-kernel.js";
import { cacheKey } from "../compiled/canonical-json.js";
import { type ConstexprParam, type KernelIR, type Param, paramsOf } from "../ir/nodes.js";
import { isNumber, symbolsIn, type Term, termsIn, NEXT_POWER } from "../symbolic/term.js";
import type { DTypeVariable } from "../types/dtype.js";
import { type ConstexprAssignment, GIVEN, type SymbolDomain, type SymbolicLaunch } from "./model/launch.js";

// Evaluates terms for given values of their symbols. The value is undefined if it depends on an uninterpreted function.

export type Values = ReadonlyMap<string, number>;
type Value = number | boolean | undefined;

/** Evaluates terms that share operands, each term once. Division by zero has no value. */
export class Valuation {
  readonly #cache = new Map<Term, Value>();
  /** The number of terms that were evaluated. */
  steps = 0;

  constructor(readonly values: Values) {}

  integer(term: Term): number | undefined {
    const value = this.#value(term);
    return typeof value === "number" ? value : undefined;
  }

  truth(term: Term): boolean | undefined {
    const value = this.#value(term);
    return typeof value === "boolean" ? value : undefined;
  }

  #value(term: Term): Value {
    if (this.#cache.has(term)) return this.#cache.get(term);
    this.steps++;
    const value = this.#compute(term);
    this.#cache.set(term, value);
    return value;
  }

  #compute(term: Term): Value {
    switch (term.kind) {
      case "number":
        return Number(term.value);
      case "symbol":
        return this.values.get(term.name);
      case "true":
        return true;
      case "false":
        return false;
      case "not": {
        const holds = this.truth(term.operands[0]);
        return holds === undefined ? undefined : !holds;
      }
      case "all":
        return this.#connect(term.operands, false);
      case "some":
        return this.#connect(term.operands, true);
      case "choice": {
        const [condition, x, y] = term.operands;
        const holds = this.truth(condition);
        return holds === undefined ? undefined : this.#value(holds ? x : y);
      }
      case "sum":
        return this.#reduce(term.operands, 0, (total, each) => total + each);
      case "product":
        return this.#reduce(term.operands, 1, (total, each) => total * each);
      case "call": {
        const [x] = term.operands.map((operand) => this.integer(operand));
        return term.name === NEXT_POWER && x !== undefined ? nextPower(x) : undefined;
      }
      case "quotient":
      case "floorQuotient":
      case "remainder":
      case "floorRemainder":
      case "least":
      case "greatest":
      case "atMost":
      case "equal": {
        const [x, y] = [this.integer(term.operands[0]), this.integer(term.operands[1])];
        return x === undefined || y === undefined ? undefined : BINARY[term.kind](x, y);
      }
      default:
        return term satisfies never;
    }
  }

  /** A conjunction, which `decisive` false decides, or a disjunction, which `decisive` true decides. */
  #connect(operands: readonly Term[], decisive: boolean): boolean | undefined {
    const truths = operands.map((operand) => this.truth(operand));
    if (truths.includes(decisive)) return decisive;
    return truths.includes(undefined) ? undefined : !decisive;
  }

  #reduce(
    operands: readonly Term[],
    initial: number,
    combine: (total: number, each: number) => number,
  ): number | undefined {
    // Every operand is evaluated, so that the number of steps does not depend on values.
    let total: number | undefined = initial;
    for (const operand of operands) {
      const value = this.integer(operand);
      total = total === undefined || value === undefined ? undefined : combine(total, value);
    }
    return total;
  }
}

const BINARY = {
  quotient: (x: number, y: number) => (y === 0 ? undefined : Math.trunc(x / y)),
  floorQuotient: (x: number, y: number) => (y === 0 ? undefined : Math.floor(x / y)),
  remainder: (x: number, y: number) => (y === 0 ? undefined : x % y),
  floorRemainder: (x: number, y: number) => (y === 0 ? undefined : x - y * Math.floor(x / y)),
  least: Math.min,
  greatest: Math.max,
  atMost: (x: number, y: number) => x <= y,
  equal: (x: number, y: number) => x === y,
} as const;

const nextPower = (x: number): number => (x <= 0 ? 0 : 2 ** Math.ceil(Math.log2(x)));

/** The maximum number of assignments that a search yields. */
const MAX_SIZES = 4000;
/** The maximum number of block sizes around which sizes are tried. */
const MAX_BLOCKS = 10;

/** A config by its index, with the values of its constexprs. */
export interface IndexedConfig {
  readonly values: ConstexprAssignment;
  readonly index: number;
}

export const indexedConfigs = ({ tuning }: KernelIR): readonly IndexedConfig[] =>
  tuning.configs.map(({ values }, index) => ({ values, index }));

/** The first config of each group that differs in launch options alone. */
export function distinctConfigs(ir: KernelIR): readonly IndexedConfig[] {
  const configs = indexedConfigs(ir).map((config) => [cacheKey(config.values), config] as const);
  return [...new Map(configs.toReversed()).values()].toSorted((x, y) => x.index - y.index);
}

export const integersOf = (values: ConstexprAssignment): readonly (readonly [string, number])[] =>
  Object.entries(values).flatMap(([name, value]) => (typeof value === "string" ? [] : [[name, Number(value)]]));

/** The test case with these sizes, the first member of each dtype variable, and contiguous tensors. */
export function testCaseOf(ir: KernelIR, config: number, values: Values): TestCase {
  const valueOf = (name: string) => values.get(name) ?? 1;
  const sizes = paramsOf(ir, "size").flatMap(({ name, derived }) => (derived ? [] : [[name, valueOf(name)] as const]));
  const constexprs = paramsOf(ir, "constexpr");
  const dims = constexprs.flatMap(({ name, from }) => (from === "dim" ? [[name, valueOf(name)] as const] : []));
  const constexprOf = ({ name, of, choices, default: preset }: ConstexprParam) => {
    if (of === "int") return valueOf(name);
    return of === "bool" ? valueOf(name) === 1 : (preset ?? choices?.[0] ?? 0);
  };
  const constexprArguments = constexprs.flatMap((param) => {
    const isChosen = param.from === "argument" && !param.compute && !param.variable;
    return isChosen ? [[param.name, constexprOf(param)] as const] : [];
  });
  const scalars = paramsOf(ir, "scalar").map(({ name }) => [name, valueOf(name)] as const);
  return {
    sizes: Object.fromEntries([...sizes, ...dims]),
    dtypes: Object.fromEntries(
      dtypesOf(ir).flatMap(({ name, members: [first] }) => (first === undefined ? [] : [[name, first] as const])),
    ),
    scalars: Object.fromEntries(scalars),
    constexprs: Object.fromEntries(constexprArguments),
    absent: absentOf(ir, values),
    config,
    seed: 1,
  };
}

function dtypesOf({ params }: KernelIR): readonly DTypeVariable[] {
  const dtypeOf = (param: Param) => {
    if (param.kind === "constexpr") return param.variable;
    return "dtype" in param ? param.dtype : undefined;
  };
  return params.map(dtypeOf).filter((dtype) => dtype !== undefined && typeof dtype !== "string");
}

function absentOf(ir: KernelIR, values: Values): readonly string[] {
  return [...paramsOf(ir, "tensor"), ...paramsOf(ir, "pointer")].flatMap(({ name, given: isGiven }) =>
    isGiven && values.get(`${isGiven.parameter}${GIVEN}`) === 0 ? [name] : [],
  );
}

/** Small numbers come first; of two with the same magnitude, the positive one. */
function costOf(value: number): number {
  if (value === 0) return 1.5;
  return value < 0 ? 0.5 - value : value;
}

/** The value of a symbol, and the values that the search tries afterwards. */
interface Choice {
  readonly name: string;
  readonly value: number;
  readonly others: readonly number[];
}

/** The values of a symbol that the search tries, in order of cost. */
function candidatesOf(domain: SymbolDomain, numbers: readonly number[], isBounded: boolean): readonly number[] {
  if (domain === "truth") return [1, 0];
  // A scalar without any bound is probably meant to be nonnegative, so only bounded ones get negative candidates.
  if (domain === "number" && isBounded) return [...numbers, -1, -2, -5].sort((x, y) => costOf(x) - costOf(y));
  if (domain === "size" || domain === "number") return numbers;
  return [1, 2, 4, 8].map((times) => domain.tile * times);
}

export class LaunchSearch {
  /** The symbols that the outcome depends on. */
  readonly #relevant: ReadonlySet<string>;

  /** The outcome depends on `roots` and the grid. The constants in `sources` suggest sizes. */
  constructor(
    readonly launch: SymbolicLaunch,
    roots: readonly Term[] = [],
    readonly sources: readonly Term[] = roots,
  ) {
    const relevant = new Set(symbolsIn(...roots, ...launch.grid));
    for (const fact of launch.facts) {
      const names = symbolsIn(fact);
      if ([...names].some((name) => relevant.has(name))) for (const name of names) relevant.add(name);
    }
    this.#relevant = relevant;
  }

  /** Assignments of the sizes, in order of cost. Irrelevant symbols get their first candidate. */
  *sizes(): Iterable<Values> {
    const { chosen, facts } = this.launch;
    const numbers = this.#numbers();
    const bounded = symbolsIn(...facts);
    const defaults = [...chosen].flatMap(([name, domain]): readonly Choice[] => {
      const [value, ...others] = candidatesOf(domain, numbers, bounded.has(name));
      return value === undefined ? [] : [{ name, value, others }];
    });
    const relevant = defaults.filter(({ name }) => this.#relevant.has(name));
    const keyOf = (choices: readonly Choice[]) => choices.map(({ value }) => value).join();
    const totalOf = (choices: readonly Choice[]) => choices.reduce((total, { value }) => total + costOf(value), 0);
    let frontier = [{ choices: relevant, total: relevant.length }];
    const visited = new Set([keyOf(relevant)]);
    for (let count = 0; frontier.length > 0 && count < MAX_SIZES; count++) {
      const cheapest = frontier.reduce((best, entry) => (entry.total < best.total ? entry : best));
      frontier.splice(frontier.indexOf(cheapest), 1);
      const { choices } = cheapest;
      yield this.#withDerived(new Map([...defaults, ...choices].map(({ name, value }) => [name, value])));
      for (const [i, { name, others: untried }] of choices.entries()) {
        const [value, ...others] = untried;
        if (value === undefined) continue;
        const next = choices.with(i, { name, value, others });
        const key = keyOf(next);
        if (visited.has(key)) continue;
        visited.add(key);
        frontier.push({ choices: next, total: totalOf(next) });
      }
      if (frontier.length > MAX_SIZES) frontier = frontier.slice(0, MAX_SIZES);
    }
  }

  /** Small numbers, and those around the kernel's constants, which block sizes are derived from. */
  #numbers(): readonly number[] {
    const { facts, grid } = this.launch;
    const constants = [...termsIn(...this.sources, ...facts, ...grid)]
      .filter(isNumber)
      .map(({ value }) => Math.abs(Number(value)));
    const blocks = [...new Set(constants)].filter((value) => value > 3 && value <= 4096).sort((x, y) => x - y);
    const nearbySizes = blocks.slice(0, MAX_BLOCKS).flatMap(boundarySizes);
    return [...new Set([1, 0, 2, 3, 5, 8, 16, ...nearbySizes])].sort((x, y) => costOf(x) - costOf(y));
  }

  /** Computes derived sizes from their equations. */
  #withDerived(values: Map<string, number>): Values {
    for (const { kind, operands } of this.launch.facts) {
      if (kind !== "equal") continue;
      const [lhs, rhs] = operands;
      if (lhs.kind !== "symbol" || values.has(lhs.name)) continue;
      const value = new Valuation(values).integer(rhs);
      if (value !== undefined) values.set(lhs.name, value);
    }
    for (const [name, multiple] of this.launch.multiples) {
      const quotient = values.get(name) ?? 1;
      values.set(`${name}/`, quotient);
      values.set(name, new Valuation(values).integer(multiple) ?? quotient);
    }
    return values;
  }

  /** True unless a fact of every launch is false for these values. */
  mayLaunch(launched: Valuation): boolean {
    return this.launch.facts.every((fact) => launched.truth(fact) !== false);
  }
}
