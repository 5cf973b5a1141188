/**
 * Detects constexpr integers outside the range of the dtype that they are combined with. Triton knows their values at
 * compile time; the build does not.
 */
import { compiledOps, type Constants } from "../analysis/compiled-ops.js";
import { type Argument, isDType, isList, type KernelIR } from "../ir/nodes.js";
import { typedArguments, typeOfArgument } from "../ir/typed.js";
import { argumentsOf } from "../ir/walk.js";
import { bitsOf } from "../numerics/numeric.js";
import { Message } from "../diagnostics/message.js";
import { type DTypeName, type Elem, isInt, isSigned } from "../types/dtype.js";
import { isUnrolled } from "../types/shape.js";
import { type ConstexprType, literalValue, type Type } from "../types/types.js";
import type { Bindings } from "./bindings.js";

/** The type rule's message for an out-of-range constant, which Triton would reject, such as 300 with a tile of int8. */
export function constantOutOfRange(ir: KernelIR, bindings: Bindings, constant: Constants): string | undefined {
  for (const statement of compiledOps(ir, constant)) {
    const args = argumentsOf(statement);
    const types = args.map(typeOfArgument);
    const openTypes = types.filter(isOpen);
    // A value that depends on the index of an unrolled loop is known only in its body.
    if (openTypes.length === 0 || types.some(isUnrolledIndexType)) continue;
    const numbers = openTypes.map(({ text }) => bindings.dim(text));
    const elems = args.flatMap(elemsOf).map((elem) => bindings.dtype(elem));
    if (elems.every((dtype) => numbers.every((value) => isRepresentable(dtype, value)))) continue;
    const result = statement.op.infer(typedArguments(statement, bindingSubstitution(bindings)));
    if (result instanceof Message) return result.text;
  }
  return undefined;
}

const isOpen = (type: Type): type is ConstexprType =>
  type.kind === "constexpr" && type.of === "int" && literalValue(type) === undefined;

const isUnrolledIndexType = (type: Type): boolean =>
  type.kind === "constexpr" ? isUnrolled(type.text) : "shape" in type && type.shape.some(isUnrolled);

/** Element types of a tile or of memory, and a dtype argument itself. */
function elemsOf(argument: Argument): readonly Elem[] {
  if (isList(argument)) return argument.flatMap(elemsOf);
  if (isDType(argument)) return [argument.dtype];
  const type = typeOfArgument(argument);
  if (type.kind === "tile") return [type.dtype];
  return "to" in type ? [type.to] : [];
}

function isRepresentable(dtype: DTypeName, value: number): boolean {
  if (!isInt(dtype)) return true;
  const limit = 2 ** (bitsOf(dtype) - (isSigned(dtype) ? 1 : 0));
  return value < limit && value >= (isSigned(dtype) ? -limit : 0);
}

function bindingSubstitution(bindings: Bindings): Parameters<typeof typedArguments>[1] {
  const elem = (unbound: Elem): Elem => bindings.dtype(unbound);
  const bindShape = (type: Type): Type =>
    "shape" in type ? { ...type, shape: type.shape.map((dim) => bindings.dim(dim)) } : type;
  const bindElement = (type: Type): Type => ("to" in type ? { ...type, to: elem(type.to) } : type);
  const type = (unbound: Type): Type => {
    if (isOpen(unbound)) return { ...unbound, text: String(bindings.dim(unbound.text)) };
    return bindShape(unbound.kind === "tile" ? { ...unbound, dtype: elem(unbound.dtype) } : bindElement(unbound));
  };
  return { type, elem };
}
