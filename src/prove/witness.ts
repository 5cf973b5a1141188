/**
 * Searches for the smallest case where something is wrong. Terms say which sizes are worth a try; only the evaluator
 * decides, so a case that is shown is real. The search counts steps, never time.
 */
import type { Case, Evaluation, Finding } from "../contract/compiled.js";
import type { FindingCode } from "../diagnostics/catalogue/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { type KernelIR, paramsOf } from "../ir/nodes.js";
import { isNumber, not, symbolsIn, type Term, termsIn } from "../terms/term.js";
import type { DTypeVariable } from "../types/dtype.js";
import type { Range } from "./launch.js";
import type { Model } from "./model.js";
import { Valuation, type Values } from "./valuation.js";

/** How cases of the kernel are run. */
export interface Trial {
  /** Why a case cannot be launched, or undefined. */
  refusal(at: Case): string | undefined;
  /** Lanes that a case computes. */
  lanes(at: Case): number;
  evaluate(at: Case): Evaluation;
}

/** What may go wrong: a point where all `given` hold and `holds` does not. */
export interface Question {
  readonly holds: Term;
  readonly given: readonly Term[];
  /** Programs, turns and lanes, outer ones first. */
  readonly variables: readonly string[];
  readonly at: Location | undefined;
  /** What the evaluator would say there. */
  readonly finds: readonly FindingCode[];
}

export interface Witness {
  readonly at: Case;
  readonly finding: Finding;
}

const LIMITS = { sizes: 4000, steps: 1_000_000, cases: 12, lanes: 4e7, values: 10 } as const;

export function findWitness(model: Model, config: number, question: Question, trial: Trial): Witness | undefined {
  const search = new Search(model, question);
  let tried = 0;
  for (const values of search.sizes()) {
    if (search.steps > LIMITS.steps || tried >= LIMITS.cases) return undefined;
    if (!search.mayFail(values)) continue;
    const at = caseOf(model.ir, config, values);
    const finding = findingAt(at, question, trial);
    if (finding === "refused") continue;
    tried++;
    if (finding) return { at, finding };
  }
  return undefined;
}

/** What the evaluator finds of a question. */
function findingAt(at: Case, { at: place, finds }: Question, trial: Trial): Finding | "refused" | undefined {
  try {
    if (trial.refusal(at) !== undefined || trial.lanes(at) > LIMITS.lanes) return "refused";
    const { findings } = trial.evaluate(at);
    return findings.find(({ code, at: found }) => finds.includes(code) && isSame(found, place));
  } catch {
    // A case may fail in other ways, such as a division by zero on the host.
    return undefined;
  }
}

const isSame = (x: Location | undefined, y: Location | undefined): boolean =>
  x?.file === y?.file && x?.line === y?.line && x?.column === y?.column;

/** The case with these sizes, the first member of each dtype variable and contiguous tensors. */
function caseOf(ir: KernelIR, config: number, values: Values): Case {
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

class Search {
  readonly #model: Model;
  readonly #question: Question;
  /** The symbols that a case chooses and that matter. */
  readonly #names: readonly string[];
  steps = 0;

  constructor(model: Model, question: Question) {
    this.#model = model;
    this.#question = question;
    const { launch, environment } = model;
    const ranges = question.variables.flatMap((name) => environment.ranges.get(name) ?? []);
    const roots = [question.holds, ...question.given, ...ranges.flatMap(({ from, to }) => [from, to]), ...launch.grid];
    const matters = new Set(symbolsIn(...roots));
    for (const fact of launch.facts) {
      const names = symbolsIn(fact);
      if ([...names].some((name) => matters.has(name))) for (const name of names) matters.add(name);
    }
    this.#names = [...launch.chosen].filter((name) => matters.has(name));
  }

  /** Values of sizes, small ones first. */
  *sizes(): Iterable<Values> {
    const options = this.#options();
    const names = this.#names;
    const total = (places: readonly number[]) => places.reduce((sum, place) => sum + (options[place] || 1.5), 0);
    let open = [{ places: names.map(() => 0), total: names.length }];
    const seen = new Set([open[0]!.places.join()]);
    for (let count = 0; open.length > 0 && count < LIMITS.sizes; count++) {
      const best = open.reduce((least, each, i) => (each.total < open[least]!.total ? i : least), 0);
      const [{ places }] = open.splice(best, 1) as [(typeof open)[number]];
      yield this.#withDerived(new Map(names.map((name, i) => [name, options[places[i]!]!])));
      names.forEach((_, i) => {
        if (places[i]! + 1 >= options.length) return;
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
  #options(): readonly number[] {
    const { launch, environment } = this.#model;
    const { holds, given, variables } = this.#question;
    const ranges = variables.flatMap((name) => environment.ranges.get(name) ?? []);
    const terms = termsIn(holds, ...given, ...launch.facts, ...launch.grid, ...ranges.flatMap(({ to }) => [to]));
    const constants = [...terms].filter(isNumber).map(({ value }) => Math.abs(Number(value)));
    const blocks = [...new Set(constants)].filter((value) => value > 3 && value <= 4096).sort((x, y) => x - y);
    const around = blocks.slice(0, LIMITS.values).flatMap((value) => [value - 1, value, value + 1, 2 * value + 1]);
    return [...new Set([1, 0, 2, 3, 5, 8, 16, ...around])].sort((x, y) => (x || 1.5) - (y || 1.5));
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

  /** Whether a point of these sizes may break the question; what is unknown may be anything. */
  mayFail(values: Values): boolean {
    const launched = new Valuation(values);
    const { facts } = this.#model.launch;
    const isLaunched = facts.every((fact) => launched.truth(fact) !== false);
    this.steps += launched.steps;
    return isLaunched && this.#fails(new Map(values), 0);
  }

  #fails(values: Map<string, number>, place: number): boolean {
    if (this.steps > LIMITS.steps) return false;
    const { variables, given, holds } = this.#question;
    const name = variables[place];
    if (name === undefined) {
      const point = new Valuation(values);
      const isHere = given.every((condition) => point.truth(condition) !== false);
      const fails = isHere && point.truth(not(holds)) !== false;
      this.steps += point.steps;
      return fails;
    }
    for (const value of this.#corners(this.#model.environment.ranges.get(name), values)) {
      values.set(name, value);
      if (this.#fails(values, place + 1)) return true;
    }
    values.delete(name);
    return false;
  }

  /** The ends of a range; mistakes are there. A loop's first turns. */
  #corners(range: Range | undefined, values: Values): readonly number[] {
    if (!range) return [0, 1, 2, 3];
    const ends = new Valuation(values);
    const [from, to] = [ends.integer(range.from), ends.integer(range.to)];
    this.steps += ends.steps;
    if (from === undefined || to === undefined) return [0, 1];
    if (to - from <= 4) return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
    return [from, from + 1, to - 2, to - 1];
  }
}
