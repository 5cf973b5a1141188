/**
 * The ops of a kernel that Triton compiles: only one arm of a constexpr condition, and helper functions that are
 * called.
 */
import { typeOfArgument } from "../ir/typed.js";
import {
  type Argument,
  type Block,
  type FunctionIR,
  isFunction,
  type KernelIR,
  type IfStatement,
  type OpStatement,
  type Statement,
} from "../ir/nodes.js";
import type { Constant } from "../values/runtime-values.js";
import { argumentsOf, blocksOf, bodiesOf } from "../ir/walk.js";

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

/** The ops that Triton may compile: of a constexpr condition that `constant` knows, those of the arm that is taken. */
export function* reachedOps(ir: KernelIR, constant: Constants): Iterable<OpStatement> {
  function* visit(block: Block): Iterable<OpStatement> {
    for (const statement of block.statements) {
      if (statement.kind === "op") yield statement;
      const arm = isFolded(statement) ? takenArm(statement, constant) : undefined;
      for (const inner of arm ?? blocksOf(statement)) yield* visit(inner);
    }
  }
  for (const body of bodiesOf(ir)) yield* visit(body);
}

/** Whether Triton decides the branch when it compiles. */
const isFolded = (statement: Statement): statement is IfStatement =>
  statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";

/** The arm of such a branch that is compiled; undefined if `constant` does not know the condition. */
function takenArm({ condition, then, otherwise }: IfStatement, constant: Constants): readonly [Block] | undefined {
  const decided = constant(condition);
  return decided === undefined ? undefined : [decided ? then : otherwise];
}
