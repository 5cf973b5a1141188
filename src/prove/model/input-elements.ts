/**
 * What an input holds, as a function of the index with what its parameter declares. A declared range that is empty says that
 * the tensor is: of a value that no lane loads, nothing may follow.
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

/** The prefix of the functions from an input's index to its element. */
export const CONTENTS = "contents ";

/** The inputs whose elements a term depends on. */
export function inputsReadBy(...terms: readonly Term[]): readonly string[] {
  const inputs = [...termsIn(...terms)].filter(({ name }) => name.startsWith(CONTENTS));
  return [...new Set(inputs.map(({ name }) => name.slice(CONTENTS.length)))];
}

/** The function from an input's index to what it holds there. */
export function inputElement(environment: Environment, param: TensorParam): (index: readonly Term[]) => Term {
  const key = `${CONTENTS}${param.name}`;
  const isNew = !environment.unknowns.has(key);
  environment.declare(key, param.dtype, false, `what ${param.name} holds`);
  if (isNew && param.range) {
    const [least, end] = environment.launch.host(param.range) as [Term, Term];
    const dims = environment.launch.tensorDims(param);
    const isSure = isNeverEmpty(environment, param);
    environment.constrain(key, (value, index, inProgram) => {
      const outside = (inProgram && isSure ? [] : dims).flatMap((dim, axis) => [
        below(index[axis]!, number(0)),
        atLeast(index[axis]!, dim),
      ]);
      return [orTerm(...outside, andTerm(atLeast(value, least), below(value, end)))];
    });
  }
  return (index) => call(key, ...index);
}

/** Whether there is a value for the tensor to hold wherever a program runs: else the tensor and, with it, the grid is empty. */
function isNeverEmpty({ ir, launch, factsOf }: Environment, param: TensorParam): boolean {
  const rangeOf = ({ range }: TensorParam): Term => {
    const [least, end] = launch.host(range!) as [Term, Term];
    return below(least, end);
  };
  if (rangeOf(param) === TRUE) return true;
  const hasNone = (each: TensorParam): readonly Term[] => launch.tensorDims(each).map((dim) => atMost(dim, number(0)));
  const known = new FactSet({ budget: new Budget(STEPS), callFacts: factsOf });
  for (const fact of [...launch.facts, ...launch.grid.map((size) => atLeast(size, number(1)))]) assume(known, fact);
  for (const other of rangedIn(ir)) {
    if (other !== param && !other.optional) assume(known, orTerm(...hasNone(other), rangeOf(other)));
  }
  const [least, end] = launch.host(param.range!) as [Term, Term];
  assume(known, atMost(end, least));
  if (!param.optional) assume(known, orTerm(...hasNone(param)));
  return known.impossible || provesNonNegative(known, constant(-1), "cases");
}

const rangedIn = (ir: KernelIR): readonly TensorParam[] =>
  paramsOf(ir, "tensor").filter(({ range, dtype }) => range !== undefined && members(dtype).every(isInt));
