/**
 * Padding obligations. A masked lane must be neutral where a reduction, a scan or a product combines it with other
 * lanes. Poison must not be stored and must not decide an access.
 */
import type { Remedy } from "../../../compiled/compiled-kernel.js";
import type { FindingCode } from "../../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../../ir/nodes.js";
import { typeOfArgument } from "../../../ir/walk.js";
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
import { genericClasses, classifyLiteral, endsOf } from "./abstract-lane.js";
import type { SymbolicModel } from "../../model/model.js";
import { type ObligationGenerator, type ProofObligation, type ProofGap, describeAccess } from "../obligations.js";
import { foldRuleOf } from "./folds.js";
import { type PaddingLeak, PaddingAnalysis } from "./analysis.js";
const POISON_FINDINGS: readonly FindingCode[] = ["uninitialized"];
/** The budget of each check whether a lane can exist. */
const STEPS = 4_000;

/** One obligation for each fold and access that masked lanes reach. */
export const paddingObligations: ObligationGenerator = (models) => {
  const statements = new Map<OpStatement, string>();
  const waived = new Map<OpStatement, string>();
  for (const model of models) {
    const { maskedUses: statementsWithMasked, waived: reasons } = paddingOf(model);
    for (const [statement, reason] of reasons) waived.set(statement, reason);
    for (const statement of statementsWithMasked) statements.set(statement, subjectOf(model, statement));
  }
  const trusted = [...waived].map(([statement, reason]): ProofObligation => ({
    property: "padding",
    subject: `padding in tl.${statement.op.name}`,
    at: statement.location,
    waiver: reason,
    prove: () => ({ refutation: undefined, missing: "" }),
  }));
  const checked = [...statements].map(([statement, subject]): ProofObligation => ({
    property: "padding",
    subject,
    at: statement.location,
    restsOn: "masks",
    prove: ({ model }) => {
      const leak = paddingOf(model).leaks.get(statement);
      return leak && gapOf(leak);
    },
  }));
  return [...trusted, ...checked];
};

const analyses = new WeakMap<SymbolicModel, PaddingAnalysis>();

function paddingOf(model: SymbolicModel): PaddingAnalysis {
  let padding = analyses.get(model);
  if (!padding) analyses.set(model, (padding = new PaddingAnalysis(model, new FactScopes(model, new Budget(STEPS)))));
  return padding;
}

function subjectOf(model: SymbolicModel, statement: OpStatement): string {
  const access = model.accesses.find((each) => each.statement === statement);
  return access ? `padding in ${describeAccess(access)}` : `padding in tl.${statement.op.name}`;
}

function gapOf({ statement, classes: holds, facts, variables }: PaddingLeak): ProofGap {
  if (!statement.op.proof.foldSemantics) {
    const question = { goal: FALSE, facts, variables, locations: [statement.location], findingCodes: POISON_FINDINGS };
    return {
      refutation: question,
      missing: "a lane that no load gave a value may be on",
      remedies: [{ kind: "other", value: 0 }],
    };
  }
  const neutral = neutralElementOf(statement);
  const op = `tl.${statement.op.name}`;
  const effect = neutral === undefined ? `and nothing shows that ${op} ignores them` : `where ${op} needs ${neutral}`;
  const missing = `masked lanes hold ${formatClasses(holds)} here, ${effect}`;
  // A fold of exponentials gets the neutral 0 from -Infinity.
  if (neutral === undefined) return { refutation: undefined, missing };
  const others = [...new Set([neutral, -Infinity])].map((value): Remedy => ({ kind: "other", value }));
  return { refutation: undefined, missing, remedies: [...others, { kind: "where", value: neutral }] };
}

/** The neutral element of a fold. Undefined if the fold has none. */
function neutralElementOf(statement: OpStatement): number | undefined {
  const [operand] = statement.operands;
  if (operand === undefined) return undefined;
  const type = typeOfArgument(operand);
  const classes = classesIn(genericClasses(type) | NEGATIVE | POSITIVE);
  const { isNeutral } = foldRuleOf(statement);
  return [0, 1, ...endsOf(type)].find((candidate) =>
    classes.every((active) => isNeutral(classifyLiteral(candidate, type), active)),
  );
}

const CLASS_TEXT: ReadonlyMap<NumberClasses, string> = new Map([
  [LOWEST, "-Infinity"],
  [NEGATIVE, "negative numbers"],
  [ZERO, "0"],
  [ONE, "1"],
  [POSITIVE, "positive numbers"],
  [HIGHEST, "Infinity"],
  [NAN, "NaN"],
]);

function formatClasses(classes: NumberClasses): string {
  if ((classes & NEGATIVE) !== EMPTY && (classes & POSITIVE) !== EMPTY) return "numbers";
  return classesIn(classes)
    .map((numberClass) => CLASS_TEXT.get(numberClass) ?? "nothing")
    .join(" or ");
}
