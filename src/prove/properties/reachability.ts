/** Accesses that no launch performs. Each property is true of them, so that a proof of it says nothing. */
import type { Obligation } from "../../compiled/compiled-kernel.js";
import { FALSE } from "../../symbolic/term.js";
import { entails } from "../algebra/interpret.js";
import type { Access } from "../model/accesses.js";
import { type IndexedConfig, integersOf } from "../launch-search.js";
import { Valuation } from "../valuation.js";
import { describeAccess } from "./describe.js";
import type { ProofContext } from "./obligations.js";

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
