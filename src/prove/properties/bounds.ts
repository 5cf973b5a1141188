/** Whether every active lane of an access lies in its tensor. */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { atLeast, below, FALSE, number, type Term } from "../../symbolic/term.js";
import type { FactScopes } from "../model/fact-scopes.js";
import { entails } from "../algebra/interpret.js";
import type { SymbolicModel } from "../model/model.js";
import type { ObligationGenerator, ProofGap, ProofContext } from "./obligations.js";
import type { Access } from "../model/accesses.js";
import type { RefutationQuery } from "../counterexample.js";
import { describeAccess, describeMissingBound } from "./describe.js";

const OUTSIDE: readonly FindingCode[] = ["out-of-bounds", "false-in-bounds"];

/** One duty for each access as the author wrote it. */
export const boundsObligations: ObligationGenerator = (models) => {
  const statements = new Map<OpStatement, Access>();
  for (const { accesses } of models) for (const access of accesses) statements.set(access.statement, access);
  return [...statements].map(([statement, access]) => ({
    property: "bounds",
    of: describeAccess(access),
    at: statement.at,
    prove: (stand) => openAccess(stand, statement),
  }));
};

function openAccess({ model, contexts }: ProofContext, statement: OpStatement): ProofGap | undefined {
  for (const access of model.accesses) {
    if (access.statement !== statement) continue;
    const { missing, mask, path, scope, lanes } = access;
    if (missing !== undefined) return { question: unstridedQuestion(model, access), missing };
    const bound = firstUnprovedBound(contexts, access);
    if (!bound) continue;
    const question = {
      holds: bound.holds,
      given: [...path, mask],
      variables: [...scope, ...lanes],
      places: [statement.at],
      finds: OUTSIDE,
    };
    return { question, missing: describeMissingBound(model, access, bound) };
  }
  return undefined;
}

/** Memory between the elements shows an offset that leaves out the strides. */
function unstridedQuestion(
  { launch }: SymbolicModel,
  { tensor, unstrided, statement }: Access,
): RefutationQuery | undefined {
  if (tensor?.kind !== "tensor" || unstrided !== true) return undefined;
  const layouts = { [tensor.name]: "sliced" } as const;
  const about = launch.tensorDims(tensor);
  return { holds: FALSE, given: [], variables: [], about, places: [statement.at], finds: OUTSIDE, layouts };
}

/** One side of one axis of an access, which the emitted code does not compare. */
export interface Bound {
  readonly axis: number;
  readonly side: "lower" | "upper";
  readonly claimed: boolean;
  readonly holds: Term;
}

/** The bounds that a proof has to show. What a mask compares holds of active lanes. */
function boundsOf({ axes }: Access): readonly Bound[] {
  return axes.flatMap(({ index, size, masks, claimed }, axis): Bound[] => [
    ...(masks.lower ? [] : [{ axis, side: "lower", claimed, holds: atLeast(index, number(0)) } as const]),
    ...(masks.upper ? [] : [{ axis, side: "upper", claimed, holds: below(index, size) } as const]),
  ]);
}

const found = new WeakMap<Access, { readonly open: Bound | undefined }>();

/** The first bound that could not be shown. */
export function firstUnprovedBound(contexts: FactScopes, access: Access): Bound | undefined {
  const known = found.get(access) ?? {
    open: boundsOf(access).find(({ holds }) => !entails(contexts.active(access), holds)),
  };
  found.set(access, known);
  return known.open;
}
