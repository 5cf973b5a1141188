/**
 * Searches for the smallest case where something is wrong. Terms say which sizes are worth a try; only the evaluator
 * decides, so a case that is shown is real. The search counts steps, never time.
 */
import type { TestCase, Evaluation, Finding } from "../compiled/compiled-kernel.js";
import { boundarySizes } from "../compiled/boundary-sizes.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { type KernelIR, paramsOf } from "../ir/nodes.js";
import { conditionsOf, isNumber, not, symbolsIn, type Term, termsIn } from "../symbolic/term.js";
import type { DTypeVariable } from "../types/dtype.js";
import type { Budget } from "./algebra/budget.js";
import type { SymbolDomain, Range } from "./model/launch.js";
import type { SymbolicModel } from "./model/model.js";
import { Valuation, type Values } from "./valuation.js";

/** How cases of the kernel are run. */
export interface CaseRunner {
  /** Why a case cannot be launched, or undefined. */
  refusal(at: TestCase): string | undefined;
  /** Lanes that a case computes. */
  lanes(at: TestCase): number;
  evaluate(at: TestCase): Evaluation;
}

/** What may go wrong: a point where all `given` hold and `holds` does not. */
export interface RefutationQuery {
  readonly holds: Term;
  readonly given: readonly Term[];
  /** Programs, turns and lanes, outer ones first. */
  readonly variables: readonly string[];
  /** Where the evaluator would say so. */
  readonly places: readonly (Location | undefined)[];
  readonly finds: readonly FindingCode[];
  /** Instead: two points that reach one element, though they differ in `own`; none if any point may be wrong. */
  readonly conflict?: readonly ConflictingAccess[];
  /** What else it depends on. */
  readonly about?: readonly Term[];
  /** Only cases that are too large for the evaluator could show it. */
  readonly isTooLarge?: boolean;
  /** How tensors lie in memory, for what only other strides than those of dense tensors show. */
  readonly layouts?: TestCase["layouts"];
}

/** An access as something that others may meet. */
export interface ConflictingAccess {
  readonly index: readonly Term[];
  readonly given: readonly Term[];
  readonly variables: readonly string[];
  /** Programs or lanes. */
  readonly own: readonly string[];
}

export interface Counterexample {
  readonly at: TestCase;
  readonly finding: Finding;
}

const LIMITS = { sizes: 4000, cases: 16, refused: 100, alike: 4, lanes: 4e7, values: 10 } as const;
/** Lanes that the evaluator computes in the time of a step of the search. */
const LANES_A_STEP = 40;

export function findCounterexample(
  model: SymbolicModel,
  config: number,
  question: RefutationQuery,
  trial: CaseRunner,
  budget: Budget,
): Counterexample | undefined {
  const search = new Search(model, question, budget);
  let [tried, refused] = [0, 0];
  const triedOnGrid = new Map<string, number>();
  for (const values of search.sizes()) {
    if (budget.spent || tried >= LIMITS.cases || refused >= LIMITS.refused) return undefined;
    // Sizes with as many programs mostly go wrong in the same way.
    const grid = search.gridOf(values);
    const alike = triedOnGrid.get(grid) ?? 0;
    if (alike >= LIMITS.alike || !search.mayFail(values)) continue;
    const at = { ...caseOf(model.ir, config, values), ...(question.layouts && { layouts: question.layouts }) };
    const finding = findingAt(at, question, trial, budget);
    if (finding === "refused") {
      refused++;
      continue;
    }
    tried++;
    triedOnGrid.set(grid, alike + 1);
    if (finding) return { at, finding };
  }
  return undefined;
}

/** What the evaluator finds of a question. */
function findingAt(
  at: TestCase,
  { places, finds }: RefutationQuery,
  trial: CaseRunner,
  budget: Budget,
): Finding | "refused" | undefined {
  try {
    if (trial.refusal(at) !== undefined) return "refused";
    const lanes = trial.lanes(at);
    if (lanes > LIMITS.lanes) return "refused";
    budget.spend(Math.ceil(lanes / LANES_A_STEP));
    const { findings } = trial.evaluate(at);
    return findings.find(({ code, at: found }) => finds.includes(code) && places.some((place) => isSame(found, place)));
  } catch {
    // A case may fail in other ways, such as a division by zero on the host.
    return undefined;
  }
}

const isSame = (x: Location | undefined, y: Location | undefined): boolean =>
  x?.file === y?.file && x?.line === y?.line && x?.column === y?.column;

/** The case with these sizes, the first member of each dtype variable and contiguous tensors. */
function caseOf(ir: KernelIR, config: number, values: Values): TestCase {
  const of = (name: string) => values.get(name) ?? 1;
  const sizes = paramsOf(ir, "size").flatMap(({ name, derived }) => (derived ? [] : [[name, of(name)] as const]));
  const constexprs = paramsOf(ir, "constexpr");
  const dims = constexprs.flatMap(({ name, from }) => (from === "dim" ? [[name, of(name)] as const] : []));
  const passed = constexprs.flatMap((param) => {
    if (param.from !== "argument" || param.compute || param.variable) return [];
    const { name, choices, default: preset } = param;
    const value = param.of === "int" ? of(name) : param.of === "bool" ? of(name) === 1 : (preset ?? choices?.[0] ?? 0);
    return [[name, value] as const];
  });
  const scalars = paramsOf(ir, "scalar").map(({ name }) => [name, of(name)] as const);
  return {
    sizes: Object.fromEntries([...sizes, ...dims]),
    dtypes: Object.fromEntries(dtypesOf(ir).map(({ name, members }) => [name, members[0]!])),
    scalars: Object.fromEntries(scalars),
    constexprs: Object.fromEntries(passed),
    absent: absentOf(ir, values),
    config,
    seed: 1,
  };
}

function dtypesOf({ params }: KernelIR): readonly DTypeVariable[] {
  return params.flatMap((param) => {
    const dtype = param.kind === "constexpr" ? param.variable : "dtype" in param ? param.dtype : undefined;
    return dtype !== undefined && typeof dtype !== "string" ? [dtype] : [];
  });
}

function absentOf(ir: KernelIR, values: Values): readonly string[] {
  return [...paramsOf(ir, "tensor"), ...paramsOf(ir, "pointer")].flatMap(({ name, given }) =>
    given && values.get(`${given.parameter} given`) === 0 ? [name] : [],
  );
}

/** Small numbers come first; between two of one size, the positive one. */
const costOf = (value: number): number => (value === 0 ? 1.5 : Math.abs(value) + (value < 0 ? 0.5 : 0));

/** The values of a symbol that are worth a try, small ones first. */
function optionsOf(choice: SymbolDomain, numbers: readonly number[], isBounded: boolean): readonly number[] {
  if (choice === "truth") return [1, 0];
  // Of a caller's number that nothing is said of, an author may well mean that it is not negative.
  if (choice === "number" && isBounded) return [...numbers, -1, -2, -5].sort((x, y) => costOf(x) - costOf(y));
  if (choice === "size" || choice === "number") return numbers;
  return [1, 2, 4, 8].map((times) => choice.tile * times);
}

class Search {
  readonly #model: SymbolicModel;
  readonly #question: RefutationQuery;
  /** The symbols that a case chooses and that matter. */
  readonly #names: readonly string[];

  constructor(
    model: SymbolicModel,
    question: RefutationQuery,
    readonly budget: Budget,
  ) {
    this.#model = model;
    this.#question = question;
    const { launch, environment } = model;
    const ranges = question.variables.flatMap((name) => environment.ranges.get(name) ?? []);
    const met = (question.conflict ?? []).flatMap(({ index, given }) => [...index, ...given]);
    const ends = ranges.flatMap(({ from, to }) => [from, to]);
    const roots = [question.holds, ...question.given, ...(question.about ?? []), ...met, ...ends, ...launch.grid];
    const matters = new Set(symbolsIn(...roots));
    for (const fact of launch.facts) {
      const names = symbolsIn(fact);
      if ([...names].some((name) => matters.has(name))) for (const name of names) matters.add(name);
    }
    this.#names = [...launch.chosen.keys()].filter((name) => matters.has(name));
  }

  /** Values of sizes, small ones first; those that do not matter have the smallest. */
  *sizes(): Iterable<Values> {
    const { chosen, facts } = this.#model.launch;
    const numbers = this.#numbers();
    const bounded = symbolsIn(...facts);
    const optionsFor = (name: string) => optionsOf(chosen.get(name)!, numbers, bounded.has(name));
    const idle = [...chosen.keys()].map((name) => [name, optionsFor(name)[0]!] as const);
    const names = this.#names;
    const options = names.map(optionsFor);
    const total = (places: readonly number[]) => places.reduce((sum, place, i) => sum + costOf(options[i]![place]!), 0);
    let open = [{ places: names.map(() => 0), total: names.length }];
    const seen = new Set([open[0]!.places.join()]);
    for (let count = 0; open.length > 0 && count < LIMITS.sizes; count++) {
      const best = open.reduce((least, each, i) => (each.total < open[least]!.total ? i : least), 0);
      const [{ places }] = open.splice(best, 1) as [(typeof open)[number]];
      const given = names.map((name, i) => [name, options[i]![places[i]!]!] as const);
      yield this.#withDerived(new Map([...idle, ...given]));
      names.forEach((_, i) => {
        if (places[i]! + 1 >= options[i]!.length) return;
        const next = places.with(i, places[i]! + 1);
        const key = next.join();
        if (seen.has(key)) return;
        seen.add(key);
        open.push({ places: next, total: total(next) });
      });
      if (open.length > LIMITS.sizes) open = open.slice(0, LIMITS.sizes);
    }
  }

  /** Small numbers, and those around the constants of the kernel, which blocks are made of. */
  #numbers(): readonly number[] {
    const { launch, environment } = this.#model;
    const { holds, given, variables, conflict: meets = [] } = this.#question;
    const ranges = variables.flatMap((name) => environment.ranges.get(name) ?? []);
    const met = meets.flatMap(({ index, given: conditions }) => [...index, ...conditions]);
    const terms = termsIn(
      holds,
      ...given,
      ...met,
      ...launch.facts,
      ...launch.grid,
      ...ranges.flatMap(({ to }) => [to]),
    );
    const constants = [...terms].filter(isNumber).map(({ value }) => Math.abs(Number(value)));
    const blocks = [...new Set(constants)].filter((value) => value > 3 && value <= 4096).sort((x, y) => x - y);
    const around = blocks.slice(0, LIMITS.values).flatMap(boundarySizes);
    return [...new Set([1, 0, 2, 3, 5, 8, 16, ...around])].sort((x, y) => costOf(x) - costOf(y));
  }

  /** Derived sizes have the value of their equation. */
  #withDerived(values: Map<string, number>): Values {
    for (const { kind, parts } of this.#model.launch.facts) {
      const [left, right] = parts;
      if (kind !== "equal" || left!.kind !== "symbol" || values.has(left!.name)) continue;
      const value = new Valuation(values).integer(right!);
      if (value !== undefined) values.set(left!.name, value);
    }
    for (const [name, by] of this.#model.launch.multiples) {
      const quotient = values.get(name) ?? 1;
      values.set(`${name}/`, quotient);
      values.set(name, new Valuation(values).integer(by) ?? quotient);
    }
    return values;
  }

  /** The numbers of programs, as text. */
  gridOf(values: Values): string {
    const launched = new Valuation(values);
    return this.#model.launch.grid.map((size) => launched.integer(size)).join();
  }

  /** Whether a point of these sizes may break the question; what is unknown may be anything. */
  mayFail(values: Values): boolean {
    const launched = new Valuation(values);
    const { facts } = this.#model.launch;
    const isLaunched = facts.every((fact) => launched.truth(fact) !== false);
    this.budget.spend(launched.steps);
    return isLaunched && this.#fails(new Map(values));
  }

  #fails(values: Map<string, number>): boolean {
    const { variables, given, holds, conflict: meets } = this.#question;
    if (meets) return this.#meet(values, meets);
    for (const point of this.#points(variables, given, values)) if (point.truth(not(holds)) !== false) return true;
    return false;
  }

  /** Whether two points reach one element, or one an element that is not known. */
  #meet(values: Map<string, number>, spots: readonly ConflictingAccess[]): boolean {
    if (spots.length === 0) return true;
    const reachedFrom = new Map<string, string>();
    for (const { index, given, variables, own } of spots)
      for (const point of this.#points(variables, given, values)) {
        const at = index.map((each) => point.integer(each));
        if (at.includes(undefined)) return true;
        const [element, from] = [at.join(), own.map((name) => point.values.get(name)).join()];
        if ((reachedFrom.get(element) ?? from) !== from) return true;
        reachedFrom.set(element, from);
      }
    return false;
  }

  /** Points near the ends of the variables' ranges where the conditions may hold. */
  #points(variables: readonly string[], given: readonly Term[], values: Map<string, number>): Iterable<Valuation> {
    const lastOf = (condition: Term): number => {
      const names = symbolsIn(condition);
      return variables.findLastIndex((name) => names.has(name));
    };
    const conditions = given.flatMap(conditionsOf).map((condition) => ({ condition, last: lastOf(condition) }));
    // A condition is asked as soon as its variables have values.
    const ready = variables.map((_, i) => conditions.flatMap(({ condition, last }) => (last === i ? [condition] : [])));
    return this.#pointsFrom(0, variables, ready, values);
  }

  *#pointsFrom(
    place: number,
    variables: readonly string[],
    ready: readonly (readonly Term[])[],
    values: Map<string, number>,
  ): Iterable<Valuation> {
    const name = variables[place];
    if (name === undefined) {
      const point = new Valuation(values);
      yield point;
      this.budget.spend(point.steps);
      return;
    }
    for (const value of this.#corners(this.#model.environment.ranges.get(name), values)) {
      if (this.budget.spent) return;
      values.set(name, value);
      const here = new Valuation(values);
      const mayHold = ready[place]!.every((condition) => here.truth(condition) !== false);
      this.budget.spend(here.steps);
      if (mayHold) yield* this.#pointsFrom(place + 1, variables, ready, values);
    }
    values.delete(name);
  }

  /** The ends of a range; mistakes are there. A loop's first turns. */
  #corners(range: Range | undefined, values: Values): readonly number[] {
    if (!range) return [0, 1, 2, 3];
    const ends = new Valuation(values);
    const [from, to] = [ends.integer(range.from), ends.integer(range.to)];
    this.budget.spend(ends.steps);
    if (from === undefined || to === undefined) return [0, 1];
    if (to - from <= 4) return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
    return [from, from + 1, Math.floor((from + to) / 2), to - 2, to - 1];
  }
}
