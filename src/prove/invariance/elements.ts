/** What an element of an output depends on, with the element's index in place of the lane that writes it. */
import type { InvarianceCause } from "../../diagnostics/catalog/proof-codes.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { type Param, type SizeParam, type TensorParam } from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  below,
  conditionsOf,
  equal,
  FALSE,
  isTruth,
  number,
  substitute,
  symbol,
  symbolsIn,
  type Term,
  termsIn,
  TRUE,
} from "../../symbolic/term.js";
import { atAxis } from "../../types/dims.js";
import type { Budget } from "../algebra/budget.js";
import { assume } from "../algebra/interpret.js";
import { elementSymbols, normalizerOf, solveElements } from "../equivalence/compare.js";
import { canonical, Entailment } from "../equivalence/integer-form.js";
import { Normalizer } from "../equivalence/normalizer.js";
import type { FactScopes } from "../model/fact-scopes.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import { invert } from "../model/inverse.js";
import { GIVEN } from "../model/launch.js";
import type { SymbolicModel } from "../model/model.js";
import { Collection, type Dependence, isKnown } from "./dependences.js";
import type { Write } from "./kernel-dependences.js";

/** A size of which an element's bits should not depend, and what the launch chooses by it. */
export interface Question {
  readonly size: SizeParam;
  /** The reason why the config may follow the size. */
  readonly choice: string | undefined;
}

/** `dependent`: the size, or elements of other rows, reach the element. `unknown`: nothing shows that they do not. */
export interface Reached {
  readonly kind: "dependent" | "unknown";
  readonly cause: InvarianceCause;
  readonly why: string;
  readonly at: Location | undefined;
}

const START = { given: [], iterations: new Map<string, Term>(), entered: new Map() } as const;

/** The number of terms of an element that the prover may simplify. */
const MAX_REDUCED = 40;

/** A write of an element, with what its value depends on. */
export class WrittenElement {
  readonly collection: Collection;
  readonly #elements: readonly Term[];
  readonly #variables: ReadonlyMap<string, Term>;
  readonly #cache = new Map<string, Term>();

  constructor(
    readonly model: SymbolicModel,
    scopes: FactScopes,
    budget: Budget,
    readonly write: Write,
    isActive = true,
  ) {
    const { access } = write;
    const { normalizer, elements } = isActive
      ? normalizerOf({ access }, model, scopes, budget)
      : placeOf(write, scopes, budget);
    solveElements(access, normalizer, elements);
    this.#elements = elements;
    this.collection = new Collection(normalizer);
    const equations = access.axes.map(({ index }, axis) => ({ index, target: atAxis(elements, axis) }));
    this.#variables = invert(model, scopes.active(access), [...access.scope, ...access.lanes], equations);
  }

  /** True if a launch may reach it. */
  isReached(): boolean {
    return !this.collection.normalizer.entailment.isImpossible([]);
  }

  get found(): readonly Dependence[] {
    return this.collection.found;
  }

  /** Collects what the written value depends on. */
  collect(): this {
    this.collection.visit(this.write.value, this.write.access.lane, START);
    return this;
  }

  /** Collects what decides whether the write happens. */
  collectConditions(): this {
    const { access } = this.write;
    this.collection.integer("condition", andTerm(...access.path, access.mask), access.statement.location);
    return this;
  }

  /** How a dependence lets the size, or another row of it, reach the element. Undefined if it does not. */
  reaches(dependence: Dependence, question: Question): Reached | undefined {
    for (const part of partsOf(dependence)) {
      // Most terms do not mention the size, whatever the prover knows of them.
      const reached = this.#reaches(part, question, false) && this.#reaches(part, question, true);
      if (reached && !this.collection.isImpossible(part.given)) return reached;
    }
    return undefined;
  }

  #reaches(dependence: Dependence, question: Question, isReduced: boolean): Reached | undefined {
    const { at, given } = dependence;
    const place: Place = { given, at, isReduced, question };
    switch (dependence.kind) {
      case "order":
        return question.choice === undefined
          ? undefined
          : {
              kind: "dependent",
              cause: "config",
              why: `${question.choice}, and the order of a sum follows the config`,
              at,
            };
      case "product":
      case "sum":
        return undefined;
      case "atomic":
        return { kind: "unknown", cause: "open", why: "it depends on what atomics add up", at };
      case "unknown":
      case "undetermined":
        return { kind: "unknown", cause: "open", why: `it depends on ${dependence.why}`, at };
      case "integer": {
        const reached = this.#reachesTerm(this.#form(dependence.term, place), place, ROLES[dependence.role]);
        // Both of its values may give the same.
        return reached && dependence.role === "condition" ? { ...reached, kind: "unknown" } : reached;
      }
      case "element":
        return this.#reachesElement(dependence.tensor, dependence.index, place);
      default:
        return dependence satisfies never;
    }
  }

  #form(term: Term, { given, isReduced }: Place): Term {
    return isReduced ? this.#reduced(term, given) : this.#withoutVariables(this.#plain(term));
  }

  /** A term as the equations of the element's index have it, which were simplified without other conditions too. */
  #plain(term: Term): Term {
    return this.collection.normalizer.indices.index(term, []);
  }

  /** A term in symbols of the element, without what the conditions decide. */
  #reduced(term: Term, given: readonly Term[]): Term {
    const key = `${term.id} ${given.map(({ id }) => id).join()}`;
    let reduced = this.#cache.get(key);
    if (reduced) return reduced;
    const { indices } = this.collection.normalizer;
    if (this.#cache.size >= MAX_REDUCED) return this.#plain(term);
    const facts = this.collection.facts(given, term);
    const reduce = (each: Term): Term => (isTruth(each) ? indices.condition(each, facts) : indices.index(each, facts));
    const first = reduce(this.#plain(term));
    const replaced = this.#withoutVariables(first);
    reduced = replaced === first ? first : reduce(replaced);
    this.#cache.set(key, reduced);
    return reduced;
  }

  /** Replaces programs, iterations and lanes of the write by what the element's index says of them. */
  #withoutVariables(term: Term): Term {
    const { entailment } = this.collection.normalizer;
    const replacements = new Map<string, Term>();
    for (const name of symbolsIn(term)) {
      const value = this.#variables.get(name);
      if (!value || [...symbolsIn(value)].some((each) => this.#variables.has(each))) continue;
      if (entailment.proves([], canonical(equal(symbol(name), value)))) replacements.set(name, canonical(value));
    }
    return replacements.size === 0 ? term : canonical(substitute(term, replacements));
  }

  #reachesTerm(term: Term, place: Place, part: string): Reached | undefined {
    const { at, question } = place;
    if (term === TRUE || term === FALSE) return undefined;
    for (const each of termsIn(term)) {
      const reached = each.kind === "symbol" ? this.#reachesSymbol(each.name, question, part) : undefined;
      if (reached) return { ...reached, at };
      if (each.kind !== "call") continue;
      const name = each.name.startsWith(ELEMENT_PREFIX) ? each.name.slice(ELEMENT_PREFIX.length) : undefined;
      const tensor = this.model.ir.params.find((param) => param.kind === "tensor" && param.name === name);
      if (tensor?.kind === "tensor") {
        const element = this.#reachesElement(tensor, each.operands, place);
        if (element) return element;
      } else if (!isKnown(each))
        return { kind: "unknown", cause: "open", why: `${part} depends on a value that is not followed`, at };
    }
    return undefined;
  }

  #reachesSymbol(name: string, question: Question, part: string): Omit<Reached, "at"> | undefined {
    const { size, choice } = question;
    if (this.#elements.includes(symbol(name)) || this.collection.ranges.has(name)) return undefined;
    if (name.startsWith("device.") || name.endsWith(GIVEN)) return undefined;
    const param = paramOf(this.model, name);
    const open = { kind: "unknown", cause: "open", why: `${part} may depend on ${describeVariable(name)}` } as const;
    if (!param) return open;
    const dependent = { kind: "dependent", cause: "size", why: `${part} depends on ${size.name}` } as const;
    switch (param.kind) {
      case "scalar":
        return undefined;
      case "size":
        return followsSize(this.model, param, size) ? dependent : undefined;
      case "constexpr":
        if (param.from === "config")
          return choice === undefined
            ? undefined
            : { kind: "dependent", cause: "config", why: `${part} depends on ${name}, and ${choice}` };
        return param.from === "argument" || param.from === "dim" ? undefined : open;
      case "tensor":
      case "pointer":
      case "device":
        return open;
      default:
        return param satisfies never;
    }
  }

  /** An element of an input, in the row of the output's element. */
  #reachesElement(tensor: TensorParam, index: readonly Term[], place: Place): Reached | undefined {
    const { question, at } = place;
    const { size } = question;
    const sizes = this.model.launch.tensorDims(tensor);
    for (const [axis, axisIndex] of index.entries()) {
      const form = this.#form(axisIndex, place);
      if (tensor.dims[axis] === size.value) {
        if (this.#isOwnRow(form, place)) continue;
        return {
          kind: "unknown",
          cause: "rows",
          why: `it may read other elements of ${tensor.name} along ${size.name}`,
          at,
        };
      }
      if (mentionsSize(this.model, atAxis(sizes, axis), size))
        return {
          kind: "unknown",
          cause: "open",
          why: `an axis of ${tensor.name} has a size that is computed from ${size.name}`,
          at,
        };
      const reached = this.#reachesTerm(form, place, `an index of ${tensor.name}`);
      if (reached) return reached;
    }
    return undefined;
  }

  #isOwnRow(index: Term, { given, isReduced, question: { size } }: Place): boolean {
    const { entailment } = this.collection.normalizer;
    const output = this.write.access.tensor;
    if (output?.kind !== "tensor") return false;
    return this.#elements.some(
      (element, axis) =>
        output.dims[axis] === size.value &&
        (index === element ||
          (isReduced && entailment.proves(this.collection.facts(given, index), canonical(equal(index, element))))),
    );
  }
}

/** The conjuncts of a condition, each by itself. */
const partsOf = (dependence: Dependence): readonly Dependence[] =>
  dependence.kind === "integer" && dependence.term.kind === "all"
    ? conditionsOf(dependence.term).map((term) => ({ ...dependence, term }))
    : [dependence];

/** Where a dependence stands, and what is asked of it. */
interface Place {
  readonly given: readonly Term[];
  readonly at: Location | undefined;
  /** True if the prover may simplify its terms. */
  readonly isReduced: boolean;
  readonly question: Question;
}

const ROLES = {
  value: "its value",
  condition: "a condition",
  iterations: "the number of iterations of a loop",
  block: "the size of a tile that is summed",
} as const;

function describeVariable(name: string): string {
  if (name.startsWith("program ")) return "the program that writes the element";
  return name.startsWith("iteration ") ? "the iteration that writes the element" : "a value that is not followed";
}

/** True if a param is, or is computed from, a size. */
export function followsSize(model: SymbolicModel, param: Param, size: SizeParam): boolean {
  if (param === size) return true;
  if (param.kind !== "size" || !param.derived) return false;
  return model.launch.host(param.derived).some((term) => mentionsSize(model, term, size, param));
}

/** True if a term of the launch depends on a size, or on something that is not known. */
export const mentionsSize = (model: SymbolicModel, term: Term, size: SizeParam, except?: Param): boolean =>
  [...symbolsIn(term)].some((name) => {
    const param = paramOf(model, name);
    return param === undefined || (param !== except && followsSize(model, param, size));
  });

/** The param of a symbol. A size that requirements make a multiple has another name. */
const paramOf = ({ ir }: SymbolicModel, name: string): Param | undefined =>
  ir.params.find((each) => each.name === name.replace(/\/$/, ""));

/** The normalizer of any lane that would write an element, whether or not it is active. */
function placeOf({ access }: Write, scopes: FactScopes, budget: Budget): ReturnType<typeof normalizerOf> {
  const facts = scopes.launch().child();
  const elements = elementSymbols(access.axes.length);
  for (const range of scopes.rangesOf([...access.scope, ...access.lanes])) assume(facts, range);
  access.axes.forEach(({ index, size }, axis) => {
    const element = atAxis(elements, axis);
    for (const fact of [equal(element, index), atLeast(element, number(0)), below(element, size)]) assume(facts, fact);
  });
  return { normalizer: new Normalizer(new Entailment(facts, budget)), elements };
}
