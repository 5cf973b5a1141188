/**
 * The Python forms of a `while` loop. Python's condition is one expression, but an IR condition may need statements.
 */
import * as py from "../syntax/py-build.js";
import type { Expression, Name, Statement as PyStatement } from "../syntax/py.js";

export interface WhileForm {
  /** The statements before the loop. */
  readonly preheader: readonly PyStatement[];
  readonly test: Expression;
  /** Wraps the statements of the loop's body. */
  readonly body: (statements: readonly PyStatement[]) => readonly PyStatement[];
}

/** `while test:`, for a condition that is one expression. */
export function emitPlainWhile(test: Expression): WhileForm {
  return { preheader: [], test, body: (statements) => statements };
}

/** A condition with effects is emitted once, at the start of each iteration. */
export function emitBreakingWhile(
  conditionStatements: readonly PyStatement[],
  test: Expression,
  running: Name,
): WhileForm {
  return {
    preheader: [py.assign(running, py.boolean(true))],
    test: running,
    body: (statements) => {
      const branch: PyStatement = { kind: "if", branches: [{ test: running, body: statements }] };
      return [...conditionStatements, py.assign(running, test), ...(statements.length > 0 ? [branch] : [])];
    },
  };
}

/** A rotated loop: any other condition is computed before the loop and at the end of each iteration. */
export function emitRotatedWhile(
  conditionStatements: readonly PyStatement[],
  test: Expression,
  running: () => Name,
): WhileForm {
  const name = test.kind === "name" ? undefined : running();
  const preheader = name ? [...conditionStatements, py.assign(name, test)] : conditionStatements;
  const latch = preheader.filter(({ kind }) => kind !== "comment" && kind !== "blank");
  return { preheader, test: name ?? test, body: (statements) => [...statements, ...latch] };
}
