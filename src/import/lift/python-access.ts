/** An access of memory in the Python of a kernel: its address as a sum, and its mask as a conjunction. */
import type { Call, Expression } from "../tree.js";

/** What a name is at a place: its version, and what it was assigned, seen from there. */
export interface Binding {
  readonly version: number;
  readonly value?: Expression;
  readonly env?: Env;
  /** A loop moves it: the value is what it starts from, and the same amount for each turn before. */
  readonly isMoved?: boolean;
}
export type Env = ReadonlyMap<string, Binding>;

/** The parameters of the kernel by what calls pass for them. */
export interface Passed {
  readonly pointers: ReadonlySet<string>;
  /** What no call gives. */
  readonly absent: ReadonlySet<string>;
  /** Integers of 32 bits, which sizes and strides are. */
  readonly numbers: ReadonlySet<string>;
  /** Constants that are 1 in every call, as Triton makes of strides. */
  readonly ones: ReadonlySet<string>;
  /** Constants that are positive integers in every call. */
  readonly constants: ReadonlySet<string>;
  /** Constants that may be strides, by how the kernel uses them. */
  readonly widths: ReadonlySet<string>;
}

/** A part of a mask. `index` and `size` where it is `index < size`, and `index` alone where it is `index >= 0`. */
export interface Condition {
  readonly node: Expression;
  readonly env: Env;
  readonly index?: Expression;
  readonly size?: string;
}

/** An index, times the product of these parameters. */
export interface Term {
  readonly index: Expression;
  readonly env: Env;
  readonly strides: readonly string[];
}

export interface Access {
  readonly call: Call;
  readonly env: Env;
  readonly isStore: boolean;
  /** The pointer parameter; undefined where it is not one alone. */
  readonly base: string | undefined;
  /** What the Python calls the pointer, and why it is followed to no parameter. */
  readonly lost?: { readonly name: string; readonly why: string };
  readonly terms: readonly Term[];
  readonly conditions: readonly Condition[];
  /** Sizes that are known without a mask. */
  readonly within: readonly Condition[];
}
