/** Detects iterations without effect: if all keys are masked, the loop can stop before them. */
import {
  type Argument,
  isLiteral,
  isValue,
  operandOf,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import { typedArguments } from "../../../ir/walk.js";
import {
  ANY_VALUE,
  FINITE,
  type NumberClasses,
  classify,
  classesIn,
  LOWEST,
  ZERO,
} from "../../../symbolic/number-class.js";
import { isInt, members } from "../../../types/dtype.js";
import type { AttentionLoop } from "./attention-pattern.js";

/** One branch of an `if` on a constexpr. */
export interface ConstexprBranch {
  readonly condition: Argument;
  readonly isThen: boolean;
}

/**
 * Analyzes an iteration in which `masked` is -Infinity everywhere: its weights must be 0 and the loop-carried variables
 * unchanged. Variables are assumed finite. Another iteration has processed a key of each row, and if that left a
 * variable non-finite, the result is NaN anyway.
 */
export function isSkippable(masked: Value, branch: ConstexprBranch | undefined, loop: AttentionLoop): boolean {
  return new MaskedIteration(masked, branch).hasNoEffect(loop);
}

/** True if an op changes the dtype of a number, and so may round it. */
function isCast({ operands: [source], results: [result] }: OpStatement): boolean {
  const isTile = isValue(source) && source.type.kind === "tile" && result?.type.kind === "tile";
  return !isTile || source.type.dtype !== result.type.dtype;
}

interface ValueFact {
  readonly classes: NumberClasses;
  /** The loop-carried variable that it equals. */
  readonly variable?: Variable;
}

const UNKNOWN: ValueFact = { classes: ANY_VALUE };

const commonFact = (x: ValueFact, y: ValueFact): ValueFact =>
  x.classes === y.classes && x.variable === y.variable ? x : UNKNOWN;

/** The result of an op whose operands cancel out, or one of which is neutral. */
function cancelledOrNeutral(statement: OpStatement, x: ValueFact, y: ValueFact): ValueFact | undefined {
  const { facts, proof } = statement.op;
  if (facts.integer === "difference" && x.variable && x.variable === y.variable) return { classes: ZERO };
  const { isNeutral } = proof;
  if (!isNeutral) return undefined;
  const args = typedArguments(statement);
  const isNeutralFor = (neutralClasses: NumberClasses, otherClasses: NumberClasses, isFirst: boolean) =>
    classesIn(neutralClasses).every((neutralClass) =>
      classesIn(otherClasses).every((otherClass) => isNeutral(neutralClass, otherClass, isFirst, args)),
    );
  if (isNeutralFor(y.classes, x.classes, false)) return x;
  return isNeutralFor(x.classes, y.classes, true) ? y : undefined;
}

/** The result of an op that combines the same lanes of one or two operands. */
function lanewiseResult(statement: OpStatement, x: ValueFact, y: ValueFact | undefined): ValueFact {
  const [firstName, secondName = "", extra] = Object.keys(statement.op.operands);
  if (firstName === undefined || extra !== undefined) return UNKNOWN;
  const sameFact = y && secondName ? cancelledOrNeutral(statement, x, y) : undefined;
  if (sameFact) return sameFact;
  const { classTransfer } = statement.op.proof;
  const type = statement.results[0]?.type;
  if (!classTransfer || type?.kind !== "tile") return UNKNOWN;
  const context = { args: typedArguments(statement), isFloat: members(type.dtype).every((dtype) => !isInt(dtype)) };
  let classes = 0;
  for (const a of classesIn(x.classes))
    for (const b of classesIn(y?.classes ?? ZERO))
      classes |= classTransfer({ [firstName]: a, [secondName]: b }, context);
  return { classes };
}

class MaskedIteration {
  readonly #facts = new Map<Value, ValueFact>();
  readonly #unchanged = new Set<Variable>();

  constructor(
    readonly masked: Value,
    readonly branch: ConstexprBranch | undefined,
  ) {}

  hasNoEffect({ forStatement, weights, carried, writes, accumulator }: AttentionLoop): boolean {
    forStatement.body.statements.forEach((statement) => this.#analyze(statement));
    const areVariablesUnchanged = writes.every(
      ({ variable }) => variable === accumulator || this.#unchanged.has(variable),
    );
    return (
      areVariablesUnchanged && this.#factOf(weights).classes === ZERO && this.#factOf(carried).variable === accumulator
    );
  }

  #analyze(statement: Statement): void {
    if (statement.kind === "read") this.#facts.set(statement.result, { classes: FINITE, variable: statement.variable });
    else if (statement.kind === "write") {
      if (this.#factOf(statement.value).variable === statement.variable) this.#unchanged.add(statement.variable);
    } else if (statement.kind === "op")
      for (const value of statement.results)
        this.#facts.set(value, value === this.masked ? { classes: LOWEST } : this.#resultOf(statement));
    else if (statement.kind === "if") {
      const { condition, then, otherwise, results } = statement;
      const branches =
        condition === this.branch?.condition ? [this.branch.isThen ? then : otherwise] : [then, otherwise];
      for (const { statements } of branches) statements.forEach((each) => this.#analyze(each));
      results.forEach((value, i) => {
        this.#facts.set(value, branches.map(({ yields }) => this.#factOf(yields[i])).reduce(commonFact));
      });
    }
  }

  #factOf(argument: Argument | undefined): ValueFact {
    if (argument === undefined) return UNKNOWN;
    if (isLiteral(argument)) return { classes: classify(Number(argument.value)) };
    return (isValue(argument) && this.#facts.get(argument)) || UNKNOWN;
  }

  #resultOf(statement: OpStatement): ValueFact {
    const { op, operands } = statement;
    const { foldSemantics, lane, selectOperands: select } = op.proof;
    const x = this.#factOf(operands[0]);
    const y = operands.length > 1 ? this.#factOf(operands[1]) : undefined;
    if (lane || op.facts.isIdentity) return isCast(statement) ? { classes: x.classes } : x;
    if (foldSemantics) return this.#foldResult(x.classes, foldSemantics.combineClasses);
    if (select) {
      const then = this.#factOf(operandOf(statement, select.then));
      const otherwise = this.#factOf(operandOf(statement, select.otherwise));
      return { classes: then.classes | otherwise.classes };
    }
    return lanewiseResult(statement, x, y);
  }

  /** The result of a fold over lanes of a single class. */
  #foldResult(
    classes: NumberClasses,
    combine: ((x: NumberClasses, y: NumberClasses) => NumberClasses) | undefined,
  ): ValueFact {
    return combine && classesIn(classes).length === 1 && combine(classes, classes) === classes ? { classes } : UNKNOWN;
  }
}
