/**
 * Searches for a small test case that refutes an obligation. Terms only suggest sizes: the evaluator decides, so every
 * reported counterexample is real. The search counts steps instead of time.
 */
import type { TestCase, Evaluation, Finding } from "../compiled/compiled-kernel.js";
import { boundarySizes } from "../compiled/boundary-sizes.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { type ConstexprParam, type KernelIR, type Param, paramsOf } from "../ir/nodes.js";
import { conditionsOf, isNumber, not, symbolsIn, type Term, termsIn } from "../symbolic/term.js";
import type { DTypeVariable } from "../types/dtype.js";
import type { Budget } from "./algebra/budget.js";
import type { SymbolDomain, Range } from "./model/launch.js";
import type { SymbolicModel } from "./model/model.js";
import { Valuation, type Values } from "./valuation.js";

/** Runs test cases of the kernel. */
export interface CaseRunner {
  /** The reason why a test case cannot be launched, or undefined. */
  refusal(testCase: TestCase): string | undefined;
  /** The number of lanes that a test case computes. */
  lanes(testCase: TestCase): number;
  evaluate(testCase: TestCase): Evaluation;
}

/** A search for a point that satisfies all `facts` but not the `goal`. */
export interface RefutationQuery {
  readonly goal: Term;
  readonly facts: readonly Term[];
  /** Programs, iterations and lanes, outer ones first. */
  readonly variables: readonly string[];
  /** The locations at which the evaluator would report the finding. */
  readonly locations: readonly (Location | undefined)[];
  readonly findingCodes: readonly FindingCode[];
  /**
   * Replaces `goal`: two points that access one element but differ in `identity`. Empty if any point may refute the
   * obligation.
   */
  readonly conflict?: readonly ConflictingAccess[];
  /** Other terms that the outcome depends on. */
  readonly relevantTerms?: readonly Term[];
  /** True if only test cases that are too large for the evaluator could refute the obligation. */
  readonly isTooLarge?: boolean;
  /** The layouts of tensors, for findings that dense tensors do not show. */
  readonly layouts?: TestCase["layouts"];
}

/** An access that may conflict with another. */
export interface ConflictingAccess {
  readonly index: readonly Term[];
  readonly facts: readonly Term[];
  readonly variables: readonly string[];
  /** The program ids or lanes that must differ for a conflict. */
  readonly identity: readonly string[];
}

export interface Counterexample {
  readonly at: TestCase;
  readonly finding: Finding;
}

const LIMITS = { sizes: 4000, cases: 16, refused: 100, alike: 4, lanes: 4e7, values: 10 } as const;
/** The number of lanes that the evaluator computes in the time of one search step. */
const LANES_PER_STEP = 40;

export function findCounterexample(
  model: SymbolicModel,
  config: number,
  query: RefutationQuery,
  runner: CaseRunner,
  budget: Budget,
): Counterexample | undefined {
  const search = new Search(model, query, budget);
  let [runCount, rejectedCount] = [0, 0];
  const runsByGrid = new Map<string, number>();
  for (const values of search.sizes()) {
    if (budget.isExhausted || runCount >= LIMITS.cases || rejectedCount >= LIMITS.refused) return undefined;
    // Sizes with the same grid mostly fail in the same way.
    const grid = search.gridOf(values);
    const sameGridCount = runsByGrid.get(grid) ?? 0;
    if (sameGridCount >= LIMITS.alike || !search.mayFail(values)) continue;
    const testCase = { ...testCaseOf(model.ir, config, values), ...(query.layouts && { layouts: query.layouts }) };
    const finding = findingIn(testCase, query, runner, budget);
    if (finding === "refused") {
      rejectedCount++;
      continue;
    }
    runCount++;
    runsByGrid.set(grid, sameGridCount + 1);
    if (finding) return { at: testCase, finding };
  }
  return undefined;
}

/** The first finding of the evaluator that answers the query. */
function findingIn(
  testCase: TestCase,
  { locations, findingCodes }: RefutationQuery,
  runner: CaseRunner,
  budget: Budget,
): Finding | "refused" | undefined {
  try {
    if (runner.refusal(testCase) !== undefined) return "refused";
    const lanes = runner.lanes(testCase);
    if (lanes > LIMITS.lanes) return "refused";
    budget.spend(Math.ceil(lanes / LANES_PER_STEP));
    const { findings } = runner.evaluate(testCase);
    return findings.find(
      ({ code, at: found }) => findingCodes.includes(code) && locations.some((expected) => isSame(found, expected)),
    );
  } catch {
    // A test case may fail in other ways, such as a division by zero on the host.
    return undefined;
  }
}

const isSame = (x: Location | undefined, y: Location | undefined): boolean =>
  x?.file === y?.file && x?.line === y?.line && x?.column === y?.column;

/** The test case with these sizes, the first member of each dtype variable, and contiguous tensors. */
function testCaseOf(ir: KernelIR, config: number, values: Values): TestCase {
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
    isGiven && values.get(`${isGiven.parameter} given`) === 0 ? [name] : [],
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

/** A variable of a point, and the conditions that can be checked once it has a value. */
interface PointVariable {
  readonly name: string;
  readonly conditions: readonly Term[];
}

class Search {
  readonly #model: SymbolicModel;
  readonly #query: RefutationQuery;
  /** The symbols that the query depends on. */
  readonly #relevant: ReadonlySet<string>;

  constructor(
    model: SymbolicModel,
    query: RefutationQuery,
    readonly budget: Budget,
  ) {
    this.#model = model;
    this.#query = query;
    const { launch, environment } = model;
    const ranges = query.variables.flatMap((name) => environment.ranges.get(name) ?? []);
    const conflictTerms = (query.conflict ?? []).flatMap(({ index, facts: given }) => [...index, ...given]);
    const ends = ranges.flatMap(({ from, to }) => [from, to]);
    const roots = [
      query.goal,
      ...query.facts,
      ...(query.relevantTerms ?? []),
      ...conflictTerms,
      ...ends,
      ...launch.grid,
    ];
    const relevant = new Set(symbolsIn(...roots));
    for (const fact of launch.facts) {
      const names = symbolsIn(fact);
      if ([...names].some((name) => relevant.has(name))) for (const name of names) relevant.add(name);
    }
    this.#relevant = relevant;
  }

  /** Assignments of the sizes, in order of cost. Irrelevant symbols get their first candidate. */
  *sizes(): Iterable<Values> {
    const { chosen, facts } = this.#model.launch;
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
    for (let count = 0; frontier.length > 0 && count < LIMITS.sizes; count++) {
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
      if (frontier.length > LIMITS.sizes) frontier = frontier.slice(0, LIMITS.sizes);
    }
  }

  /** Small numbers, and those around the kernel's constants, which block sizes are derived from. */
  #numbers(): readonly number[] {
    const { launch, environment } = this.#model;
    const { goal, facts, variables, conflict: conflicts = [] } = this.#query;
    const ranges = variables.flatMap((name) => environment.ranges.get(name) ?? []);
    const conflictTerms = conflicts.flatMap(({ index, facts: conditions }) => [...index, ...conditions]);
    const terms = termsIn(
      goal,
      ...facts,
      ...conflictTerms,
      ...launch.facts,
      ...launch.grid,
      ...ranges.flatMap(({ to }) => [to]),
    );
    const constants = [...terms].filter(isNumber).map(({ value }) => Math.abs(Number(value)));
    const blocks = [...new Set(constants)].filter((value) => value > 3 && value <= 4096).sort((x, y) => x - y);
    const nearbySizes = blocks.slice(0, LIMITS.values).flatMap(boundarySizes);
    return [...new Set([1, 0, 2, 3, 5, 8, 16, ...nearbySizes])].sort((x, y) => costOf(x) - costOf(y));
  }

  /** Computes derived sizes from their equations. */
  #withDerived(values: Map<string, number>): Values {
    for (const { kind, operands } of this.#model.launch.facts) {
      if (kind !== "equal") continue;
      const [lhs, rhs] = operands;
      if (lhs.kind !== "symbol" || values.has(lhs.name)) continue;
      const value = new Valuation(values).integer(rhs);
      if (value !== undefined) values.set(lhs.name, value);
    }
    for (const [name, multiple] of this.#model.launch.multiples) {
      const quotient = values.get(name) ?? 1;
      values.set(`${name}/`, quotient);
      values.set(name, new Valuation(values).integer(multiple) ?? quotient);
    }
    return values;
  }

  /** The grid as a text key. */
  gridOf(values: Values): string {
    const launched = new Valuation(values);
    return this.#model.launch.grid.map((size) => launched.integer(size)).join();
  }

  /** True if a point of these sizes may refute the query. Unknown values may be anything. */
  mayFail(values: Values): boolean {
    const launched = new Valuation(values);
    const { facts } = this.#model.launch;
    const isLaunched = facts.every((fact) => launched.truth(fact) !== false);
    this.budget.spend(launched.steps);
    return isLaunched && this.#fails(new Map(values));
  }

  #fails(values: Map<string, number>): boolean {
    const { variables, facts, goal, conflict: conflicts } = this.#query;
    if (conflicts) return this.#mayConflict(values, conflicts);
    for (const point of this.#points(variables, facts, values)) if (point.truth(not(goal)) !== false) return true;
    return false;
  }

  /** True if two points access one element, or if an element's index is unknown. */
  #mayConflict(values: Map<string, number>, accesses: readonly ConflictingAccess[]): boolean {
    if (accesses.length === 0) return true;
    const identities = new Map<string, string>();
    for (const { index, facts, variables, identity } of accesses)
      for (const point of this.#points(variables, facts, values)) {
        const elementIndex = index.map((axisIndex) => point.integer(axisIndex));
        if (elementIndex.includes(undefined)) return true;
        const [element, identityKey] = [elementIndex.join(), identity.map((name) => point.values.get(name)).join()];
        if ((identities.get(element) ?? identityKey) !== identityKey) return true;
        identities.set(element, identityKey);
      }
    return false;
  }

  /** Points near the ends of the variables' ranges that may satisfy the facts. */
  #points(names: readonly string[], facts: readonly Term[], values: Map<string, number>): Iterable<Valuation> {
    const lastOf = (condition: Term): number => {
      const symbols = symbolsIn(condition);
      return names.findLastIndex((name) => symbols.has(name));
    };
    const conditions = facts.flatMap(conditionsOf).map((condition) => ({ condition, last: lastOf(condition) }));
    const variables = names.map((name, i) => ({
      name,
      conditions: conditions.flatMap(({ condition, last }) => (last === i ? [condition] : [])),
    }));
    return this.#pointsFrom(0, variables, values);
  }

  *#pointsFrom(depth: number, variables: readonly PointVariable[], values: Map<string, number>): Iterable<Valuation> {
    const variable = variables[depth];
    if (variable === undefined) {
      const point = new Valuation(values);
      yield point;
      this.budget.spend(point.steps);
      return;
    }
    const { name, conditions } = variable;
    for (const value of this.#sampleValues(this.#model.environment.ranges.get(name), values)) {
      if (this.budget.isExhausted) return;
      values.set(name, value);
      const partial = new Valuation(values);
      const mayHold = conditions.every((condition) => partial.truth(condition) !== false);
      this.budget.spend(partial.steps);
      if (mayHold) yield* this.#pointsFrom(depth + 1, variables, values);
    }
    values.delete(name);
  }

  /**
   * The values of a variable that the search tries: the ends of its range, where errors are likely, or the first
   * iterations of a loop.
   */
  #sampleValues(range: Range | undefined, values: Values): readonly number[] {
    if (!range) return [0, 1, 2, 3];
    const ends = new Valuation(values);
    const [from, to] = [ends.integer(range.from), ends.integer(range.to)];
    this.budget.spend(ends.steps);
    if (from === undefined || to === undefined) return [0, 1];
    if (to - from <= 4) return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
    return [from, from + 1, Math.floor((from + to) / 2), to - 2, to - 1];
  }
}
