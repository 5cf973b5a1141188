/** The arguments of a statement as the rules of ops receive them, for tracing, checks and emission. */
import type { Elem } from "../types/dtype.js";
import { type Argument, isDType, isFunction, isList, isLiteral, type OpStatement } from "./nodes.js";
import { literalType, none, type Type, type Typed } from "../types/types.js";

/** Replaces dtype variables in types. */
export interface Substitution {
  type(type: Type): Type;
  elem(elem: Elem): Elem;
}

const identity: Substitution = { type: (type) => type, elem: (elem) => elem };

/** The operands and the options that are present, by name; undefined for an omitted operand. */
export function typedArguments(
  { op, operands, options }: Pick<OpStatement, "op" | "operands" | "options">,
  substitution: Substitution = identity,
): Record<string, Typed | undefined> {
  const typed: Record<string, Typed | undefined> = {};
  const toTyped = (argument: Argument | undefined) => argument && typedOf(argument, substitution);
  Object.keys(op.operands).forEach((name, i) => (typed[name] = toTyped(operands[i])));
  for (const [name, argument] of Object.entries(options)) typed[name] = toTyped(argument);
  return typed;
}

function typedOf(argument: Argument, substitution: Substitution): Typed {
  if (isList(argument)) return { type: none, items: argument.map((item) => typedOf(item, substitution)) };
  if (isDType(argument)) return { type: none, dtype: substitution.elem(argument.dtype) };
  if (isFunction(argument)) {
    const { params, body } = argument.function;
    const signature = {
      params: params.map(({ type }) => substitution.type(type)),
      results: body.yields.map((result) => substitution.type(typeOfArgument(result))),
    };
    return { type: none, signature };
  }
  const type = substitution.type(typeOfArgument(argument));
  return isLiteral(argument) ? { type, literal: argument.value } : { type };
}

/** The type of an argument. Lists, dtypes and functions are not values of the program and have the type `none`. */
export function typeOfArgument(argument: Argument): Type {
  if (!("kind" in argument)) return none;
  if (argument.kind === "value") return argument.type;
  if (argument.kind === "dtype" || argument.kind === "function") return none;
  const { value } = argument;
  return literalType(value);
}
