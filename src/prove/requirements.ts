/** The author's requirements that are implied by other facts, so that no proof needs them. */
import type { Obligation } from "../compiled/compiled-kernel.js";
import { isValue, type KernelIR } from "../ir/nodes.js";
import { definitions } from "../ir/walk.js";
import { conditionsOf, FALSE, type Term } from "../symbolic/term.js";
import { Budget } from "./algebra/budget.js";
import { assume, entails } from "./algebra/interpret.js";
import { FactSet } from "./algebra/facts.js";
import { zip } from "./algebra/zip.js";
import { hostFacts, SymbolicLaunch } from "./model/launch.js";

const STEPS = 500;

/** One entry for each requirement that is proved without itself. */
export function redundantRequirements(ir: KernelIR): readonly Obligation[] {
  const { yields } = ir.requires.block;
  if (yields.length === 0) return [];
  const launch = new SymbolicLaunch(ir, {}, new Map());
  const statements = definitions(ir.requires.block);
  return zip(launch.requirements, yields).flatMap(([requirement, value]): Obligation[] => {
    const at = isValue(value) ? statements.get(value)?.location : undefined;
    // The requirement of a parameter's range has no location.
    if (at === undefined || !followsFrom(requirement, without(launch.facts, conditionsOf(requirement)))) return [];
    return [{ property: "requirement", of: "a requirement", at, verdict: { kind: "proved", configs: "together" } }];
  });
}

/** Removes the facts that a requirement adds, each once. A fact that is also known from elsewhere remains. */
function without(facts: readonly Term[], removed: readonly Term[]): readonly Term[] {
  const pending = [...removed];
  return facts.filter((fact) => {
    const index = pending.indexOf(fact);
    if (index >= 0) pending.splice(index, 1);
    return index < 0;
  });
}

function followsFrom(requirement: Term, facts: readonly Term[]): boolean {
  const factSet = new FactSet({ budget: new Budget(STEPS), callFacts: hostFacts });
  for (const fact of facts) assume(factSet, fact);
  // If no launch satisfies the facts, nothing is redundant.
  return !entails(factSet, FALSE) && entails(factSet, requirement);
}
