/** Whether every element of each output is written, by one store or by several together. */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { isValue, type KernelIR, paramsOf, type TensorParam } from "../../ir/nodes.js";
import {
  andTerm,
  conditionsOf,
  equal,
  not,
  number,
  orTerm,
  substitute,
  symbol,
  type Term,
  TRUE,
} from "../../symbolic/term.js";
import { assume, entails } from "../algebra/interpret.js";
import { invert } from "../model/inverse.js";
import type { FactSet } from "../algebra/facts.js";
import type { ObligationGenerator, ProofGap, ProofContext } from "./obligations.js";
import { assumeRows } from "../model/partitions.js";
import type { Access } from "../model/accesses.js";
import { describeUnknowns } from "./describe.js";

const UNWRITTEN: readonly FindingCode[] = ["never-written"];

export const coverageObligations: ObligationGenerator = (models) =>
  paramsOf(models[0]!.ir, "tensor")
    .filter(({ role, zeroed }) => role === "out" && zeroed !== true)
    .map((tensor) => ({
      property: "coverage",
      of: tensor.name,
      at:
        models.flatMap(({ accesses }) => accesses.filter((each) => writes(each, tensor)))[0]?.statement.at ??
        tensor.value.at,
      waived: models.flatMap(({ accesses }) =>
        accesses.flatMap((each) => (writes(each, tensor) && each.trusted !== undefined ? [each.trusted] : [])),
      )[0],
      prove: (stand) => openCoverage(stand, tensor),
    }));

/** An atomic gives no element its first value. */
const writes = ({ does, tensor }: Access, param: TensorParam): boolean => does === "store" && tensor === param;

/** The index of the element in question along an axis. */
const elementName = ({ name }: TensorParam, axis: number): string => `element ${name} ${axis}`;

function openCoverage(stand: ProofContext, tensor: TensorParam): ProofGap | undefined {
  const { model, contexts } = stand;
  const known = contexts.launch().child();
  const elements = model.launch.tensorDims(tensor).map((size, axis) => {
    const name = elementName(tensor, axis);
    model.environment.ranges.set(name, { from: number(0), to: size });
    return name;
  });
  const given = tensor.given ? [equal(symbol(`${tensor.given.parameter} given`), number(1))] : [];
  for (const condition of [...contexts.rangesOf(elements), ...given]) assume(known, condition);
  const stores = model.accesses.filter((each) => writes(each, tensor));
  const left: Term[] = [];
  const followed = stores.filter(({ mayBeSkipped, missing }) => !mayBeSkipped && missing === undefined);
  for (const store of followed) {
    const conditions = conditionsToWrite(stand, store, elements);
    assumeRows(known, model, conditions);
    const open = andTerm(...conditions.filter((condition) => !learns(known, condition)));
    if (open === TRUE || known.impossible) return undefined;
    // The stores that follow have only the elements to write for which this one lacks something.
    assume(known, not(open));
    if (known.impossible) return undefined;
    left.push(open);
  }
  const question = {
    holds: orTerm(...left),
    given,
    variables: elements,
    places: [tensor.value.at, ...stores.map(({ statement }) => statement.at), ...gridPlaces(model.ir)],
    finds: UNWRITTEN,
  };
  return { question, missing: missingCoverage(stand, tensor, stores, left) };
}

/** Whether a condition is certain; it then helps with those that follow. */
function learns(known: FactSet, condition: Term): boolean {
  if (!entails(known, condition)) return false;
  assume(known, condition);
  return true;
}

/** What must hold so that the program, the turn and the lane that the store's index suggests write the element. */
function conditionsToWrite(
  { model, contexts }: ProofContext,
  store: Access,
  elements: readonly string[],
): readonly Term[] {
  const { axes, mask, path, scope, lanes } = store;
  const variables = [...scope, ...lanes];
  const equations = axes.map(({ index }, axis) => ({ index, is: symbol(elements[axis]!) }));
  const found = invert(model, contexts.active(store), variables, equations);
  const first = (name: string): Term => model.environment.ranges.get(name)?.from ?? number(0);
  const from = new Map(variables.map((name) => [name, found.get(name) ?? first(name)]));
  const conditions = [
    ...contexts.rangesOf(variables),
    ...path,
    mask,
    ...equations.map(({ index, is }) => equal(index, is)),
  ];
  return conditions.map((condition) => substitute(condition, from)).flatMap(conditionsOf);
}

/** Where the evaluator may say that nothing is written. */
function gridPlaces({ grid: { block, at } }: KernelIR): readonly (Location | undefined)[] {
  return [at, ...block.yields.map((each) => (isValue(each) ? each.at : undefined))];
}

function missingCoverage(
  { model }: ProofContext,
  { name }: TensorParam,
  stores: readonly Access[],
  left: readonly Term[],
): string {
  const goal = `nothing shows that every element of ${name} is written`;
  if (stores.length === 0) return `${goal}: no store writes it; store to it, or declare it { zeroed: true }`;
  const [unfollowed] = stores.flatMap(({ missing }) => missing ?? []);
  if (unfollowed !== undefined) return unfollowed;
  if (stores.every(({ mayBeSkipped }) => mayBeSkipped))
    return `${goal}, as nothing says how many turns the loop around its store takes; count the turns with tl.range`;
  const remedy = `let the grid, the blocks and the masks cover it, or declare it { zeroed: true }`;
  return `${goal}${describeUnknowns(model, remedy, left, [])}`;
}
