/** The translation context of a function: its scope, its kernel, and the variables that loops and branches change. */
import type { FunctionScope } from "./function-scope.js";
import type { LeftOut } from "./left-out.js";
import type { Call, FunctionTree, Statement, Expression } from "./tree.js";
import { type Value, castTo, constantKind, traced } from "./value.js";
import { pythonName } from "./author-name.js";

export interface KernelContext {
  /** The optional pointers of the kernel, by their TypeScript names. */
  readonly optionalPointers: ReadonlySet<string>;
  /** True if compile-time conditions are folded to their values in the first call. */
  readonly isSpecialized: boolean;
  /** True if the statements after a branch may be duplicated into its arms. */
  readonly canDuplicateTails: boolean;
  /** True if compile-time arms are removed if Triton compiled them neither for a call nor for other constants. */
  readonly shouldPruneUncompiled: boolean;
  /** True if stored values are cast to dtype variables, according to an earlier build. */
  readonly castsStoredValues: boolean;
  /** Keys of the branches whose arms return different types, according to an earlier build. */
  readonly divergentBranches: ReadonlySet<string>;
  /** True if each arm starts with a comment that contains the key of its branch. */
  readonly hasBranchMarkers: boolean;
  /** The text of an element type: `tl.float16`, or the name of a dtype variable. */
  dtype(element: string): string;
  /** True if the element type has a dtype variable. */
  isVariable(element: string): boolean;
  /** The element type of the arguments for a kernel parameter. */
  elementOf(parameter: string): string | undefined;
  /** The text of the tensor that replaces a pointer parameter. */
  tensor(parameter: string): string;
  /** Adds a TODO for the user. */
  addTodo(text: string, line: number): void;
  /** Records a part of the original that the kernel file has no place for. */
  leaveOut(what: LeftOut["what"], text: string, line: number): void;
  functionTree(number: number): FunctionTree;
  /** Specializes a helper function for these arguments. Returns its name and the remaining arguments of the call. */
  instantiateHelper(number: number, args: readonly Value[]): { readonly name: string; readonly args: readonly Value[] };
  addImport(name: "libdevice"): void;
}

/** Translators of nodes that contain nodes of other kinds: a branch contains statements, and an expression calls. */
export interface Translators {
  /** Returns true if the statements end by a return. */
  statements(body: readonly Statement[], liveAfter: ReadonlySet<string>, context: Context): boolean;
  call(node: Call, context: Context): Value;
}

export interface Context {
  readonly translate: Translators;
  readonly scope: FunctionScope;
  readonly kernel: KernelContext;
}

/** A value for a variable. Triton converts constants to scalars if a loop or a branch changes the variable. */
export interface StoredValue {
  readonly value: Value;
  /** The value as a scalar with a dtype, as mutable variables need it. */
  readonly typed: Value;
}

export function toStoredValue(value: Value, source: Expression | undefined): StoredValue {
  const isUntyped = value.kind === "traced" && (source?.types.length ?? 0) === 0;
  const kind = constantKind(source) ?? (isUntyped ? value.typeTag : undefined);
  const dtype = { int: "tl.int32", float: "tl.float32", bool: "tl.int1" }[kind ?? ""];
  if (value.kind === "number") return { value, typed: castTo(value, value.isFloat ? "tl.float32" : "tl.int32") };
  if (value.kind === "truth") return { value, typed: castTo(value, "tl.int1") };
  if (value.kind !== "traced" || dtype === undefined) return { value, typed: value };
  return { value: { ...value, ...(kind !== undefined && { typeTag: kind }) }, typed: castTo(value, dtype) };
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
