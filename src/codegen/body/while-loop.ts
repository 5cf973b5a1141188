/** How a loop under a condition is written: Python's `while` asks one expression, and a condition may need statements. */
import * as py from "../syntax/py-build.js";
import type { Expression, Name, Statement as PyStatement } from "../syntax/py.js";

export interface WhileForm {
  /** What stands before the loop. */
  readonly ahead: readonly PyStatement[];
  readonly test: Expression;
  /** The loop's statements, around those of its work. */
  readonly body: (work: readonly PyStatement[]) => readonly PyStatement[];
}

/** A condition that is one expression is written at the loop. */
export function emitPlainWhile(test: Expression): WhileForm {
  return { ahead: [], test, body: (work) => work };
}

/** A condition with an effect is computed at one place: at the begin of each iteration. */
export function emitBreakingWhile(before: readonly PyStatement[], test: Expression, running: Name): WhileForm {
  return {
    ahead: [py.assign(running, py.boolean(true))],
    test: running,
    body: (work) => {
      const branch: PyStatement = { kind: "if", branches: [{ test: running, body: work }] };
      return [...before, py.assign(running, test), ...(work.length > 0 ? [branch] : [])];
    },
  };
}

/** Any other is computed before the loop and after each iteration; `running` names what has no name. */
export function emitRotatedWhile(before: readonly PyStatement[], test: Expression, running: () => Name): WhileForm {
  const name = test.kind === "name" ? undefined : running();
  const ahead = name ? [...before, py.assign(name, test)] : before;
  const again = ahead.filter(({ kind }) => kind !== "comment" && kind !== "blank");
  return { ahead, test: name ?? test, body: (work) => [...work, ...again] };
}
