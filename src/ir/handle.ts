/**
 * The author's proxy for a value of the program while a kernel is traced. JavaScript's own operations on it
 * (arithmetic, comparison, conversion to a string, iteration) are rejected.
 */
import { fail } from "../diagnostics/diagnostic.js";
import { coercion } from "../diagnostics/catalog/operand-codes.js";
import { makeFalsyObject, withFalsyObjects } from "./falsy-objects.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Value } from "./nodes.js";
import { showType } from "../types/types.js";

const VALUE: unique symbol = Symbol("tilescript.value");

/** True while handles of truth values are created as falsy objects. */
let areHandlesFalsy = false;

/** True during {@link withFalsyHandles}. */
export function isRetracingFalsy(): boolean {
  return areHandlesFalsy;
}

/** Runs `body` with truth values that JavaScript converts to false. */
export function withFalsyHandles<T>(body: () => T): T {
  const outer = areHandlesFalsy;
  areHandlesFalsy = true;
  try {
    return withFalsyObjects(body);
  } finally {
    areHandlesFalsy = outer;
  }
}

/** True for a mask or a number, which JavaScript may test for truth. It can test any other tile only for presence. */
function hasTruthValue({ type }: Value): boolean {
  return type.kind === "constexpr" || (type.kind === "tile" && (type.dtype === "int1" || type.shape.length === 0));
}

export class Handle {
  readonly [VALUE]: Value;

  constructor(value: Value) {
    this[VALUE] = value;
    const falsy = areHandlesFalsy && hasTruthValue(value) ? makeFalsyObject() : undefined;
    if (falsy !== undefined) return Object.assign(Object.setPrototypeOf(falsy, Handle.prototype), { [VALUE]: value });
    // Makes `x[0] = 1` throw instead of doing nothing.
    Object.freeze(this);
  }

  /** JavaScript calls this to convert the handle to a number or a string: `+`, `<`, a template, an index. */
  [Symbol.toPrimitive](): never {
    fail(coercion(showType(this[VALUE].type)), captureLocation());
  }

  /** JavaScript calls this for `JSON.stringify`. */
  toJSON(): never {
    return this[Symbol.toPrimitive]();
  }

  /**
   * Rejects the methods that every JavaScript object inherits. They would return the same text for every value, or the
   * handle instead of a number.
   */
  toString(): never {
    return this[Symbol.toPrimitive]();
  }

  toLocaleString(): never {
    return this[Symbol.toPrimitive]();
  }

  valueOf(): never {
    return this[Symbol.toPrimitive]();
  }

  /** The text that `console.log` prints. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `${showType(this[VALUE].type)} %${this[VALUE].id}`;
  }
}

/** Marks a `tl.mut`. It is not a value; reading it returns one. */
export const STATE: unique symbol = Symbol("tilescript.state");

export function isState(x: unknown): boolean {
  return typeof x === "object" && x !== null && STATE in x;
}

export function isHandle(x: unknown): x is Handle {
  return x instanceof Handle;
}

export function valueOf(handle: Handle): Value {
  const value = handle[VALUE];
  return value.recorded ?? value;
}
