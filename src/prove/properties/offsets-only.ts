/**
 * Finds values that are only used as the whole offset of a pointer, through sums, products and lane permutations.
 * Intermediate wrapping does not change the offset of an in-bounds lane: int32 arithmetic is modulo 2^32, and the
 * wrapper rejects tensors beyond int32 addressing. A pointer that moves more than once adds offsets that are widened to
 * 64 bits one by one. Their sum is exact where none is negative, because each is then at most the sum, which is in
 * bounds. Otherwise each of them must be exact.
 */
import { LaunchFacts } from "../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../analysis/signs.js";
import { type Argument, isValue, type KernelIR, type OpStatement, type Statement, type Value } from "../../ir/nodes.js";
import type { IntegerSemantics } from "../../symbolic/integer-semantics.js";
import { argumentsOf, bodiesOf, definitions, valuesIn, walkAll } from "../../ir/walk.js";

const MODULAR: ReadonlySet<IntegerSemantics | undefined> = new Set<IntegerSemantics>(["sum", "difference", "product"]);

export function offsetsOnly(ir: KernelIR): (value: Value) => boolean {
  let analysis = cache.get(ir);
  if (analysis === undefined) cache.set(ir, (analysis = new OffsetAnalysis(ir)));
  return (value) => analysis.isOffsetOnly(value);
}

/** A cache, because the models of a kernel's configs share its IR. */
const cache = new WeakMap<KernelIR, OffsetAnalysis>();

class OffsetAnalysis {
  readonly #pointerParams: ReadonlySet<Argument>;
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #uses = new Map<Value, OpStatement[]>();
  readonly #otherUses = new Set<Value>();
  readonly #cache = new Map<Value, boolean>();
  /** True if no pointer that moves more than once moves back. */
  readonly #areForward: boolean;

  constructor(ir: KernelIR) {
    this.#pointerParams = new Set(
      ir.params.flatMap((param) => {
        if (param.kind === "tensor") return [param.pointer];
        return param.kind === "pointer" ? [param.value] : [];
      }),
    );
    this.#definitions = definitions(...bodiesOf(ir));
    const moves: OpStatement[] = [];
    walkAll(ir, (statement) => {
      this.#recordUses(statement);
      if (statement.kind === "op" && isMove(statement)) moves.push(statement);
    });
    for (const { body } of ir.functions) body.yields.forEach((argument) => this.#recordUse(argument, undefined));
    this.#areForward = this.#moveForward(
      ir,
      moves.filter((move) => this.#isRepeated(move)),
    );
  }

  isOffsetOnly(value: Value): boolean {
    let result = this.#cache.get(value);
    if (result !== undefined) return result;
    this.#cache.set(value, false);
    result = !this.#otherUses.has(value) && (this.#uses.get(value) ?? []).every((use) => this.#isOffsetIn(use));
    this.#cache.set(value, result);
    return result;
  }

  #recordUses(statement: Statement): void {
    if (statement.kind !== "op") {
      for (const argument of [...argumentsOf(statement), ...yieldsOf(statement)]) this.#recordUse(argument, undefined);
      return;
    }
    for (const operand of statement.operands) this.#recordUse(operand, statement);
    for (const option of Object.values(statement.options)) this.#recordUse(option, undefined);
  }

  #recordUse(argument: Argument | undefined, op: OpStatement | undefined): void {
    if (argument === undefined) return;
    if (op && isValue(argument)) this.#uses.set(argument, [...(this.#uses.get(argument) ?? []), op]);
    else for (const value of valuesIn(argument)) this.#otherUses.add(value);
  }

  #isOffsetIn(statement: OpStatement): boolean {
    const { op, results } = statement;
    const [result] = results;
    const isModular = MODULAR.has(op.facts.integer) || op.proof.lane !== undefined;
    if (!result || !isModular) return false;
    if (result.type.kind === "pointer") return this.#areForward || !this.#isRepeated(statement);
    return result.type.kind === "tile" && this.isOffsetOnly(result);
  }

  /** True if the op moves a pointer that other ops move, too. */
  #isRepeated({ operands, results: [result] }: OpStatement): boolean {
    const isFirst = operands.some((operand) => operand !== undefined && this.#pointerParams.has(operand));
    return !isFirst || (result !== undefined && this.#isMovedAgain(result));
  }

  #isMovedAgain(pointer: Value): boolean {
    if (this.#otherUses.has(pointer)) return true;
    return (this.#uses.get(pointer) ?? []).some((use) => {
      const [next] = use.results;
      return next?.type.kind === "pointer" && (isMove(use) || this.#isMovedAgain(next));
    });
  }

  /** A loaded number counts as one that is not negative: no access is in bounds of which an index is negative. */
  #moveForward(ir: KernelIR, moves: readonly OpStatement[]): boolean {
    if (moves.length === 0) return true;
    const isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
    const isForward = (operand: Argument | undefined): boolean => {
      if (operand === undefined || isPointer(operand) || isNonNegative(operand)) return true;
      const statement = isValue(operand) ? this.#definitions.get(operand) : undefined;
      if (statement?.kind !== "op") return false;
      const { op, operands } = statement;
      if (op.effect !== "pure") return true;
      const keepsSign = op.facts.integer === "sum" || op.facts.integer === "product" || op.proof.lane !== undefined;
      return keepsSign && operands.every(isForward);
    };
    return moves.every(({ op, operands }) => op.facts.integer === "sum" && operands.every(isForward));
  }
}

function yieldsOf(statement: Statement): readonly Argument[] {
  if (statement.kind === "if") return [...statement.then.yields, ...statement.otherwise.yields];
  return statement.kind === "while" ? statement.condition.yields : [];
}

const isPointer = (argument: Argument): boolean => isValue(argument) && argument.type.kind === "pointer";

const isMove = ({ op, results: [result] }: OpStatement): boolean =>
  result?.type.kind === "pointer" && MODULAR.has(op.facts.integer);
