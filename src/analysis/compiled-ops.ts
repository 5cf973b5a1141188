/**
 * The ops of a kernel that Triton compiles: only one arm of a constexpr condition, and helper functions that are
 * called.
 */
import { typeOfArgument } from "../ir/typed.js";
import {
  type Argument,
  type Block,
  type FunctionIR,
  type IfStatement,
  isFunction,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import type { Constant } from "../values/runtime-values.js";
import { argumentsOf, blocksOf, bodiesOf, definitions } from "../ir/walk.js";

/** The constant value of an argument; undefined if the launch decides it or it varies. */
export type Constants = (argument: Argument) => Constant | undefined;

/**
 * The ops of a kernel and of the helper functions that it calls. If `constant` does not know a constexpr condition,
 * both arms are omitted, so every listed op is certainly compiled.
 */
export function compiledOps({ body }: KernelIR, constant: Constants = () => undefined): Iterable<OpStatement> {
  const called = new Set<FunctionIR>();
  function* visit(block: Block): Iterable<OpStatement> {
    for (const statement of block.statements) {
      if (statement.kind === "op") {
        yield statement;
        for (const argument of argumentsOf(statement)) {
          if (!isFunction(argument) || called.has(argument.function)) continue;
          called.add(argument.function);
          yield* visit(argument.function.body);
        }
      }
      const inside = isFolded(statement) ? (takenArm(statement, constant) ?? []) : blocksOf(statement);
      for (const inner of inside) yield* visit(inner);
    }
  }
  return visit(body);
}

/** The ops among {@link reachedStatements}. */
export function* reachedOps(ir: KernelIR, constant: Constants): Iterable<OpStatement> {
  for (const statement of reachedStatements(ir, constant)) if (statement.kind === "op") yield statement;
}

/**
 * The statements that Triton may compile, those of helper functions that they call included: of a constexpr condition
 * that `constant` knows, the arm that is taken.
 */
export function* reachedStatements({ body }: KernelIR, constant: Constants): Iterable<Statement> {
  const called = new Set<FunctionIR>();
  function* visit(block: Block): Iterable<Statement> {
    for (const statement of block.statements) {
      yield statement;
      for (const argument of statement.kind === "op" ? argumentsOf(statement) : []) {
        if (!isFunction(argument) || called.has(argument.function)) continue;
        called.add(argument.function);
        yield* visit(argument.function.body);
      }
      const arm = isFolded(statement) ? takenArm(statement, constant) : undefined;
      for (const inner of arm ?? blocksOf(statement)) yield* visit(inner);
    }
  }
  yield* visit(body);
}

/** Constants of a kernel where its arguments have these values: a literal, an argument, or what ops make of them. */
export function constantsOf(ir: KernelIR, argumentOf: (value: Value) => Constant | undefined): Constants {
  const made = definitions(...bodiesOf(ir));
  const constant: Constants = (argument) => {
    if (isLiteral(argument)) return argument.value;
    if (!isValue(argument)) return undefined;
    const statement = made.get(argument);
    if (statement === undefined) return argumentOf(argument);
    if (statement.kind !== "op" || !statement.op.fold) return undefined;
    const given = statement.operands.map((operand) => operand && constant(operand));
    return given.includes(undefined) ? undefined : statement.op.fold(...(given as Constant[]));
  };
  return constant;
}

/** Whether Triton decides the branch when it compiles. */
const isFolded = (statement: Statement): statement is IfStatement =>
  statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";

/** The arm of such a branch that is compiled; undefined if `constant` does not know the condition. */
function takenArm({ condition, then, otherwise }: IfStatement, constant: Constants): readonly [Block] | undefined {
  const decided = constant(condition);
  return decided === undefined ? undefined : [decided ? then : otherwise];
}
