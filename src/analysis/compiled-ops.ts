import {
  type Argument,
  type Block,
  type FunctionIR,
  type IfStatement,
  isDType,
  isFunction,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import type { Elem } from "../types/dtype.js";
import type { Constant } from "../values/runtime-values.js";
import { argumentsOf, blocksOf, bodiesOf, definitions, typeOfArgument } from "../ir/walk.js";

/** The constant value of an argument. Undefined if only the launch determines it, or if it varies. */
export type Constants = (argument: Argument) => Constant | undefined;

/**
 * The ops of a kernel and of the helper functions that it calls. If `constant` does not know a constexpr condition,
 * both branches are omitted, so every returned op is certainly compiled.
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
      const compiledBlocks = isConstexprBranch(statement)
        ? (selectedBranch(statement, constant) ?? [])
        : blocksOf(statement);
      for (const inner of compiledBlocks) yield* visit(inner);
    }
  }
  return visit(body);
}

/** The ops among {@link reachedStatements}. */
export function* reachedOps(ir: KernelIR, constant: Constants): Iterable<OpStatement> {
  for (const statement of reachedStatements(ir, constant)) if (statement.kind === "op") yield statement;
}

/**
 * The statements that Triton may compile, including those of helper functions that they call. If `constant` knows a
 * constexpr condition, only the selected branch is included.
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
      const branch = isConstexprBranch(statement) ? selectedBranch(statement, constant) : undefined;
      for (const inner of branch ?? blocksOf(statement)) yield* visit(inner);
    }
  }
  yield* visit(body);
}

/** Constants of a kernel for these argument values: literals, arguments, and results of ops that can be folded. */
export function constantsOf(
  ir: KernelIR,
  argumentOf: (value: Value) => Constant | undefined,
  dtypeOf?: (elem: Elem) => Constant,
): Constants {
  const definitionsOf = definitions(...bodiesOf(ir));
  const constant: Constants = (argument) => {
    if (isLiteral(argument)) return argument.value;
    if (isDType(argument)) return dtypeOf?.(argument.dtype);
    if (!isValue(argument)) return undefined;
    const statement = definitionsOf.get(argument);
    if (statement === undefined) return argumentOf(argument);
    if (statement.kind !== "op" || !statement.op.fold) return undefined;
    const constants = statement.operands.map((operand) => operand && constant(operand));
    return constants.includes(undefined) ? undefined : statement.op.fold(...(constants as Constant[]));
  };
  return constant;
}

/** True if Triton resolves the branch at compile time. */
const isConstexprBranch = (statement: Statement): statement is IfStatement =>
  statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";

/** The branch that is compiled. Undefined if `constant` does not know the condition. */
function selectedBranch(
  { condition, then, otherwise }: IfStatement,
  constant: Constants,
): readonly [Block] | undefined {
  const conditionValue = constant(condition);
  return conditionValue === undefined ? undefined : [conditionValue ? then : otherwise];
}
