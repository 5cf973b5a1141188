/** Finds the values that are the same for every program, which are computed only once. */
import {
  type Argument,
  isDType,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type OpStatement,
  type Param,
  type Value,
} from "../ir/nodes.js";

/** Whether a value is the same in every launch with these constexprs, in every program of one launch, or neither. */
export type UniformityQuery = "always" | "launch" | undefined;

export class UniformValues {
  readonly #known = new Map<Value, UniformityQuery>();

  constructor(params: readonly Param[]) {
    for (const param of params)
      for (const value of valuesOf(param)) this.set(value, param.kind === "constexpr" ? "always" : "launch");
  }

  set(value: Value, fixed: UniformityQuery): void {
    this.#known.set(value, fixed);
  }

  /** The kind of an op's results, from the kinds of its arguments. */
  ofResults({ op, operands, options }: OpStatement): UniformityQuery {
    if (op.effect !== "pure" || op.facts.queries === "program") return undefined;
    const parts = [...operands, ...Object.values(options)].map((argument) => this.#of(argument));
    return least(op.facts.queries === "grid" ? ["launch", ...parts] : parts);
  }

  #of(argument: Argument | undefined): UniformityQuery {
    if (argument === undefined || isLiteral(argument) || isDType(argument)) return "always";
    if (isFunction(argument)) return undefined;
    return isList(argument) ? least(argument.map((item) => this.#of(item))) : this.#known.get(argument as Value);
  }
}

function least(parts: readonly UniformityQuery[]): UniformityQuery {
  return parts.includes(undefined) ? undefined : parts.includes("launch") ? "launch" : "always";
}

/** The values of a parameter in the program. */
function valuesOf(param: Param): readonly Value[] {
  const given = "given" in param && param.given ? [param.given] : [];
  if (param.kind !== "tensor") return [param.value, ...given];
  return [param.value, param.pointer, ...param.strides.filter(isValue), ...given];
}
