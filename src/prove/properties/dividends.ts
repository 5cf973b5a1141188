/**
 * Whether `//` and `%` have a dividend that is not negative and a divisor that is positive, where an address or a mask
 * depends on them. Triton truncates toward zero, so that blocks and wrapped indices of negative numbers are others.
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

const WRONG: readonly FindingCode[] = ["negative-division", "division"];
/** By what an op computes of integers; of blocks the dividend is `x + y - 1`. */
const DIVIDES: ReadonlySet<string | undefined> = new Set(["quotient", "remainder", "blocks"]);

export const dividendObligations: ObligationGenerator = (models) => {
  const statements = new Set(models.flatMap((model) => divisionsIn(model).map(({ statement }) => statement)));
  return [...statements].map((statement) => ({
    property: "dividend",
    of: wordsOf(statement),
    at: statement.at,
    prove: (stand) => openDivision(stand, statement),
  }));
};

function divisionsIn({ ir, flow }: SymbolicModel): readonly OpStep[] {
  const indices = indexValues(ir);
  return opEvents(flow).filter(({ statement: { op, results } }) => {
    const [result] = results;
    return DIVIDES.has(op.facts.integer) && result?.type.kind === "tile" && indices.has(result);
  });
}

const wordsOf = ({ op: { spelling, name } }: OpStatement): string =>
  spelling.form === "infix" ? `this ${spelling.operator}` : `this tl.${name}`;

function openDivision(stand: ProofContext, statement: OpStatement): ProofGap | undefined {
  const { model, contexts } = stand;
  for (const step of divisionsIn(model)) {
    if (step.statement !== statement) continue;
    const { path, scope } = step;
    const { dividend, divisor, lanes } = operandsOf(model, step);
    if (!dividend || !divisor) return { question: undefined, missing: "it divides values that proofs do not follow" };
    const known = contexts.onPath(path, scope, lanes);
    const positive = atLeast(divisor, number(1));
    const natural = atLeast(dividend, number(0));
    // What is known of a dividend, such as an offset below `b * c`, may say that a divisor is positive.
    polynomialOf(known, dividend);
    const open = [positive, natural].find((each) => !entails(known, each));
    if (!open) continue;
    const question = {
      holds: andTerm(positive, natural),
      given: path,
      variables: [...scope, ...lanes],
      places: [statement.at],
      finds: WRONG,
    };
    const goal =
      open === positive
        ? "nothing shows that the divisor is positive"
        : "nothing shows that the dividend is not negative";
    const remedy = open === positive ? "divide by another" : "add a multiple of the divisor first";
    return { question, missing: `${goal}${describeUnknowns(model, remedy, [open], path)}` };
  }
  return undefined;
}

interface Operands {
  readonly dividend: Term | undefined;
  readonly divisor: Term | undefined;
  readonly lanes: readonly string[];
}

/** The operands of any lane, active or not. */
function operandsOf({ environment }: SymbolicModel, { statement, terms }: OpStep): Operands {
  const { op, results } = statement;
  const lane = environment.lanes(`lane ${environment.nameOf(statement)}`, environment.shape(results[0]!.type));
  const [x, divisor] = terms.map((each) => each && at(each, lane));
  const dividend = op.facts.integer === "blocks" && x && divisor ? sum(x, divisor, number(-1)) : x;
  return { dividend, divisor, lanes: namesOf(lane) };
}
