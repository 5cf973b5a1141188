/**
 * The author's proxy for a value of the program while a kernel is traced. JavaScript's own operations on it
 * (arithmetic, comparison, conversion to a string, iteration) are rejected.
 */
import { fail } from "../diagnostics/diagnostic.js";
import { coercion } from "../diagnostics/catalog/operand-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Value } from "./nodes.js";
import { showType } from "../types/types.js";

// Objects that JavaScript converts to false. The language defines one, `document.all`, and V8 can create others for its
// tests. Apart from `typeof` they behave like any other object. If boolean handles are falsy objects, a traced kernel
// takes the other path wherever JavaScript tests a handle.

/** Node's built-in modules without an import, which web pages could not resolve. */
interface NodeGlobals {
  readonly process?: { getBuiltinModule?(name: string): V8 | undefined };
}

interface V8 {
  setFlagsFromString(flags: string): void;
}

/** V8 never frees these objects, so they are reused. */
const pool: object[] = [];
let usedCount = 0;

/** True if the engine supports falsy objects. */
export function hasFalsyObjects(): boolean {
  return pool.length > 0 || growPool();
}

/** Runs `body` with the whole pool available again. */
function withFalsyObjects<T>(body: () => T): T {
  const outerCount = usedCount;
  try {
    return body();
  } finally {
    usedCount = outerCount;
  }
}

/** A falsy object without properties; undefined if the engine does not support them. */
function makeFalsyObject(): object | undefined {
  while (usedCount < pool.length || growPool()) {
    const object = pool[usedCount++]!;
    for (const key of Reflect.ownKeys(object)) Reflect.deleteProperty(object, key);
    // The author's code may have frozen it.
    if (Object.isExtensible(object) && Reflect.ownKeys(object).length === 0) return object;
  }
  return undefined;
}

const BATCH = 64;

/** Adds objects to the pool. Returns false if the engine does not support them. */
function growPool(): boolean {
  const v8 = (globalThis as NodeGlobals).process?.getBuiltinModule?.("node:v8");
  return v8 !== undefined && (addBatch() || withNatives(v8, addBatch));
}

/** Runs `body` with V8's native syntax enabled. The flag affects only code that is parsed meanwhile. */
function withNatives<T>(v8: V8, body: () => T): T {
  v8.setFlagsFromString("--allow-natives-syntax");
  try {
    return body();
  } finally {
    v8.setFlagsFromString("--no-allow-natives-syntax");
  }
}

/**
 * Adds a batch of objects to the pool. Returns false if the native syntax is disabled. The function is created anew
 * each time, because V8 drops the code of an unused function and parses its text again at the next call.
 */
function addBatch(): boolean {
  try {
    const undetectable = new Function("return %GetUndetectable()") as () => object;
    if (undetectable()) return false;
    for (let i = 0; i < BATCH; i++) pool.push(undetectable());
    return true;
  } catch {
    return false;
  }
}

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
