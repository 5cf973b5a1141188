/** Integers that Triton knows when it compiles and the build does not, beside what cannot hold them. */
import { compiledOps, type Constants } from "../analysis/compiled-ops.js";
import { type Argument, isDType, isList, type KernelIR } from "../ir/nodes.js";
import { typedArguments, typeOfArgument } from "../ir/typed.js";
import { argumentsOf } from "../ir/walk.js";
import { bitsOf } from "../numerics/numeric.js";
import { type DTypeName, type Elem, isInt, isSigned } from "../types/dtype.js";
import { isUnrolled } from "../types/shape.js";
import { type ConstexprType, literalValue, type Type } from "../types/types.js";
import type { Bindings } from "./bindings.js";

/** What an op's own rule says of such a number, which Triton would refuse: 300 beside a tile of int8. */
export function constantOutOfRange(ir: KernelIR, bindings: Bindings, constant: Constants): string | undefined {
  for (const statement of compiledOps(ir, constant)) {
    const given = argumentsOf(statement);
    const types = given.map(typeOfArgument);
    const open = types.filter(isOpen);
    // What depends on the index of an unrolled loop is known only inside it.
    if (open.length === 0 || types.some(isOfTurn)) continue;
    const numbers = open.map(({ text }) => bindings.dim(text));
    const elems = given.flatMap(elemsOf).map((elem) => bindings.dtype(elem));
    if (elems.every((dtype) => numbers.every((value) => holds(dtype, value)))) continue;
    const answer = statement.op.infer(typedArguments(statement, boundBy(bindings)));
    if (typeof answer === "string") return answer;
  }
  return undefined;
}

const isOpen = (type: Type): type is ConstexprType =>
  type.kind === "constexpr" && type.of === "int" && literalValue(type) === undefined;

const isOfTurn = (type: Type): boolean =>
  type.kind === "constexpr" ? isUnrolled(type.text) : "shape" in type && type.shape.some(isUnrolled);

/** The elements of a tile or of memory, and a dtype itself. */
function elemsOf(argument: Argument): readonly Elem[] {
  if (isList(argument)) return argument.flatMap(elemsOf);
  if (isDType(argument)) return [argument.dtype];
  const type = typeOfArgument(argument);
  if (type.kind === "tile") return [type.dtype];
  return "to" in type ? [type.to] : [];
}

function holds(dtype: DTypeName, value: number): boolean {
  if (!isInt(dtype)) return true;
  const limit = 2 ** (bitsOf(dtype) - (isSigned(dtype) ? 1 : 0));
  return value < limit && value >= (isSigned(dtype) ? -limit : 0);
}

function boundBy(bindings: Bindings): Parameters<typeof typedArguments>[1] {
  const elem = (of: Elem): Elem => bindings.dtype(of);
  const shaped = (type: Type): Type =>
    "shape" in type ? { ...type, shape: type.shape.map((dim) => bindings.dim(dim)) } : type;
  const held = (type: Type): Type => ("to" in type ? { ...type, to: elem(type.to) } : type);
  const type = (of: Type): Type => {
    if (isOpen(of)) return { ...of, text: String(bindings.dim(of.text)) };
    return shaped(of.kind === "tile" ? { ...of, dtype: elem(of.dtype) } : held(of));
  };
  return { type, elem };
}
