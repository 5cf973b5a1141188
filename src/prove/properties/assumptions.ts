/** Whether what the author assumes holds. */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { entails } from "../algebra/interpret.js";
import type { ObligationGenerator, ProofGap, ProofContext } from "./obligations.js";
import { describeUnknowns } from "./describe.js";

const UNTRUE: readonly FindingCode[] = ["false-assume"];

export const claimObligations: ObligationGenerator = (models) => {
  const statements = new Set(models.flatMap(({ claims }) => claims.map(({ statement }) => statement)));
  return [...statements].map((statement) => ({
    property: "claim",
    of: "tl.assume",
    at: statement.at,
    prove: (stand) => openClaim(stand, statement),
  }));
};

function openClaim({ model, contexts }: ProofContext, statement: OpStatement): ProofGap | undefined {
  const claim = model.claims.find(
    (each) => each.statement === statement && !entails(contexts.onPath(each.path, each.scope), each.holds),
  );
  if (!claim) return undefined;
  const { holds, path, scope } = claim;
  const missing = `nothing shows what tl.assume says${describeUnknowns(model, "leave it out", [holds], path)}`;
  return { question: { holds, given: path, variables: scope, places: [statement.at], finds: UNTRUE }, missing };
}
