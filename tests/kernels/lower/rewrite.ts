/** A lowered kernel with something wrong in it. */
import {
  type Argument,
  type Block,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
} from "../../../src/ir/nodes.js";

const literal = (value: number): Argument => ({ kind: "literal", value });

/** The kernel with each op of its body and of its helper functions as `change` gives it. */
function rewritten(ir: KernelIR, change: (statement: OpStatement, loops: number) => OpStatement): KernelIR {
  const block = ({ statements, yields }: Block, loops: number): Block => ({
    statements: statements.map((statement): Statement => {
      if (statement.kind === "op") return change(statement, loops);
      if (statement.kind === "for") return { ...statement, body: block(statement.body, loops + 1) };
      if (statement.kind === "while")
        return { ...statement, condition: block(statement.condition, loops), body: block(statement.body, loops + 1) };
      if (statement.kind === "if")
        return { ...statement, then: block(statement.then, loops), otherwise: block(statement.otherwise, loops) };
      return statement;
    }),
    yields,
  });
  return { ...ir, body: block(ir.body, 0) };
}

const named = (statement: OpStatement, name: string): boolean => statement.op.name === name;
const withOperand = (statement: OpStatement, place: number, argument: Argument): OpStatement => ({
  ...statement,
  operands: statement.operands.map((operand, i) => (i === place ? argument : operand)),
});

/** Without lower bounds: every index is above -1000. */
export const withoutLowerBounds = (ir: KernelIR): KernelIR =>
  rewritten(ir, (statement) => {
    const [, bound] = statement.operands;
    return named(statement, "ge") && isLiteral(bound) && bound.value === 0
      ? withOperand(statement, 1, literal(-1000))
      : statement;
  });

/** Without upper bounds: every index is below 2²⁰. */
export const withoutUpperBounds = (ir: KernelIR): KernelIR =>
  rewritten(ir, (statement) => (named(statement, "lt") ? withOperand(statement, 1, literal(2 ** 20)) : statement));

/** The strides of each tensor in reverse order. */
export function withSwappedStrides(ir: KernelIR): KernelIR {
  const other = new Map<Argument, Argument>();
  for (const param of ir.params)
    if (param.kind === "tensor")
      param.strides.forEach((stride, axis) => other.set(stride, param.strides[param.strides.length - 1 - axis]!));
  return rewritten(ir, (statement) => ({
    ...statement,
    operands: statement.operands.map((operand) =>
      operand && isValue(operand) ? (other.get(operand) ?? operand) : operand,
    ),
  }));
}

/** Pointers that a loop carries, moved by one element a turn. */
export const withWrongSteps = (ir: KernelIR): KernelIR =>
  rewritten(ir, (statement, loops) => {
    const [result] = statement.results;
    return loops > 0 && named(statement, "add") && result?.type.kind === "pointer"
      ? withOperand(statement, 1, literal(1))
      : statement;
  });

/** Masked lanes hold 1 instead of 0. */
export const withOtherLanes = (ir: KernelIR): KernelIR =>
  rewritten(ir, (statement) =>
    statement.options.other ? { ...statement, options: { ...statement.options, other: literal(1) } } : statement,
  );
