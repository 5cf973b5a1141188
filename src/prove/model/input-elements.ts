/**
 * The elements of an input, as an uninterpreted function of the index with the parameter's declared range. An empty
 * declared range implies an empty tensor: a value that no lane loads must imply nothing.
 */
import { atAxis } from "../../types/dims.js";
import { type HostBlock, paramsOf, type TensorParam } from "../../ir/nodes.js";
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
import { zip } from "../algebra/zip.js";
import { constant } from "../algebra/polynomial.js";
import type { Range } from "./launch.js";
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
    const { from, to } = rangeOf(environment, param.range);
    const dims = environment.launch.tensorDims(param);
    const mayAssumeRange = isNeverEmpty(environment, param, param.range);
    environment.constrain(key, (value, index, inProgram) => {
      const axes = inProgram && mayAssumeRange ? [] : zip(dims, index);
      const outOfBounds = axes.flatMap(([dim, axisIndex]) => [below(axisIndex, number(0)), atLeast(axisIndex, dim)]);
      return [orTerm(...outOfBounds, andTerm(atLeast(value, from), below(value, to)))];
    });
  }
  return (index) => call(key, ...index);
}

function rangeOf({ launch }: Environment, range: HostBlock): Range {
  const ends = launch.host(range);
  return { from: atAxis(ends, 0), to: atAxis(ends, 1) };
}

/**
 * True if an empty declared range would imply an empty grid, so that every program may assume the range to be nonempty.
 */
function isNeverEmpty(environment: Environment, param: TensorParam, range: HostBlock): boolean {
  const { ir, launch, factsOf } = environment;
  const isNonEmpty = (block: HostBlock): Term => {
    const { from, to } = rangeOf(environment, block);
    return below(from, to);
  };
  if (isNonEmpty(range) === TRUE) return true;
  const emptyAxes = (each: TensorParam): readonly Term[] =>
    launch.tensorDims(each).map((dim) => atMost(dim, number(0)));
  const facts = new FactSet({ budget: new Budget(STEPS), callFacts: factsOf });
  for (const fact of [...launch.facts, ...launch.grid.map((size) => atLeast(size, number(1)))]) assume(facts, fact);
  for (const other of paramsOf(ir, "tensor")) {
    if (other === param || other.optional || !other.range || !members(other.dtype).every(isInt)) continue;
    assume(facts, orTerm(...emptyAxes(other), isNonEmpty(other.range)));
  }
  const { from, to } = rangeOf(environment, range);
  assume(facts, atMost(to, from));
  if (!param.optional) assume(facts, orTerm(...emptyAxes(param)));
  return facts.impossible || provesNonNegative(facts, constant(-1), "cases");
}
