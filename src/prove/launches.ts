/**
 * Launches that meet the requirements of a kernel. What is proved of every launch says nothing where there is none, so
 * that each config needs one.
 */
import type { Obligation, TestCase } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { type KernelIR, paramsOf, type ScalarParam, isValue } from "../ir/nodes.js";
import { conditionsOf, FALSE, type Term } from "../symbolic/term.js";
import { isInt, members } from "../types/dtype.js";
import { entails, assume } from "./algebra/interpret.js";
import type { CaseRunner } from "./counterexample.js";
import { type IndexedConfig, integersOf, LaunchSearch, testCaseOf, Valuation, type Values } from "./launch-search.js";
import { SymbolicLaunch, symbolicLaunch, hostFacts } from "./model/launch.js";
import { definitions } from "../ir/walk.js";
import { Budget } from "./algebra/budget.js";
import { FactSet } from "./algebra/facts.js";
import { zip } from "./algebra/zip.js";

/** The number of launches that may be refused before the search ends. */
const MAX_REFUSED = 500;
const STEPS = 5_000;

export interface LaunchesOfConfigs {
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
