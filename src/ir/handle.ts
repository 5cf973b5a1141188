/**
 * What an author holds while a kernel is traced. A handle only stands for a value of the program; whatever JavaScript
 * would do with it by itself (arithmetic, comparison, printing, iteration) is refused.
 */
import { fail } from "../diagnostics/diagnostic.js";
import { coercion } from "../diagnostics/catalogue/operand-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Value } from "./nodes.js";
import { showType } from "../types/types.js";

const VALUE: unique symbol = Symbol("tilescript.value");

export class Handle {
  readonly [VALUE]: Value;

  constructor(value: Value) {
    this[VALUE] = value;
    // `x[0] = 1` would otherwise do nothing.
    Object.freeze(this);
  }

  /** Called when JavaScript wants a number or a string of it: `+`, `<`, a template, an index. */
  [Symbol.toPrimitive](): never {
    fail(coercion(showType(this[VALUE].type)), captureLocation());
  }

  /** What `console.log` shows. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `${showType(this[VALUE].type)} %${this[VALUE].id}`;
  }
}

export function isHandle(x: unknown): x is Handle {
  return x instanceof Handle;
}

export function valueOf(handle: Handle): Value {
  return handle[VALUE];
}
