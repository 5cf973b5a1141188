/** Which expression each name of a body holds, so that what a JavaScript helper computes again has the name it had. */
import type { Value } from "../../ir/nodes.js";
import { showType } from "../../types/types.js";
import type { Expression } from "../syntax/py.js";

interface NumberedValue {
  /** What the author calls it, or the hint if the author gave no name. */
  readonly wanted: string;
  readonly isNamed: boolean;
  readonly target: Expression;
}

export class ScopedValueNumbering {
  /** By expression and type, in each block that is open. */
  readonly #blocks: Map<string, NumberedValue>[] = [];

  /** Runs `body`, in which a block is open: its names end with it. */
  block<T>(body: () => T): T {
    this.#blocks.push(new Map());
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }

  record(expression: Expression, wanted: string, value: Value, target: Expression): void {
    this.#blocks.at(-1)?.set(keyOf(expression, value), { wanted, isNamed: !value.anonymous, target });
  }

  /** The name of the same expression. Two names of the author's stay two, and so do two loads. */
  find(expression: Expression, wanted: string, value: Value): Expression | undefined {
    const key = keyOf(expression, value);
    const held = this.#blocks.map((block) => block.get(key)).find((each) => each !== undefined);
    return held && (held.wanted === wanted || value.anonymous || !held.isNamed) ? held.target : undefined;
  }
}

function keyOf(expression: Expression, { type }: Value): string {
  return `${showType(type)} ${JSON.stringify(expression)}`;
}
