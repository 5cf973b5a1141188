/**
 * Whether arithmetic of signed integers that decides an address or a mask stays in their dtype: in all lanes, because a mask
 * compares those that it leaves out as well. What is computed of something that may wrap is not asked about.
 */
import { indexValues } from "../../analysis/index-values.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { type Argument, isFunction, type Value } from "../../ir/nodes.js";
import { walk } from "../../ir/walk.js";
import { andTerm, atLeast, below, number, product, sum, type Term, termsIn } from "../../symbolic/term.js";
import { type DTypeName, dtypeTable, isSigned, members } from "../../types/dtype.js";
import { provesNonNegative } from "../algebra/non-negativity.js";
import { type OpStep, opEvents } from "../model/events.js";
import { fitsInt32, recordInt32Range } from "./int32-range.js";
import { Int32 } from "./int32.js";
import { polynomialOf } from "../algebra/interpret.js";
import type { SymbolicModel } from "../model/model.js";
import { offsetsOnly } from "./offsets-only.js";
import type { ObligationGenerator, ProofGap, ProofContext } from "./obligations.js";
import { at, namesOf, type TermTile } from "../model/symbolic.js";
import { describeUnknowns } from "./describe.js";

const END = 2n ** 31n;
const WRAPS: readonly FindingCode[] = ["overflow"];

/** One duty for each line with arithmetic that may wrap. */
export const overflowObligations: ObligationGenerator = (models) => {
  const places = new Map<string, Location | undefined>();
  for (const model of models)
    for (const { statement } of arithmeticIn(model)) places.set(lineOf(statement.at), statement.at);
  return [...places].map(([line, place]) => ({
    property: "overflow",
    of: "the arithmetic of indices",
    at: place,
    prove: (stand) => openLine(stand, line),
  }));
};

const lineOf = (place: Location | undefined): string => `${place?.file}:${place?.line}`;

/** An op whose result may lie beyond int32, with what it makes. */
type Arithmetic = OpStep & { readonly made: TermTile };

function arithmeticIn({ ir, flow }: SymbolicModel): readonly Arithmetic[] {
  const indices = indexValues(ir);
  const isOffset = offsetsOnly(ir);
  return opEvents(flow).filter((step): step is Arithmetic => {
    const { op, results } = step.statement;
    const [result] = results;
    if (!result || !step.made || !indices.has(result) || isOffset(result)) return false;
    return isCounted(result) && (op.proof.wraps === true || step.statement.operands.some(computes));
  });
}

/** Signed integers up to 32 bits: those of 64 are taken not to wrap, and unsigned ones to do so where an author means it. */
function isCounted({ type }: Value): boolean {
  return type.kind === "tile" && members(type.dtype).some((name) => isSigned(name) && dtypeTable[name].bits <= 32);
}

/** The dtype of a result, the narrowest where there are several. */
function dtypeOf({ statement: { results } }: OpStep): DTypeName {
  const dtypes = results.flatMap(({ type }) => (type.kind === "tile" ? members(type.dtype) : []));
  return dtypes.reduce((least, each) => (dtypeTable[each].bits < dtypeTable[least].bits ? each : least));
}

/** Whether terms follow what a step makes: of narrower integers they follow none. */
const isInt32 = (step: OpStep): boolean => dtypeOf(step) === "int32";

/** Whether the function that an op calls on lanes, such as that of `tl.reduce`, has arithmetic that may wrap. */
function computes(callee: Argument | undefined): boolean {
  if (callee === undefined || !isFunction(callee)) return false;
  let wraps = false;
  walk(callee.function.body, (statement) => {
    if (statement.kind === "op") wraps ||= statement.op.proof.wraps === true || statement.operands.some(computes);
  });
  return wraps;
}

function openLine(stand: ProofContext, line: string): ProofGap | undefined {
  const found = rangesOf(stand);
  found.limits.begin();
  for (const step of found.steps) {
    if (lineOf(step.statement.at) !== line || found.isInside(step)) continue;
    found.limits.end();
    const { values, lanes } = found.valuesOf(step);
    const { path, scope, statement } = step;
    const dtype = dtypeOf(step);
    const end = 2 ** (dtypeTable[dtype].bits - 1);
    const question = {
      holds: andTerm(...values.flatMap((value) => [below(value, number(end)), atLeast(value, number(-end))])),
      given: path,
      variables: [...scope, ...lanes],
      places: [statement.at],
      finds: WRAPS,
      isTooLarge: isInt32(step) && !step.statement.op.proof.foldSemantics && !isLarge(values),
    };
    const { spelling, name } = statement.op;
    const what = spelling.form === "infix" ? spelling.operator : `tl.${name}`;
    const wider = isInt32(step) ? "int64" : "int32";
    const reason = describeUnknowns(stand.model, `cast an operand to tl.${wider} first`, values, path);
    return {
      question,
      missing: `nothing shows that the result of ${what} stays in ${dtype}${reason}`,
    };
  }
  return undefined;
}

/** Whether it may wrap at sizes that the evaluator can run: a number of the author's takes it there. */
const isLarge = (values: readonly Term[]): boolean =>
  [...termsIn(...values)].some(({ kind, value }) => kind === "number" && (value >= LARGE || -value >= LARGE));
const LARGE = 2n ** 16n;

const known = new WeakMap<SymbolicModel, Ranges>();

function rangesOf(stand: ProofContext): Ranges {
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

  constructor(readonly stand: ProofContext) {
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
    const [added] = terms;
    if (op.proof.foldSemantics?.adds && added) {
      const lane = environment.lanes(`lane ${environment.nameOf(statement)}`, added.shape);
      return { values: [product(at(added, lane), ...added.shape)], lanes: namesOf(lane) };
    }
    const lane = environment.lanes(`lane ${environment.nameOf(statement)}`, environment.shape(results[0]!.type));
    const [x, y] = op.facts.integer === "blocks" ? terms.map((each) => each && at(each, lane)) : [];
    return { values: [...(x && y ? [sum(x, y, number(-1))] : []), at(made, lane)], lanes: namesOf(lane) };
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
      each !== undefined && provesNonNegative(here, polynomialOf(here, at(each, lane)), "products");
    return whole.terms.every(isNatural) && this.isInside(whole) && !this.#doubtful.has(whole.made);
  }

  #staysInside(step: Arithmetic): boolean {
    if (!isInt32(step)) return false;
    const { values, lanes } = this.valuesOf(step);
    return values.every((value) => {
      if (value.kind === "number") return -END <= value.value && value.value < END;
      if (value.kind === "symbol") return true;
      const key = `${value.id} | ${step.path.map(({ id }) => id).join()} | ${step.scope.join()}`;
      let inside = this.#values.get(key);
      const here = this.limits.onPath(step, lanes);
      if (inside === undefined) this.#values.set(key, (inside = fitsInt32(here, value)));
      if (inside && values.length > 1) recordInt32Range(here, value);
      return inside;
    });
  }
}
