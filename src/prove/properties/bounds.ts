/** Whether every active lane of an access lies in its tensor. */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { atLeast, below, FALSE, number, type Term } from "../../symbolic/term.js";
import type { Contexts } from "../model/fact-scopes.js";
import { proves } from "../algebra/interpret.js";
import type { Model } from "../model/model.js";
import type { Duties, Open, Stand } from "./obligations.js";
import type { Access } from "../model/accesses.js";
import type { Question } from "../counterexample.js";
import { accessInWords, missingOf } from "./describe.js";

const OUTSIDE: readonly FindingCode[] = ["out-of-bounds", "false-in-bounds"];

/** One duty for each access as the author wrote it. */
export const boundsDuties: Duties = (models) => {
  const statements = new Map<OpStatement, Access>();
  for (const { accesses } of models) for (const access of accesses) statements.set(access.statement, access);
  return [...statements].map(([statement, access]) => ({
    property: "bounds",
    of: accessInWords(access),
    at: statement.at,
    asks: (stand) => openAccess(stand, statement),
  }));
};

function openAccess({ model, contexts }: Stand, statement: OpStatement): Open | undefined {
  for (const access of model.accesses) {
    if (access.statement !== statement) continue;
    const { missing, mask, path, scope, lanes } = access;
    if (missing !== undefined) return { question: unstridedQuestion(model, access), missing };
    const bound = openBound(contexts, access);
    if (!bound) continue;
    const question = {
      holds: bound.holds,
      given: [...path, mask],
      variables: [...scope, ...lanes],
      places: [statement.at],
      finds: OUTSIDE,
    };
    return { question, missing: missingOf(model, access, bound) };
  }
  return undefined;
}

/** Memory between the elements shows an offset that leaves out the strides. */
function unstridedQuestion({ launch }: Model, { tensor, unstrided, statement }: Access): Question | undefined {
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
export function openBound(contexts: Contexts, access: Access): Bound | undefined {
  const known = found.get(access) ?? {
    open: boundsOf(access).find(({ holds }) => !proves(contexts.active(access), holds)),
  };
  found.set(access, known);
  return known.open;
}
