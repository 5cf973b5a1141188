/** Whether a turn whose keys are all masked changes nothing, so that a loop may end before it. */
import {
  type Argument,
  isLiteral,
  isValue,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import { typedArguments } from "../../../ir/typed.js";
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

/** The arm of a constexpr's branch. */
export interface Arm {
  readonly condition: Argument;
  readonly isThen: boolean;
}

/**
 * Follows a turn in which `masked` is -Infinity everywhere: its weights are 0 then, and its state stays. State is taken to be
 * finite: another turn has seen a key of each row, and where that left no finite state, it left NaN.
 */
export function isSkippable(masked: Value, arm: Arm | undefined, loop: AttentionLoop): boolean {
  return new Turn(masked, arm).isIdle(loop);
}

/** Whether a statement gives a number in another dtype, which may round it. */
function castsIn({ operands: [from], results: [to] }: OpStatement): boolean {
  const isTile = isValue(from) && from.type.kind === "tile" && to?.type.kind === "tile";
  return !isTile || from.type.dtype !== to.type.dtype;
}

interface Fact {
  readonly kinds: NumberClasses;
  /** The state whose value it is, unchanged. */
  readonly state?: Variable;
}

const UNKNOWN: Fact = { kinds: ANY_VALUE };

class Turn {
  readonly #facts = new Map<Value, Fact>();
  readonly #kept = new Set<Variable>();

  constructor(
    readonly masked: Value,
    readonly arm: Arm | undefined,
  ) {}

  isIdle({ turns, weights, carried, writes, sums }: AttentionLoop): boolean {
    turns.body.statements.forEach((statement) => this.#follow(statement));
    const isKept = writes.every(({ variable }) => variable === sums || this.#kept.has(variable));
    return isKept && this.#factOf(weights).kinds === ZERO && this.#factOf(carried).state === sums;
  }

  #follow(statement: Statement): void {
    if (statement.kind === "read") this.#facts.set(statement.result, { kinds: FINITE, state: statement.variable });
    else if (statement.kind === "write") {
      if (this.#factOf(statement.value).state === statement.variable) this.#kept.add(statement.variable);
    } else if (statement.kind === "op")
      for (const value of statement.results)
        this.#facts.set(value, value === this.masked ? { kinds: LOWEST } : this.#resultOf(statement));
    else if (statement.kind === "if") {
      const { condition, then, otherwise, results } = statement;
      const taken = condition === this.arm?.condition ? [this.arm.isThen ? then : otherwise] : [then, otherwise];
      for (const { statements } of taken) statements.forEach((each) => this.#follow(each));
      results.forEach((value, i) => {
        const [first, second = first] = taken.map(({ yields }) => this.#factOf(yields[i]!));
        const isSame = first!.kinds === second!.kinds && first!.state === second!.state;
        this.#facts.set(value, isSame ? first! : UNKNOWN);
      });
    }
  }

  #factOf(argument: Argument | undefined): Fact {
    if (argument === undefined) return UNKNOWN;
    if (isLiteral(argument)) return { kinds: classify(Number(argument.value)) };
    return (isValue(argument) && this.#facts.get(argument)) || UNKNOWN;
  }

  #resultOf(statement: OpStatement): Fact {
    const { op, operands } = statement;
    const { classTransfer: holds, isNeutral: neutral, foldSemantics: folds, lane, selectOperands: picks } = op.proof;
    const [x, y] = operands.map((operand) => this.#factOf(operand)) as [Fact, Fact | undefined];
    if (lane || op.facts.isIdentity) return castsIn(statement) ? { kinds: x.kinds } : x;
    const names = Object.keys(op.operands);
    const args = typedArguments(statement);
    if (folds) return this.#folded(x.kinds, folds.kinds);
    if (picks) {
      const [then, otherwise] = [picks.then, picks.otherwise].map((name) =>
        this.#factOf(operands[names.indexOf(name)]),
      );
      return { kinds: then!.kinds | otherwise!.kinds };
    }
    if (y && names.length === 2) {
      if (op.facts.integer === "difference" && x.state && x.state === y.state) return { kinds: ZERO };
      const leaves = (held: NumberClasses, beside: NumberClasses, isFirst: boolean) =>
        neutral !== undefined &&
        classesIn(held).every((own) => classesIn(beside).every((other) => neutral(own, other, isFirst, args)));
      if (leaves(y.kinds, x.kinds, false)) return x;
      if (leaves(x.kinds, y.kinds, true)) return y;
    }
    const type = statement.results[0]?.type;
    if (!holds || type?.kind !== "tile" || names.length > 2) return UNKNOWN;
    const context = { args, float: members(type.dtype).every((dtype) => !isInt(dtype)) };
    let kinds = 0;
    for (const a of classesIn(x.kinds))
      for (const b of classesIn(y?.kinds ?? ZERO)) kinds |= holds({ [names[0]!]: a, [names[1] ?? ""]: b }, context);
    return { kinds };
  }

  /** A fold of lanes that all hold one kind. */
  #folded(kinds: NumberClasses, rule: ((x: NumberClasses, y: NumberClasses) => NumberClasses) | undefined): Fact {
    return rule && classesIn(kinds).length === 1 && rule(kinds, kinds) === kinds ? { kinds } : UNKNOWN;
  }
}
