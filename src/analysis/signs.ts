/**
 * Finds integers that are provably non-negative, by the rules of ops. A view omits the lower bound check of such an
 * index. The rules are fixed, because emitted code must not depend on a solver.
 */
import {
  type Argument,
  type ForStatement,
  type HostBlock,
  isFunction,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Param,
  paramsOf,
  type Statement,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { dtypeTable, isSigned, members } from "../types/dtype.js";
import type { Type } from "../types/types.js";
import type { LaunchFacts } from "./launch-facts.js";
import {
  argumentsOf,
  bodiesOf,
  hostBlockOf,
  definitions,
  callBindings,
  hostBlocksOf,
  walkAll,
  typedArguments,
} from "../ir/walk.js";

/**
 * Returns a predicate for non-negative values. It ignores 32-bit overflow: the wrapper's limit on extents excludes it,
 * and the evaluator reports it.
 */
export function nonNegativeValues(ir: KernelIR, facts: LaunchFacts): (argument: Argument) => boolean {
  const signs = new SignAnalysis(ir, facts);
  return (argument) => signs.isNonNegative(argument);
}

class SignAnalysis {
  readonly #definitions: ReadonlyMap<Value, Statement>;
  /** Values that Python computes before the launch, where `//` and `%` floor. */
  readonly #hostValues: ReadonlySet<Value>;
  readonly #params: ReadonlyMap<Value, Param>;
  /** Strides of PyTorch's tensors are never negative. */
  readonly #strides: ReadonlySet<Argument>;
  /** The values assigned to each variable, including its initial value. */
  readonly #writes = new Map<Variable, Argument[]>();
  /** The arguments passed to each parameter of a helper function. Undefined if an op applies the function to tiles. */
  readonly #passedArguments = new Map<Value, Argument[] | undefined>();
  /** Variables that no write makes negative. */
  readonly #nonNegativeVariables: Set<Variable>;
  #cache = new Map<Value, boolean>();

  constructor(
    readonly ir: KernelIR,
    readonly facts: LaunchFacts,
  ) {
    const hostDefinitions = definitions(...hostBlocksOf(ir).map(({ block }) => block));
    this.#hostValues = new Set(hostDefinitions.keys());
    this.#definitions = new Map([...definitions(...bodiesOf(ir)), ...hostDefinitions]);
    this.#params = new Map(ir.params.map((param) => [param.value, param]));
    this.#strides = new Set(paramsOf(ir, "tensor").flatMap(({ strides }) => strides));
    walkAll(ir, (statement) => this.#recordWrites(statement));
    this.#nonNegativeVariables = new Set(this.#writes.keys());
    this.#findFixpoint();
  }

  isNonNegative(argument: Argument | undefined): boolean {
    if (isLiteral(argument)) return Number(argument.value) >= 0;
    if (!isValue(argument)) return false;
    let isNonNegative = this.#cache.get(argument);
    if (isNonNegative === undefined) this.#cache.set(argument, (isNonNegative = this.#derive(argument)));
    return isNonNegative;
  }

  #recordWrites(statement: Statement): void {
    if (statement.kind === "let") this.#writes.set(statement.variable, [statement.initial]);
    if (statement.kind === "write") this.#writes.get(statement.variable)?.push(statement.value);
    const bindings = callBindings(statement);
    for (const [param, argument] of bindings) {
      if (this.#passedArguments.has(param)) this.#passedArguments.get(param)?.push(argument);
      else this.#passedArguments.set(param, [argument]);
    }
    if (bindings.length > 0) return;
    for (const callee of argumentsOf(statement))
      if (isFunction(callee)) for (const param of callee.function.params) this.#passedArguments.set(param, undefined);
  }

  /**
   * Computes the greatest fixed point: assumes that all variables are non-negative, and drops those that a write may
   * make negative.
   */
  #findFixpoint(): void {
    for (let isStable = false; !isStable;) {
      isStable = true;
      this.#cache = new Map();
      // In program order, to bound the recursion depth for chains of thousands of values.
      for (const value of this.#definitions.keys()) this.isNonNegative(value);
      for (const [variable, values] of this.#writes) {
        if (!this.#nonNegativeVariables.has(variable) || values.every((value) => this.isNonNegative(value))) continue;
        this.#nonNegativeVariables.delete(variable);
        isStable = false;
      }
    }
  }

  #derive(value: Value): boolean {
    return (
      this.#strides.has(value) ||
      this.#isDerived(value) ||
      this.facts.isAtLeast(value, 0) ||
      this.#isDifference(value) ||
      this.#isLoopComplement(value) ||
      this.#isGridComplement(value)
    );
  }

  /** `tl.numPrograms(0) - 1 - tl.programId(0)`: programs in reverse order. */
  #isGridComplement(value: Value): boolean {
    const { plus, minus, constant } = this.facts.integers.sum(value);
    const [count, ...otherPlus] = plus;
    const [index, ...otherMinus] = minus;
    if (!count || !index || otherPlus.length + otherMinus.length > 0 || constant < -1) return false;
    const axis = this.#queriedAxis("grid", count);
    return axis !== undefined && axis === this.#queriedAxis("program", index);
  }

  #queriedAxis(query: "program" | "grid", argument: Argument): number | undefined {
    const definition = this.facts.integers.definitionOf(argument);
    if (definition?.kind !== "op" || definition.op.facts.queries !== query) return undefined;
    const [axis] = definition.operands;
    return isLiteral(axis) ? Number(axis.value) : undefined;
  }

  /** `n - 1 - i` in a loop over `i` that ends before `n`. */
  #isLoopComplement(value: Value): boolean {
    const { integers } = this.facts;
    const { plus, minus, constant } = integers.sum(value);
    return minus.some((index) => {
      const loop = integers.definitionOf(index);
      if (loop?.kind !== "for" || loop.index !== index || !((numberOf(loop.step) ?? 0) > 0)) return false;
      const end = integers.sum(loop.end);
      const others = minus.filter((each) => each !== index);
      const isEnd = integers.areSame(plus, end.plus) && integers.areSame(others, end.minus);
      return isEnd && constant + 1 >= end.constant;
    });
  }

  /** `x - y` if the launch requires `x >= y`. */
  #isDifference(value: Value): boolean {
    const { semantics, operands = [] } = this.facts.integers.arithmetic(value) ?? {};
    const [x, y] = operands;
    if (semantics !== "difference" || x === undefined || y === undefined) return false;
    return this.facts.isAtMost(y, x) || (isLiteral(y) && this.facts.isAtLeast(x, Number(y.value)));
  }

  #isDerived(value: Value): boolean {
    const param = this.#params.get(value);
    if (param) return this.#isParamNonNegative(param);
    if (this.#passedArguments.has(value))
      return this.#passedArguments.get(value)?.every((argument) => this.isNonNegative(argument)) ?? false;
    const statement = this.#definitions.get(value);
    switch (statement?.kind) {
      case "op":
        return statement.op.effect === "read"
          ? this.#isLoadNonNegative(statement)
          : this.#isResultNonNegative(statement, value);
      case "read":
        return this.#nonNegativeVariables.has(statement.variable);
      case "for":
        return this.#isIndexNonNegative(statement);
      case "if": {
        const i = statement.results.indexOf(value);
        return [statement.then, statement.otherwise].every((branch) => this.isNonNegative(branch.yields[i]));
      }
      case undefined:
      case "exit":
      case "let":
      case "while":
      case "write":
        return false;
      default:
        return statement satisfies never;
    }
  }

  /**
   * Sizes of shapes are non-negative. A host expression is if its operands imply it, and a config's constexpr if it is
   * in all configs.
   */
  #isParamNonNegative(param: Param): boolean {
    if (param.kind === "device") return true;
    const computed = hostBlockOf(param);
    if (param.kind === "size")
      return computed === undefined || this.#isShape(param.value) || this.#isHostExpressionNonNegative(computed);
    // The wrapper checks the range of a number at each call.
    if (param.kind === "scalar") return param.range !== undefined && this.#isHostExpressionNonNegative(param.range);
    if (param.kind !== "constexpr" || param.of !== "int") return false;
    if (param.range && this.#isHostExpressionNonNegative(param.range)) return true;
    if (computed) return this.#isHostExpressionNonNegative(computed);
    if (param.from === "config") return this.ir.tuning.configs.every(({ values }) => Number(values[param.name]) >= 0);
    return param.from === "dim";
  }

  #isHostExpressionNonNegative({ block }: HostBlock): boolean {
    return this.isNonNegative(block.yields[0]);
  }

  /** True if a required tensor has this size. The wrapper compares it with the tensor's shape. */
  #isShape(size: Value): boolean {
    return this.ir.params.some((param) => param.kind === "tensor" && !param.optional && param.dims.includes(size));
  }

  #isResultNonNegative(statement: OpStatement, value: Value): boolean {
    const { op, operands } = statement;
    if (op.proof.wraps && isNarrow(value.type)) return false;
    const isFolded = value.type.kind === "constexpr" || this.#hostValues.has(value);
    const signs = operands.map((operand) => this.isNonNegative(operand));
    return op.facts.nonNegative?.(signs, { isFolded, args: typedArguments(statement) }) ?? false;
  }

  /** True if the index of a loop is non-negative: it counts up from its start, or down to its end. */
  #isIndexNonNegative({ start, end, step }: ForStatement): boolean {
    const increment = numberOf(step);
    const isEndNonNegative = () => (numberOf(end) ?? -2) >= -1 || this.isNonNegative(end);
    if (increment !== undefined && increment < 0) return isEndNonNegative();
    if (!this.isNonNegative(start)) return false;
    // Triton compiles a loop for the sign of a constexpr step. If both bounds are non-negative, so is the index in
    // either direction.
    const isConstexpr = isValue(step) && step.type.kind === "constexpr";
    return this.isNonNegative(step) || (isConstexpr && isEndNonNegative());
  }

  /** True if a load from an input with a declared range is non-negative, including the padding of masked lanes. */
  #isLoadNonNegative({ operands: [address], options }: OpStatement): boolean {
    const view = isValue(address) ? this.#definitions.get(address) : undefined;
    const tensor = view?.kind === "op" && view.results[0]?.type.kind === "view" ? view.operands[0] : undefined;
    const param = isValue(tensor) ? this.#params.get(tensor) : undefined;
    // A kernel may write any value to a tensor that it updates.
    if (param?.kind !== "tensor" || param.role !== "in") return false;
    if (param.range === undefined || !this.#isHostExpressionNonNegative(param.range)) return false;
    return options.other === undefined || this.isNonNegative(options.other);
  }
}

/** True if a type has signed integers of 8 or 16 bits. Their arithmetic is expected to wrap. */
function isNarrow(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).some((name) => isSigned(name) && dtypeTable[name].bits < 32);
}

function numberOf(argument: Argument): number | undefined {
  return isLiteral(argument) && (typeof argument.value === "number" || typeof argument.value === "bigint")
    ? Number(argument.value)
    : undefined;
}
