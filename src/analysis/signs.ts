/**
 * Finds integers that are certainly non-negative, by the rules in op records. A view does not mask the lower bound of
 * such an index. The rules are fixed on purpose: the emitted code must not depend on a solver.
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
  type Statement,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { dtypeTable, isSigned, members } from "../types/dtype.js";
import type { Type } from "../types/types.js";
import type { LaunchFacts } from "./launch-facts.js";
import { typedArguments } from "../ir/typed.js";
import { argumentsOf, bodiesOf, hostBlockOf, definitions, handedOver, hostBlocksOf, walkAll } from "../ir/walk.js";

/** Ignores overflow of 32 bits and more, which the wrapper's limit on extents excludes, and which the evaluator reports. */
export function nonNegativeValues(ir: KernelIR, facts: LaunchFacts): (argument: Argument) => boolean {
  const signs = new Signs(ir, facts);
  return (argument) => signs.isNonNegative(argument);
}

class Signs {
  readonly #made: ReadonlyMap<Value, Statement>;
  /** Values that Python computes before the launch, where `//` and `%` floor. */
  readonly #ofHost: ReadonlySet<Value>;
  readonly #params: ReadonlyMap<Value, Param>;
  /** The values assigned to each variable, including its initial value. */
  readonly #writes = new Map<Variable, Argument[]>();
  /** The arguments passed for each helper function's parameter; undefined if an op calls the function on tiles. */
  readonly #handed = new Map<Value, Argument[] | undefined>();
  /** Variables that no write can make negative. */
  readonly #held: Set<Variable>;
  #known = new Map<Value, boolean>();

  constructor(
    readonly ir: KernelIR,
    readonly facts: LaunchFacts,
  ) {
    const ofHost = definitions(...hostBlocksOf(ir).map(({ block }) => block));
    this.#ofHost = new Set(ofHost.keys());
    this.#made = new Map([...definitions(...bodiesOf(ir)), ...ofHost]);
    this.#params = new Map(ir.params.map((param) => [param.value, param]));
    walkAll(ir, (statement) => this.#note(statement));
    this.#held = new Set(this.#writes.keys());
    this.#settle();
  }

  isNonNegative(argument: Argument | undefined): boolean {
    if (isLiteral(argument)) return Number(argument.value) >= 0;
    if (!isValue(argument)) return false;
    let answer = this.#known.get(argument);
    if (answer === undefined) this.#known.set(argument, (answer = this.#derive(argument)));
    return answer;
  }

  #note(statement: Statement): void {
    if (statement.kind === "let") this.#writes.set(statement.variable, [statement.initial]);
    if (statement.kind === "write") this.#writes.get(statement.variable)?.push(statement.value);
    const given = handedOver(statement);
    for (const [param, argument] of given) {
      if (this.#handed.has(param)) this.#handed.get(param)?.push(argument);
      else this.#handed.set(param, [argument]);
    }
    if (given.length > 0) return;
    for (const callee of argumentsOf(statement))
      if (isFunction(callee)) for (const param of callee.function.params) this.#handed.set(param, undefined);
  }

  /** Assumes every variable non-negative, then drops those that a write may make negative, until nothing changes. */
  #settle(): void {
    for (let settled = false; !settled;) {
      settled = true;
      this.#known = new Map();
      // In their order: JavaScript's stack would end in what is computed of thousands of values, one after the other.
      for (const value of this.#made.keys()) this.isNonNegative(value);
      for (const variable of this.#held) {
        if (this.#writes.get(variable)!.every((value) => this.isNonNegative(value))) continue;
        this.#held.delete(variable);
        settled = false;
      }
    }
  }

  #derive(value: Value): boolean {
    return (
      this.#follows(value) ||
      this.facts.isAtLeast(value, 0) ||
      this.#isDifference(value) ||
      this.#isLeftOfLoop(value) ||
      this.#isLeftOfGrid(value)
    );
  }

  /** `tl.numPrograms(0) - 1 - tl.programId(0)`: the programs in the other order. */
  #isLeftOfGrid(value: Value): boolean {
    const { plus, minus, constant } = this.facts.integers.sum(value);
    if (plus.length !== 1 || minus.length !== 1 || constant < -1) return false;
    const axis = this.#axisAsked("grid", plus[0]!);
    return axis !== undefined && axis === this.#axisAsked("program", minus[0]!);
  }

  #axisAsked(what: "program" | "grid", argument: Argument): number | undefined {
    const made = this.facts.integers.made(argument);
    if (made?.kind !== "op" || made.op.facts.queries !== what) return undefined;
    const [axis] = made.operands;
    return isLiteral(axis) ? Number(axis.value) : undefined;
  }

  /** `n - 1 - i` in a loop over `i` that ends before `n`. */
  #isLeftOfLoop(value: Value): boolean {
    const { integers } = this.facts;
    const { plus, minus, constant } = integers.sum(value);
    return minus.some((index) => {
      const loop = integers.made(index);
      if (loop?.kind !== "for" || loop.index !== index || !((numberOf(loop.step) ?? 0) > 0)) return false;
      const end = integers.sum(loop.end);
      const others = minus.filter((each) => each !== index);
      const isEnd = integers.areSame(plus, end.plus) && integers.areSame(others, end.minus);
      return isEnd && constant + 1 >= end.constant;
    });
  }

  /** `x - y` where the launch requires x to be no less than y. */
  #isDifference(value: Value): boolean {
    const { means, operands = [] } = this.facts.integers.arithmetic(value) ?? {};
    const [x, y] = operands;
    if (means !== "difference" || x === undefined || y === undefined) return false;
    return this.facts.isAtMost(y, x) || (isLiteral(y) && this.facts.isAtLeast(x, Number(y.value)));
  }

  #follows(value: Value): boolean {
    const param = this.#params.get(value);
    if (param) return this.#ofParam(param);
    if (this.#handed.has(value)) return this.#handed.get(value)?.every((given) => this.isNonNegative(given)) ?? false;
    const statement = this.#made.get(value);
    switch (statement?.kind) {
      case "op":
        return statement.op.effect === "read" ? this.#loads(statement) : this.#computes(statement, value);
      case "read":
        return this.#held.has(statement.variable);
      case "for":
        return this.#counts(statement);
      case "if": {
        const i = statement.results.indexOf(value);
        return [statement.then, statement.otherwise].every((arm) => this.isNonNegative(arm.yields[i]));
      }
      default:
        return false;
    }
  }

  /**
   * Sizes of shapes are non-negative; host expressions if their operands say so; constexprs of configs if all configs
   * do.
   */
  #ofParam(param: Param): boolean {
    if (param.kind === "device") return true;
    const computed = hostBlockOf(param);
    if (param.kind === "size") return computed === undefined || this.#isShape(param.value) || this.#yields(computed);
    // The wrapper checks the range of a number at each call.
    if (param.kind === "scalar") return param.range !== undefined && this.#yields(param.range);
    if (param.kind !== "constexpr" || param.of !== "int") return false;
    if (param.range && this.#yields(param.range)) return true;
    if (computed) return this.#yields(computed);
    if (param.from === "config") return this.ir.tuning.configs.every(({ values }) => Number(values[param.name]) >= 0);
    return param.from === "dim";
  }

  #yields({ block }: HostBlock): boolean {
    return this.isNonNegative(block.yields[0]);
  }

  /** Whether a required tensor has this size; the wrapper compares it with the tensor's shape. */
  #isShape(size: Value): boolean {
    return this.ir.params.some((param) => param.kind === "tensor" && !param.optional && param.dims.includes(size));
  }

  #computes(statement: OpStatement, value: Value): boolean {
    const { op, operands } = statement;
    if (op.proof.wraps && isNarrow(value.type)) return false;
    const folded = value.type.kind === "constexpr" || this.#ofHost.has(value);
    const signs = operands.map((operand) => this.isNonNegative(operand));
    return op.facts.nonNegative?.(signs, { folded, args: typedArguments(statement) }) ?? false;
  }

  /** Whether the index of a loop that counts up from its start, or down to its end, is non-negative. */
  #counts({ start, end, step }: ForStatement): boolean {
    const by = numberOf(step);
    const endsAbove = () => (numberOf(end) ?? -2) >= -1 || this.isNonNegative(end);
    if (by !== undefined && by < 0) return endsAbove();
    if (!this.isNonNegative(start)) return false;
    // Triton compiles a loop for the sign of a constexpr: between two such ends it stays in either direction.
    const isKnown = isValue(step) && step.type.kind === "constexpr";
    return this.isNonNegative(step) || (isKnown && endsAbove());
  }

  /** Whether a load from an input with a declared range is non-negative, including the value of masked lanes. */
  #loads({ operands: [address], options }: OpStatement): boolean {
    const view = isValue(address) ? this.#made.get(address) : undefined;
    const tensor = view?.kind === "op" && view.results[0]?.type.kind === "view" ? view.operands[0] : undefined;
    const param = isValue(tensor) ? this.#params.get(tensor) : undefined;
    // A kernel may write any value to a tensor that it updates.
    if (param?.kind !== "tensor" || param.role !== "in") return false;
    if (param.range === undefined || !this.#yields(param.range)) return false;
    return options.other === undefined || this.isNonNegative(options.other);
  }
}

/** Whether a type has signed integers of 8 or 16 bits, in which arithmetic wraps as a matter of course. */
function isNarrow(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).some((name) => isSigned(name) && dtypeTable[name].bits < 32);
}

function numberOf(argument: Argument): number | undefined {
  return isLiteral(argument) && (typeof argument.value === "number" || typeof argument.value === "bigint")
    ? Number(argument.value)
    : undefined;
}
