/** Bounds obligations: every active lane of an access is inside its tensor. */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { Remedy } from "../../compiled/compiled-kernel.js";
import { isSizeParam, type OpStatement, paramsOf, isValue, type KernelIR, type TensorParam } from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  below,
  FALSE,
  number,
  type Term,
  equal,
  not,
  orTerm,
  symbol,
  TRUE,
} from "../../symbolic/term.js";
import type { FactScopes } from "../model/fact-scopes.js";
import { entails, assume } from "../algebra/interpret.js";
import type { SymbolicModel } from "../model/model.js";
import {
  type Implication,
  type ObligationGenerator,
  type ProofGap,
  type ProofContext,
  describeAccess,
  describeUnknowns,
} from "./obligations.js";
import type { Access } from "../model/accesses.js";
import type { RefutationQuery } from "../counterexample.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { GIVEN } from "../model/launch.js";
import { assumeRows } from "../model/partitions.js";
import { conditionsToWrite, proveAndAssume } from "../model/written-elements.js";

const FINDING_CODES: readonly FindingCode[] = ["out-of-bounds", "false-in-bounds"];

/** One obligation for each access in the source. */
export const boundsObligations: ObligationGenerator = (models) => {
  const statements = new Map<OpStatement, Access>();
  for (const { accesses } of models) for (const access of accesses) statements.set(access.statement, access);
  return [...statements].map(([statement, access]) => ({
    property: "bounds",
    subject: describeAccess(access),
    at: statement.location,
    restsOn: [statement],
    claims: (context) => claimsOf(context, statement),
    prove: (context) => proveAccess(context, statement),
  }));
};

function proveAccess({ model, factScopes: contexts }: ProofContext, statement: OpStatement): ProofGap | undefined {
  for (const access of model.accesses) {
    if (access.statement !== statement) continue;
    const { missing, mask, path, scope, lanes } = access;
    if (missing !== undefined)
      return { refutation: unstridedRefutation(model, access), missing, remedies: addressRemedies(model, access) };
    const bound = firstUnprovedBound(contexts, access);
    if (!bound) continue;
    const refutation = {
      goal: bound.condition,
      facts: [...path, mask],
      variables: [...scope, ...lanes],
      locations: [statement.location],
      findingCodes: FINDING_CODES,
    };
    const remedies: readonly Remedy[] = bound.claimed ? [{ kind: "mask" }] : [];
    return { refutation, missing: describeMissingBound(model, access, bound), remedies };
  }
  return undefined;
}

function claimsOf({ model }: ProofContext, statement: OpStatement): readonly Implication[] | string {
  const accesses = model.accesses.filter((access) => access.statement === statement);
  if (accesses.some(({ missing }) => missing !== undefined)) return "its address is no index of a tensor";
  return accesses.map((access) => ({
    goal: andTerm(...boundsOf(access).map(({ condition }) => condition)),
    facts: [...access.path, access.mask],
    variables: [...access.scope, ...access.lanes],
  }));
}

/**
 * The counterexample search for an offset without strides. A sliced layout has memory between its elements, which such
 * an offset accesses.
 */
function unstridedRefutation(
  { launch }: SymbolicModel,
  { tensor, unstrided, statement }: Access,
): RefutationQuery | undefined {
  if (tensor?.kind !== "tensor" || unstrided !== true) return undefined;
  const layouts = { [tensor.name]: "sliced" } as const;
  const relevantTerms = launch.tensorDims(tensor);
  return {
    goal: FALSE,
    facts: [],
    variables: [],
    relevantTerms,
    locations: [statement.location],
    findingCodes: FINDING_CODES,
    layouts,
  };
}

/** The strides of a tensor, or the extent of a pointer, that an address may lack. */
function addressRemedies({ ir }: SymbolicModel, { tensor, unstrided }: Access): readonly Remedy[] {
  if (tensor) return unstrided === true ? [{ kind: "declare", param: tensor.name, option: { contiguous: true } }] : [];
  const pointers = paramsOf(ir, "pointer").filter(({ numel }) => numel === undefined);
  return pointers.flatMap(({ name: param }) =>
    ir.params.filter(isSizeParam).map(({ name }): Remedy => ({ kind: "declare", param, option: { numel: name } })),
  );
}

/** One side of one axis of an access that the emitted code does not mask. */
export interface Bound {
  readonly axis: number;
  readonly side: "lower" | "upper";
  readonly claimed: boolean;
  readonly condition: Term;
}

/** The bounds to prove. Bounds that a mask checks hold for active lanes. */
function boundsOf({ axes }: Access): readonly Bound[] {
  return axes.flatMap(({ index, size, masks, claimed }, axis): Bound[] => [
    ...(masks.lower ? [] : [{ axis, side: "lower", claimed, condition: atLeast(index, number(0)) } as const]),
    ...(masks.upper ? [] : [{ axis, side: "upper", claimed, condition: below(index, size) } as const]),
  ]);
}

const cache = new WeakMap<Access, { readonly unproved: Bound | undefined }>();

/** The first bound that could not be proved. */
export function firstUnprovedBound(contexts: FactScopes, access: Access): Bound | undefined {
  const cached = cache.get(access) ?? {
    unproved: boundsOf(access).find(({ condition: holds }) => !entails(contexts.active(access), holds)),
  };
  cache.set(access, cached);
  return cached.unproved;
}

/** The missing fact of a bound of an access. */
function describeMissingBound(
  model: SymbolicModel,
  access: Access,
  { axis, side, condition: holds, claimed }: Bound,
): string {
  const { tensor } = access;
  const size = tensor?.kind === "tensor" ? tensor.dimNames[axis] : "its numel";
  const goal = `the index on axis ${axis} of ${tensor?.name} is ${side === "lower" ? "not negative" : `below ${size}`}`;
  const statement = `${claimed ? "tl.inBounds says" : "nothing shows"} that ${goal}`;
  return `${statement}${describeUnknowns(model, [holds], [access.mask, ...access.path])}`;
}

// Coverage obligations: every element of each output is written, by one store or by several together.

const COVERAGE_CODES: readonly FindingCode[] = ["never-written"];

export const coverageObligations: ObligationGenerator = (models) => {
  const [model] = models;
  if (!model) return [];
  return paramsOf(model.ir, "tensor")
    .filter(({ role, zeroed }) => role === "out" && zeroed !== true)
    .map((tensor) => {
      const stores = models.flatMap(({ accesses }) => accesses.filter((access) => isStoreTo(access, tensor)));
      return {
        property: "coverage",
        subject: tensor.name,
        at: stores[0]?.statement.location ?? tensor.value.location,
        restsOn: stores.map(({ statement }) => statement),
        waiver: stores.find(({ trusted }) => trusted !== undefined)?.trusted,
        prove: (context) => proveCoverage(context, tensor),
      };
    });
};

/** An atomic does not initialize an element, so it does not count as a write. */
const isStoreTo = ({ accessKind: does, tensor }: Access, param: TensorParam): boolean =>
  does === "store" && tensor === param;

/** The symbol of the element's index along an axis. */
const elementName = ({ name }: TensorParam, axis: number): string => `element ${name} ${axis}`;

/** Undefined if each element of a tensor is written. */
export function proveCoverage(context: ProofContext, tensor: TensorParam): ProofGap | undefined {
  const { model, factScopes: contexts } = context;
  const facts = contexts.launch().child();
  const elements = model.launch.tensorDims(tensor).map((size, axis) => {
    const name = elementName(tensor, axis);
    model.environment.ranges.set(name, { from: number(0), to: size });
    return name;
  });
  const presence = tensor.given ? [equal(symbol(`${tensor.given.parameter}${GIVEN}`), number(1))] : [];
  for (const condition of [...contexts.rangesOf(elements), ...presence]) assume(facts, condition);
  const stores = model.accesses.filter((access) => isStoreTo(access, tensor));
  const unproved: Term[] = [];
  const modeledStores = stores.filter(({ mayBeSkipped, missing }) => !mayBeSkipped && missing === undefined);
  for (const store of modeledStores) {
    const conditions = conditionsToWrite(contexts, store, elements);
    assumeRows(facts, model, conditions);
    const remaining = andTerm(...conditions.filter((condition) => !proveAndAssume(facts, condition)));
    if (remaining === TRUE || facts.impossible) return undefined;
    // The following stores only have to write elements for which this store's conditions are not proved.
    assume(facts, not(remaining));
    if (facts.impossible) return undefined;
    unproved.push(remaining);
  }
  const refutation = {
    goal: orTerm(...unproved),
    facts: presence,
    variables: elements,
    locations: [
      tensor.value.location,
      ...stores.map(({ statement }) => statement.location),
      ...gridLocations(model.ir),
    ],
    findingCodes: COVERAGE_CODES,
  };
  const remedies: readonly Remedy[] = [{ kind: "declare", param: tensor.name, option: { zeroed: true } }];
  return { refutation, missing: missingCoverage(context, tensor, stores, unproved), remedies };
}

/** The locations at which the evaluator may report an unwritten element. */
function gridLocations({ grid: { block, at } }: KernelIR): readonly (Location | undefined)[] {
  return [at, ...block.yields.map((each) => (isValue(each) ? each.location : undefined))];
}

function missingCoverage(
  { model }: ProofContext,
  { name }: TensorParam,
  stores: readonly Access[],
  unproved: readonly Term[],
): string {
  const goal = `nothing shows that every element of ${name} is written`;
  if (stores.length === 0) return `${goal}: no store writes it`;
  const [unmodeled] = stores.flatMap(({ missing }) => missing ?? []);
  if (unmodeled !== undefined) return unmodeled;
  if (stores.every(({ mayBeSkipped }) => mayBeSkipped))
    return `${goal}, because the number of iterations of the loop around its store is unknown`;
  return `${goal}${describeUnknowns(model, unproved, [])}`;
}
