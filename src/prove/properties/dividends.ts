/**
 * Dividend obligations: `//` and `%` have a nonnegative dividend and a positive divisor wherever an address or a mask
 * depends on them. Triton truncates toward zero, so block numbers and wrapped indices of negative numbers would be
 * wrong.
 */
import { indexValues } from "../../analysis/index-values.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { andTerm, atLeast, number, sum, type Term } from "../../symbolic/term.js";
import { type OpStep, opEvents } from "../model/events.js";
import { polynomialOf, entails } from "../algebra/interpret.js";
import type { SymbolicModel } from "../model/model.js";
import type { ObligationGenerator, ProofGap, ProofContext } from "./obligations.js";
import { at, namesOf } from "../model/symbolic.js";
import { describeUnknowns } from "./describe.js";

const FINDING_CODES: readonly FindingCode[] = ["negative-division", "division"];
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
      findingCodes: FINDING_CODES,
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
