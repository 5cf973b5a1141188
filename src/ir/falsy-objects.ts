/**
 * Objects that JavaScript takes for false. The language has one for `document.all`, and V8 makes others for its own tests;
 * all else about them is as with any object, but for `typeof`. A kernel that is traced with such handles for its truth
 * values goes another way wherever JavaScript decides something by one.
 */

/** What Node gives without an import, which pages could not follow. */
interface Host {
  readonly process?: { getBuiltinModule?(name: string): V8 | undefined };
}

interface V8 {
  setFlagsFromString(flags: string): void;
}

/** V8 never frees what it makes so, so objects are used again. */
const made: object[] = [];
let used = 0;

/** Whether the engine gives such objects. */
export function hasFalsyObjects(): boolean {
  return made.length > 0 || more();
}

/** Runs `body`, which gets all such objects anew. */
export function withFalsyObjects<T>(body: () => T): T {
  const before = used;
  try {
    return body();
  } finally {
    used = before;
  }
}

/** An object without properties that JavaScript takes for false, or undefined where the engine gives none. */
export function makeFalsyObject(): object | undefined {
  while (used < made.length || more()) {
    const object = made[used++]!;
    for (const key of Reflect.ownKeys(object)) Reflect.deleteProperty(object, key);
    // The author's code may have frozen it.
    if (Object.isExtensible(object) && Reflect.ownKeys(object).length === 0) return object;
  }
  return undefined;
}

const BATCH = 64;

/** Makes more of them, and says whether it could. */
function more(): boolean {
  const v8 = (globalThis as Host).process?.getBuiltinModule?.("node:v8");
  return v8 !== undefined && (batch() || withNatives(v8, batch));
}

/** The flag holds only for what is parsed meanwhile. */
function withNatives<T>(v8: V8, body: () => T): T {
  v8.setFlagsFromString("--allow-natives-syntax");
  try {
    return body();
  } finally {
    v8.setFlagsFromString("--no-allow-natives-syntax");
  }
}

/**
 * False where the syntax is not allowed. The function is a new one each time: V8 forgets the code of a function that was
 * not called for a while, and parses its text again when it is.
 */
function batch(): boolean {
  try {
    const undetectable = new Function("return %GetUndetectable()") as () => object;
    if (undetectable()) return false;
    for (let i = 0; i < BATCH; i++) made.push(undetectable());
    return true;
  } catch {
    return false;
  }
}
