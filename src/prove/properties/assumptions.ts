/** Whether what the author assumes holds. */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { proves } from "../algebra/interpret.js";
import type { Duties, Open, Stand } from "./obligations.js";
import { reasonOf } from "./describe.js";

const UNTRUE: readonly FindingCode[] = ["false-assume"];

export const claimDuties: Duties = (models) => {
  const statements = new Set(models.flatMap(({ claims }) => claims.map(({ statement }) => statement)));
  return [...statements].map((statement) => ({
    property: "claim",
    of: "tl.assume",
    at: statement.at,
    asks: (stand) => openClaim(stand, statement),
  }));
};

function openClaim({ model, contexts }: Stand, statement: OpStatement): Open | undefined {
  const claim = model.claims.find(
    (each) => each.statement === statement && !proves(contexts.onPath(each.path, each.scope), each.holds),
  );
  if (!claim) return undefined;
  const { holds, path, scope } = claim;
  const missing = `nothing shows what tl.assume says${reasonOf(model, "leave it out", [holds], path)}`;
  return { question: { holds, given: path, variables: scope, places: [statement.at], finds: UNTRUE }, missing };
}
