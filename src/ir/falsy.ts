/**
 * Objects that JavaScript takes for false. The language has one for `document.all`, and V8 makes others for its own tests;
 * all else about them is as with any object, but for `typeof`. A kernel that is traced with such handles for its truth
 * values goes another way wherever JavaScript decides something by one.
 */

/** What Node gives without an import, which pages could not follow. */
interface Host {
  readonly process?: { getBuiltinModule?(name: string): { setFlagsFromString(flags: string): void } | undefined };
}

let make: (() => object) | undefined | "unknown" = "unknown";
/** V8 never frees what it makes so, so objects are used again. */
const made: object[] = [];
let used = 0;

/** Whether the engine gives such objects. */
export function hasFalsyObjects(): boolean {
  if (make === "unknown") make = maker();
  return make !== undefined;
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

/** An object that JavaScript takes for false. */
export function falsyObject(): object {
  if (!hasFalsyObjects()) throw new Error("this engine has no objects that are false");
  return (made[used++] ??= (make as () => object)());
}

function maker(): (() => object) | undefined {
  try {
    const v8 = (globalThis as Host).process?.getBuiltinModule?.("node:v8");
    if (!v8) return undefined;
    v8.setFlagsFromString("--allow-natives-syntax");
    try {
      // The flag holds only for what is parsed meanwhile.
      const undetectable = new Function("return %GetUndetectable()") as () => object;
      return undetectable() ? undefined : undetectable;
    } finally {
      v8.setFlagsFromString("--no-allow-natives-syntax");
    }
  } catch {
    return undefined;
  }
}
