/**
 * Whether padding changes nothing: a lane that a mask left out is neutral where it meets others in a reduction, a scan or a
 * product, and a lane without a value is never stored, and decides no access.
 */
import type { FindingCode } from "../../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../../ir/nodes.js";
import { typeOfArgument } from "../../../ir/typed.js";
import {
  type NumberClasses,
  classesIn,
  LOWEST,
  HIGHEST,
  NAN,
  NEGATIVE,
  EMPTY,
  ONE,
  POSITIVE,
  ZERO,
} from "../../../symbolic/number-class.js";
import { FALSE } from "../../../symbolic/term.js";
import { Budget } from "../../algebra/budget.js";
import { FactScopes } from "../../model/fact-scopes.js";
import { genericClasses } from "./abstract-lane.js";
import type { SymbolicModel } from "../../model/model.js";
import type { ObligationGenerator, ProofObligation, ProofGap } from "../obligations.js";
import { foldRuleOf } from "./folds.js";
import { type PaddingLeak, PaddingLanes } from "./analysis.js";
import { isFloatType } from "./literals.js";
import { describeAccess } from "../describe.js";

const UNSET: readonly FindingCode[] = ["uninitialized"];
/** For each question whether lanes exist. */
const STEPS = 4_000;

/** One duty for each fold and access that lanes reach which a mask left out. */
export const paddingObligations: ObligationGenerator = (models) => {
  const statements = new Map<OpStatement, string>();
  const waived = new Map<OpStatement, string>();
  for (const model of models) {
    const { maskedUses: meets, waived: reasons } = paddingOf(model);
    for (const [statement, reason] of reasons) waived.set(statement, reason);
    for (const statement of meets) statements.set(statement, nameOf(model, statement));
  }
  const trusted = [...waived].map(([statement, reason]): ProofObligation => ({
    property: "padding",
    of: `padding in tl.${statement.op.name}`,
    at: statement.at,
    waived: reason,
    prove: () => ({ question: undefined, missing: "" }),
  }));
  const shown = [...statements].map(([statement, of]): ProofObligation => ({
    property: "padding",
    of,
    at: statement.at,
    prove: ({ model }) => {
      const meeting = paddingOf(model).leaks.get(statement);
      return meeting && openOf(meeting);
    },
  }));
  return [...trusted, ...shown];
};

const known = new WeakMap<SymbolicModel, PaddingLanes>();

function paddingOf(model: SymbolicModel): PaddingLanes {
  let padding = known.get(model);
  if (!padding) known.set(model, (padding = new PaddingLanes(model, new FactScopes(model, new Budget(STEPS)))));
  return padding;
}

function nameOf(model: SymbolicModel, statement: OpStatement): string {
  const access = model.accesses.find((each) => each.statement === statement);
  return access ? `padding in ${describeAccess(access)}` : `padding in tl.${statement.op.name}`;
}

function openOf({ statement, holds, given, variables }: PaddingLeak): ProofGap {
  if (!statement.op.proof.foldSemantics) {
    const question = { holds: FALSE, given, variables, places: [statement.at], finds: UNSET };
    return {
      question,
      missing: "a lane that no load gave a value may be on; give the load other, or mask this access",
    };
  }
  const wanted = neutralOf(statement);
  const remedy = wanted === undefined ? UNKNOWN : remedyOf(wanted);
  const changes =
    wanted === undefined
      ? `and nothing shows that tl.${statement.op.name} leaves them out`
      : "which changes the result";
  const missing = `lanes that a mask left out hold ${inWords(holds)} here, ${changes}; ${remedy}`;
  return { question: undefined, missing };
}

const remedyOf = (wanted: string) =>
  `give the load other: ${wanted}, put tl.where(mask, x, ${wanted}) before, or say with tl.trusted why it is right`;

const UNKNOWN = "let the loads that it rests on cover whole tiles, or say with tl.trusted why it is right";

/** What leaves the other lanes as they are. */
function neutralOf(statement: OpStatement): string | undefined {
  const type = typeOfArgument(statement.operands[0]!);
  const numbers = classesIn(genericClasses(type) | NEGATIVE | POSITIVE);
  const { neutral } = foldRuleOf(statement);
  const found = [ZERO, ONE, LOWEST, HIGHEST].find((kind) => numbers.every((beside) => neutral(kind, beside)));
  if (found === undefined) return undefined;
  if (found === LOWEST || found === HIGHEST) {
    const isLeast = found === LOWEST;
    return isFloatType(type) ? (isLeast ? "-Infinity" : "Infinity") : `the ${isLeast ? "lowest" : "highest"} integer`;
  }
  return found === ZERO ? "0" : "1";
}

const WORDS: ReadonlyMap<NumberClasses, string> = new Map([
  [LOWEST, "-Infinity"],
  [NEGATIVE, "negative numbers"],
  [ZERO, "0"],
  [ONE, "1"],
  [POSITIVE, "positive numbers"],
  [HIGHEST, "Infinity"],
  [NAN, "NaN"],
]);

function inWords(kinds: NumberClasses): string {
  if ((kinds & NEGATIVE) !== EMPTY && (kinds & POSITIVE) !== EMPTY) return "numbers";
  return classesIn(kinds)
    .map((kind) => WORDS.get(kind) ?? "nothing")
    .join(" or ");
}
