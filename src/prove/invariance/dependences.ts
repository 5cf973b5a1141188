/**
 * What a value depends on, lane by lane: integers, elements of inputs, and the order of float arithmetic. A value that
 * no rule follows depends on something unknown.
 */
import type { Location } from "../../diagnostics/diagnostic.js";
import type { TensorParam, Variable } from "../../ir/nodes.js";
import {
  asTruth,
  atLeast,
  below,
  conditionsOf,
  FALSE,
  NEXT_POWER,
  not,
  number,
  substitute,
  symbol,
  symbolsIn,
  type Term,
  termsIn,
  TRUE,
} from "../../symbolic/term.js";
import type { Normalizer } from "../equivalence/normalizer.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import { broadcastLane, isOne, type TermTile } from "../model/symbolic-environment.js";

/** The part that an integer plays in a value. */
export type Role = "value" | "condition" | "iterations" | "block";

export type Dependence = {
  readonly at: Location | undefined;
  /** The conditions under which it counts. */
  readonly given: readonly Term[];
} & Part;

type Part =
  | { readonly kind: "integer"; readonly role: Role; readonly term: Term }
  | { readonly kind: "element"; readonly tensor: TensorParam; readonly index: readonly Term[] }
  /** Floats that are combined in an order that the layout of a tile decides, or the number of iterations. */
  | { readonly kind: "order" }
  /** A product, or a sum of floats: compilers may round both at once. */
  | { readonly kind: "product" | "sum" }
  /** What atomics add up, which is in their tensor and in no value. */
  | { readonly kind: "atomic" }
  /** Something that no rule follows. `undetermined`: two equal launches may differ in it. */
  | { readonly kind: "unknown" | "undetermined"; readonly why: string };

/** The iterations at which the values of enclosing loops are asked for, by the symbols of the model. */
export interface Point {
  readonly given: readonly Term[];
  readonly iterations: ReadonlyMap<string, Term>;
  /** For each loop of which an earlier iteration is asked for: the conditions at its first question. */
  readonly entered: ReadonlyMap<LoopValues, readonly Term[]>;
}

/** A value in each lane. */
export interface DependentTile {
  readonly shape: readonly Term[];
  /** The value of integers whose arithmetic does not wrap. */
  readonly terms: TermTile | undefined;
  readonly at: Location | undefined;
  /** Visits what a lane is computed from. */
  readonly visit: (lane: readonly Term[], point: Point, collection: Collection) => void;
}

/** A value without dependences: a number, or a float that the caller passes. */
export const NOTHING: DependentTile = { shape: [], terms: undefined, at: undefined, visit: () => undefined };

export interface LoopValues {
  readonly iteration: Term;
  readonly condition: Term | undefined;
  readonly initial: ReadonlyMap<Variable, DependentTile>;
  /** The values at the end of an iteration. */
  next: ReadonlyMap<Variable, DependentTile>;
}

const MAX_VISITS = 4_000;
const MAX_STATES = 40;

/** Collects the dependences of a store's lanes. */
export class Collection {
  readonly found: Dependence[] = [];
  /** The conditions on variables that are bound here: lanes of folds, and iterations. */
  readonly ranges = new Map<string, readonly Term[]>();
  readonly #seen = new Set<string>();
  readonly #ids = new Map<object, number>();
  /** The conditions of the visit under way. */
  #given: readonly Term[] = [];
  #visits = 0;
  #states = 0;

  constructor(readonly normalizer: Normalizer) {}

  add(part: Part, at: Location | undefined): void {
    this.found.push({ ...part, at, given: this.#given });
  }

  unknown(why: string, at: Location | undefined, kind: "unknown" | "undetermined" = "unknown"): void {
    this.add({ kind, why }, at);
  }

  // ---- values ---------------------------------------------------------------------------------------------------------

  /** Visits a value at a lane of a result that its shape broadcasts to. */
  visit(tile: DependentTile, resultLane: readonly Term[], point: Point): void {
    const lane = broadcastLane(tile.shape, resultLane);
    const key = `${this.#id(tile)} ${idsOf(lane)} ${this.#keyOf(point)}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    if (++this.#visits > MAX_VISITS) return this.unknown("more values than are followed", tile.at);
    this.#under(point, () => {
      const term = this.termOf(tile, lane, point);
      if (term) this.integer("value", term, tile.at);
      else tile.visit(lane, point, this);
    });
  }

  #under(point: Point, visit: (point: Point) => void): void {
    const outer = this.#given;
    this.#given = point.given;
    visit(point);
    this.#given = outer;
  }

  /** The value of a lane as a term, if it is one of known parts. */
  termOf({ terms }: DependentTile, lane: readonly Term[], { iterations }: Point): Term | undefined {
    const term = terms && termAt(terms, lane, iterations);
    return term && isKnown(term) ? term : undefined;
  }

  integer(role: Role, term: Term, at: Location | undefined): void {
    this.add({ kind: "integer", role, term }, at);
  }

  /** A new variable for the lanes of an axis. */
  bound(size: Term): Term {
    if (isOne(size)) return number(0);
    return this.#variable((variable) => [atLeast(variable, number(0)), below(variable, size)]);
  }

  #variable(conditionsOn: (variable: Term) => readonly Term[]): Term {
    const variable = symbol(`any ${this.ranges.size}`);
    this.ranges.set(variable.name, conditionsOn(variable));
    return variable;
  }

  /** Visits one of two values, by a condition in a lane. */
  choose(
    condition: { readonly tile: DependentTile; readonly lane: readonly Term[] },
    point: Point,
    then: (point: Point) => void,
    otherwise: (point: Point) => void,
  ): void {
    const { tile } = condition;
    const term = this.termOf(tile, broadcastLane(tile.shape, condition.lane), point);
    if (term) return this.decide(asTruth(term), point, tile.at, then, otherwise);
    this.visit(tile, condition.lane, point);
    then(point);
    otherwise(point);
  }

  /** Visits one of two values, by a condition that is a term. */
  decide(
    condition: Term,
    point: Point,
    at: Location | undefined,
    then: (point: Point) => void,
    otherwise: (point: Point) => void,
  ): void {
    const decided = this.normalizer.indices.rewrite(condition);
    if (decided === TRUE) return then(point);
    if (decided === FALSE) return otherwise(point);
    this.integer("condition", condition, at);
    const under = (conditions: readonly Term[]): Point => ({
      ...point,
      given: [...point.given, ...conditions.filter((each) => !point.given.includes(each))],
    });
    this.#under(under(conditionsOf(condition)), then);
    this.#under(under([not(condition)]), otherwise);
  }

  /** Conditions, with the ranges of the variables that they and other terms mention. */
  facts(given: readonly Term[], ...terms: readonly Term[]): readonly Term[] {
    const names = new Set<string>();
    const facts: Term[] = [];
    const addRanges = (term: Term): void => {
      for (const name of symbolsIn(term)) {
        const range = this.ranges.get(name);
        if (!range || names.has(name)) continue;
        names.add(name);
        range.forEach(addRanges);
        facts.push(...range);
      }
    };
    [...given, ...terms].forEach(addRanges);
    return [...facts, ...given].map((each) => this.normalizer.indices.rewrite(each));
  }

  // ---- loops ----------------------------------------------------------------------------------------------------------

  /** Visits what a variable holds before an iteration: its initial value, and what any iteration makes of it. */
  state(loop: LoopValues, variable: Variable, lane: readonly Term[], point: Point): void {
    const iterations = new Map(point.iterations);
    iterations.delete(loop.iteration.name);
    const given = point.entered.get(loop) ?? point.given;
    const key = `state ${this.#id(loop)} ${variable.id} ${idsOf(lane)} ${this.#keyOf({ ...point, given, iterations })}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const [initial, next] = [loop.initial.get(variable), loop.next.get(variable)];
    if (!initial || !next || ++this.#states > MAX_STATES)
      return this.unknown("state of a loop that is not followed", variable.location);
    this.visit(initial, lane, { ...point, given, iterations });
    const earlier = this.#earlierIteration(loop, iterations);
    this.visit(next, lane, {
      given,
      iterations: new Map([...iterations, [loop.iteration.name, earlier]]),
      entered: new Map([...point.entered, [loop, given]]),
    });
  }

  #earlierIteration({ iteration, condition }: LoopValues, iterations: ReadonlyMap<string, Term>): Term {
    return this.#variable((count) => [
      atLeast(count, number(0)),
      ...conditionsOf(substitute(condition ?? TRUE, new Map([...iterations, [iteration.name, count]]))),
    ]);
  }

  /** True if conditions contradict each other, so that nothing that counts under them does. */
  isImpossible(given: readonly Term[]): boolean {
    return given.length > 0 && this.normalizer.entailment.isImpossible(this.facts(given));
  }

  /** The number of iterations of a loop, which decides what its variables hold at the end. */
  iterations({ iteration, condition }: LoopValues, point: Point, at: Location | undefined): void {
    if (!condition) return this.unknown("a loop whose number of iterations is not known", at);
    const count = this.#variable((variable) => [atLeast(variable, number(0))]);
    const term = substitute(condition, new Map([...point.iterations, [iteration.name, count]]));
    if (!isKnown(term)) return this.unknown("a loop whose number of iterations is not followed", at);
    this.integer("iterations", term, at);
  }

  // ---- keys -----------------------------------------------------------------------------------------------------------

  #keyOf({ given, iterations, entered }: Point): string {
    const loops = [...entered].map(([loop, conditions]) => `${this.#id(loop)}:${idsOf(conditions)}`);
    return `${idsOf(given)} | ${[...iterations].map(([name, { id }]) => `${name}=${id}`).join()} | ${loops.join()}`;
  }

  #id(object: object): number {
    let id = this.#ids.get(object);
    if (id === undefined) this.#ids.set(object, (id = this.#ids.size));
    return id;
  }
}

const idsOf = (terms: readonly Term[]): string => terms.map(({ id }) => id).join();

/** A lane of a tile at the iterations of a point. The lane's own terms are of that point already. */
export function termAt(tile: TermTile, lane: readonly Term[], iterations: ReadonlyMap<string, Term>): Term {
  const own = broadcastLane(tile.shape, lane);
  if (iterations.size === 0) return tile.at(own);
  const places = own.map((each, axis) => (each.kind === "number" ? each : symbol(`place ${axis}`)));
  const replacements = new Map(iterations);
  places.forEach((place, axis) => place.kind === "symbol" && replacements.set(place.name, own[axis] ?? place));
  return substitute(tile.at(places), replacements);
}

/** True if a term has no unknown function but the elements of inputs. */
export const isKnown = (term: Term): boolean =>
  [...termsIn(term)].every(
    ({ kind, name }) => kind !== "call" || name === NEXT_POWER || name.startsWith(ELEMENT_PREFIX),
  );
