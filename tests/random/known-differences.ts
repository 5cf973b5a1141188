/** Where Triton's interpreter computes something else than Triton's compiled kernels, so that it is no witness. */
import { isFp8, isInt } from "../../src/ir/dtype.js";
import { type Argument, isList, isValue, type KernelIR, type OpStatement, type Value } from "../../src/ir/nodes.js";
import { walkAll } from "../../src/ir/walk.js";

interface Entry {
  readonly why: string;
  /** `numbers` are the values that the interpreter holds as Python's own numbers. */
  readonly is: (statement: OpStatement, numbers: ReadonlySet<Value>) => boolean;
}

const valuesOf = ({ operands, options, results }: OpStatement): readonly Value[] => {
  const flat = (argument: Argument | undefined): readonly Value[] =>
    argument === undefined ? [] : isList(argument) ? argument.flatMap(flat) : isValue(argument) ? [argument] : [];
  return [...operands, ...Object.values(options), ...results].flatMap(flat);
};

export const unlikes: readonly Entry[] = [
  {
    why: "float8 is computed on bit patterns",
    is: (statement) =>
      valuesOf(statement).some(
        ({ type }) => type.kind === "tile" && typeof type.dtype === "string" && isFp8(type.dtype),
      ),
  },
  {
    why: "a loop's index and a float argument are numbers of Python: without dtype, without bounds",
    is: (statement, numbers) => valuesOf(statement).some((value) => numbers.has(value)),
  },
];

/** Why the interpreter is no witness for this kernel, if it is none. */
export function unlikeInterpreter(ir: KernelIR): string | undefined {
  const numbers = new Set<Value>();
  for (const param of ir.params)
    if (param.kind === "scalar" && typeof param.dtype === "string" && !isInt(param.dtype)) numbers.add(param.value);
  walkAll(ir, (statement) => {
    if (statement.kind === "for" && !statement.unrolled) numbers.add(statement.index);
  });
  let why: string | undefined;
  walkAll(ir, (statement) => {
    if (statement.kind === "op") why ??= unlikes.find(({ is }) => is(statement, numbers))?.why;
  });
  return why;
}
