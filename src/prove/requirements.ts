/** The author's requirements that hold of every launch without being required: no proof needs them. */
import type { Obligation } from "../compiled/compiled-kernel.js";
import { isValue, type KernelIR } from "../ir/nodes.js";
import { definitions } from "../ir/walk.js";
import { conditionsOf, FALSE, type Term } from "../symbolic/term.js";
import { Budget } from "./algebra/budget.js";
import { assume, entails } from "./algebra/interpret.js";
import { FactSet } from "./algebra/facts.js";
import { hostFacts, SymbolicLaunch } from "./model/launch.js";

const STEPS = 500;

/** One entry for each, `proved` without the requirement itself. */
export function redundantRequirements(ir: KernelIR): readonly Obligation[] {
  const { yields } = ir.requires.block;
  if (yields.length === 0) return [];
  const launch = new SymbolicLaunch(ir, {}, new Map());
  const made = definitions(ir.requires.block);
  return launch.requirements.flatMap((requirement, i): Obligation[] => {
    const written = yields[i]!;
    const at = isValue(written) ? made.get(written)?.at : undefined;
    // What a parameter's range asks has no line of its own.
    if (at === undefined || !followsFrom(requirement, without(launch.facts, conditionsOf(requirement)))) return [];
    return [{ property: "requirement", of: "a requirement", at, verdict: { kind: "proved", configs: "together" } }];
  });
}

/** Facts without those that a requirement adds, each once: what holds of sizes anyway stays. */
function without(facts: readonly Term[], added: readonly Term[]): readonly Term[] {
  const left = [...added];
  return facts.filter((fact) => {
    const place = left.indexOf(fact);
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
}

function followsFrom(requirement: Term, facts: readonly Term[]): boolean {
  const known = new FactSet({ budget: new Budget(STEPS), callFacts: hostFacts });
  for (const fact of facts) assume(known, fact);
  // Where nothing can be launched, nothing follows.
  return !entails(known, FALSE) && entails(known, requirement);
}
