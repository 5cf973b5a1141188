/** Accesses that no launch performs. Each property is true of them, so that a proof of it says nothing. */
import type { Obligation } from "../../compiled/compiled-kernel.js";
import { FALSE, termsIn } from "../../symbolic/term.js";
import { entails } from "../algebra/interpret.js";
import type { Access } from "../model/accesses.js";
import { type IndexedConfig, integersOf, Valuation } from "../launch-search.js";
import {
  type ProofContext,
  describeAccess,
  type ObligationGenerator,
  type ProofGap,
  describeUnknowns,
} from "./obligations.js";
import type { WhileStatement, OpStatement } from "../../ir/nodes.js";
import type { SymbolicModel, WhileLoop } from "../model/model.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";

/** One entry for each access in the source that is shown to have no active lane in any launch of any config. */
export function unreachedAccesses(
  contexts: readonly ProofContext[],
  configs: readonly IndexedConfig[],
): readonly Obligation[] {
  // One valuation a config, because accesses share conditions.
  const valuations = configs.map(({ values }) => new Valuation(new Map(integersOf(values))));
  const accesses = contexts.flatMap((context) => context.model.accesses.map((access) => ({ access, context })));
  const reached = new Set(
    accesses.flatMap(({ access, context }) => (mayBeReached(access, context, valuations) ? [access.statement] : [])),
  );
  const unreached = new Map(
    accesses.flatMap(({ access }) => (reached.has(access.statement) ? [] : [[access.statement, access] as const])),
  );
  return [...unreached].map(([{ location }, access]) => ({
    property: "launch",
    of: describeAccess(access),
    at: location,
    verdict: { kind: "unreached" },
  }));
}

function mayBeReached(access: Access, { factScopes }: ProofContext, valuations: readonly Valuation[]): boolean {
  const conditions = [...access.path, access.mask];
  const isTaken = valuations.some((valuation) => conditions.every((condition) => valuation.truth(condition) !== false));
  return isTaken && !entails(factScopes.active(access), FALSE);
}

// Termination obligations: each `while` loop ends.

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

// Obligations of `tl.assume`: the assumed condition is true.

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
