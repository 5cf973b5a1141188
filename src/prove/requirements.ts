/** The author's requirements that are implied by other facts, so that no proof needs them. */
import type { Obligation } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { isValue, type KernelIR } from "../ir/nodes.js";
import { definitions } from "../ir/walk.js";
import { conditionsOf, FALSE, type Term } from "../symbolic/term.js";
import { Budget } from "./algebra/budget.js";
import { assume, entails } from "./algebra/interpret.js";
import { FactSet } from "./algebra/facts.js";
import { zip } from "./algebra/zip.js";
import { hostFacts, SymbolicLaunch } from "./model/launch.js";

const STEPS = 500;

/** A requirement of the author. The range of a parameter, which is one too, has no location. */
export interface LocatedRequirement {
  readonly condition: Term;
  readonly at: Location | undefined;
}

/** The requirements of a launch, in source order. */
export function locatedRequirements(ir: KernelIR, { requirements }: SymbolicLaunch): readonly LocatedRequirement[] {
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
    const others = launchFacts(without(launch.facts, conditionsOf(condition)), STEPS);
    // If no launch satisfies the facts, nothing is redundant.
    if (entails(others, FALSE) || !entails(others, condition)) return [];
    return [{ property: "requirement", of: "a requirement", at, verdict: { kind: "proved", configs: "together" } }];
  });
}

/** Facts about a launch, before any program runs. */
export function launchFacts(facts: readonly Term[], steps: number): FactSet {
  const factSet = new FactSet({ budget: new Budget(steps), callFacts: hostFacts });
  for (const fact of facts) assume(factSet, fact);
  return factSet;
}

/** Removes the facts that requirements add, each once. A fact that is also known from elsewhere remains. */
export function without(facts: readonly Term[], removed: readonly Term[]): readonly Term[] {
  const pending = [...removed];
  return facts.filter((fact) => {
    const index = pending.indexOf(fact);
    if (index >= 0) pending.splice(index, 1);
    return index < 0;
  });
}
