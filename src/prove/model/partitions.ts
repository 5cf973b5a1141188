/**
 * Tensors that are declared to rise to a size: each element below that size lies in one row, between a value and the next,
 * or of ends between that before, which is 0 before the first, and a value. Which row that is, is a function of the element.
 */
import { paramsOf, type TensorParam } from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  atMost,
  below,
  call,
  iteTerm,
  equal,
  number,
  sum,
  type Term,
  termsIn,
} from "../../symbolic/term.js";
import { assume, entails } from "../algebra/interpret.js";
import type { FactSet, MonotoneFunction } from "../algebra/facts.js";
import type { SymbolicModel } from "./model.js";
import { add, ONE, type Polynomial } from "../algebra/polynomial.js";
import type { Environment } from "./symbolic-environment.js";
import { CONTENTS } from "./input-elements.js";

const ROW = "row of ";

/** Of what a partition holds where a row starts: the function from an element to its row, and the row of the index. */
export function rowFunction(
  { ir }: Pick<SymbolicModel, "ir">,
  contents: string,
  index: Polynomial,
): { readonly name: string; readonly row: Polynomial } | undefined {
  const param = partitionOf({ ir }, contents, CONTENTS);
  return param && { name: `${ROW}${param.name}`, row: param.partition!.holds === "ends" ? add(index, ONE) : index };
}

export const isRow = ({ kind, name }: Term): boolean => kind === "call" && name.startsWith(ROW);

/** Which functions rise: what a tensor does not hold is chosen so that it goes on, from 0 and to the size that it divides. */
export const monotoneFunctions =
  (of: Pick<SymbolicModel, "ir">): MonotoneFunction =>
  (name) =>
    partitionOf(of, name, CONTENTS) !== undefined;

/** The size that a function rises to. */
export function totalOf({ ir, launch }: Pick<Environment, "ir" | "launch">, contents: string): Term | undefined {
  const param = partitionOf({ ir }, contents, CONTENTS);
  return param && launch.term(param.partition!.total);
}

function partitionOf({ ir }: Pick<SymbolicModel, "ir">, name: string, prefix: string): TensorParam | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const found = paramsOf(ir, "tensor").find((param) => param.name === name.slice(prefix.length));
  return found?.partition && found.role === "in" ? found : undefined;
}

/** What says that an element lies in a row. */
function liesIn(model: SymbolicModel, param: TensorParam, element: Term, row: Term): Term {
  const at = (index: Term) => call(`${CONTENTS}${param.name}`, index);
  const [held] = model.launch.tensorDims(param);
  const [before, after] =
    param.partition!.holds === "offsets"
      ? [at(row), sum(row, number(1))]
      : [iteTerm(atLeast(row, number(1)), at(sum(row, number(-1))), number(0)), row];
  return andTerm(atLeast(row, number(0)), below(after, held!), atMost(before, element), below(element, at(after)));
}

function isCovered(known: FactSet, { launch }: SymbolicModel, { partition }: TensorParam, element: Term): boolean {
  const total = launch.term(partition!.total);
  return total !== undefined && entails(known, andTerm(atLeast(element, number(0)), below(element, total)));
}

/** Adds where the rows lie that terms mention, of elements that certainly have one. */
export function assumeRows(known: FactSet, model: SymbolicModel, terms: readonly Term[]): void {
  for (const term of termsIn(...terms)) {
    const param = term.kind === "call" ? partitionOf(model, term.name, ROW) : undefined;
    const [element] = term.parts;
    if (param && isCovered(known, model, param, element!)) assume(known, liesIn(model, param, element!, term));
  }
}

/** Whether a term is certainly another; an element has no row besides that which it lies in. */
export function provesSame(known: FactSet, model: SymbolicModel, x: Term, y: Term): boolean {
  if (entails(known, equal(x, y))) return true;
  const param = x.kind === "call" ? partitionOf(model, x.name, ROW) : undefined;
  const [element] = x.parts;
  return (
    param !== undefined && isCovered(known, model, param, element!) && entails(known, liesIn(model, param, element!, y))
  );
}
