/**
 * Race obligations: no two programs access an element that one of them writes, and no two lanes of a store write
 * different values to an element. Atomics may access the same element. Accesses of one program are ordered.
 */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { andTerm, equal, substitute, symbol, type Term, TRUE } from "../../symbolic/term.js";
import { entails } from "../algebra/interpret.js";
import { firstUnprovedBound } from "./bounds.js";
import { invert } from "../model/inverse.js";
import {
  type ObligationGenerator,
  type ProofGap,
  type ProofContext,
  describeAccess,
  describeUnknowns,
  inLineOf,
  missingBounds,
} from "./obligations.js";
import { assumeRows, isRow, provesSame } from "../model/partitions.js";
import type { Access } from "../model/accesses.js";
import type { RefutationQuery } from "../counterexample.js";
import { primed, sameElementFacts, variablesOf } from "../model/written-elements.js";

const FINDING_CODES: readonly FindingCode[] = ["race", "lane-conflict"];

/** One obligation for each access of a written tensor, except for atomics that share it with atomics only. */
export const raceObligations: ObligationGenerator = (models) => {
  const statements = new Map<OpStatement, Access>();
  const waivers = new Map<OpStatement, string | undefined>();
  const partners = new Map<OpStatement, readonly OpStatement[]>();
  for (const { accesses } of models)
    for (const access of accesses) {
      const others = conflictingAccesses(access, accesses);
      if (others.length === 0) continue;
      statements.set(access.statement, access);
      const members = [access, ...others];
      waivers.set(access.statement, members.find((member) => member.trusted !== undefined)?.trusted);
      partners.set(access.statement, [
        ...(partners.get(access.statement) ?? []),
        ...members.map((member) => member.statement),
      ]);
    }
  return [...statements].map(([statement, access]) => ({
    property: "race",
    subject: describeAccess(access),
    at: statement.location,
    restsOn: partners.get(statement) ?? [],
    waiver: waivers.get(statement),
    prove: (context) => proveNoRace(context, statement),
  }));
};

/**
 * The accesses that may conflict with this one, each pair once: a store with itself and with earlier writes, a load
 * with all writes.
 */
function conflictingAccesses(access: Access, accesses: readonly Access[]): readonly Access[] {
  const { accessKind: does, tensor } = access;
  const writes = accesses.filter((write) => write.tensor === tensor && write.accessKind !== "load" && write !== access);
  if (does === "load") return writes;
  const earlierWrites = writes.filter((write) => accesses.indexOf(write) < accesses.indexOf(access));
  return does === "store" ? [access, ...earlierWrites] : earlierWrites.filter((write) => write.accessKind === "store");
}

function proveNoRace(context: ProofContext, statement: OpStatement): ProofGap | undefined {
  const { accesses } = context.model;
  for (const access of accesses) {
    if (access.statement !== statement) continue;
    for (const partner of conflictingAccesses(access, accesses)) {
      const missing = access.missing ?? partner.missing;
      const unconstrained = { ...refutationOf(access, partner, []), conflict: [] };
      if (missing !== undefined) {
        const isRefutable = access.unstrided === true || partner.unstrided === true;
        return { refutation: isRefutable ? unconstrained : undefined, missing };
      }
      // An out-of-bounds index on one axis accesses elements that another index addresses.
      const outOfBounds = [access, partner].find((member) => firstUnprovedBound(context.factScopes, member));
      if (outOfBounds) return { refutation: unconstrained, missing: missingBounds(outOfBounds), isLemma: true };
      const gap = proveDisjoint(context, access, partner);
      if (gap) return gap;
    }
  }
  return undefined;
}

/**
 * Proves that two accesses do not conflict: across programs, or for one store across lanes that may write different
 * values.
 */
function proveDisjoint(context: ProofContext, access: Access, partner: Access): ProofGap | undefined {
  const { model } = context;
  const programs = model.launch.program.slice(0, model.launch.grid.length).map(({ name }) => name);
  const isDisjoint =
    provesUniqueProgram(context, access, partner, programs) || provesUniqueProgram(context, partner, access, programs);
  if (!isDisjoint && !provesEqualVariables(context, access, partner, programs))
    return { refutation: refutationOf(access, partner, programs), missing: missingOrder(context, access, partner) };
  if (access !== partner) return undefined;
  const lanes = access.lanes.filter((name) => access.valueLanes.includes(name));
  if (provesUniqueLanes(context, access, lanes) || provesEqualVariables(context, access, access, lanes))
    return undefined;
  return { refutation: refutationOf(access, access, lanes), missing: missingLanes(context, access) };
}

// ---- by an inverse ----------------------------------------------------------------------------------------------------

const elementOf = (axis: number): string => `element ${axis}`;

/** The programs and lanes of an access as terms of the element's index. */
export function inverseOf(
  { model, factScopes: contexts }: ProofContext,
  access: Access,
  variables: readonly string[],
): ReadonlyMap<string, Term> {
  const equations = access.axes.map(({ index }, axis) => ({ index, target: symbol(elementOf(axis)) }));
  return invert(model, contexts.active(access), variables, equations);
}

/**
 * Proves that the inverse, applied to the element that an active lane accesses, returns that lane's program or lane
 * index. `variableOf` returns the access's own variable for that of another access, if the inverse is of another.
 */
export function provesRoundTrip(
  { model, factScopes: contexts }: ProofContext,
  access: Access,
  inverse: ReadonlyMap<string, Term>,
  name: string,
  variableOf: (name: string) => Term = symbol,
): boolean {
  const term = inverse.get(name);
  if (!term) return false;
  const elements = new Map(access.axes.map(({ index }, axis) => [elementOf(axis), index]));
  const facts = contexts.active(access).child();
  const provesEqual = (term: Term, variable: string): boolean => {
    assumeRows(facts, model, [term]);
    return provesSame(facts, model, term, variableOf(variable));
  };
  // The inverse may use the element's row, which equals the row of this access.
  const rows = [...inverse].filter(
    ([variable, term]) => variable !== name && isRow(term) && provesEqual(substitute(term, elements), variable),
  );
  const replacements = new Map(rows.map(([variable, term]) => [term, variableOf(variable)] as const));
  return provesEqual(substitute(term, elements, replacements), name);
}

/** Proves that the element determines the program that accesses it, for both accesses. */
function provesUniqueProgram(
  context: ProofContext,
  access: Access,
  partner: Access,
  programs: readonly string[],
): boolean {
  const inverse = inverseOf(context, partner, [...partner.scope, ...partner.lanes]);
  return programs.every(
    (name) =>
      provesRoundTrip(context, partner, inverse, name) &&
      (access === partner || provesRoundTrip(context, access, inverse, name)),
  );
}

/** Proves that the element determines the lane that writes it, within one program and iteration. */
function provesUniqueLanes(context: ProofContext, access: Access, lanes: readonly string[]): boolean {
  const inverse = inverseOf(context, access, access.lanes);
  return lanes.every((name) => provesRoundTrip(context, access, inverse, name));
}

// ---- by two points ----------------------------------------------------------------------------------------------------

/** Proves that these variables are equal for two active lanes that access one element. */
function provesEqualVariables(
  { factScopes: contexts }: ProofContext,
  access: Access,
  partner: Access,
  names: readonly string[],
): boolean {
  // Two lanes of one store conflict only within one program and iteration. Otherwise all variables may differ.
  const renamed =
    access === partner && names.every((name) => access.lanes.includes(name)) ? partner.lanes : variablesOf(partner);
  const second = primed(renamed);
  const facts = sameElementFacts(contexts, access, partner, second);
  return entails(facts, andTerm(...names.map((name) => equal(symbol(name), second.get(name) ?? symbol(name)))));
}

// ---- words ------------------------------------------------------------------------------------------------------------

/**
 * The search for two points that access one element in different programs, or in different lanes of one program and
 * iteration.
 */
function refutationOf(access: Access, partner: Access, identity: readonly string[]): RefutationQuery {
  const areLanes = identity.some((name) => access.lanes.includes(name));
  const accesses = [...new Set([access, partner])];
  const conflict = accesses.map((member) => ({
    index: [...member.axes.map(({ index }) => index), ...(areLanes ? member.scope.map(symbol) : [])],
    facts: [...member.path, member.mask],
    variables: variablesOf(member),
    identity,
  }));
  const locations = accesses.map(({ statement }) => statement.location);
  return {
    goal: TRUE,
    facts: [],
    variables: [...new Set(accesses.flatMap(variablesOf))],
    locations,
    findingCodes: FINDING_CODES,
    conflict,
  };
}

function missingOrder({ model }: ProofContext, access: Access, partner: Access): string {
  const name = access.tensor?.name;
  const goal =
    access === partner
      ? `nothing shows that no two programs write one element of ${name}`
      : `nothing shows that no program ${partner.accessKind === "load" ? "reads" : "writes"} an element of ${name} here that another program writes${inLineOf(partner)}`;
  return `${goal}${describeReason(model, [access, partner])}`;
}

function missingLanes({ model }: ProofContext, access: Access): string {
  return `nothing shows that no two lanes of it write different values to one element of ${access.tensor?.name}${describeReason(model, [access])}`;
}

function describeReason(model: ProofContext["model"], accesses: readonly Access[]): string {
  const index = accesses.flatMap(({ axes }) => axes.map((axis) => axis.index));
  const conditions = accesses.flatMap(({ mask, path }) => [mask, ...path]);
  return describeUnknowns(model, index, conditions);
}
