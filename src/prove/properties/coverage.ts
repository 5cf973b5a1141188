/** Coverage obligations: every element of each output is written, by one store or by several together. */
import type { Remedy } from "../../compiled/compiled-kernel.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { isValue, type KernelIR, paramsOf, type TensorParam } from "../../ir/nodes.js";
import { andTerm, equal, not, number, orTerm, symbol, type Term, TRUE } from "../../symbolic/term.js";
import { assume } from "../algebra/interpret.js";
import { GIVEN } from "../model/launch.js";
import { type ObligationGenerator, type ProofGap, type ProofContext, describeUnknowns } from "./obligations.js";
import { assumeRows } from "../model/partitions.js";
import { conditionsToWrite, proveAndAssume } from "../model/written-elements.js";
import type { Access } from "../model/accesses.js";
const FINDING_CODES: readonly FindingCode[] = ["never-written"];

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
    findingCodes: FINDING_CODES,
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
