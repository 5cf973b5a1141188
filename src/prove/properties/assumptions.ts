/** Obligations of `tl.assume`: the assumed condition is true. */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { entails } from "../algebra/interpret.js";
import type { ObligationGenerator, ProofGap, ProofContext } from "./obligations.js";
import { describeUnknowns } from "./describe.js";

const FINDING_CODES: readonly FindingCode[] = ["false-assume"];

export const claimObligations: ObligationGenerator = (models) => {
  const statements = new Set(models.flatMap(({ claims }) => claims.map(({ statement }) => statement)));
  return [...statements].map((statement) => ({
    property: "claim",
    subject: "tl.assume",
    at: statement.location,
    prove: (context) => proveClaim(context, statement),
  }));
};

function proveClaim({ model, factScopes: contexts }: ProofContext, statement: OpStatement): ProofGap | undefined {
  const claim = model.claims.find(
    (each) => each.statement === statement && !entails(contexts.onPath(each.path, each.scope), each.holds),
  );
  if (!claim) return undefined;
  const { holds, path, scope } = claim;
  const missing = `the condition of tl.assume is not proved${describeUnknowns(model, [holds], path)}`;
  return {
    refutation: {
      goal: holds,
      facts: path,
      variables: scope,
      locations: [statement.location],
      findingCodes: FINDING_CODES,
    },
    missing,
    remedies: [{ kind: "omit" }],
  };
}
