/** Detects uniform values, which are the same in every program and are computed only once. */
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

/**
 * The uniformity of a value: the same in every launch with these constexprs, the same in every program of one launch,
 * or neither.
 */
export type UniformityQuery = "always" | "launch" | undefined;

export class UniformValues {
  readonly #uniformity = new Map<Value, UniformityQuery>();

  constructor(params: readonly Param[]) {
    for (const param of params)
      for (const value of valuesOf(param)) this.set(value, param.kind === "constexpr" ? "always" : "launch");
  }

  set(value: Value, uniformity: UniformityQuery): void {
    this.#uniformity.set(value, uniformity);
  }

  /** The uniformity of an op's results, from that of its arguments. */
  uniformityOfResults({ op, operands, options }: OpStatement): UniformityQuery {
    if (op.effect !== "pure" || op.facts.queries === "program") return undefined;
    const uniformities = [...operands, ...Object.values(options)].map((argument) => this.#uniformityOf(argument));
    return weakest(op.facts.queries === "grid" ? ["launch", ...uniformities] : uniformities);
  }

  #uniformityOf(argument: Argument | undefined): UniformityQuery {
    if (argument === undefined || isLiteral(argument) || isDType(argument)) return "always";
    if (isFunction(argument)) return undefined;
    return isList(argument)
      ? weakest(argument.map((item) => this.#uniformityOf(item)))
      : this.#uniformity.get(argument as Value);
  }
}

function weakest(uniformities: readonly UniformityQuery[]): UniformityQuery {
  if (uniformities.includes(undefined)) return undefined;
  return uniformities.includes("launch") ? "launch" : "always";
}

/** The values of a parameter in the kernel. */
function valuesOf(param: Param): readonly Value[] {
  const presenceFlag = "given" in param && param.given ? [param.given] : [];
  if (param.kind !== "tensor") return [param.value, ...presenceFlag];
  return [param.value, param.pointer, ...param.strides.filter(isValue), ...presenceFlag];
}
