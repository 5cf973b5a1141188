/** The ops of a block that Triton compiles: of a constexpr condition it takes one arm. */
import type { Argument, Block, OpStatement } from "./nodes.js";
import type { Constant } from "./runtime.js";
import { typeOfArgument } from "./types.js";
import { blocksOf } from "./walk.js";

/** What an argument is; undefined where that is decided at launch or changes. */
export type Constants = (argument: Argument) => Constant | undefined;

/** Under a constexpr condition that `constant` does not know, neither arm: what is left is compiled whatever it is. */
export function* compiledOps(block: Block, constant: Constants = () => undefined): Iterable<OpStatement> {
  for (const statement of block.statements) {
    if (statement.kind === "op") yield statement;
    const isConstexpr = statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";
    const condition = isConstexpr ? constant(statement.condition) : undefined;
    const taken = isConstexpr
      ? condition === undefined
        ? []
        : [condition ? statement.then : statement.otherwise]
      : blocksOf(statement);
    for (const inner of taken) yield* compiledOps(inner, constant);
  }
}
