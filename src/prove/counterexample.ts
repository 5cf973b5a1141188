/**
 * Searches for a small test case that refutes an obligation. Terms only suggest sizes: the evaluator decides, so every
 * reported counterexample is real. The search counts steps instead of time.
 */
import type { TestCase, Evaluation, Finding, Obligation } from "../compiled/compiled-kernel.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { isSameLocation, type Location } from "../diagnostics/diagnostic.js";
import { conditionsOf, FALSE, not, symbolsIn, type Term } from "../symbolic/term.js";
import { Budget } from "./algebra/budget.js";
import { LaunchSearch, testCaseOf, Valuation, type Values, type IndexedConfig, integersOf } from "./launch-search.js";
import { type Range, SymbolicLaunch, symbolicLaunch, hostFacts } from "./model/launch.js";
import type { SymbolicModel } from "./model/model.js";
import { type KernelIR, paramsOf, type ScalarParam, isValue } from "../ir/nodes.js";
import { isInt, members } from "../types/dtype.js";
import { entails, assume } from "./algebra/interpret.js";
import { definitions } from "../ir/walk.js";
import { FactSet } from "./algebra/facts.js";
import { zip } from "./algebra/zip.js";

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

const LIMITS = { cases: 16, refused: 100, alike: 4, lanes: 4e7 } as const;
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

/** True if a point of some small sizes certainly satisfies all facts. */
export function isSatisfiable(
  model: SymbolicModel,
  { facts, variables }: Pick<RefutationQuery, "facts" | "variables">,
  budget: Budget,
): boolean {
  const search = new Search(model, { goal: FALSE, facts, variables, locations: [], findingCodes: [] }, budget);
  for (const values of search.sizes()) {
    if (budget.isExhausted) return false;
    if (search.hasPoint(values)) return true;
  }
  return false;
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
      ({ code, at: found }) =>
        findingCodes.includes(code) && locations.some((expected) => isSameLocation(found, expected)),
    );
  } catch {
    // A test case may fail in other ways, such as a division by zero on the host.
    return undefined;
  }
}

/** A variable of a point, and the conditions that can be checked once it has a value. */
interface PointVariable {
  readonly name: string;
  readonly conditions: readonly Term[];
}

class Search {
  readonly #model: SymbolicModel;
  readonly #query: RefutationQuery;
  readonly #launches: LaunchSearch;

  constructor(
    model: SymbolicModel,
    query: RefutationQuery,
    readonly budget: Budget,
  ) {
    this.#model = model;
    this.#query = query;
    const { goal, facts, relevantTerms = [], variables, conflict = [] } = query;
    const ranges = variables.flatMap((name) => model.environment.ranges.get(name) ?? []);
    const terms = [goal, ...facts, ...conflict.flatMap(({ index, facts: conditions }) => [...index, ...conditions])];
    this.#launches = new LaunchSearch(
      model.launch,
      [...terms, ...relevantTerms, ...ranges.flatMap(({ from, to }) => [from, to])],
      [...terms, ...ranges.map(({ to }) => to)],
    );
  }

  /** Assignments of the sizes, in order of cost. */
  sizes(): Iterable<Values> {
    return this.#launches.sizes();
  }

  /** The grid as a text key. */
  gridOf(values: Values): string {
    const launched = new Valuation(values);
    return this.#model.launch.grid.map((size) => launched.integer(size)).join();
  }

  /** True if a point of these sizes may refute the query. Unknown values may be anything. */
  mayFail(values: Values): boolean {
    return this.#isLaunched(values) && this.#fails(new Map(values));
  }

  /** True if a point of these sizes satisfies all facts. */
  hasPoint(values: Values): boolean {
    const { variables, facts } = this.#query;
    if (!this.#isLaunched(values)) return false;
    for (const point of this.#points(variables, facts, new Map(values)))
      if (facts.every((fact) => point.truth(fact) === true)) return true;
    return false;
  }

  /** True if a launch may have these sizes. */
  #isLaunched(values: Values): boolean {
    const launched = new Valuation(values);
    const isLaunched = this.#launches.mayLaunch(launched);
    this.budget.spend(launched.steps);
    return isLaunched;
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

// Launches that meet the requirements of a kernel. What is proved of every launch says nothing where there is none, so
// that each config needs one.

/** The number of launches that may be refused before the search ends. */
const MAX_REFUSED = 500;
const STEPS = 5_000;

interface LaunchesOfConfigs {
  /** A launch for each config that has one. */
  readonly launches: readonly TestCase[];
  /** One entry for each config without a launch, or one if no config has any. */
  readonly obligations: readonly Obligation[];
}

/** Finds a launch of each config that the wrapper accepts. */
export function launchesOf(ir: KernelIR, configs: readonly IndexedConfig[], runner: CaseRunner): LaunchesOfConfigs {
  const searches = configs.map((config) => {
    const launch = symbolicLaunch(ir, config.values);
    return { config, launch, found: findLaunch(ir, config, launch, runner) };
  });
  const launches = searches.flatMap(({ found }) => ("testCase" in found ? [found.testCase] : []));
  const withoutLaunch = launches.length > 0 ? "one" : "all";
  const obligations = searches.flatMap(({ config, launch, found }): readonly Obligation[] => {
    if ("testCase" in found) return [];
    const of = withoutLaunch === "one" ? `config ${config.index}` : ir.name;
    const by = conflictingRequirements(ir, launch);
    if (by)
      return [
        { property: "launch", of, at: by[0] ?? ir.at, verdict: { kind: "impossible", configs: withoutLaunch, by } },
      ];
    const missing = found.refusal ?? "no size that was tried satisfies them";
    return [{ property: "launch", of, at: ir.at, verdict: { kind: "unknown", missing } }];
  });
  return { launches, obligations: withoutLaunch === "one" ? obligations : obligations.slice(0, 1) };
}

/** A launch, or why the last one that was tried is refused. */
type Found = { readonly testCase: TestCase } | { readonly refusal: string | undefined };

function findLaunch(ir: KernelIR, { values, index }: IndexedConfig, launch: SymbolicLaunch, runner: CaseRunner): Found {
  const floatChoices = floatsOf(ir);
  let refusal: string | undefined;
  let refusedCount = 0;
  for (const candidate of candidates(ir, new LaunchSearch(launch, launch.requirements)))
    for (const floats of floatChoices) {
      const testCase = testCaseOf(ir, index, new Map([...floats, ...candidate, ...integersOf(values)]));
      try {
        refusal = runner.refusal(testCase);
        if (refusal === undefined && runner.lanes(testCase) > 0) return { testCase };
      } catch {
        // A host expression may fail for a candidate, such as by a division by 0.
      }
      if (++refusedCount >= MAX_REFUSED) return { refusal };
    }
  return { refusal };
}

/** The author's shapes, then small sizes that no fact of a launch refutes. */
function* candidates(ir: KernelIR, search: LaunchSearch): Iterable<Values> {
  for (const shape of ir.shapes) yield new Map(Object.entries(shape).map(([name, value]) => [name, Number(value)]));
  for (const values of search.sizes()) if (search.mayLaunch(new Valuation(values))) yield values;
}

/** Values of the scalars that are no integers, which terms do not model: their defaults, then one number for all. */
function floatsOf(ir: KernelIR): readonly Values[] {
  const floats = paramsOf(ir, "scalar").filter(({ dtype }) => !members(dtype).every(isInt));
  if (floats.length === 0) return [new Map()];
  const assign = (valueOf: (param: ScalarParam) => number) =>
    new Map(floats.map((param) => [param.name, valueOf(param)] as const));
  return [assign((param) => Number(param.default ?? 1)), ...[0.5, 0, 2, -1].map((value) => assign(() => value))];
}

/** The places of requirements that contradict one another, as few as possible. Undefined if none are shown to. */
function conflictingRequirements(ir: KernelIR, launch: SymbolicLaunch): readonly Location[] | undefined {
  const requirements = locatedRequirements(ir, launch);
  const conditions = (kept: typeof requirements) => kept.flatMap(({ condition }) => conditionsOf(condition));
  const others = without(launch.facts, conditions(requirements));
  const isImpossible = (kept: typeof requirements) =>
    entails(launchFacts([...others, ...conditions(kept)], STEPS), FALSE);
  if (!isImpossible(requirements)) return undefined;
  const conflict = requirements.reduce((kept, requirement) => {
    const fewer = kept.filter((each) => each !== requirement);
    return isImpossible(fewer) ? fewer : kept;
  }, requirements);
  return conflict.flatMap(({ at }) => at ?? []);
}

// The author's requirements that are implied by other facts, so that no proof needs them.

const REQUIREMENT_STEPS = 500;

/** A requirement of the author. The range of a parameter, which is one too, has no location. */
interface LocatedRequirement {
  readonly condition: Term;
  readonly at: Location | undefined;
}

/** The requirements of a launch, in source order. */
function locatedRequirements(ir: KernelIR, { requirements }: SymbolicLaunch): readonly LocatedRequirement[] {
  const { block } = ir.requires;
  const statements = definitions(block);
  return zip(requirements, block.yields).map(([condition, value]) => ({
    condition,
    at: isValue(value) ? statements.get(value)?.location : undefined,
  }));
}

/** One entry for each requirement that is proved without itself. */
export function redundantRequirements(ir: KernelIR): readonly Obligation[] {
  if (ir.requires.block.yields.length === 0) return [];
  const launch = new SymbolicLaunch(ir, {}, new Map());
  return locatedRequirements(ir, launch).flatMap(({ condition, at }): Obligation[] => {
    if (at === undefined) return [];
    const others = launchFacts(without(launch.facts, conditionsOf(condition)), REQUIREMENT_STEPS);
    // If no launch satisfies the facts, nothing is redundant.
    if (entails(others, FALSE) || !entails(others, condition)) return [];
    return [{ property: "requirement", of: "a requirement", at, verdict: { kind: "proved", configs: "together" } }];
  });
}

/** Facts about a launch, before any program runs. */
function launchFacts(facts: readonly Term[], steps: number): FactSet {
  const factSet = new FactSet({ budget: new Budget(steps), callFacts: hostFacts });
  for (const fact of facts) assume(factSet, fact);
  return factSet;
}

/** Removes the facts that requirements add, each once. A fact that is also known from elsewhere remains. */
function without(facts: readonly Term[], removed: readonly Term[]): readonly Term[] {
  const pending = [...removed];
  return facts.filter((fact) => {
    const index = pending.indexOf(fact);
    if (index >= 0) pending.splice(index, 1);
    return index < 0;
  });
}
