/**
 * Whether accesses meet at an element: two programs of which one writes it, or two lanes of one store with values that may
 * differ. Atomics may meet atomics. What one program does is in order.
 */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { andTerm, equal, substitute, symbol, type Term, TRUE } from "../../symbolic/term.js";
import { assume, entails } from "../algebra/interpret.js";
import { firstUnprovedBound } from "./bounds.js";
import { invert } from "../model/inverse.js";
import type { ObligationGenerator, ProofGap, ProofContext } from "./obligations.js";
import { assumeRows, isRow, provesSame } from "../model/partitions.js";
import type { Access } from "../model/accesses.js";
import type { RefutationQuery } from "../counterexample.js";
import { describeAccess, describeUnknowns } from "./describe.js";

const MEET: readonly FindingCode[] = ["race", "lane-conflict"];

/** One duty for each access of a tensor that is written, but for atomics that meet atomics alone. */
export const raceObligations: ObligationGenerator = (models) => {
  const statements = new Map<OpStatement, Access>();
  const trusted = new Map<OpStatement, string | undefined>();
  for (const { accesses } of models)
    for (const access of accesses) {
      const others = partners(access, accesses);
      if (others.length === 0) continue;
      statements.set(access.statement, access);
      trusted.set(access.statement, [access, ...others].find((each) => each.trusted !== undefined)?.trusted);
    }
  return [...statements].map(([statement, access]) => ({
    property: "race",
    of: describeAccess(access),
    at: statement.at,
    waived: trusted.get(statement),
    prove: (stand) => openRace(stand, statement),
  }));
};

/** The accesses that one must not meet, each pair once: a store itself; a load what is written; and what writes before it. */
function partners(access: Access, accesses: readonly Access[]): readonly Access[] {
  const { does, tensor } = access;
  const others = accesses.filter((other) => other.tensor === tensor && other.does !== "load" && other !== access);
  if (does === "load") return others;
  const before = others.filter((other) => accesses.indexOf(other) < accesses.indexOf(access));
  return does === "store" ? [access, ...before] : before.filter((other) => other.does === "store");
}

function openRace(stand: ProofContext, statement: OpStatement): ProofGap | undefined {
  const { accesses } = stand.model;
  for (const access of accesses) {
    if (access.statement !== statement) continue;
    for (const other of partners(access, accesses)) {
      const missing = access.missing ?? other.missing;
      const anywhere = { ...questionOf(access, other, []), meets: [] };
      if (missing !== undefined) {
        const mayShow = access.unstrided === true || other.unstrided === true;
        return { question: mayShow ? anywhere : undefined, missing };
      }
      // An index that leaves its axis reaches elements that another index stands for.
      const outside = [access, other].find((each) => firstUnprovedBound(stand.contexts, each));
      if (outside) return { question: anywhere, missing: missingBounds(outside) };
      const open = openMeeting(stand, access, other);
      if (open) return open;
    }
  }
  return undefined;
}

/** Where two accesses may meet: in different programs, or, of one store, in lanes that may write different values. */
function openMeeting(stand: ProofContext, access: Access, other: Access): ProofGap | undefined {
  const { model } = stand;
  const programs = model.launch.program.slice(0, model.launch.grid.length).map(({ name }) => name);
  const isApart = provesOwnProgram(stand, access, other, programs) || provesOwnProgram(stand, other, access, programs);
  if (!isApart && !provesSameInBoth(stand, access, other, programs))
    return { question: questionOf(access, other, programs), missing: missingOrder(stand, access, other) };
  if (access !== other) return undefined;
  const lanes = access.lanes.filter((name) => access.valueLanes.includes(name));
  if (provesOwnLanes(stand, access, lanes) || provesSameInBoth(stand, access, access, lanes)) return undefined;
  return { question: questionOf(access, access, lanes), missing: missingLanes(stand, access) };
}

// ---- by an inverse ----------------------------------------------------------------------------------------------------

const elementOf = (axis: number): string => `element ${axis}`;

/** Programs and lanes of an access as terms of the element's index. */
function inverseOf(
  { model, contexts }: ProofContext,
  access: Access,
  variables: readonly string[],
): ReadonlyMap<string, Term> {
  const equations = access.axes.map(({ index }, axis) => ({ index, is: symbol(elementOf(axis)) }));
  return invert(model, contexts.active(access), variables, equations);
}

/** Whether an inverse, given the element that an active lane of an access reaches, returns its own program or lane. */
function returns(
  { model, contexts }: ProofContext,
  access: Access,
  from: ReadonlyMap<string, Term>,
  name: string,
): boolean {
  const found = from.get(name);
  if (!found) return false;
  const elements = new Map(access.axes.map(({ index }, axis) => [elementOf(axis), index]));
  const known = contexts.active(access).child();
  const is = (term: Term, variable: string): boolean => {
    assumeRows(known, model, [term]);
    return provesSame(known, model, term, symbol(variable));
  };
  // What follows from the element's row follows from the row that this access stands in.
  const rows = [...from].filter(
    ([variable, term]) => variable !== name && isRow(term) && is(substitute(term, elements), variable),
  );
  const own = new Map(rows.map(([variable, term]) => [term, symbol(variable)] as const));
  return is(substitute(found, elements, own), name);
}

/** Whether the element says which program reaches it, by one access and by the other. */
function provesOwnProgram(stand: ProofContext, access: Access, other: Access, programs: readonly string[]): boolean {
  const from = inverseOf(stand, other, [...other.scope, ...other.lanes]);
  return programs.every(
    (name) => returns(stand, other, from, name) && (access === other || returns(stand, access, from, name)),
  );
}

/** Whether, in one program and one turn, the element says which lane writes it. */
function provesOwnLanes(stand: ProofContext, access: Access, lanes: readonly string[]): boolean {
  const from = inverseOf(stand, access, access.lanes);
  return lanes.every((name) => returns(stand, access, from, name));
}

// ---- by two points ----------------------------------------------------------------------------------------------------

/** Whether these variables of two active lanes that reach one element are certainly equal. */
function provesSameInBoth(
  { contexts }: ProofContext,
  access: Access,
  other: Access,
  names: readonly string[],
): boolean {
  // Two lanes of one store meet in one program and one turn; else all may differ.
  const changed = access === other && names.every((name) => access.lanes.includes(name)) ? other.lanes : pointOf(other);
  const second = new Map(changed.map((name) => [name, symbol(`${name}'`)]));
  const known = contexts.active(access).child();
  const { path, mask, axes } = other;
  for (const condition of [...contexts.rangesOf(pointOf(other)), ...path, mask])
    assume(known, substitute(condition, second));
  axes.forEach(({ index }, axis) => assume(known, equal(access.axes[axis]!.index, substitute(index, second))));
  return entails(known, andTerm(...names.map((name) => equal(symbol(name), second.get(name) ?? symbol(name)))));
}

const pointOf = ({ scope, lanes }: Access): readonly string[] => [...scope, ...lanes];

// ---- words ------------------------------------------------------------------------------------------------------------

/** Two points that reach one element in different programs; or in different lanes of one program and turn. */
function questionOf(access: Access, other: Access, own: readonly string[]): RefutationQuery {
  const areLanes = own.some((name) => access.lanes.includes(name));
  const accesses = [...new Set([access, other])];
  const meets = accesses.map((each) => ({
    index: [...each.axes.map(({ index }) => index), ...(areLanes ? each.scope.map(symbol) : [])],
    given: [...each.path, each.mask],
    variables: pointOf(each),
    own,
  }));
  const places = accesses.map(({ statement }) => statement.at);
  return {
    holds: TRUE,
    given: [],
    variables: [...new Set(accesses.flatMap(pointOf))],
    places,
    finds: MEET,
    conflict: meets,
  };
}

function missingOrder({ model }: ProofContext, access: Access, other: Access): string {
  const name = access.tensor?.name;
  const goal =
    access === other
      ? `nothing shows that no two programs write one element of ${name}`
      : `nothing shows that no program ${other.does === "load" ? "reads" : "writes"} an element of ${name} here that another program writes${lineOf(other)}`;
  return `${goal}${reason(model, [access, other])}`;
}

function missingLanes({ model }: ProofContext, access: Access): string {
  return `nothing shows that no two lanes of it write different values to one element of ${access.tensor?.name}${reason(model, [access])}`;
}

function missingBounds(access: Access): string {
  return `${describeAccess(access)}${lineOf(access)} may leave it, and then reaches the elements of other programs; mend that first`;
}

const lineOf = ({ statement }: Access): string => (statement.at ? ` in line ${statement.at.line}` : "");

function reason(model: ProofContext["model"], accesses: readonly Access[]): string {
  const index = accesses.flatMap(({ axes }) => axes.map((axis) => axis.index));
  const around = accesses.flatMap(({ mask, path }) => [mask, ...path]);
  return describeUnknowns(model, "use an atomic, or let the index say which program it is", index, around);
}
