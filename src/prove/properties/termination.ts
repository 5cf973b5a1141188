/** Termination obligations: each `while` loop ends. */
import type { WhileStatement } from "../../ir/nodes.js";
import { termsIn } from "../../symbolic/term.js";
import type { SymbolicModel, WhileLoop } from "../model/model.js";
import type { ObligationGenerator } from "./obligations.js";

export const terminationObligations: ObligationGenerator = (models) => {
  const loops = new Set(models.flatMap(({ whileLoops }) => whileLoops.map(({ statement }) => statement)));
  return [...loops].map((statement: WhileStatement) => ({
    property: "termination",
    subject: "the loop",
    at: statement.location,
    prove: ({ model }) => {
      const open = model.whileLoops.find((loop) => loop.statement === statement && !loop.ends);
      return open && { refutation: undefined, missing: missingEnd(model, open) };
    },
  }));
};

function missingEnd({ environment: { unknowns } }: SymbolicModel, { condition }: WhileLoop): string {
  const reasons = new Set([...termsIn(condition)].flatMap(({ name }) => unknowns.get(name) ?? []));
  const reason =
    reasons.size > 0
      ? `its condition depends on ${[...reasons].join(" and ")}`
      : "no difference in its condition is shown to fall in each iteration";
  return `nothing shows that it ends: ${reason}, and no requirement would show it`;
}
