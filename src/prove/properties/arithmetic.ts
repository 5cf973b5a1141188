/**
 * Overflow obligations: signed integer arithmetic that an address or a mask depends on stays in its dtype. This covers
 * all lanes, because a mask also compares masked lanes. Arithmetic on a value that may already have wrapped is not
 * checked again.
 */
import { indexValues } from "../../analysis/index-values.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { type Argument, isFunction, type Value, type OpStatement } from "../../ir/nodes.js";
import { walk } from "../../ir/walk.js";
import { andTerm, atLeast, below, number, product, sum, type Term, termsIn } from "../../symbolic/term.js";
import type { Limits } from "../../types/limits.js";
import { type DTypeName, dtypeTable, isSigned, members } from "../../types/dtype.js";
import { provesNonNegative } from "../algebra/non-negativity.js";
import { type OpStep, opEvents } from "../model/events.js";
import { Int32, limitFacts, fitsInt32, recordInt32Range, offsetsOnly } from "./int32.js";
import { polynomialOf, entails } from "../algebra/interpret.js";
import type { SymbolicModel } from "../model/model.js";
import {
  type Implication,
  type ObligationGenerator,
  type ProofGap,
  type ProofContext,
  describeUnknowns,
} from "./obligations.js";
import { at, namesOf, type TermTile } from "../model/symbolic-environment.js";
const FINDING_CODES: readonly FindingCode[] = ["overflow"];

/** One obligation for each line with arithmetic that may wrap. */
export const overflowObligations: ObligationGenerator = (models) => {
  const lines = new Map<string, { readonly at: Location | undefined; readonly exact: Set<Value> }>();
  for (const model of models) {
    for (const { statement } of arithmeticIn(model)) {
      const line = lineOf(statement.location);
      const { exact } = lines.get(line) ?? { exact: new Set<Value>() };
      for (const result of statement.results) exact.add(result);
      lines.set(line, { at: statement.location, exact });
    }
  }
  return [...lines].map(([line, { at, exact }]) => ({
    property: "overflow",
    subject: "the arithmetic of indices",
    at,
    exact,
    claims: (context) => claimsOf(context, line),
    prove: (context) => proveLine(context, line),
  }));
};

const lineOf = (location: Location | undefined): string => `${location?.file}:${location?.line}`;

/** An op whose result may exceed int32, with its result. */
type Arithmetic = OpStep & { readonly result: TermTile };

function arithmeticIn({ ir, flow }: SymbolicModel): readonly Arithmetic[] {
  const indices = indexValues(ir);
  const isOffset = offsetsOnly(ir);
  return opEvents(flow).filter((event): event is Arithmetic => {
    const { op, results } = event.statement;
    const [result] = results;
    if (!result || !event.result || !indices.has(result) || isOffset(result)) return false;
    return isChecked(result) && (op.proof.wraps === true || event.statement.operands.some(mayWrap));
  });
}

/**
 * Signed integers of up to 32 bits. 64-bit integers are assumed not to wrap, and unsigned integers may wrap
 * intentionally.
 */
function isChecked({ type }: Value): boolean {
  return type.kind === "tile" && members(type.dtype).some((name) => isSigned(name) && dtypeTable[name].bits <= 32);
}

/** The dtype of the result. The narrowest one of several. */
function dtypeOf({ statement: { results } }: OpStep): DTypeName {
  const dtypes = results.flatMap(({ type }) => (type.kind === "tile" ? members(type.dtype) : []));
  return dtypes.reduce((narrowest, dtype) => (dtypeTable[dtype].bits < dtypeTable[narrowest].bits ? dtype : narrowest));
}

/** True if terms model the event's arithmetic: that of narrower integers is not modeled. */
const isInt32 = (event: OpStep): boolean => dtypeOf(event) === "int32";

/** True if a combine function, such as that of `tl.reduce`, has arithmetic that may wrap. */
function mayWrap(callee: Argument | undefined): boolean {
  if (callee === undefined || !isFunction(callee)) return false;
  let wraps = false;
  walk(callee.function.body, (statement) => {
    if (statement.kind === "op") wraps ||= statement.op.proof.wraps === true || statement.operands.some(mayWrap);
  });
  return wraps;
}

function proveLine(context: ProofContext, line: string): ProofGap | undefined {
  const analysis = analysisOf(context);
  analysis.limits.begin();
  const steps = analysis.steps.filter(({ statement }) => lineOf(statement.location) === line);
  for (const verdict of ["open", "derived"]) {
    const event = steps.find((each) => analysis.verdictOf(each) === verdict);
    if (!event) continue;
    analysis.limits.end();
    const { values, lanes } = analysis.valuesOf(event);
    const { path, scope, statement } = event;
    const { ir } = context.model;
    const dtype = dtypeOf(event);
    const end = isInt32(event) ? ir.limits.int32End : 2 ** (dtypeTable[dtype].bits - 1);
    const refutation = {
      goal: rangeOf(values, end),
      facts: path,
      variables: [...scope, ...lanes],
      locations: [statement.location],
      findingCodes: FINDING_CODES,
      isTooLarge: isInt32(event) && !event.statement.op.proof.foldSemantics && !isLarge(values, ir.limits),
    };
    const source = analysis.sourceOf(event);
    if (source) return { refutation, ...openLemma(source.statement.location) };
    const { spelling, name } = statement.op;
    const opText = spelling.form === "infix" ? spelling.operator : `tl.${name}`;
    const reason = describeUnknowns(context.model, values, path);
    return {
      refutation,
      missing: `nothing shows that the result of ${opText} stays in ${dtype}${reason}`,
    };
  }
  return undefined;
}

function claimsOf(context: ProofContext, line: string): readonly Implication[] | string {
  const analysis = analysisOf(context);
  const steps = analysis.steps.filter(({ statement }) => lineOf(statement.location) === line);
  if (!steps.every(isInt32)) return "terms do not model arithmetic of fewer than 32 bits";
  return steps.map((event) => {
    const { values, lanes } = analysis.valuesOf(event);
    return {
      goal: rangeOf(values, context.model.ir.limits.int32End),
      facts: [...limitFacts(context.model), ...event.path],
      variables: [...event.scope, ...lanes],
    };
  });
}

const rangeOf = (values: readonly Term[], end: number): Term =>
  andTerm(...values.flatMap((value) => [below(value, number(end)), atLeast(value, number(-end))]));

/** The gap of what rests on arithmetic of this line, which stays open. */
export function openLemma(location: Location | undefined): Pick<ProofGap, "missing"> & { readonly isLemma: true } {
  const place = location === undefined ? "arithmetic" : `the arithmetic of line ${location.line}`;
  return { missing: `it holds if ${place} stays in int32, which nothing shows`, isLemma: true };
}

/** True if the value may wrap at sizes that the evaluator can run, because of a large constant in the kernel. */
const isLarge = (values: readonly Term[], { int32End }: Limits): boolean =>
  int32End <= LARGE ||
  [...termsIn(...values)].some(({ kind, value }) => kind === "number" && (value >= LARGE || -value >= LARGE));
const LARGE = 2 ** 16;

const analyses = new WeakMap<SymbolicModel, RangeAnalysis>();

function analysisOf(context: ProofContext): RangeAnalysis {
  let analysis = analyses.get(context.model);
  if (!analysis) analyses.set(context.model, (analysis = new RangeAnalysis(context)));
  return analysis;
}

/** Whether a result stays in int32. `derived`: an operand may already have wrapped. */
type RangeVerdict = "fits" | "open" | "derived";

/** The int32 ranges of a model's arithmetic. */
class RangeAnalysis {
  readonly steps: readonly Arithmetic[];
  readonly limits: Int32;
  readonly #verdicts = new Map<OpStep, RangeVerdict>();
  readonly #fitsByKey = new Map<string, boolean>();
  /** Results that may have wrapped, with the first op that may wrap. */
  readonly #mayHaveWrapped = new Map<TermTile, Arithmetic>();

  constructor(readonly context: ProofContext) {
    this.steps = arithmeticIn(context.model);
    this.limits = new Int32(context.model);
  }

  verdictOf(event: Arithmetic): RangeVerdict {
    let verdict = this.#verdicts.get(event);
    if (verdict !== undefined) return verdict;
    const source = this.sourceOf(event);
    if (source) verdict = "derived";
    else verdict = this.#isOperandOfSafeSum(event) || this.#fitsInt32(event) ? "fits" : "open";
    if (verdict !== "fits") this.#mayHaveWrapped.set(event.result, source ?? event);
    this.#verdicts.set(event, verdict);
    return verdict;
  }

  /** The op that may wrap and that an operand is computed from. */
  sourceOf({ terms }: Arithmetic): Arithmetic | undefined {
    for (const operand of terms) {
      const source = operand && this.#mayHaveWrapped.get(operand);
      if (source) return source;
    }
    return undefined;
  }

  /** The result of a symbolic lane, active or masked, and its intermediate values. */
  valuesOf({ statement, terms, result: made }: Arithmetic): {
    readonly values: readonly Term[];
    readonly lanes: readonly string[];
  } {
    const { environment } = this.context.model;
    const { op } = statement;
    const [summand] = terms;
    if (op.proof.foldSemantics?.adds && summand) {
      const lane = environment.lanes(`lane ${environment.nameOf(statement)}`, summand.shape);
      return { values: [product(at(summand, lane), ...summand.shape)], lanes: namesOf(lane) };
    }
    const lane = environment.resultLane(statement);
    const [x, y] = op.facts.integer === "blocks" ? terms.map((each) => each && at(each, lane)) : [];
    return { values: [...(x && y ? [sum(x, y, number(-1))] : []), at(made, lane)], lanes: namesOf(lane) };
  }

  /**
   * True if the result is an operand of an in-range sum at the same program point, and no operand of the sum is
   * negative.
   */
  #isOperandOfSafeSum(event: Arithmetic): boolean {
    const sumEvent = this.steps.find(
      ({ statement, terms, path, scope }) =>
        statement.op.facts.integer === "sum" &&
        terms.includes(event.result) &&
        path.length === event.path.length &&
        path.every((condition, i) => condition === event.path[i]) &&
        scope.length === event.scope.length,
    );
    if (!sumEvent || sumEvent === event || event.statement.op.facts.integer === "blocks") return false;
    const { lanes } = this.valuesOf(sumEvent);
    const facts = this.limits.onPath(sumEvent, lanes);
    const lane = this.context.model.environment.resultLane(sumEvent.statement);
    const isNonNegative = (operand: TermTile | undefined): boolean =>
      operand !== undefined && provesNonNegative(facts, polynomialOf(facts, at(operand, lane)), "products");
    return sumEvent.terms.every(isNonNegative) && this.verdictOf(sumEvent) === "fits";
  }

  #fitsInt32(event: Arithmetic): boolean {
    if (!isInt32(event)) return false;
    const { limits } = this.context.model.ir;
    const { values, lanes } = this.valuesOf(event);
    return values.every((value) => {
      if (value.kind === "number") return -limits.int32End <= value.value && value.value < limits.int32End;
      if (value.kind === "symbol") return true;
      const key = `${value.id} | ${event.path.map(({ id }) => id).join()} | ${event.scope.join()}`;
      let fits = this.#fitsByKey.get(key);
      const facts = this.limits.onPath(event, lanes);
      if (fits === undefined) this.#fitsByKey.set(key, (fits = fitsInt32(facts, value, limits)));
      if (fits && values.length > 1) recordInt32Range(facts, value);
      return fits;
    });
  }
}

// Dividend obligations: `//` and `%` have a nonnegative dividend and a positive divisor wherever an address or a mask
// depends on them. Triton truncates toward zero, so block numbers and wrapped indices of negative numbers would be
// wrong.

const DIVIDEND_CODES: readonly FindingCode[] = ["negative-division", "division"];
/** The integer semantics of divisions. The dividend of `blocks` is `x + y - 1`. */
const DIVISIONS: ReadonlySet<string | undefined> = new Set(["quotient", "remainder", "blocks"]);

export const dividendObligations: ObligationGenerator = (models) => {
  const statements = new Set(models.flatMap((model) => divisionsIn(model).map(({ statement }) => statement)));
  return [...statements].map((statement) => ({
    property: "dividend",
    subject: describeDivision(statement),
    at: statement.location,
    restsOn: [statement],
    prove: (context) => proveDivision(context, statement),
  }));
};

function divisionsIn({ ir, flow }: SymbolicModel): readonly OpStep[] {
  const indices = indexValues(ir);
  return opEvents(flow).filter(({ statement: { op, results } }) => {
    const [result] = results;
    return DIVISIONS.has(op.facts.integer) && result?.type.kind === "tile" && indices.has(result);
  });
}

const describeDivision = ({ op: { spelling, name } }: OpStatement): string =>
  spelling.form === "infix" ? `this ${spelling.operator}` : `this tl.${name}`;

function proveDivision(context: ProofContext, statement: OpStatement): ProofGap | undefined {
  const { model, factScopes: contexts } = context;
  for (const step of divisionsIn(model)) {
    if (step.statement !== statement) continue;
    const { path, scope } = step;
    const { dividend, divisor, lanes } = operandsOf(model, step);
    if (!dividend || !divisor) return { refutation: undefined, missing: "it divides values that proofs do not follow" };
    const facts = contexts.onPath(path, scope, lanes);
    const positive = atLeast(divisor, number(1));
    const nonNegative = atLeast(dividend, number(0));
    // Facts about the dividend, such as that it is an offset below `b * c`, can imply that the divisor is positive.
    polynomialOf(facts, dividend);
    const unproved = [positive, nonNegative].find((condition) => !entails(facts, condition));
    if (!unproved) continue;
    const refutation = {
      goal: andTerm(positive, nonNegative),
      facts: path,
      variables: [...scope, ...lanes],
      locations: [statement.location],
      findingCodes: DIVIDEND_CODES,
    };
    const goal =
      unproved === positive
        ? "nothing shows that the divisor is positive"
        : "nothing shows that the dividend is not negative";
    return { refutation, missing: `${goal}${describeUnknowns(model, [unproved], path)}` };
  }
  return undefined;
}

interface Operands {
  readonly dividend: Term | undefined;
  readonly divisor: Term | undefined;
  readonly lanes: readonly string[];
}

/** The operands of a symbolic lane, active or masked. */
function operandsOf({ environment }: SymbolicModel, { statement, terms }: OpStep): Operands {
  const { op } = statement;
  const lane = environment.resultLane(statement);
  const [x, divisor] = terms.map((each) => each && at(each, lane));
  const dividend = op.facts.integer === "blocks" && x && divisor ? sum(x, divisor, number(-1)) : x;
  return { dividend, divisor, lanes: namesOf(lane) };
}
