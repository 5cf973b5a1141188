/**
 * The elements of an input, as an uninterpreted function of the index with the parameter's declared range. An empty
 * declared range implies an empty tensor: a value that no lane loads must imply nothing.
 */
import { type KernelIR, paramsOf, type TensorParam } from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  atMost,
  below,
  call,
  number,
  orTerm,
  type Term,
  termsIn,
  TRUE,
} from "../../symbolic/term.js";
import { isInt, members } from "../../types/dtype.js";
import { Budget } from "../algebra/budget.js";
import { provesNonNegative } from "../algebra/non-negativity.js";
import { assume } from "../algebra/interpret.js";
import { FactSet } from "../algebra/facts.js";
import { constant } from "../algebra/polynomial.js";
import type { Environment } from "./symbolic-environment.js";

const STEPS = 1000;

/** The prefix of the uninterpreted functions from an input's index to its element. */
export const ELEMENT_PREFIX = "contents ";

/** The inputs whose elements a term depends on. */
export function inputsReadBy(...terms: readonly Term[]): readonly string[] {
  const inputs = [...termsIn(...terms)].filter(({ name }) => name.startsWith(ELEMENT_PREFIX));
  return [...new Set(inputs.map(({ name }) => name.slice(ELEMENT_PREFIX.length)))];
}

/** The uninterpreted function from an input's index to its element. */
export function inputElement(environment: Environment, param: TensorParam): (index: readonly Term[]) => Term {
  const key = `${ELEMENT_PREFIX}${param.name}`;
  const isNew = !environment.unknowns.has(key);
  environment.declare(key, param.dtype, false, `what ${param.name} holds`);
  if (isNew && param.range) {
    const [lower, end] = environment.launch.host(param.range) as [Term, Term];
    const dims = environment.launch.tensorDims(param);
    const mayAssumeRange = isNeverEmpty(environment, param);
    environment.constrain(key, (value, index, inProgram) => {
      const outOfBounds = (inProgram && mayAssumeRange ? [] : dims).flatMap((dim, axis) => [
        below(index[axis]!, number(0)),
        atLeast(index[axis]!, dim),
      ]);
      return [orTerm(...outOfBounds, andTerm(atLeast(value, lower), below(value, end)))];
    });
  }
  return (index) => call(key, ...index);
}

/**
 * True if an empty declared range would imply an empty grid, so that every program may assume the range to be nonempty.
 */
function isNeverEmpty({ ir, launch, factsOf }: Environment, param: TensorParam): boolean {
  const rangeOf = ({ range }: TensorParam): Term => {
    const [lower, end] = launch.host(range!) as [Term, Term];
    return below(lower, end);
  };
  if (rangeOf(param) === TRUE) return true;
  const emptyAxes = (each: TensorParam): readonly Term[] =>
    launch.tensorDims(each).map((dim) => atMost(dim, number(0)));
  const facts = new FactSet({ budget: new Budget(STEPS), callFacts: factsOf });
  for (const fact of [...launch.facts, ...launch.grid.map((size) => atLeast(size, number(1)))]) assume(facts, fact);
  for (const otherInput of rangedIn(ir)) {
    if (otherInput !== param && !otherInput.optional)
      assume(facts, orTerm(...emptyAxes(otherInput), rangeOf(otherInput)));
  }
  const [lower, end] = launch.host(param.range!) as [Term, Term];
  assume(facts, atMost(end, lower));
  if (!param.optional) assume(facts, orTerm(...emptyAxes(param)));
  return facts.impossible || provesNonNegative(facts, constant(-1), "cases");
}

const rangedIn = (ir: KernelIR): readonly TensorParam[] =>
  paramsOf(ir, "tensor").filter(({ range, dtype }) => range !== undefined && members(dtype).every(isInt));
