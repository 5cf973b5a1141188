/**
 * Scoped value numbering: an expression that a JavaScript helper computes again reuses the name of the first result.
 */
import type { Value } from "../../ir/nodes.js";
import { showType } from "../../types/types.js";
import type { Expression } from "../syntax/py.js";

interface NumberedValue {
  /** The author's name, or the hint for an unnamed value. */
  readonly name: string;
  readonly hasAuthorName: boolean;
  readonly target: Expression;
}

export class ScopedValueNumbering {
  /** One map per open block, keyed by expression and type. */
  readonly #blocks: Map<string, NumberedValue>[] = [];

  /** Runs `body` in a new scope. */
  block<T>(body: () => T): T {
    this.#blocks.push(new Map());
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }

  record(expression: Expression, name: string, value: Value, target: Expression): void {
    this.#blocks.at(-1)?.set(keyOf(expression, value), { name, hasAuthorName: !value.isAnonymous, target });
  }

  /**
   * The name that already has this value. Values with different author names stay separate. Loads are never recorded.
   */
  find(expression: Expression, name: string, value: Value): Expression | undefined {
    const key = keyOf(expression, value);
    const entry = this.#blocks.map((block) => block.get(key)).find((each) => each !== undefined);
    return entry && (entry.name === name || value.isAnonymous || !entry.hasAuthorName) ? entry.target : undefined;
  }
}

function keyOf(expression: Expression, { type }: Value): string {
  return `${showType(type)} ${JSON.stringify(expression)}`;
}
