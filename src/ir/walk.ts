/** Going through statements without knowing their kinds. */
import type { Argument, Block, Statement, Value } from "./nodes.js";

/** Arguments of a statement itself, without those of nested blocks. */
export function argumentsOf(statement: Statement): readonly Argument[] {
  switch (statement.kind) {
    case "op":
      return [...statement.operands.filter((a) => a !== undefined), ...Object.values(statement.options)];
    case "let":
      return [statement.initial];
    case "read":
      return [];
    case "write":
      return [statement.value];
    case "for":
      return [statement.start, statement.end, statement.step, ...Object.values(statement.options)];
    case "if":
      return [statement.condition];
    default:
      return statement satisfies never;
  }
}

export function blocksOf(statement: Statement): readonly Block[] {
  if (statement.kind === "for") return [statement.body];
  return statement.kind === "if" ? [statement.then, statement.otherwise] : [];
}

export function resultsOf(statement: Statement): readonly Value[] {
  if (statement.kind === "op" || statement.kind === "if") return statement.results;
  return statement.kind === "read" ? [statement.result] : [];
}

/** Calls `visit` for every statement, outer before inner, in program order. */
export function walk(block: Block, visit: (statement: Statement) => void): void {
  for (const statement of block.statements) {
    visit(statement);
    for (const inner of blocksOf(statement)) walk(inner, visit);
  }
}

/** The statement that makes each value; parameters have none. A loop makes its index. */
export function definitions(block: Block): ReadonlyMap<Value, Statement> {
  const made = new Map<Value, Statement>();
  walk(block, (statement) => {
    for (const value of resultsOf(statement)) made.set(value, statement);
    if (statement.kind === "for") made.set(statement.index, statement);
  });
  return made;
}
