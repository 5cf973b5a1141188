/**
 * Whether int32 arithmetic that decides an address or a mask stays in int32: in all lanes, because a mask compares those
 * that it leaves out as well. What is computed of something that may wrap is not asked about.
 */
import { indexValues } from "../analysis/index-values.js";
import type { FindingCode } from "../diagnostics/catalogue/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { all, atLeast, below, number, sum, type Term, termsIn } from "../terms/term.js";
import { isAtLeastZero } from "./decide.js";
import { type OpStep, opsIn } from "./flow.js";
import { isInside, noteInside } from "./inside-int32.js";
import { Int32 } from "./int32.js";
import { polynomialOf } from "./interpret.js";
import type { Model } from "./model.js";
import { offsetsOnly } from "./offsets-only.js";
import type { Duties, Open, Stand } from "./obligations.js";
import { at, namesOf, type TermTile } from "./symbolic.js";
import { reasonOf } from "./words.js";

const WRAPS: readonly FindingCode[] = ["overflow"];
const END = 2 ** 31;

/** One duty for each line with arithmetic that may wrap. */
export const overflowDuties: Duties = (models) => {
  const places = new Map<string, Location | undefined>();
  for (const model of models)
    for (const { statement } of arithmeticIn(model)) places.set(lineOf(statement.at), statement.at);
  return [...places].map(([line, place]) => ({
    property: "overflow",
    of: "the arithmetic of indices",
    at: place,
    asks: (stand) => openLine(stand, line),
  }));
};

const lineOf = (place: Location | undefined): string => `${place?.file}:${place?.line}`;

/** An op whose result may lie beyond int32, with what it makes. */
type Arithmetic = OpStep & { readonly made: TermTile };

function arithmeticIn({ ir, flow }: Model): readonly Arithmetic[] {
  const indices = indexValues(ir);
  const isOffset = offsetsOnly(ir);
  return opsIn(flow).filter((step): step is Arithmetic => {
    const { op, results } = step.statement;
    const [result] = results;
    const isInt32 = result?.type.kind === "tile" && result.type.dtype === "int32";
    return isInt32 && step.made !== undefined && op.proof.wraps === true && indices.has(result) && !isOffset(result);
  });
}

function openLine(stand: Stand, line: string): Open | undefined {
  const found = rangesOf(stand);
  found.limits.begin();
  for (const step of found.steps) {
    if (lineOf(step.statement.at) !== line || found.isInside(step)) continue;
    found.limits.end();
    const { values, lanes } = found.valuesOf(step);
    const { path, scope, statement } = step;
    const question = {
      holds: all(...values.flatMap((value) => [below(value, number(END)), atLeast(value, number(-END))])),
      given: path,
      variables: [...scope, ...lanes],
      places: [statement.at],
      finds: WRAPS,
      isTooLarge: !isLarge(values),
    };
    const { spelling, name } = statement.op;
    const what = spelling.form === "infix" ? spelling.operator : `tl.${name}`;
    const reason = reasonOf(stand.model, "cast an operand to tl.int64 first", values, path);
    return {
      question,
      missing: `nothing shows that the result of ${what} stays in int32${reason}`,
    };
  }
  return undefined;
}

/** Whether it may wrap at sizes that the evaluator can run: a number of the author's takes it there. */
const isLarge = (values: readonly Term[]): boolean =>
  [...termsIn(...values)].some(({ kind, value }) => kind === "number" && (value >= LARGE || -value >= LARGE));
const LARGE = 2n ** 16n;

const known = new WeakMap<Model, Ranges>();

function rangesOf(stand: Stand): Ranges {
  let ranges = known.get(stand.model);
  if (!ranges) known.set(stand.model, (ranges = new Ranges(stand)));
  return ranges;
}

/** What is found out of a model's arithmetic. */
class Ranges {
  readonly steps: readonly Arithmetic[];
  readonly limits: Int32;
  readonly #inside = new Map<OpStep, boolean>();
  readonly #values = new Map<string, boolean>();
  /** Results that may have wrapped. */
  readonly #doubtful = new Set<TermTile>();

  constructor(readonly stand: Stand) {
    this.steps = arithmeticIn(stand.model);
    this.limits = new Int32(stand.model);
  }

  /** Whether a result certainly stays in int32, or is computed of one that may not. */
  isInside(step: Arithmetic): boolean {
    let inside = this.#inside.get(step);
    if (inside !== undefined) return inside;
    const follows = step.terms.some((each) => each && this.#doubtful.has(each));
    inside = !follows && (this.#isPartOfSum(step) || this.#staysInside(step));
    if (!inside) this.#doubtful.add(step.made);
    this.#inside.set(step, inside || follows);
    return inside || follows;
  }

  /** The result of any lane, active or not, and what is computed on the way to it. */
  valuesOf({ statement, terms, made }: Arithmetic): {
    readonly values: readonly Term[];
    readonly lanes: readonly string[];
  } {
    const { environment } = this.stand.model;
    const { op, results } = statement;
    const lane = environment.lanes(`lane ${environment.nameOf(statement)}`, environment.shape(results[0]!.type));
    const [x, y] = terms.map((each) => each && at(each, lane));
    const isBlocks = op.facts.integer === "blocks" && x && y;
    return { values: [...(isBlocks ? [sum(x, y, number(-1))] : []), at(made, lane)], lanes: namesOf(lane) };
  }

  /** Whether it is part of a sum in the same place that stays inside, as are its parts where none is negative. */
  #isPartOfSum(step: Arithmetic): boolean {
    const whole = this.steps.find(
      ({ statement, terms, path, scope }) =>
        statement.op.facts.integer === "sum" &&
        terms.includes(step.made) &&
        path.length === step.path.length &&
        path.every((each, i) => each === step.path[i]) &&
        scope.length === step.scope.length,
    );
    if (!whole || whole === step || step.statement.op.facts.integer === "blocks") return false;
    const { lanes } = this.valuesOf(whole);
    const here = this.limits.onPath(whole, lanes);
    const lane = this.stand.model.environment.lanes(
      `lane ${this.stand.model.environment.nameOf(whole.statement)}`,
      this.stand.model.environment.shape(whole.statement.results[0]!.type),
    );
    const isNatural = (each: TermTile | undefined): boolean =>
      each !== undefined && isAtLeastZero(here, polynomialOf(here, at(each, lane)), "products");
    return whole.terms.every(isNatural) && this.isInside(whole) && !this.#doubtful.has(whole.made);
  }

  #staysInside(step: Arithmetic): boolean {
    const { values, lanes } = this.valuesOf(step);
    return values.every((value) => {
      if (value.kind === "number" || value.kind === "symbol") return true;
      const key = `${value.id} | ${step.path.map(({ id }) => id).join()} | ${step.scope.join()}`;
      let inside = this.#values.get(key);
      const here = this.limits.onPath(step, lanes);
      if (inside === undefined) this.#values.set(key, (inside = isInside(here, value)));
      if (inside && values.length > 1) noteInside(here, value);
      return inside;
    });
  }
}
