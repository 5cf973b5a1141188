/** The arguments of a statement as the rules in its record see them: asked while tracing, again by checks and emission. */
import type { Elem } from "../types/dtype.js";
import { type Argument, isDType, isFunction, isList, isLiteral, type OpStatement } from "./nodes.js";
import { literalType, none, type Type, type Typed } from "../types/types.js";

/** How dtype variables are replaced; as they stand unless a binding is given. */
export interface Substitution {
  type(type: Type): Type;
  elem(elem: Elem): Elem;
}

const unchanged: Substitution = { type: (type) => type, elem: (elem) => elem };

/** By name: operands, an optional one that was left out as undefined, and the options that were given. */
export function typedArguments(
  { op, operands, options }: Pick<OpStatement, "op" | "operands" | "options">,
  substitution: Substitution = unchanged,
): Record<string, Typed | undefined> {
  const typed: Record<string, Typed | undefined> = {};
  const see = (argument: Argument | undefined) => argument && typedOf(argument, substitution);
  Object.keys(op.operands).forEach((name, i) => (typed[name] = see(operands[i])));
  for (const [name, argument] of Object.entries(options)) typed[name] = see(argument);
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

/** The type of what stands at an operand. Lists and dtypes are no values of the program. */
export function typeOfArgument(argument: Argument): Type {
  if (!("kind" in argument)) return none;
  if (argument.kind === "value") return argument.type;
  if (argument.kind === "dtype" || argument.kind === "function") return none;
  const { value } = argument;
  return literalType(value);
}
