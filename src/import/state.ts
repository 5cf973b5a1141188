/** Variables that a loop or a branch changes. */
import { pythonName } from "./author-name.js";
import type { Context } from "./context.js";
import type { Expression } from "./tree.js";
import { castTo, constantKind, traced, type Value } from "./value.js";

/** A value for a variable. Triton converts constants to scalars if a loop or a branch changes the variable. */
export interface StoredValue {
  readonly value: Value;
  /** The value as a scalar with a dtype, as mutable variables need it. */
  readonly typed: Value;
}

export function toStoredValue(value: Value, source: Expression | undefined): StoredValue {
  const kind = constantKind(source);
  const dtype = { int: "tl.int32", float: "tl.float32", bool: "tl.int1" }[kind ?? ""];
  if (value.kind === "number") return { value, typed: castTo(value, value.isFloat ? "tl.float32" : "tl.int32") };
  if (value.kind === "truth") return { value, typed: castTo(value, "tl.int1") };
  return { value, typed: value.kind === "traced" && dtype !== undefined ? castTo(value, dtype) : value };
}

/** Converts constants to mutable variables before a loop or a branch that changes them. */
export function makeState(names: readonly string[], context: Context): void {
  const { scope } = context;
  for (const name of names) {
    const variable = scope.variable(name);
    if (!variable || variable.isMutable) continue;
    const { value, condition } = variable;
    if (value.kind !== "traced" && value.kind !== "number" && value.kind !== "truth")
      return scope.refuse(
        `${pythonName(name)}, which a loop or branch changes, is ${value.kind === "none" ? "None" : `a ${value.kind}`}`,
        value.kind === "list" ? "write a name for each of its items" : "begin with a tile or a number",
      );
    const { typed } = toStoredValue(value, undefined);
    const text = scope.fresh(name);
    const initializer = `tl.mut(${typed.text})`;
    scope.emit(
      `const ${text} = ${condition ? `tl.when(${condition.text}, () => ${initializer}).value` : initializer};`,
    );
    scope.bind(name, traced(text), true, condition);
  }
}
