/** The translation context of a function: its scope and its kernel. */
import type { FunctionScope } from "./function-scope.js";
import type { LeftOut } from "./left-out.js";
import type { Call, FunctionTree, Statement } from "./tree.js";
import type { Value } from "./value.js";

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
