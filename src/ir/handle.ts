/**
 * The author's reference to a value of the program while a kernel is traced. JavaScript's own operations on it
 * (arithmetic, comparison, conversion to a string, iteration) are refused.
 */
import { fail } from "../diagnostics/diagnostic.js";
import { coercion } from "../diagnostics/catalog/operand-codes.js";
import { makeFalsyObject, withFalsyObjects } from "./falsy-objects.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Value } from "./nodes.js";
import { showType } from "../types/types.js";

const VALUE: unique symbol = Symbol("tilescript.value");

/** Whether handles of truth values are made that JavaScript takes for false. */
let questioned = false;

/** Whether {@link withFalsyHandles} is under way. */
export function isRetracingFalsy(): boolean {
  return questioned;
}

/** Runs `body` with truth values that JavaScript takes for false. */
export function withFalsyHandles<T>(body: () => T): T {
  const outer = questioned;
  questioned = true;
  try {
    return withFalsyObjects(body);
  } finally {
    questioned = outer;
  }
}

/** A mask, or a number, which JavaScript also asks for its truth. Of another tile it can ask only whether it is there. */
function isTruth({ type }: Value): boolean {
  return type.kind === "constexpr" || (type.kind === "tile" && (type.dtype === "int1" || type.shape.length === 0));
}

export class Handle {
  readonly [VALUE]: Value;

  constructor(value: Value) {
    this[VALUE] = value;
    const falsy = questioned && isTruth(value) ? makeFalsyObject() : undefined;
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

  /** What every object of JavaScript's has would give the same text for every value, and the handle for its number. */
  toString(): never {
    return this[Symbol.toPrimitive]();
  }

  toLocaleString(): never {
    return this[Symbol.toPrimitive]();
  }

  valueOf(): never {
    return this[Symbol.toPrimitive]();
  }

  /** The text that `console.log` shows. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `${showType(this[VALUE].type)} %${this[VALUE].id}`;
  }
}

/** Marks state. It is not a value: reading it gives one. */
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
