/**
 * Tensors that are declared to rise from 0 to a size: each element below that size lies in one row, between a value and the
 * next. Which row that is, is a function of the element.
 */
import { paramsOf, type TensorParam } from "../ir/nodes.js";
import { all, atLeast, atMost, below, call, equal, number, sum, type Term, termsIn } from "../terms/term.js";
import { assume, proves } from "./interpret.js";
import type { Knowledge } from "./knowledge.js";
import type { Model } from "./model.js";
import { CONTENTS } from "./words.js";

const ROW = "row of ";

/** The name of the function from an element to its row, for the name of what a partition holds. */
export function rowFunction({ ir }: Pick<Model, "ir">, contents: string): string | undefined {
  const param = partitionOf({ ir }, contents, CONTENTS);
  return param && `${ROW}${param.name}`;
}

function partitionOf({ ir }: Pick<Model, "ir">, name: string, prefix: string): TensorParam | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const found = paramsOf(ir, "tensor").find((param) => param.name === name.slice(prefix.length));
  return found?.partition && found.role === "in" ? found : undefined;
}

/** What says that an element lies in a row. */
function liesIn(model: Model, param: TensorParam, element: Term, row: Term): Term {
  const at = (index: Term) => call(`${CONTENTS}${param.name}`, index);
  const next = sum(row, number(1));
  const [rows] = model.launch.tensorDims(param);
  return all(atLeast(row, number(0)), below(next, rows!), atMost(at(row), element), below(element, at(next)));
}

function isCovered(known: Knowledge, { launch }: Model, { partition }: TensorParam, element: Term): boolean {
  const total = launch.term(partition!);
  return total !== undefined && proves(known, all(atLeast(element, number(0)), below(element, total)));
}

/** Adds where the rows lie that terms mention, of elements that certainly have one. */
export function assumeRows(known: Knowledge, model: Model, terms: readonly Term[]): void {
  for (const term of termsIn(...terms)) {
    const param = term.kind === "call" ? partitionOf(model, term.name, ROW) : undefined;
    const [element] = term.parts;
    if (param && isCovered(known, model, param, element!)) assume(known, liesIn(model, param, element!, term));
  }
}

/** Whether a term is certainly another; an element has no row besides that which it lies in. */
export function provesSame(known: Knowledge, model: Model, x: Term, y: Term): boolean {
  if (proves(known, equal(x, y))) return true;
  const param = x.kind === "call" ? partitionOf(model, x.name, ROW) : undefined;
  const [element] = x.parts;
  return (
    param !== undefined && isCovered(known, model, param, element!) && proves(known, liesIn(model, param, element!, y))
  );
}
