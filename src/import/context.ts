/** What the translation of a function needs: its scope, and the kernel that it belongs to. */
import type { FunctionScope } from "./function-scope.js";
import type { FunctionTree } from "./tree.js";
import type { Value } from "./value.js";

export interface KernelContext {
  /** Pointers of the kernel that a call may leave out, by their TypeScript names. */
  readonly optional: ReadonlySet<string>;
  /** Whether conditions that Triton knows are decided as in the first call. */
  readonly decides: boolean;
  /** Whether what follows a branch may be written for each arm. */
  readonly tails: boolean;
  /** Whether arms of conditions that Triton knows are left out where no call, and no other constant, compiled them. */
  readonly compiledOnly: boolean;
  /** Branches whose arms were found to give values of different types, by their keys. */
  readonly apart: ReadonlySet<string>;
  /** Whether each arm has a comment with the key of its branch. */
  readonly isMarked: boolean;
  /** An element type as the file writes it: `tl.float16`, or the name of a dtype variable. */
  dtype(element: string): string;
  /** The element type of what calls pass for a parameter of the kernel. */
  elementOf(parameter: string): string | undefined;
  /** The tensor that a pointer parameter became. */
  tensor(parameter: string): string;
  /** Says what a person must look at. */
  todo(text: string, line: number): void;
  /** The helper function of this number. */
  functionTree(number: number): FunctionTree;
  /** The name of the helper function of this number, written for these arguments, and the arguments of the call. */
  helper(number: number, args: readonly Value[]): { readonly name: string; readonly args: readonly Value[] };
  /** Notes a name that the file imports. */
  imports(name: "libdevice"): void;
}

export interface Context {
  readonly scope: FunctionScope;
  readonly kernel: KernelContext;
}
