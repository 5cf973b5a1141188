/**
 * Tensors that are declared as a partition of a size. Each element below that size belongs to one row: between two
 * consecutive offsets, or between the previous end (0 before the first) and an end. The row is an uninterpreted
 * function of the element.
 */
import { atAxis } from "../../types/axis.js";
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
import { add, ONE, type Polynomial } from "../algebra/polynomial.js";
import type { Environment } from "./symbolic-environment.js";
import { ELEMENT_PREFIX } from "./input-elements.js";

const ROW = "row of ";

/**
 * For the row boundary at an index of a partition: the function from an element to its row, and the row that starts at
 * that boundary.
 */
export function rowFunction(
  { ir }: Pick<Environment, "ir">,
  contents: string,
  index: Polynomial,
): { readonly name: string; readonly row: Polynomial } | undefined {
  const partitioned = partitionOf({ ir }, contents, ELEMENT_PREFIX);
  if (!partitioned) return undefined;
  const { param, partition } = partitioned;
  return { name: `${ROW}${param.name}`, row: partition.holds === "ends" ? add(index, ONE) : index };
}

export const isRow = ({ kind, name }: Term): boolean => kind === "call" && name.startsWith(ROW);

/**
 * The uninterpreted functions that are monotone. Elements beyond the tensor are chosen so that the sequence continues,
 * from 0 and up to the size.
 */
export const monotoneFunctions =
  (model: Pick<Environment, "ir">): MonotoneFunction =>
  (name) =>
    partitionOf(model, name, ELEMENT_PREFIX) !== undefined;

/** The size that a partition ends at. */
export function totalOf({ ir, launch }: Pick<Environment, "ir" | "launch">, contents: string): Term | undefined {
  const partitioned = partitionOf({ ir }, contents, ELEMENT_PREFIX);
  return partitioned && launch.term(partitioned.partition.total);
}

interface Partitioned {
  readonly param: TensorParam;
  readonly partition: NonNullable<TensorParam["partition"]>;
}

function partitionOf({ ir }: Pick<Environment, "ir">, name: string, prefix: string): Partitioned | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const param = paramsOf(ir, "tensor").find((candidate) => candidate.name === name.slice(prefix.length));
  return param?.partition && param.role === "in" ? { param, partition: param.partition } : undefined;
}

/** The partition and the element of a term that is an element's row. */
function rowOf(model: Pick<Environment, "ir">, term: Term): (Partitioned & { readonly element: Term }) | undefined {
  const partitioned = term.kind === "call" ? partitionOf(model, term.name, ROW) : undefined;
  const [element] = term.operands;
  return partitioned && element && { ...partitioned, element };
}

/** The condition that an element belongs to a row. */
function isInRow(
  { launch }: Pick<Environment, "launch">,
  { param, partition }: Partitioned,
  element: Term,
  row: Term,
): Term {
  const boundaryAt = (index: Term) => call(`${ELEMENT_PREFIX}${param.name}`, index);
  const count = atAxis(launch.tensorDims(param), 0);
  const [start, endIndex] =
    partition.holds === "offsets"
      ? [boundaryAt(row), sum(row, number(1))]
      : [iteTerm(atLeast(row, number(1)), boundaryAt(sum(row, number(-1))), number(0)), row];
  return andTerm(
    atLeast(row, number(0)),
    below(endIndex, count),
    atMost(start, element),
    below(element, boundaryAt(endIndex)),
  );
}

function isCovered(
  facts: FactSet,
  { launch }: Pick<Environment, "launch">,
  { partition }: Partitioned,
  element: Term,
): boolean {
  const total = launch.term(partition.total);
  return total !== undefined && entails(facts, andTerm(atLeast(element, number(0)), below(element, total)));
}

/** Assumes the definition of each row function in the terms, if its element certainly has a row. */
export function assumeRows(facts: FactSet, model: Pick<Environment, "ir" | "launch">, terms: readonly Term[]): void {
  for (const term of termsIn(...terms)) {
    const row = rowOf(model, term);
    if (row && isCovered(facts, model, row, row.element)) assume(facts, isInRow(model, row, row.element, term));
  }
}

/** Proves that two terms are equal. An element belongs to exactly one row. */
export function provesSame(facts: FactSet, model: Pick<Environment, "ir" | "launch">, x: Term, y: Term): boolean {
  if (entails(facts, equal(x, y))) return true;
  const row = rowOf(model, x);
  return (
    row !== undefined &&
    isCovered(facts, model, row, row.element) &&
    entails(facts, isInRow(model, row, row.element, y))
  );
}
