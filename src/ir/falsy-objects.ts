/**
 * Objects that JavaScript converts to false. The language defines one, `document.all`, and V8 can create others for its
 * tests. Apart from `typeof` they behave like any other object. If boolean handles are falsy objects, a traced kernel
 * takes the other path wherever JavaScript tests a handle.
 */

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
export function withFalsyObjects<T>(body: () => T): T {
  const outerCount = usedCount;
  try {
    return body();
  } finally {
    usedCount = outerCount;
  }
}

/** A falsy object without properties; undefined if the engine does not support them. */
export function makeFalsyObject(): object | undefined {
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
